//! Keying and think times.
//!
//! In: a kind of transaction. Out: how long a user keys before it and thinks after it. Must never:
//! count into a response time; a user sleeps outside its transactions.
//!
//! A deferred delivery [2.7.2] is carried out by its own user, on its own connection, while the
//! terminal thinks: no queue between users is needed, which in the loop would have to be asked again
//! and again, and no connections beyond those of the terminals. In the queue it waits for nothing;
//! its time is from being queued to its completion. A terminal that has thought and keyed while its
//! delivery is still under way finds its connection busy; that wait counts into the response of the
//! transaction it then enters.

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

/// Within what times 90 % of each kind are to end, seconds: of a delivery the deferred part, for its
/// terminal is answered at once [5.2.5.3, 5.2.5.7, 2.7.2].
pub const LIMITS_S: [u32; 5] = [5, 5, 5, 80, 20];

/// One terminal's time, in nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    times: Times,
    defers: bool,
    /// When it has thought about the last answer.
    ready_ns: u64,
}

impl Terminal {
    /// A terminal that begins now.
    pub fn new(times: Times, defers: bool, now_ns: u64) -> Self {
        Terminal {
            times,
            defers,
            ready_ns: now_ns,
        }
    }

    /// When a transaction is entered: it is keyed first.
    pub fn due_ns(&self, kind: Kind) -> u64 {
        let keying_ns = self.times.keying(kind).as_nanos() as u64;
        self.ready_ns.saturating_add(keying_ns)
    }

    /// A transaction was carried out: the terminal has its answer at its end, of a deferred one at
    /// its beginning, and thinks from then on.
    pub fn answered(&mut self, kind: Kind, begun_ns: u64, ended_ns: u64, random: &mut Random) {
        let deferred = self.defers && kind == Kind::Delivery;
        let answer_ns = if deferred { begun_ns } else { ended_ns };
        let thinking_ns = self.times.thinking(kind, random).as_nanos() as u64;
        self.ready_ns = answer_ns.saturating_add(thinking_ns);
    }
}

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
    fn a_terminal_thinks_while_its_deferred_delivery_is_carried_out() {
        const S: u64 = 1_000_000_000;
        for (defers, kind, answer_s) in [
            (true, Kind::Delivery, 7),
            (true, Kind::Payment, 100),
            (false, Kind::Delivery, 100),
        ] {
            let mut random = Random::new(9);
            let thinking = SPECIFICATION.thinking(kind, &mut random.clone());
            let mut terminal = Terminal::new(SPECIFICATION, defers, 5 * S);
            assert_eq!(
                terminal.due_ns(kind),
                5 * S + SPECIFICATION.keying(kind).as_nanos() as u64
            );
            terminal.answered(kind, 7 * S, 100 * S, &mut random);
            let ready_ns = answer_s * S + thinking.as_nanos() as u64;
            assert_eq!(
                terminal.due_ns(Kind::NewOrder),
                ready_ns + 18 * S,
                "{kind:?}"
            );
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
