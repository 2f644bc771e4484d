//! What the server did beside the load: checkpoints, vacuums, backups.
//!
//! In: a Run. Out: `checkpoint`, `maintenance`. Must never: ask a load that only reads for checkpoints.

use crate::found;
use crate::thresholds::{MAINTENANCE_SHARE, WHOLE_SLACK_S};
use crate::watch::{events, inside_s, observed, window_s, written_bytes};
use crate::words::{bytes, count, percent};
use prony_store::{Check, Event, Run, Severity, TableState};

/// What fills disks and caches at any length.
const GRAVE: [&str; 3] = ["backup", "index build", "table rebuild"];
/// What a server does of itself to keep going.
const USUAL: [&str; 2] = ["vacuum", "analyze"];
/// As many are named.
const NAMED: usize = 4;

/// TPC-C asks for a checkpoint inside the measured interval (5.5.2.2): what it costs belongs to the
/// figure.
pub(crate) fn checkpoint(run: &Run) -> Option<Check> {
    let seen = observed(run)?;
    let unknown = seen
        .missing
        .iter()
        .any(|missing| missing.what == "checkpoints");
    let written = written_bytes(run)?;
    if unknown {
        return None;
    }
    let (begin_s, end_s) = window_s(run);
    let all: Vec<&Event> = events(run, &["checkpoint"]).collect();
    let whole = |event: &&&Event| {
        let ended = event
            .until_s
            .is_some_and(|until_s| until_s <= end_s + WHOLE_SLACK_S);
        event.at_s >= begin_s - WHOLE_SLACK_S && ended
    };
    if all.iter().any(|event| whole(&event)) {
        return None;
    }
    let cut = match all.len() {
        0 => String::new(),
        cut => format!(", and {} only in part", count(cut as u64, "other")),
    };
    found(
        "checkpoint",
        Severity::Caveat,
        format!(
            "No complete checkpoint fell into the measured window{cut}, while {} of log were written: \
             their cost is not in the figure.",
            bytes(written)
        ),
        "Measure for longer than the server's time between checkpoints (checkpoint_timeout, \
         max_wal_size; InnoDB: the size of the redo log), better for three of them.",
    )
}

pub(crate) fn maintenance(run: &Run) -> Option<Check> {
    observed(run)?;
    let grave: Vec<&Event> = events(run, &GRAVE).collect();
    let usual: Vec<&Event> = events(run, &USUAL).collect();
    let short = short_ones(run);
    if grave.is_empty() && usual.is_empty() && short == 0 {
        return None;
    }
    let busy_s: f64 = usual.iter().map(|event| inside_s(run, event)).sum();
    let share = busy_s / run.measured.seconds.max(f64::MIN_POSITIVE);
    let severity = if !grave.is_empty() || share > MAINTENANCE_SHARE {
        Severity::Caveat
    } else {
        Severity::Note
    };
    let mut told: Vec<String> = grave
        .iter()
        .chain(&usual)
        .take(NAMED)
        .map(|e| one(e))
        .collect();
    let more = (grave.len() + usual.len()).saturating_sub(NAMED);
    if more > 0 {
        told.push(format!("{more} more"));
    }
    if short > 0 {
        told.push(format!("{short} vacuums or analyses too short to be met"));
    }
    let share = match usual.is_empty() {
        true => String::new(),
        false => format!("; vacuums and analyses filled {} of it", percent(share)),
    };
    found(
        "maintenance",
        severity,
        format!(
            "During the measured window the server also did: {}{share}.",
            told.join(", ")
        ),
        match grave.is_empty() {
            true => {
                "It belongs to a load that writes, if it comes in its usual measure: measure for \
                 longer, or vacuum before each run, so that all runs have the same of it."
            }
            false => "Run again while nobody backs up or rebuilds anything.",
        },
    )
}

