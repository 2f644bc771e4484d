//! Counts each user's events and the time spent in them.
//!
//! In: samples, on the workers' threads. Out: the fairness in reports. Must never: block a worker: each
//! worker writes only the counts of its users.

use prony_dialect::sysbench::Fairness;
use prony_drive::SampleListener;
use prony_measure::{Outcome, Sample};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
struct UserCounts {
    events: AtomicU64,
    busy_ns: AtomicU64,
}

pub struct EventCounts(Arc<[UserCounts]>);

impl EventCounts {
    /// Counts of zero.
    pub fn new(users: u32) -> EventCounts {
        EventCounts((0..users).map(|_| UserCounts::default()).collect())
    }

    /// The listener that counts one worker's samples.
    pub fn new_listener(&self) -> Box<dyn SampleListener> {
        Box::new(SampleCounter(self.0.clone()))
    }

    /// Sets a user's counts, which another machine has counted.
    pub fn set(&self, user: u32, events: u64, busy_ns: u64) {
        if let Some(counts) = self.0.get(user as usize) {
            counts.events.store(events, Ordering::Relaxed);
            counts.busy_ns.store(busy_ns, Ordering::Relaxed);
        }
    }

    /// The counts so far, by user: events, and nanoseconds spent in them.
    pub fn snapshot(&self) -> Vec<(u64, u64)> {
        let read = |counts: &UserCounts| {
            let events = counts.events.load(Ordering::Relaxed);
            (events, counts.busy_ns.load(Ordering::Relaxed))
        };
        self.0.iter().map(read).collect()
    }
}

/// The fairness of the events between two snapshots. At the start of the run, `earlier` is empty.
pub fn fairness_between(earlier: &[(u64, u64)], later: &[(u64, u64)]) -> Fairness {
    let threads: Vec<(u64, f64)> = later
        .iter()
        .enumerate()
        .map(|(user, (events, busy_ns))| {
            let (events_before, busy_ns_before) = earlier.get(user).copied().unwrap_or_default();
            let busy_ns = busy_ns.saturating_sub(busy_ns_before);
            (events.saturating_sub(events_before), busy_ns as f64 / 1e9)
        })
        .collect();
    Fairness::from_threads(&threads)
}

/// Counts one worker's samples.
struct SampleCounter(Arc<[UserCounts]>);

impl SampleListener for SampleCounter {
    fn started(&mut self, _: u64) {}

    #[inline]
    fn sample(&mut self, client: u32, sample: &Sample) {
        if sample.outcome != Outcome::Committed {
            return;
        }
        if let Some(counts) = self.0.get(client as usize) {
            // Only this worker writes these counts, so a load and a store suffice.
            let events = counts.events.load(Ordering::Relaxed) + 1;
            counts.events.store(events, Ordering::Relaxed);
            let busy_ns = counts.busy_ns.load(Ordering::Relaxed) + sample.response_ns();
            counts.busy_ns.store(busy_ns, Ordering::Relaxed);
        }
    }

    fn ended(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_covers_events_since_the_last_report() {
        let event_counts = EventCounts::new(2);
        let mut listener = event_counts.new_listener();
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
            listener.sample(client, &sample);
        };
        count(0, Outcome::Committed);
        let before = event_counts.snapshot();
        count(0, Outcome::Committed);
        count(0, Outcome::Skipped);
        for _ in 0..3 {
            count(1, Outcome::Committed);
        }
        let latest = fairness_between(&before, &event_counts.snapshot());
        assert_eq!((latest.events_avg, latest.events_stddev), (2.0, 1.0));
        assert_eq!((latest.time_avg_s, latest.time_stddev_s), (2.0, 1.0));
        let total = fairness_between(&[], &event_counts.snapshot());
        assert_eq!((total.events_avg, total.events_stddev), (2.5, 0.5));
    }
}
