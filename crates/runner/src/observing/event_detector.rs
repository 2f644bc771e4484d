//! Detects events of a server from changes between two readings.
//!
//! Must never: report a checkpoint whose start is unknown.

use prony_judge::thresholds::SAME_START_MAX_GAP_S;
use prony_server::observe::counters::{Activity, Checkpoint};
use prony_server::observe::{ActivityKind, Counters};
use prony_store::{Event, EventKind};
use std::collections::BTreeMap;

/// What the detector remembers from the last reading. Times are seconds from the start of the load.
#[derive(Default)]
pub(super) struct EventDetector {
    started_unix_s: Option<f64>,
    is_replica: Option<bool>,
    commits: Option<u64>,
    /// WAL position of PostgreSQL's last complete checkpoint.
    last_redo_lsn: Option<u64>,
    /// The next checkpoint of InnoDB; `None` if the last one reached the end of the log.
    awaited_checkpoint: Option<AwaitedCheckpoint>,
    /// Activities, and since when.
    in_progress: BTreeMap<Activity, f64>,
}

/// A checkpoint that counts as complete when its LSN reaches what was the end of the log when the detector began to wait:
/// all pages that were dirty at that time are on disk.
struct AwaitedCheckpoint {
    end_lsn: u64,
    /// When the detector began to wait.
    since_s: f64,
}

impl EventDetector {
    /// Returns the events since the last reading; `at_s` is the time of this reading. `reconnected`: the connection
    /// is not that of the last reading.
    pub(super) fn detect(
        &mut self,
        counters: &Counters,
        at_s: f64,
        reconnected: bool,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        self.detect_restart_or_failover(counters, at_s, reconnected, &mut events);
        self.detect_checkpoint(counters, at_s, &mut events);
        self.detect_activities(counters, at_s, &mut events);
        events
    }

    /// Returns the events of the activities that are still in progress.
    pub(super) fn end_activities(&mut self) -> Vec<Event> {
        let unfinished = std::mem::take(&mut self.in_progress).into_iter();
        unfinished
            .map(|(activity, since_s)| activity_event(&activity, since_s, None))
            .collect()
    }

    /// A start time that changes is not enough: some engines report a wrong one, or that of one of several
    /// machines. A restart also ends connections, or resets the counters.
    fn detect_restart_or_failover(
        &mut self,
        counters: &Counters,
        at_s: f64,
        reconnected: bool,
        events: &mut Vec<Event>,
    ) {
        let commits = std::mem::replace(&mut self.commits, counters.commits);
        let was_reset = commits
            .zip(counters.commits)
            .is_some_and(|(before, after)| after < before);
        let has_changed =
            |(before, after): (f64, f64)| (after - before).abs() > SAME_START_MAX_GAP_S;
        let starts = self.started_unix_s.zip(counters.started_unix_s);
        if (reconnected || was_reset) && starts.is_some_and(has_changed) {
            let detail = "the server was restarted, or another server took its place";
            events.push(event(EventKind::Restart, detail, at_s, Some(at_s)));
            self.last_redo_lsn = None;
            self.awaited_checkpoint = None;
        }
        let roles = self.is_replica.zip(counters.is_replica);
        if let Some((before, after)) = roles.filter(|(before, after)| before != after) {
            let role = |is_replica: bool| {
                if is_replica { "a replica" } else { "the primary" }
            };
            let detail = format!("the server was {} and is {}", role(before), role(after));
            events.push(event(EventKind::Failover, &detail, at_s, Some(at_s)));
        }
        self.started_unix_s = counters.started_unix_s.or(self.started_unix_s);
        self.is_replica = counters.is_replica.or(self.is_replica);
    }

    fn detect_checkpoint(&mut self, counters: &Counters, at_s: f64, events: &mut Vec<Event>) {
        match counters.checkpoint {
            Some(Checkpoint::Complete {
                redo_lsn,
                began_unix_s,
            }) => {
                let previous = self.last_redo_lsn.replace(redo_lsn);
                if previous.is_some_and(|previous| previous != redo_lsn) {
                    let ago_s = counters
                        .clock_unix_s
                        .map_or(0.0, |now_s| now_s - began_unix_s);
                    let began_s = at_s - ago_s.max(0.0);
                    events.push(event(
                        EventKind::Checkpoint,
                        "complete",
                        began_s,
                        Some(at_s),
                    ));
                }
            }
            Some(Checkpoint::Fuzzy {
                checkpoint_lsn,
                end_lsn,
            }) => {
                if let Some(awaited) = &self.awaited_checkpoint
                    && checkpoint_lsn >= awaited.end_lsn
                {
                    let detail = "all pages that were dirty at its start are on disk";
                    let since_s = awaited.since_s;
                    events.push(event(EventKind::Checkpoint, detail, since_s, Some(at_s)));
                    self.awaited_checkpoint = None;
                }
                if self.awaited_checkpoint.is_none() && checkpoint_lsn < end_lsn {
                    self.awaited_checkpoint = Some(AwaitedCheckpoint {
                        end_lsn,
                        since_s: at_s,
                    });
                }
            }
            None => {}
        }
    }

