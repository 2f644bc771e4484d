//! Figures of one output that must agree with each other.
//!
//! In: relations, as a dialect's parser defines them. Out: the checks `sums`, `rates`,
//! `shares-printed` and `order`. Must never: call a difference an error if rounding explains it.

use super::Audit;
use crate::checks::{invalid_or_caveat, new_check};
use crate::formatting::{first_and_more, percent, thousands};
use crate::thresholds::{
    AUDIT_INVALID_SHARE, AUDIT_REQUESTED_TIME_TOLERANCE_S, AUDIT_REQUESTED_TIME_TOLERANCE_SHARE,
    AUDIT_TIME_INVALID_SHARE, AUDIT_TIME_TOLERANCE_S, AUDIT_TIME_TOLERANCE_SHARE,
};
use prony_store::{Relation, RelationKind};

/// A check of the relations of some kinds.
struct RelationCheck {
    id: &'static str,
    kinds: &'static [RelationKind],
    /// What one relation, and what several, are called.
    nouns: [&'static str; 2],
    /// The deviation, as a share, above which the finding is invalid rather than a caveat.
    invalid_above: f64,
    advice: &'static str,
}

const CHECKS: [RelationCheck; 4] = [
    RelationCheck {
        id: "sums",
        kinds: &[RelationKind::Sum],
        nouns: ["sum", "sums"],
        invalid_above: AUDIT_INVALID_SHARE,
        advice: "Lines of several runs were mixed, or the text was changed: use the output as the tool wrote it.",
    },
    RelationCheck {
        // A total and its rate imply a duration, which is compared.
        id: "rates",
        kinds: &[RelationKind::Time, RelationKind::RequestedTime],
        nouns: ["duration", "durations"],
        invalid_above: AUDIT_TIME_INVALID_SHARE,
        advice: "Rates and totals cover different times: check whether the run stalled at its end, was stopped \
         early, or was reported in parts.",
    },
    RelationCheck {
        id: "shares-printed",
        kinds: &[RelationKind::Share],
        nouns: ["share or mean", "shares and means"],
        invalid_above: AUDIT_INVALID_SHARE,
        advice: "A percentage or a mean that does not follow from its counts was changed, or belongs to another run.",
    },
    RelationCheck {
        // A figure may not exceed another, as in minimum <= mean <= maximum.
        id: "order",
        kinds: &[RelationKind::AtMost],
        nouns: ["upper bound", "upper bounds"],
        invalid_above: AUDIT_INVALID_SHARE,
        advice: "A figure exceeds the maximum that another figure sets: the tool's clock or its counts are wrong.",
    },
];

/// Maximum number of findings that are listed one by one.
const MAX_LISTED: usize = 4;

pub(super) fn check(relations: &[Relation], audit: &mut Audit) {
    for check in CHECKS {
        let compared: Vec<&Relation> = relations
            .iter()
            .filter(|relation| check.kinds.contains(&relation.kind))
            .collect();
        let mut deviating: Vec<(&Relation, f64)> = compared
            .iter()
            .filter_map(|relation| Some((*relation, deviation(relation)?)))
            .collect();
        if deviating.is_empty() {
            if !compared.is_empty() {
                let count = thousands(compared.len() as u64);
                audit.examined.push(match compared.len() {
                    1 => format!("1 {} agrees", check.nouns[0]),
                    _ => format!("{count} {} agree", check.nouns[1]),
                });
            }
            continue;
        }
        deviating.sort_by(|a, b| b.1.total_cmp(&a.1));
        let largest_deviation = deviating[0].1;
        let all_requested_times = deviating
            .iter()
            .all(|(relation, _)| relation.kind == RelationKind::RequestedTime);
        // A run that was longer or shorter than requested still has valid figures.
        let severity =
            invalid_or_caveat(largest_deviation > check.invalid_above && !all_requested_times);
        let deviations = deviating.iter();
        let texts: Vec<String> = deviations
            .map(|(relation, deviation)| describe(relation, *deviation))
            .collect();
        audit.checks.extend(new_check(
            check.id,
            severity,
            first_and_more(&texts, MAX_LISTED, "; ") + ".",
            check.advice,
        ));
    }
}

fn describe(relation: &Relation, deviation: f64) -> String {
    let deviation_text = match relation.computed {
        0.0 => String::new(),
        _ => format!(": {} off", percent(deviation)),
    };
    let is_bound = relation.kind == RelationKind::AtMost;
    let verb = if is_bound { "is more than" } else { "is not" };
    format!(
        "{} ({}) {verb} {} ({}){deviation_text}",
        relation.figure,
        format_figure(relation.printed),
        relation.computed_from,
        format_figure(relation.computed)
    )
}

fn format_figure(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The difference of two figures as a share of the computed one; `None` if it is within the tolerance.
fn deviation(relation: &Relation) -> Option<f64> {
    let difference = relation.printed - relation.computed;
    // The error of floating-point arithmetic.
    let arithmetic_error = 1e-9 * relation.printed.abs().max(relation.computed.abs());
    let time_tolerance = match relation.kind {
        RelationKind::Sum | RelationKind::Share | RelationKind::AtMost => 0.0,
        RelationKind::Time => {
            (AUDIT_TIME_TOLERANCE_SHARE * relation.printed).max(AUDIT_TIME_TOLERANCE_S)
        }
        RelationKind::RequestedTime => {
            AUDIT_REQUESTED_TIME_TOLERANCE_SHARE * relation.printed
                + AUDIT_REQUESTED_TIME_TOLERANCE_S
        }
    };
    let allowed = arithmetic_error + relation.tolerance + time_tolerance;
    let too_far = match relation.kind {
        RelationKind::AtMost => difference > allowed,
        _ => difference.abs() > allowed,
    };
    too_far.then(|| difference.abs() / relation.computed.abs().max(f64::MIN_POSITIVE))
}
