//! What a drill found beside the length of its outage and the account of its commits.
//!
//! In: a Run. Out: the errors while nobody could commit, and what the server's settings permit to lose. Must never: call
//! a loss permitted by a setting that was not read.

use crate::errors;
use crate::outage::{Recovery, commit_gap, gap_length_s, longest_outage_s, recovery, recovery_s};
use crate::statistics::mean_interval;
use prony_store::{Durability, DurabilityClass, ErrorClass, EventKind, Replication, Run};
use std::collections::BTreeMap;

/// Failed transactions by class, from the beginning of the outage until the throughput was back; empty without an outage.
pub fn errors_in_outage(run: &Run) -> BTreeMap<ErrorClass, u64> {
    let mut sum = BTreeMap::new();
    let Some(gap) = commit_gap(run) else {
        return sum;
    };
    let length_s = match recovery(run) {
        Ok(Recovery::After(s) | Recovery::NotWithin(s)) => s,
        Err(_) => gap_length_s(run, gap),
    };
    let until_s = gap.from_s + length_s;
    let series = run.series.iter();
    let overlapping =
        series.filter(|second| second.at_s + second.length_s > gap.from_s && second.at_s < until_s);
    for (class, count) in overlapping.flat_map(|second| &second.errors) {
        *sum.entry(*class).or_default() += count;
    }
    sum
}

/// What a server's settings permit to lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermittedLoss {
    /// In a few words.
    pub brief: String,
    /// With the settings by which it is known.
    pub full: String,
}

/// What the server's settings before the load permit to lose; `None` if they are not known.
pub fn permitted_loss(run: &Run) -> Option<PermittedLoss> {
    let before = run.state_before()?;
    let Durability { class, because, .. } = before.durability.as_ref()?;
    let [brief_crash, crash] = match class {
        DurabilityClass::D0 => ["crash: any data", "a crash may destroy any data"],
        DurabilityClass::D1 => [
            "crash: the last commits",
            "a crash of the server may lose the last commits",
        ],
        DurabilityClass::D2 => [
            "crash of the machine: the last commits",
            "a crash of its machine may lose the last commits",
        ],
        DurabilityClass::D3 | DurabilityClass::D4 => ["crash: nothing", "a crash loses none"],
    };
    let because = match because.as_slice() {
        [] => String::new(),
        because => format!(" ({})", because.join(", ")),
    };
    let [brief_failover, failover] = match (class, before.replication) {
        (DurabilityClass::D4, _) => [
            "failover: nothing",
            "a failover to a replica for which commits wait loses none",
        ],
        (_, Some(Replication::Asynchronous)) => [
            "failover: what the replica lacks",
            "a failover may lose what the replica, for which no commit waits, has not received",
        ],
        (_, Some(Replication::SemiSynchronous)) => [
            "failover: commits after a time-out",
            "a failover may lose commits after a time-out of semi-synchronous replication",
        ],
        (_, Some(Replication::Synchronous)) => [
            "failover: nothing flushed here",
            "a failover to a replica for which commits wait loses none that was flushed here",
        ],
        (_, Some(Replication::None | Replication::NotVisible) | None) => {
            ["no replica seen", "no replica was visible"]
        }
    };
    Some(PermittedLoss {
        brief: format!("{brief_crash}; {brief_failover}"),
        full: format!("{crash}{because}; {failover}"),
    })
}

/// How long the outage of a drill was.
#[derive(Clone, Debug, PartialEq)]
pub struct DrillTimes {
    pub variant: String,
    /// The length of the outage, seconds; 0 if there was none.
    pub outage_s: f64,
    /// The time until the throughput was back, seconds; `None` if it was not, or is not known.
    pub recovery_s: Option<f64>,
}

