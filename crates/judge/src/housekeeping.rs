//! Maintenance that the server did during the load: checkpoints, vacuums, backups.
//!
//! In: a Run. Out: `checkpoint`, `maintenance`. Must never: expect checkpoints of a read-only load.

use crate::checks::{Finding, caveat, caveat_or_note, new_finding};
use crate::formatting::{bytes, count, percent};
use crate::observations::{events, observed, overlap_s, window_s, written_bytes};
use crate::thresholds::{EVENT_LAG_MAX_S, MAINTENANCE_MAX_SHARE};
use EventKind::{Analyze, Backup, Checkpoint, IndexBuild, TableRebuild, Vacuum};
use prony_store::{Event, EventKind, ObservedTopic, Run, TableState};

/// Events that load disks and caches, and are a caveat however short they are.
const HEAVY_EVENTS: [EventKind; 3] = [Backup, IndexBuild, TableRebuild];
const ROUTINE_EVENTS: [EventKind; 2] = [Vacuum, Analyze];
/// Maximum number of events in a finding.
const MAX_LISTED: usize = 4;

/// Checks that a checkpoint lies in the window of a load that writes: the cost of a checkpoint belongs to the
/// figure, and TPC-C requires one in the measured interval (5.5.2.2). The finding includes that the window is
/// too short, so that `duration` is not reported as well.
pub(crate) fn check_checkpoint(run: &Run) -> Option<Finding> {
    let observed = observed(run)?;
    let checkpoints_unknown = observed
        .missing
        .iter()
        .any(|missing| missing.what == ObservedTopic::Checkpoints);
    let written = written_bytes(run)?;
    if checkpoints_unknown {
        return None;
    }
    let (begin_s, end_s) = window_s(run);
    let checkpoints: Vec<&Event> = events(run, &[Checkpoint]).collect();
    let is_complete = |event: &&Event| {
        let ended_in_window = event
            .until_s
            .is_some_and(|until_s| until_s <= end_s + EVENT_LAG_MAX_S);
        event.at_s >= begin_s - EVENT_LAG_MAX_S && ended_in_window
    };
    if checkpoints.iter().any(is_complete) {
        return None;
    }
    let incomplete = match checkpoints.len() {
        0 => String::new(),
        incomplete => format!(", and {} only in part", count(incomplete as u64, "other")),
    };
    let too_short = match crate::length::below_minimum(run) {
        Some(_) => format!(" of {:.0} s", run.measured.length_s),
        None => String::new(),
    };
    caveat(
        format!(
            "No complete checkpoint fell into the measured window{too_short}{incomplete}, while {} of log were \
             written: the figure does not include the cost of one.",
            bytes(written)
        ),
        "Measure for longer than the server's time between checkpoints (checkpoint_timeout, \
         max_wal_size; InnoDB: the size of the redo log), better for three of them.",
    )
}

pub(crate) fn check_maintenance(run: &Run) -> Option<Finding> {
    observed(run)?;
    let heavy: Vec<&Event> = events(run, &HEAVY_EVENTS).collect();
    let routine: Vec<&Event> = events(run, &ROUTINE_EVENTS).collect();
    let unobserved = unobserved_maintenance(run);
    if heavy.is_empty() && routine.is_empty() && unobserved.is_none() {
        return None;
    }
    let busy_s: f64 = routine.iter().map(|event| overlap_s(run, event)).sum();
    let share = busy_s / run.measured.length_s.max(f64::MIN_POSITIVE);
    let severity = caveat_or_note(!heavy.is_empty() || share > MAINTENANCE_MAX_SHARE);
    let mut texts: Vec<String> = heavy
        .iter()
        .chain(&routine)
        .take(MAX_LISTED)
        .map(|event| describe_event(event))
        .collect();
    let unlisted = (heavy.len() + routine.len()).saturating_sub(MAX_LISTED);
    texts.extend((unlisted > 0).then(|| format!("{unlisted} more")));
    texts.extend(unobserved);
    let share_text = if routine.is_empty() {
        String::new()
    } else {
        format!("; vacuums and analyzes took {} of it", percent(share))
    };
    new_finding(
        severity,
        format!(
            "During the measured window the server also ran: {}{share_text}.",
            texts.join(", ")
        ),
        if heavy.is_empty() {
            "Routine maintenance belongs to a load that writes: measure for longer, or vacuum \
                 before each run, so that all runs include the same amount."
        } else {
            "Run again without a backup or rebuild in progress."
        },
    )
}

