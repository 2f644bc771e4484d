//! Ends a run without a time limit if its server does not come back.
//!
//! In: the rows of a run. Out: the reason to end. Must never: end a run that has a time limit, or whose clients have
//! no connection because none of them has work.

use std::time::Duration;

use prony_measure::IntervalRow;
use prony_plan::Stop;

/// A run ends after this time without a connection. A failover takes less, and so do most restarts with much to recover.
const MAX_OUTAGE: Duration = Duration::from_mins(5);

/// Measures how long no client has had a connection.
pub struct NoServerDetector {
    outage: Duration,
}

impl NoServerDetector {
    /// `None`: the run ends at its time, with or without a server.
    pub fn of(stop: Stop) -> Option<NoServerDetector> {
        match stop {
            Stop::Transactions(_) | Stop::WorkDone => Some(NoServerDetector {
                outage: Duration::ZERO,
            }),
            _ => None,
        }
    }

    /// Adds a row; returns the reason to end the run if the server has been away for too long.
    pub fn add(&mut self, row: &IntervalRow) -> Option<String> {
        let health = &row.interval.health;
        if health.connections > 0 || health.connections_lost == 0 {
            self.outage = Duration::ZERO;
            return None;
        }
        let span = &row.interval.span;
        self.outage += Duration::from_nanos(span.end_ns.saturating_sub(span.start_ns));
        if self.outage < MAX_OUTAGE {
            return None;
        }
        let minutes = MAX_OUTAGE.as_secs() / 60;
        Some(format!(
            "no client has had a connection for {minutes} min, and the run has no other end"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_measure::{Interval, ProcessHealth, RunPhase, Span};

    /// The second in which the run ends, of `seconds` with so many connections and lost ones.
    fn end_of(stop: Stop, seconds: impl IntoIterator<Item = (u32, u32)>) -> Option<usize> {
        let mut detector = NoServerDetector::of(stop)?;
        seconds.into_iter().position(|(up, lost)| {
            let mut interval = Box::new(Interval::empty(Span {
                index: 0,
                phase: RunPhase::Measured,
                start_ns: 0,
                end_ns: 1_000_000_000,
            }));
            interval.health.connections = up;
            interval.health.connections_lost = lost;
            let row = IntervalRow {
                interval,
                worker_cpu_ns: Vec::new(),
                process: ProcessHealth::default(),
            };
            detector.add(&row).is_some()
        })
    }

    #[test]
    fn a_run_without_a_time_ends_if_the_server_stays_away() {
        let away = || std::iter::repeat_n((0, 8), 400);
        for stop in [Stop::WorkDone, Stop::Transactions(1_000)] {
            assert_eq!(end_of(stop, away()), Some(299));
        }
        // It was back for a second.
        let seconds = away().take(200).chain([(1, 7)]).chain(away());
        assert_eq!(end_of(Stop::WorkDone, seconds), Some(500));
    }

    #[test]
    fn a_run_with_a_time_or_without_work_for_its_clients_does_not() {
        let away = std::iter::repeat_n((0, 8), 400);
        let time = Duration::from_mins(10);
        assert_eq!(end_of(Stop::After(time), away), None);
        let idle = std::iter::repeat_n((0, 0), 400);
        assert_eq!(end_of(Stop::WorkDone, idle), None);
    }
}
