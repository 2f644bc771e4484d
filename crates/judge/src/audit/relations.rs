//! Figures of one output that must agree with each other.
//!
//! In: relations, as the reader of a dialect knows them. Out: `sums`, `rates`, `shares-printed`,
//! `order`. Must never: call a difference an error that rounding explains.

use super::Audit;
use crate::found;
use crate::thresholds::{
    AUDIT_ASKED, AUDIT_ASKED_S, AUDIT_EDGE_S, AUDIT_INVALID, AUDIT_TIME, AUDIT_TIME_INVALID,
};
use crate::words::percent;
use prony_store::{Relation, RelationKind, Severity};

/// A check: its id, the relations that it is of, what it looks at, and what to do.
const CHECKS: [(&str, &[RelationKind], [&str; 2], &str); 4] = [
    (
        "sums",
        &[RelationKind::Sum],
        ["sum", "sums"],
        "Lines of several runs were mixed, or the text was changed: take the output as the tool wrote it.",
    ),
    (
        "rates",
        &[RelationKind::Time, RelationKind::AskedTime],
        ["length of time", "lengths of time"],
        "Rates and totals are not of one stretch of time: see whether the run stalled at its end, was \
         ended early, or was reported in parts.",
    ),
    (
        "shares-printed",
        &[RelationKind::Share],
        ["share or mean", "shares and means"],
        "A percentage or a mean that does not follow from its counts was changed, or is of another run.",
    ),
    (
        "order",
        &[RelationKind::AtMost],
        ["pair of smaller and larger", "pairs of smaller and larger"],
        "A figure that must be the smaller one is the larger: the tool's clock or its counting is at fault.",
    ),
];

/// Findings that are named one by one.
const NAMED: usize = 4;

pub(super) fn check(relations: &[Relation], audit: &mut Audit) {
    for (id, kinds, nouns, advice) in CHECKS {
        let of_it: Vec<&Relation> = relations
            .iter()
            .filter(|one| kinds.contains(&one.kind))
            .collect();
        let mut off: Vec<(&Relation, f64)> = of_it
            .iter()
            .filter_map(|one| Some((*one, by(one)?)))
            .collect();
        if off.is_empty() {
            if !of_it.is_empty() {
                let all = crate::words::thousands(of_it.len() as u64);
                audit.looked_at.push(match of_it.len() {
                    1 => format!("1 {} agrees", nouns[0]),
                    _ => format!("{all} {} agree", nouns[1]),
                });
            }
            continue;
        }
        off.sort_by(|a, b| b.1.total_cmp(&a.1));
        let worst = off[0].1;
        let asked = off
            .iter()
            .all(|(one, _)| one.kind == RelationKind::AskedTime);
        let invalid = if id == "rates" {
            AUDIT_TIME_INVALID
        } else {
            AUDIT_INVALID
        };
        // A run that was longer or shorter than was asked for still has its figures.
        let severity = if worst > invalid && !asked {
            Severity::Invalid
        } else {
            Severity::Caveat
        };
        let named: Vec<String> = off
            .iter()
            .take(NAMED)
            .map(|(one, by)| in_words(one, *by))
            .collect();
        let more = match off.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        audit.checks.extend(found(
            id,
            severity,
            format!("{}{more}.", named.join("; ")),
            advice,
        ));
    }
}

fn in_words(one: &Relation, by: f64) -> String {
    let off = if by.is_finite() {
        percent(by)
    } else {
        "all of it".to_owned()
    };
    let than = if one.kind == RelationKind::AtMost {
        "is more than"
    } else {
        "is not"
    };
    format!(
        "{} ({}) {than} {} ({}): {off} off",
        one.what,
        plain(one.says),
        one.from,
        plain(one.follows)
    )
}

/// A figure as it may have been printed.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// By what share two figures are off, where that is more than it may be.
fn by(one: &Relation) -> Option<f64> {
    let difference = one.says - one.follows;
    // What the arithmetic itself rounds.
    let exact = 1e-9 * one.says.abs().max(one.follows.abs());
    let allowed = exact
        + one.slack
        + match one.kind {
            RelationKind::Sum | RelationKind::Share | RelationKind::AtMost => 0.0,
            RelationKind::Time => (AUDIT_TIME * one.says).max(AUDIT_EDGE_S),
            RelationKind::AskedTime => AUDIT_ASKED * one.says + AUDIT_ASKED_S,
        };
    let too_far = match one.kind {
        RelationKind::AtMost => difference > allowed,
        _ => difference.abs() > allowed,
    };
    too_far.then(|| difference.abs() / one.follows.abs().max(f64::MIN_POSITIVE))
}
