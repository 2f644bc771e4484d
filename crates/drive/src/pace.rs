//! When transactions are due to start.
//!
//! In: a rate, a seed. Out: scheduled starts, in order. Must never: skip a start because it is late: that
//! would omit exactly the wait that a user experiences.

use prony_plan::{Arrival, SplitMix};

/// Maximum number of starts that one call generates one by one. At an extreme rate, generating all due starts
/// would take so long that the same number would become due in that time.
const MAX_GENERATED_STARTS: u64 = 200_000;

/// Minimum mean gap between starts, in nanoseconds: more starts would not fit into their counts.
const GAP_MIN_NS: f64 = 1.0;

/// Maximum mean gap between starts, in nanoseconds: thirty years. An infinite gap would not be a number when it is
/// multiplied by a phase of zero.
const GAP_MAX_NS: f64 = 1e18;

/// The scheduled starts of a worker.
#[derive(Debug)]
pub struct StartSchedule {
    /// The position of the first start that is not taken.
    cursor: Cursor,
    /// Number of starts that were taken.
    taken: u64,
    /// The position up to which [`StartSchedule::count_waiting`] has counted starts.
    counted_to: Cursor,
    /// Number of starts before that position, including those that were taken.
    counted: u64,
}

/// A position in the sequence of starts.
#[derive(Clone, Debug)]
struct Cursor {
    next_ns: f64,
    /// Mean gap between starts.
    gap_ns: f64,
    arrival: Arrival,
    random: SplitMix,
}

impl StartSchedule {
    /// Schedules `rate_tps` starts per second from `start_ns` on. `phase`, 0 to 1, delays even starts by this
    /// share of a gap, so that the starts of a run's workers alternate.
    pub fn new(start_ns: u64, rate_tps: f64, arrival: Arrival, phase: f64, seed: u64) -> Self {
        let mut cursor = Cursor {
            next_ns: start_ns as f64,
            gap_ns: (1e9 / rate_tps).clamp(GAP_MIN_NS, GAP_MAX_NS),
            arrival,
            random: SplitMix::new(seed),
        };
        cursor.next_ns += match arrival {
            Arrival::Even => phase * cursor.gap_ns,
            Arrival::Poisson => cursor.gap(),
        };
        StartSchedule {
            counted_to: cursor.clone(),
            cursor,
            taken: 0,
            counted: 0,
        }
    }

    /// When the next start is due, nanoseconds.
    pub fn next_ns(&self) -> u64 {
        self.cursor.next_ns as u64
    }

    /// Takes the next start; returns when it is due, nanoseconds.
    pub fn take_next(&mut self) -> u64 {
        self.taken += 1;
        self.cursor.take_next()
    }

    /// Takes all starts that are due by `until_ns`; returns their number.
    pub fn take_until(&mut self, until_ns: u64) -> u64 {
        let count = self.cursor.take_until(until_ns);
        self.taken += count;
        count
    }

    /// Number of starts that are due by `now_ns` and not taken. Generates each start since the last call one
    /// by one, up to [`MAX_GENERATED_STARTS`].
    pub fn count_waiting(&mut self, now_ns: u64) -> u64 {
        if self.counted < self.taken {
            (self.counted_to, self.counted) = (self.cursor.clone(), self.taken);
        }
        self.counted += self.counted_to.take_until(now_ns);
        self.counted - self.taken
    }
}

impl Cursor {
    fn take_next(&mut self) -> u64 {
        let start_ns = self.next_ns as u64;
        self.next_ns += self.gap();
        start_ns
    }

    /// Takes the starts due by `until_ns`; returns their number. Generates at most [`MAX_GENERATED_STARTS`],
    /// and adds the expected number of the others.
    fn take_until(&mut self, until_ns: u64) -> u64 {
        for count in 0..MAX_GENERATED_STARTS {
            if self.next_ns as u64 > until_ns {
                return count;
            }
            self.take_next();
        }
        // A start within the nanosecond `until_ns` is also due.
        let end_ns = (until_ns + 1) as f64;
        let remaining = ((end_ns - self.next_ns) / self.gap_ns).ceil().max(0.0);
        if remaining == 0.0 {
            return MAX_GENERATED_STARTS;
        }
        self.next_ns = match self.arrival {
            Arrival::Even => self.next_ns + remaining * self.gap_ns,
            // In a Poisson process, the time until the next start does not depend on the last one.
            Arrival::Poisson => end_ns + self.gap(),
        };
        MAX_GENERATED_STARTS + remaining as u64
    }

