//! Keying and think times.
//!
//! In: a kind of transaction. Out: how long a user keys before it and thinks after it. Must never:
//! count into a response time; a user sleeps outside its transactions.
//!
//! Deliveries are not deferred [2.7.2]: a user waits for its delivery as for any other transaction.

use super::input::Kind;
use crate::random::Random;
use std::time::Duration;

/// Times by kind, in the order of [`Kind::ALL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Keying, seconds.
    pub keying_s: [u32; 5],
    /// Mean of thinking, seconds.
    pub think_mean_s: [u32; 5],
    /// Thinking is rounded to whole seconds.
    pub whole_seconds: bool,
}

/// [5.2.5.7]
pub const SPECIFICATION: Times = Times {
    keying_s: [18, 3, 2, 2, 2],
    think_mean_s: [12, 12, 10, 5, 5],
    whole_seconds: false,
};

/// HammerDB's: the think times of order-status and delivery are each other's.
pub const HAMMERDB: Times = Times {
    keying_s: [18, 3, 2, 2, 2],
    think_mean_s: [12, 12, 5, 10, 5],
    whole_seconds: true,
};

/// Thinking takes at most so many times its mean [5.2.5.4].
const THINK_MAX: f64 = 10.0;

impl Times {
    /// Time to key the input of a transaction.
    pub fn keying(&self, kind: Kind) -> Duration {
        Duration::from_secs(u64::from(self.keying_s[kind as usize]))
    }

    /// Time to think about its output: negative-exponential, cut at ten means.
    pub fn thinking(&self, kind: Kind, random: &mut Random) -> Duration {
        let mean_s = f64::from(self.think_mean_s[kind as usize]);
        let drawn_s = -(1.0 - random.unit()).ln() * mean_s;
        let time_s = drawn_s.min(mean_s * THINK_MAX);
        let time_s = if self.whole_seconds {
            time_s.round()
        } else {
            time_s
        };
        Duration::from_secs_f64(time_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking_has_its_mean_and_its_limit() {
        let mut random = Random::new(5);
        for kind in Kind::ALL {
            let count = 20_000;
            let times: Vec<f64> = (0..count)
                .map(|_| SPECIFICATION.thinking(kind, &mut random).as_secs_f64())
                .collect();
            let mean = f64::from(SPECIFICATION.think_mean_s[kind as usize]);
            let seen = times.iter().sum::<f64>() / f64::from(count);
            assert!((seen / mean - 1.0).abs() < 0.05, "{kind:?}: {seen}");
            assert!(times.iter().all(|time| *time <= 10.0 * mean));
            let whole = HAMMERDB.thinking(kind, &mut random).as_secs_f64();
            assert_eq!(whole, whole.trunc());
        }
    }

    #[test]
    fn one_terminal_makes_at_most_1_286_new_orders_a_minute() {
        // 10 of 23 are new orders; the sums are those of clause 5.2.5.7 without response times.
        let weights = [10.0, 10.0, 1.0, 1.0, 1.0];
        let times = SPECIFICATION;
        let deck_s: f64 = (0..5)
            .map(|kind| weights[kind] * f64::from(times.keying_s[kind] + times.think_mean_s[kind]))
            .sum();
        let rate = 10.0 / (deck_s / 60.0);
        assert!((1.20..1.286).contains(&rate), "{rate}");
    }
}
