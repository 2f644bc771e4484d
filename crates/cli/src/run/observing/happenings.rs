//! What happens in a server, told by what changes between two looks at it.
//!
//! In: counters, again and again. Out: events. Must never: call a checkpoint complete whose beginning
//! was not seen or told.

use prony_judge::thresholds::SAME_START_S;
use prony_server::observe::Counters;
use prony_server::observe::counters::{Activity, Checkpoint};
use prony_store::Event;
use std::collections::BTreeMap;

/// What is known so far. Times are seconds from the start of the load.
#[derive(Default)]
pub(super) struct Happenings {
    started_unix_s: Option<f64>,
    is_replica: Option<bool>,
    /// PostgreSQL's last complete checkpoint.
    redo: Option<u64>,
    /// InnoDB: the end of the log when this round began, and when that was.
    round: Option<(u64, f64)>,
    /// What is under way, since when.
    under_way: BTreeMap<Activity, f64>,
}

impl Happenings {
    /// What has happened up to this look at `at_s`.
    pub(super) fn look(&mut self, counters: &Counters, at_s: f64) -> Vec<Event> {
        let mut events = Vec::new();
        self.restart(counters, at_s, &mut events);
        self.checkpoint(counters, at_s, &mut events);
        self.activities(counters, at_s, &mut events);
        events
    }

    /// What was still under way at the end.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let left = std::mem::take(&mut self.under_way).into_iter();
        left.map(|(activity, since_s)| event(activity.what, &activity.detail, since_s, None))
            .collect()
    }

    fn restart(&mut self, counters: &Counters, at_s: f64, events: &mut Vec<Event>) {
        let other = |(was, is): (f64, f64)| (is - was).abs() > SAME_START_S;
        if self
            .started_unix_s
            .zip(counters.started_unix_s)
            .is_some_and(other)
        {
            let detail = "the server was started anew, or another one took its place";
            events.push(event("restart", detail, at_s, Some(at_s)));
            (self.redo, self.round) = (None, None);
        }
        let roles = self.is_replica.zip(counters.is_replica);
        if let Some((was, is)) = roles.filter(|(was, is)| was != is) {
            let role = |replica: bool| if replica { "a replica" } else { "the primary" };
            let detail = format!("the server was {} and is {}", role(was), role(is));
            events.push(event("failover", &detail, at_s, Some(at_s)));
        }
        self.started_unix_s = counters.started_unix_s.or(self.started_unix_s);
        self.is_replica = counters.is_replica.or(self.is_replica);
    }

    fn checkpoint(&mut self, counters: &Counters, at_s: f64, events: &mut Vec<Event>) {
        match counters.checkpoint {
            Some(Checkpoint::Whole { redo, began_unix_s }) => {
                let before = self.redo.replace(redo);
                if before.is_some_and(|before| before != redo) {
                    let ago_s = counters
                        .clock_unix_s
                        .map_or(0.0, |now_s| now_s - began_unix_s);
                    let began_s = at_s - ago_s.max(0.0);
                    events.push(event("checkpoint", "complete", began_s, Some(at_s)));
                }
            }
            // All that was changed when the round began is on disk when the checkpoint passes it.
            Some(Checkpoint::Moving { at, end }) => match self.round {
                Some((goal, since_s)) if at >= goal => {
                    let detail = "all pages that were dirty at its beginning are on disk";
                    events.push(event("checkpoint", detail, since_s, Some(at_s)));
                    self.round = (at < end).then_some((end, at_s));
                }
                Some(_) => {}
                None => self.round = (at < end).then_some((end, at_s)),
            },
            None => {}
        }
    }

    fn activities(&mut self, counters: &Counters, at_s: f64, events: &mut Vec<Event>) {
        let Some(now) = &counters.activities else {
            return;
        };
        self.under_way.retain(|activity, since_s| {
            let goes_on = now.contains(activity);
            if !goes_on {
                let ended = event(activity.what, &activity.detail, *since_s, Some(at_s));
                events.push(ended);
            }
            goes_on
        });
        for activity in now {
            self.under_way.entry(activity.clone()).or_insert(at_s);
        }
    }
}

