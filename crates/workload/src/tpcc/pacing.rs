//! Keying and think times. Response times exclude them, because a user sleeps between its transactions.
//!
//! A deferred delivery [2.7.2] is executed by its own user, on its own connection, while the
//! terminal thinks. This needs neither a queue between users, which the loop would have to poll, nor
//! connections besides the terminals'. The response time of a delivery runs from its entry to its
//! completion. If a terminal has finished thinking and keying while its delivery is still running, it
//! waits for its connection; that wait is part of the response time of its next transaction.

use super::input::TpccTransaction;
use crate::random::Random;
use std::time::Duration;

/// Keying and think times by kind, in the order of [`TpccTransaction::ALL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingTimes {
    /// Keying time, seconds.
    pub keying_s: [u32; 5],
    /// Mean think time, seconds.
    pub think_mean_s: [u32; 5],
    /// Think times are rounded to whole seconds.
    pub whole_seconds: bool,
}

/// The specification's times [5.2.5.7].
pub const SPECIFICATION: PacingTimes = PacingTimes {
    keying_s: [18, 3, 2, 2, 2],
    think_mean_s: [12, 12, 10, 5, 5],
    whole_seconds: false,
};

/// HammerDB's times: the think times of order-status and delivery are swapped.
pub const HAMMERDB: PacingTimes = PacingTimes {
    keying_s: [18, 3, 2, 2, 2],
    think_mean_s: [12, 12, 5, 10, 5],
    whole_seconds: true,
};

/// The times within which 90 % of the transactions of each kind must end, in seconds. For a delivery this
/// limits the deferred part, because its terminal gets its answer immediately [5.2.5.3, 5.2.5.7, 2.7.2].
pub const P90_LIMITS_S: [u32; 5] = [5, 5, 5, 80, 20];

/// The pacing state of one terminal; times are nanoseconds on the run's clock.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    times: PacingTimes,
    defers_deliveries: bool,
    /// The end of its current think time.
    ready_ns: u64,
}

impl Terminal {
    pub fn new(times: PacingTimes, defers_deliveries: bool, now_ns: u64) -> Self {
        Terminal {
            times,
            defers_deliveries,
            ready_ns: now_ns,
        }
    }

    /// The time at which its next transaction, of this kind, is due: after the think and keying times.
    pub fn due_ns(&self, kind: TpccTransaction) -> u64 {
        let keying_ns = self.times.keying_time(kind).as_nanos() as u64;
        self.ready_ns.saturating_add(keying_ns)
    }

    /// Records that a transaction was executed. The think time starts at its end, or at its
    /// beginning if it is deferred.
    pub fn record_end(
        &mut self,
        kind: TpccTransaction,
        start_ns: u64,
        end_ns: u64,
        random: &mut Random,
    ) {
        let deferred = self.defers_deliveries && kind == TpccTransaction::Delivery;
        let answer_ns = if deferred { start_ns } else { end_ns };
        let think_ns = self.times.draw_think_time(kind, random).as_nanos() as u64;
        self.ready_ns = answer_ns.saturating_add(think_ns);
    }
}

/// Upper limit of a think time, as a multiple of its mean [5.2.5.4].
const THINK_TIME_MAX_MEANS: f64 = 10.0;

impl PacingTimes {
    /// Keying time before a transaction.
    pub fn keying_time(&self, kind: TpccTransaction) -> Duration {
        Duration::from_secs(u64::from(self.keying_s[kind as usize]))
    }

    /// Think time after a transaction: exponentially distributed, limited to ten means.
    pub fn draw_think_time(&self, kind: TpccTransaction, random: &mut Random) -> Duration {
        let mean_s = f64::from(self.think_mean_s[kind as usize]);
        let drawn_s = -(1.0 - random.unit()).ln() * mean_s;
        let limited_s = drawn_s.min(mean_s * THINK_TIME_MAX_MEANS);
        let think_s = if self.whole_seconds { limited_s.round() } else { limited_s };
        Duration::from_secs_f64(think_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_have_their_mean_and_limit() {
        let mut random = Random::new(5);
        for kind in TpccTransaction::ALL {
            let count = 20_000;
            let times: Vec<f64> = (0..count)
                .map(|_| {
                    SPECIFICATION
                        .draw_think_time(kind, &mut random)
                        .as_secs_f64()
                })
                .collect();
            let mean = f64::from(SPECIFICATION.think_mean_s[kind as usize]);
            let sample_mean = times.iter().sum::<f64>() / f64::from(count);
            assert!(
                (sample_mean / mean - 1.0).abs() < 0.05,
                "{kind:?}: {sample_mean}"
            );
            assert!(times.iter().all(|time| *time <= 10.0 * mean));
            let rounded = HAMMERDB.draw_think_time(kind, &mut random).as_secs_f64();
            assert_eq!(rounded, rounded.trunc());
        }
    }

    #[test]
    fn think_time_starts_when_a_deferred_delivery_is_entered() {
        const S: u64 = 1_000_000_000;
        for (defers_deliveries, kind, answer_s) in [
            (true, TpccTransaction::Delivery, 7),
            (true, TpccTransaction::Payment, 100),
            (false, TpccTransaction::Delivery, 100),
        ] {
            let mut random = Random::new(9);
            let think_time = SPECIFICATION.draw_think_time(kind, &mut random.clone());
            let mut terminal = Terminal::new(SPECIFICATION, defers_deliveries, 5 * S);
            assert_eq!(
                terminal.due_ns(kind),
                5 * S + SPECIFICATION.keying_time(kind).as_nanos() as u64
            );
            terminal.record_end(kind, 7 * S, 100 * S, &mut random);
            let ready_ns = answer_s * S + think_time.as_nanos() as u64;
            assert_eq!(
                terminal.due_ns(TpccTransaction::NewOrder),
                ready_ns + 18 * S,
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_terminal_enters_at_most_1_286_new_orders_per_minute() {
        // 10 of 23 transactions are new orders; their mean times are those of clause 5.2.5.7, without
        // response times.
        let weights = [10.0, 10.0, 1.0, 1.0, 1.0];
        let times = SPECIFICATION;
        let deck_s: f64 = (0..5)
            .map(|kind| weights[kind] * f64::from(times.keying_s[kind] + times.think_mean_s[kind]))
            .sum();
        let rate = 10.0 / (deck_s / 60.0);
        assert!((1.20..1.286).contains(&rate), "{rate}");
    }
}