    /// The gap after the current start, nanoseconds.
    fn gap(&mut self) -> f64 {
        match self.arrival {
            Arrival::Even => self.gap_ns,
            Arrival::Poisson => -self.random.uniform().ln() * self.gap_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_starts_of_two_workers_alternate() {
        let mut a = StartSchedule::new(1000, 1000.0, Arrival::Even, 0.0, 1);
        let mut b = StartSchedule::new(1000, 1000.0, Arrival::Even, 0.5, 2);
        let starts_ns: Vec<u64> = (0..3)
            .flat_map(|_| [a.take_next(), b.take_next()])
            .collect();
        let expected = [0, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000];
        assert_eq!(starts_ns, expected.map(|ns| ns + 1000));
    }

    #[test]
    fn at_the_smallest_rate_only_the_first_start_is_due() {
        for (arrival, phase) in [
            (Arrival::Even, 0.0),
            (Arrival::Even, 0.5),
            (Arrival::Poisson, 0.0),
        ] {
            for rate_tps in [1e-300, f64::from_bits(1)] {
                let mut schedule = StartSchedule::new(1000, rate_tps, arrival, phase, 1);
                assert!(schedule.next_ns() >= 1000, "{arrival:?} {rate_tps:e}");
                schedule.take_next();
                assert!(schedule.next_ns() > 1 << 50, "{arrival:?} {rate_tps:e}");
                assert_eq!(schedule.count_waiting(1 << 50), 0, "{arrival:?}");
            }
        }
    }

    #[test]
    fn starts_that_are_due_and_not_taken_are_counted_as_waiting() {
        for arrival in [Arrival::Even, Arrival::Poisson] {
            let mut schedule = StartSchedule::new(0, 1000.0, arrival, 0.5, 3);
            let mut reference = StartSchedule::new(0, 1000.0, arrival, 0.5, 3);
            let take_due = |reference: &mut StartSchedule, now_ns| {
                let due = std::iter::from_fn(|| {
                    (reference.next_ns() <= now_ns).then(|| reference.take_next())
                });
                due.count() as u64
            };
            let due_count = take_due(&mut reference, 100_000_000);
            assert!(due_count > 50);
            assert_eq!(schedule.count_waiting(100_000_000), due_count);
            for _ in 0..due_count {
                schedule.take_next();
            }
            assert_eq!(schedule.count_waiting(100_000_000), 0);
            let later_due_count = take_due(&mut reference, 300_000_000);
            schedule.take_next();
            assert_eq!(schedule.count_waiting(300_000_000), later_due_count - 1);
            assert_eq!(schedule.count_waiting(300_000_000), later_due_count - 1);
        }
    }

    #[test]
    fn counting_a_huge_backlog_is_quick() {
        // Ten hours of a billion starts per second, which is the highest rate.
        let until_ns = 36_000_000_000_000;
        let arrivals = [Arrival::Even, Arrival::Poisson];
        for (arrival, rate_tps) in arrivals
            .into_iter()
            .flat_map(|arrival| [(arrival, 1e9), (arrival, 1e308)])
        {
            let mut schedule = StartSchedule::new(0, rate_tps, arrival, 0.5, 3);
            let is_close = |count: u64| (count as f64 / until_ns as f64 - 1.0).abs() < 1e-3;
            let waiting = schedule.count_waiting(until_ns);
            assert!(is_close(waiting), "{waiting}");
            assert_eq!(schedule.count_waiting(until_ns), waiting);
            schedule.take_next();
            assert_eq!(schedule.count_waiting(until_ns), waiting - 1);
            let count = schedule.take_until(until_ns);
            assert!(is_close(count), "{count}");
            assert!(schedule.next_ns() > until_ns || arrival == Arrival::Even);
            assert_eq!(schedule.take_until(until_ns), 0);
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut schedule = StartSchedule::new(0, 1000.0, Arrival::Poisson, 0.0, 7);
        let mut previous_ns = 0;
        let gaps_ms: Vec<f64> = (0..100_000)
            .map(|_| {
                let start_ns = schedule.take_next();
                let gap_ms = (start_ns - previous_ns) as f64 / 1e6;
                previous_ns = start_ns;
                gap_ms
            })
            .collect();
        let mean = gaps_ms.iter().sum::<f64>() / gaps_ms.len() as f64;
        let squares = gaps_ms.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>();
        let deviation = (squares / gaps_ms.len() as f64).sqrt();
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation - 1.0).abs() < 0.03, "{deviation}");
    }
}