    fn detect_activities(&mut self, counters: &Counters, at_s: f64, events: &mut Vec<Event>) {
        let Some(activities) = &counters.activities else {
            return;
        };
        self.in_progress.retain(|activity, since_s| {
            let continues = activities.contains(activity);
            if !continues {
                events.push(activity_event(activity, *since_s, Some(at_s)));
            }
            continues
        });
        for activity in activities {
            self.in_progress.entry(activity.clone()).or_insert(at_s);
        }
    }
}

fn activity_event(activity: &Activity, since_s: f64, until_s: Option<f64>) -> Event {
    let kind = match activity.kind {
        ActivityKind::Vacuum => EventKind::Vacuum,
        ActivityKind::Analyze => EventKind::Analyze,
        ActivityKind::Backup => EventKind::Backup,
        ActivityKind::IndexBuild => EventKind::IndexBuild,
        ActivityKind::TableRebuild => EventKind::TableRebuild,
    };
    event(kind, &activity.detail, since_s, until_s)
}

fn event(kind: EventKind, detail: &str, at_s: f64, until_s: Option<f64>) -> Event {
    Event {
        at_s,
        until_s,
        kind,
        detail: detail.to_owned(),
        count: 1,
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    fn summaries(events: &[Event]) -> Vec<(&str, f64, Option<f64>)> {
        let events = events.iter();
        events
            .map(|event| (event.kind.name(), event.at_s, event.until_s))
            .collect()
    }

    #[test]
    fn a_checkpoint_has_the_start_time_that_the_server_reports() {
        let reading = |redo_lsn, began_unix_s| Counters {
            clock_unix_s: Some(1000.0),
            checkpoint: Some(Checkpoint::Complete {
                redo_lsn,
                began_unix_s,
            }),
            ..Counters::default()
        };
        let mut detector = EventDetector::default();
        assert_eq!(detector.detect(&reading(7, 900.0), 10.0, false), []);
        assert_eq!(detector.detect(&reading(7, 900.0), 11.0, false), []);
        let events = detector.detect(&reading(8, 997.5), 12.0, false);
        assert_eq!(summaries(&events), [("checkpoint", 9.5, Some(12.0))]);
    }

    #[test]
    fn innodbs_checkpoint_is_complete_when_it_passes_the_earlier_end_of_the_log() {
        let reading = |checkpoint_lsn, end_lsn| Counters {
            checkpoint: Some(Checkpoint::Fuzzy {
                checkpoint_lsn,
                end_lsn,
            }),
            ..Counters::default()
        };
        let mut detector = EventDetector::default();
        assert_eq!(
            detector.detect(&reading(50, 50), 0.0, false),
            [],
            "nothing is dirty"
        );
        assert_eq!(detector.detect(&reading(50, 100), 1.0, false), []);
        assert_eq!(detector.detect(&reading(90, 200), 2.0, false), []);
        let events = detector.detect(&reading(120, 300), 3.0, false);
        assert_eq!(summaries(&events), [("checkpoint", 1.0, Some(3.0))]);
        assert_eq!(detector.detect(&reading(299, 400), 4.0, false), []);
        assert_eq!(detector.detect(&reading(300, 500), 5.0, false).len(), 1);
    }

    #[test]
    fn restarts_and_role_changes_are_detected() {
        let reading = |started, replica| Counters {
            started_unix_s: Some(started),
            is_replica: Some(replica),
            ..Counters::default()
        };
        let mut detector = EventDetector::default();
        assert_eq!(detector.detect(&reading(500.0, false), 1.0, false), []);
        assert_eq!(
            detector.detect(&reading(500.4, false), 2.0, false),
            [],
            "within the tolerance"
        );
        let same_connection = detector.detect(&reading(510.0, false), 2.5, false);
        assert_eq!(same_connection, [], "no restart leaves a connection");
        let events = detector.detect(&reading(520.0, true), 3.0, true);
        let expected = [("restart", 3.0, Some(3.0)), ("failover", 3.0, Some(3.0))];
        assert_eq!(summaries(&events), expected);
        events[1]
            .detail
            .assert_contains("was the primary and is a replica");
    }

    #[test]
    fn an_activity_has_a_start_and_an_end() {
        let vacuum = Activity {
            kind: ActivityKind::Vacuum,
            detail: "t".to_owned(),
        };
        let reading = |activities: &[Activity]| Counters {
            activities: Some(activities.to_vec()),
            ..Counters::default()
        };
        let mut detector = EventDetector::default();
        assert_eq!(
            detector.detect(&reading(std::slice::from_ref(&vacuum)), 1.0, false),
            []
        );
        assert_eq!(
            detector.detect(&Counters::default(), 2.0, false),
            [],
            "a reading without activities ends none"
        );
        let events = detector.detect(&reading(&[]), 3.0, false);
        assert_eq!(summaries(&events), [("vacuum", 1.0, Some(3.0))]);
        assert_eq!(detector.detect(&reading(&[vacuum]), 4.0, false), []);
        assert_eq!(
            summaries(&detector.end_activities()),
            [("vacuum", 4.0, None)]
        );
        assert_eq!(detector.end_activities(), []);
    }
}