/// `vacuum of t (from 12 s to 15 s)`.
fn describe_event(event: &Event) -> String {
    let end_text = match event.until_s {
        Some(until_s) => format!("to {until_s:.0} s"),
        None => "to the end".to_owned(),
    };
    format!(
        "{} of {} (from {:.0} s {end_text})",
        event.kind.name(),
        event.detail,
        event.at_s
    )
}

/// The vacuums and analyses that the tables' counters show and that no sample observed: `7 vacuums or analyzes too
/// short to be observed`; `None` if there are none.
pub fn unobserved_maintenance(run: &Run) -> Option<String> {
    observed(run)?;
    let (before, after) = run.states()?;
    let maintenance_count = |tables: &[TableState]| -> u64 {
        let counts = tables
            .iter()
            .flat_map(|table| [table.vacuums, table.analyses]);
        counts.flatten().fold(0, u64::saturating_add)
    };
    let events = run.observed.iter().flat_map(|observed| &observed.events);
    let routine = events.filter(|event| ROUTINE_EVENTS.contains(&event.kind));
    let observed = routine.count() as u64;
    let unobserved = maintenance_count(&after.tables)
        .saturating_sub(maintenance_count(&before.tables))
        .saturating_sub(observed);
    let noun = if unobserved == 1 { "vacuum or analyze" } else { "vacuums or analyzes" };
    (unobserved > 0).then(|| format!("{unobserved} {noun} too short to be observed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::Severity;

    fn event(kind: EventKind, at_s: f64, until_s: Option<f64>) -> Event {
        Event {
            at_s,
            until_s,
            kind,
            detail: "t".to_owned(),
            count: 1,
            ..Event::default()
        }
    }

    #[test]
    fn a_window_without_a_checkpoint_is_a_caveat() {
        assert_eq!(check_checkpoint(&healthy()), None, "not observed");
        let mut run = observed_run();
        assert_eq!(check_checkpoint(&run), None);
        // The window is from 10 s to 610 s.
        observed_mut(&mut run).events = vec![
            event(EventKind::Checkpoint, 2.0, Some(30.0)),
            event(EventKind::Checkpoint, 500.0, Some(620.0)),
        ];
        let check = check_checkpoint(&run).expect("none is complete");
        assert_eq!(check.severity, Severity::Caveat);
        check.finding.assert_contains("and 2 others only in part");
        observed_mut(&mut run).events.clear();
        let finding = check_checkpoint(&run).unwrap().finding;
        finding.assert_contains("window, while 6.0 GB");
        observed_mut(&mut run).missing = vec![prony_store::MissingObservation::new(
            ObservedTopic::Checkpoints,
            "",
        )];
        assert_eq!(check_checkpoint(&run), None, "not known");
        observed_mut(&mut run).missing.clear();
        for row in &mut observed_mut(&mut run).series {
            row.log_bytes = Some(100);
        }
        assert_eq!(check_checkpoint(&run), None, "a read-only load");
    }

    #[test]
    fn maintenance_in_the_window_is_reported() {
        let mut run = observed_run();
        assert_eq!(check_maintenance(&run), None);
        observed_mut(&mut run)
            .events
            .push(event(EventKind::Vacuum, 20.0, Some(30.0)));
        let check = check_maintenance(&run).expect("a vacuum");
        assert_eq!(check.severity, Severity::Note);
        let finding = &check.finding;
        finding.assert_contains("vacuum of t (from 20 s to 30 s)");
        check.finding.assert_contains("took 1.7 %");
        observed_mut(&mut run)
            .events
            .push(event(EventKind::Vacuum, 100.0, Some(400.0)));
        assert_eq!(check_maintenance(&run).unwrap().severity, Severity::Caveat);
        observed_mut(&mut run).events = vec![event(EventKind::Backup, 600.0, None)];
        let check = check_maintenance(&run).expect("a backup");
        assert_eq!(check.severity, Severity::Caveat);
        check.finding.assert_contains("(from 600 s to the end)");
        observed_mut(&mut run).events = vec![event(EventKind::Backup, 1.0, Some(5.0))];
        assert_eq!(check_maintenance(&run), None, "it was over before");
    }

    #[test]
    fn unobserved_vacuums_are_counted() {
        let mut run = observed_run();
        let after = observed_mut(&mut run).after.as_mut().unwrap();
        after.tables[0].vacuums = Some(4);
        let check = check_maintenance(&run).expect("three more than before");
        let finding = &check.finding;
        finding.assert_contains("3 vacuums or analyzes too short");
    }
}
