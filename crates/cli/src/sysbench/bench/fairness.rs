//! How many events each user did, and how long it was in them.
//!
//! In: samples, on the workers' threads. Out: the fairness that reports tell. Must never: keep a
//! worker waiting: each writes the places of its own users, and nobody else does.

use prony_dialect::sysbench::Fairness;
use prony_drive::Tap;
use prony_measure::{Outcome, Sample};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One user's part.
#[derive(Default)]
struct Place {
    events: AtomicU64,
    busy_ns: AtomicU64,
}

/// Those of all users.
pub struct Shares(Arc<[Place]>);

impl Shares {
    /// Nothing done.
    pub fn new(users: u32) -> Shares {
        Shares((0..users).map(|_| Place::default()).collect())
    }

    /// Counts for a worker.
    pub fn tap(&self) -> Box<dyn Tap> {
        Box::new(Counting(self.0.clone()))
    }

    /// What each did so far: events, nanoseconds in them.
    pub fn so_far(&self) -> Vec<(u64, u64)> {
        let of = |place: &Place| {
            let events = place.events.load(Ordering::Relaxed);
            (events, place.busy_ns.load(Ordering::Relaxed))
        };
        self.0.iter().map(of).collect()
    }
}

/// What was done between two readings.
pub fn between(from: &[(u64, u64)], to: &[(u64, u64)]) -> Fairness {
    let threads: Vec<(u64, f64)> = to
        .iter()
        .enumerate()
        .map(|(user, (events, busy_ns))| {
            let before = from.get(user).copied().unwrap_or_default();
            let busy_ns = busy_ns.saturating_sub(before.1);
            (events.saturating_sub(before.0), busy_ns as f64 / 1e9)
        })
        .collect();
    Fairness::of_threads(&threads)
}

/// One worker's view of the places.
struct Counting(Arc<[Place]>);

impl Tap for Counting {
    fn started(&mut self, _: u64) {}

    #[inline]
    fn sample(&mut self, client: u32, sample: &Sample) {
        if sample.outcome != Outcome::Committed {
            return;
        }
        if let Some(place) = self.0.get(client as usize) {
            // Nobody else writes here: a load and a store will do.
            let events = place.events.load(Ordering::Relaxed) + 1;
            place.events.store(events, Ordering::Relaxed);
            let busy_ns = place.busy_ns.load(Ordering::Relaxed) + sample.response_ns();
            place.busy_ns.store(busy_ns, Ordering::Relaxed);
        }
    }

    fn ended(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_since_the_last_report() {
        let shares = Shares::new(2);
        let mut tap = shares.tap();
        let mut count = |client, outcome| {
            let sample = Sample {
                kind: 0,
                outcome,
                scheduled_ns: 0,
                started_ns: 0,
                ended_ns: 1_000_000_000,
                connect_ns: 0,
                retries: 0,
                parts: None,
            };
            tap.sample(client, &sample);
        };
        count(0, Outcome::Committed);
        let before = shares.so_far();
        count(0, Outcome::Committed);
        count(0, Outcome::Skipped);
        for _ in 0..3 {
            count(1, Outcome::Committed);
        }
        let since = between(&before, &shares.so_far());
        assert_eq!((since.events_avg, since.events_stddev), (2.0, 1.0));
        assert_eq!((since.time_avg_s, since.time_stddev_s), (2.0, 1.0));
        let whole = between(&[], &shares.so_far());
        assert_eq!((whole.events_avg, whole.events_stddev), (2.5, 0.5));
    }
}