fn event(what: &str, detail: &str, at_s: f64, until_s: Option<f64>) -> Event {
    Event {
        at_s,
        until_s,
        what: what.to_owned(),
        detail: detail.to_owned(),
        count: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(events: &[Event]) -> Vec<(&str, f64, Option<f64>)> {
        let each = events.iter();
        each.map(|one| (one.what.as_str(), one.at_s, one.until_s))
            .collect()
    }

    #[test]
    fn a_checkpoint_begins_when_the_server_says_so() {
        let look = |redo, began_unix_s| Counters {
            clock_unix_s: Some(1000.0),
            checkpoint: Some(Checkpoint::Whole { redo, began_unix_s }),
            ..Counters::default()
        };
        let mut happenings = Happenings::default();
        assert_eq!(happenings.look(&look(7, 900.0), 10.0), []);
        assert_eq!(happenings.look(&look(7, 900.0), 11.0), []);
        let events = happenings.look(&look(8, 997.5), 12.0);
        assert_eq!(told(&events), [("checkpoint", 9.5, Some(12.0))]);
    }

    #[test]
    fn innodbs_checkpoint_is_complete_when_it_passes_where_the_log_ended() {
        let look = |at, end| Counters {
            checkpoint: Some(Checkpoint::Moving { at, end }),
            ..Counters::default()
        };
        let mut happenings = Happenings::default();
        assert_eq!(happenings.look(&look(50, 50), 0.0), [], "nothing is dirty");
        assert_eq!(happenings.look(&look(50, 100), 1.0), []);
        assert_eq!(happenings.look(&look(90, 200), 2.0), []);
        let events = happenings.look(&look(120, 300), 3.0);
        assert_eq!(told(&events), [("checkpoint", 1.0, Some(3.0))]);
        assert_eq!(happenings.look(&look(299, 400), 4.0), []);
        assert_eq!(happenings.look(&look(300, 500), 5.0).len(), 1);
    }

    #[test]
    fn restarts_and_changes_of_role() {
        let look = |started, replica| Counters {
            started_unix_s: Some(started),
            is_replica: Some(replica),
            ..Counters::default()
        };
        let mut happenings = Happenings::default();
        assert_eq!(happenings.look(&look(500.0, false), 1.0), []);
        assert_eq!(
            happenings.look(&look(500.4, false), 2.0),
            [],
            "reckoned anew"
        );
        let events = happenings.look(&look(520.0, true), 3.0);
        let wanted = [("restart", 3.0, Some(3.0)), ("failover", 3.0, Some(3.0))];
        assert_eq!(told(&events), wanted);
        assert!(
            events[1]
                .detail
                .contains("was the primary and is a replica")
        );
    }

    #[test]
    fn what_is_under_way_has_a_beginning_and_an_end() {
        let vacuum = Activity {
            what: "vacuum",
            detail: "t".to_owned(),
        };
        let look = |activities: &[Activity]| Counters {
            activities: Some(activities.to_vec()),
            ..Counters::default()
        };
        let mut happenings = Happenings::default();
        assert_eq!(
            happenings.look(&look(std::slice::from_ref(&vacuum)), 1.0),
            []
        );
        assert_eq!(happenings.look(&Counters::default(), 2.0), [], "not known");
        let events = happenings.look(&look(&[]), 3.0);
        assert_eq!(told(&events), [("vacuum", 1.0, Some(3.0))]);
        assert_eq!(happenings.look(&look(&[vacuum]), 4.0), []);
        assert_eq!(told(&happenings.end()), [("vacuum", 4.0, None)]);
        assert_eq!(happenings.end(), []);
    }
}