impl DrillTimes {
    /// The times of a run that still has its seconds; `None` if it measured no outage, or did so only because it kept a
    /// ledger.
    pub fn of(run: &Run) -> Option<DrillTimes> {
        run.commit_gap.as_ref()?;
        let has_mark = run.events.iter().any(|event| event.kind == EventKind::Mark);
        if !has_mark && !errors::expects_outage(run) {
            return None;
        }
        Some(DrillTimes {
            variant: run.variant().unwrap_or_default().to_owned(),
            outage_s: longest_outage_s(run).ok()?,
            recovery_s: recovery_s(run),
        })
    }
}

/// The mean of times, and its interval (95 %) if there are at least three.
pub fn mean_and_interval(times_s: &[f64]) -> (f64, Option<[f64; 2]>) {
    let mean = times_s.iter().sum::<f64>() / times_s.len().max(1) as f64;
    let interval = mean_interval(times_s).filter(|_| times_s.len() >= 3);
    (mean, interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_store::{CommitGap, Observed, Second, ServerState};

    #[test]
    fn a_run_that_only_keeps_a_ledger_is_no_drill() {
        let mut run = Run {
            commit_gap: Some(CommitGap::default()),
            ..Run::default()
        };
        assert_eq!(DrillTimes::of(&run), None);
        run.events.push(prony_store::Event {
            kind: EventKind::Mark,
            ..Default::default()
        });
        assert_eq!(DrillTimes::of(&run).map(|drill| drill.outage_s), Some(0.0));
    }

    #[test]
    fn errors_are_those_of_the_outage_and_the_time_until_the_throughput_is_back() {
        let mut run = Run {
            commit_gap: Some(CommitGap {
                from_s: 10.5,
                until_s: Some(12.2),
                ..CommitGap::default()
            }),
            ..Run::default()
        };
        run.window.measured_s = 40.0;
        run.measured.length_s = 0.04;
        run.series = (0..40u32)
            .map(|number| Second {
                at_s: f64::from(number),
                length_s: 1.0,
                committed: if matches!(number, 11..15) { 0 } else { 100 },
                errors: BTreeMap::from([(ErrorClass::LostConnection, 1)]),
                ..Second::default()
            })
            .collect();
        let errors = errors_in_outage(&run);
        // Seconds 10 to 14: at 15 s the throughput was back.
        assert_eq!(errors, BTreeMap::from([(ErrorClass::LostConnection, 5)]));
        run.commit_gap = None;
        assert!(errors_in_outage(&run).is_empty());
    }

    #[test]
    fn three_drills_have_an_interval() {
        let (mean, interval) = mean_and_interval(&[3.0, 3.5, 4.0]);
        // Student's t with two degrees of freedom: 4.303 times 0.5 through the root of 3.
        let [low, high] = interval.expect("three");
        assert!(
            (mean - 3.5).abs() < 1e-9 && (low - 2.258).abs() < 1e-3,
            "{low}"
        );
        assert!((high - 4.742).abs() < 1e-3, "{high}");
        assert_eq!(mean_and_interval(&[3.0, 4.0]), (3.5, None));
    }

    #[test]
    fn an_asynchronous_replica_permits_what_a_synchronous_one_does_not() {
        let permitted = |class, replication| {
            let before = ServerState {
                durability: Some(Durability {
                    class,
                    because: vec!["why".to_owned()],
                    tables_unknown: false,
                }),
                replication: Some(replication),
                ..ServerState::default()
            };
            let run = Run {
                observed: Some(Observed {
                    before: Some(before),
                    ..Observed::default()
                }),
                ..Run::default()
            };
            permitted_loss(&run).expect("known").full
        };
        let text = permitted(DurabilityClass::D1, Replication::Asynchronous);
        text.assert_contains("may lose the last commits (why); a failover may lose");
        let text = permitted(DurabilityClass::D4, Replication::Synchronous);
        text.assert_contains(
            "a crash loses none (why); a failover to a replica for which commits wait loses none",
        );
        assert_eq!(permitted_loss(&Run::default()), None);
    }
}