/// `vacuum of t (from 12 s to 15 s)`.
fn one(event: &Event) -> String {
    let until = match event.until_s {
        Some(until_s) => format!("to {until_s:.0} s"),
        None => "to the end".to_owned(),
    };
    format!(
        "{} of {} (from {:.0} s {until})",
        event.what, event.detail, event.at_s
    )
}

/// Vacuums and analyses by the tables' own counts that no look came upon.
fn short_ones(run: &Run) -> u64 {
    let states = observed(run).and_then(|seen| seen.before.as_ref().zip(seen.after.as_ref()));
    let Some((before, after)) = states else {
        return 0;
    };
    let done = |tables: &[TableState]| -> u64 {
        let each = tables.iter();
        each.map(|table| table.vacuums.unwrap_or(0) + table.analyses.unwrap_or(0))
            .sum()
    };
    let seen = run.observed.iter().flat_map(|seen| &seen.events);
    let seen = seen
        .filter(|event| USUAL.contains(&event.what.as_str()))
        .count() as u64;
    done(&after.tables)
        .saturating_sub(done(&before.tables))
        .saturating_sub(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, watched};

    fn event(what: &str, at_s: f64, until_s: Option<f64>) -> Event {
        Event {
            at_s,
            until_s,
            what: what.to_owned(),
            detail: "t".to_owned(),
            count: 1,
        }
    }

    #[test]
    fn a_checkpoint_belongs_into_the_window() {
        assert_eq!(checkpoint(&healthy()), None, "nobody looked");
        let mut run = watched();
        assert_eq!(checkpoint(&run), None);
        // The window is from 10 s to 610 s.
        observed_mut(&mut run).events = vec![
            event("checkpoint", 2.0, Some(30.0)),
            event("checkpoint", 500.0, Some(620.0)),
        ];
        let check = checkpoint(&run).expect("none is complete");
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("and 2 others only in part"),
            "{check:?}"
        );
        observed_mut(&mut run).events.clear();
        assert!(
            checkpoint(&run)
                .unwrap()
                .finding
                .contains("window, while 6.0 GB")
        );
        observed_mut(&mut run).missing = vec![prony_store::Missing {
            what: "checkpoints".to_owned(),
            why: String::new(),
        }];
        assert_eq!(checkpoint(&run), None, "not known");
        observed_mut(&mut run).missing.clear();
        for row in &mut observed_mut(&mut run).series {
            row.log_bytes = Some(100);
        }
        assert_eq!(checkpoint(&run), None, "it only reads");
    }

    #[test]
    fn what_the_server_did_beside() {
        let mut run = watched();
        assert_eq!(maintenance(&run), None);
        observed_mut(&mut run)
            .events
            .push(event("vacuum", 20.0, Some(30.0)));
        let check = maintenance(&run).expect("a vacuum");
        assert_eq!(check.severity, Severity::Note);
        assert!(
            check.finding.contains("vacuum of t (from 20 s to 30 s)"),
            "{check:?}"
        );
        assert!(check.finding.contains("filled 1.7 %"), "{check:?}");
        observed_mut(&mut run)
            .events
            .push(event("vacuum", 100.0, Some(400.0)));
        assert_eq!(maintenance(&run).unwrap().severity, Severity::Caveat);
        observed_mut(&mut run).events = vec![event("backup", 600.0, None)];
        let check = maintenance(&run).expect("a backup");
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("(from 600 s to the end)"),
            "{check:?}"
        );
        observed_mut(&mut run).events = vec![event("backup", 1.0, Some(5.0))];
        assert_eq!(maintenance(&run), None, "it was over before");
    }

    #[test]
    fn vacuums_that_no_look_came_upon_are_in_the_counts() {
        let mut run = watched();
        let after = observed_mut(&mut run).after.as_mut().unwrap();
        after.tables[0].vacuums = Some(4);
        let check = maintenance(&run).expect("three more than before");
        assert!(
            check.finding.contains("3 vacuums or analyses too short"),
            "{check:?}"
        );
    }
}
