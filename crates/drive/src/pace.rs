//! When transactions are to start.
//!
//! In: a rate, random numbers of its own. Out: scheduled starts, in order. Must never: skip one
//! because it is late; that would leave out just the waiting that a user sees.

use prony_plan::{Arrival, SplitMix};

/// The scheduled starts of one worker.
#[derive(Debug)]
pub struct Schedule {
    next: Cursor,
    /// How many were taken.
    taken: u64,
    /// The same starts as far as they were counted by [`Schedule::waiting`], and how many.
    seen: Cursor,
    counted: u64,
}

/// A place among the starts.
#[derive(Clone, Debug)]
struct Cursor {
    next_ns: f64,
    gap_ns: f64,
    arrival: Arrival,
    random: SplitMix,
}

impl Schedule {
    /// Starts from `start_ns` on, `rate_tps` of them a second. `phase`, 0 to 1, is where in the
    /// first gap even starts begin, so that the workers of a run take turns.
    pub fn new(start_ns: u64, rate_tps: f64, arrival: Arrival, phase: f64, seed: u64) -> Self {
        let mut next = Cursor {
            next_ns: start_ns as f64,
            gap_ns: 1e9 / rate_tps,
            arrival,
            random: SplitMix::new(seed),
        };
        next.next_ns += match arrival {
            Arrival::Even => phase * next.gap_ns,
            Arrival::Poisson => next.gap(),
        };
        Schedule {
            seen: next.clone(),
            next,
            taken: 0,
            counted: 0,
        }
    }

    /// The next start that nobody has taken, nanoseconds.
    pub fn next_ns(&self) -> u64 {
        self.next.next_ns as u64
    }

    /// Takes it.
    pub fn take(&mut self) -> u64 {
        self.taken += 1;
        self.next.take()
    }

    /// Starts that are due by then and that nobody has taken. Costs a step for each start since the
    /// last call.
    pub fn waiting(&mut self, now_ns: u64) -> u64 {
        if self.counted < self.taken {
            (self.seen, self.counted) = (self.next.clone(), self.taken);
        }
        while self.seen.next_ns as u64 <= now_ns {
            self.seen.take();
            self.counted += 1;
        }
        self.counted - self.taken
    }
}

impl Cursor {
    fn take(&mut self) -> u64 {
        let taken = self.next_ns as u64;
        self.next_ns += self.gap();
        taken
    }

    fn gap(&mut self) -> f64 {
        match self.arrival {
            Arrival::Even => self.gap_ns,
            Arrival::Poisson => -self.random.unit().ln() * self.gap_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_starts_are_even_and_out_of_phase() {
        let mut a = Schedule::new(1000, 1000.0, Arrival::Even, 0.0, 1);
        let mut b = Schedule::new(1000, 1000.0, Arrival::Even, 0.5, 2);
        let taken: Vec<u64> = (0..3).flat_map(|_| [a.take(), b.take()]).collect();
        let wanted = [0, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000];
        assert_eq!(taken, wanted.map(|ns| ns + 1000));
    }

    #[test]
    fn what_waits_is_what_is_due_and_not_taken() {
        for arrival in [Arrival::Even, Arrival::Poisson] {
            let mut schedule = Schedule::new(0, 1000.0, arrival, 0.5, 3);
            let mut twin = Schedule::new(0, 1000.0, arrival, 0.5, 3);
            let until = |twin: &mut Schedule, now_ns| {
                let due = std::iter::from_fn(|| (twin.next_ns() <= now_ns).then(|| twin.take()));
                due.count() as u64
            };
            let first = until(&mut twin, 100_000_000);
            assert!(first > 50);
            assert_eq!(schedule.waiting(100_000_000), first);
            for _ in 0..first {
                schedule.take();
            }
            assert_eq!(schedule.waiting(100_000_000), 0);
            let more = until(&mut twin, 300_000_000);
            schedule.take();
            assert_eq!(schedule.waiting(300_000_000), more - 1);
            assert_eq!(schedule.waiting(300_000_000), more - 1);
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut schedule = Schedule::new(0, 1000.0, Arrival::Poisson, 0.0, 7);
        let mut last = 0;
        let gaps: Vec<f64> = (0..100_000)
            .map(|_| {
                let next = schedule.take();
                let gap = (next - last) as f64 / 1e6;
                last = next;
                gap
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>();
        let deviation = (squares / gaps.len() as f64).sqrt();
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation - 1.0).abs() < 0.03, "{deviation}");
    }
}
