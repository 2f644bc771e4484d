//! What is required of runs beside others: those of a label, or the first side of a comparison.
//!
//! In: a requirement, and a comparison or runs to compare with. Out: its result. Must never: compare with runs of other
//! settings.

use super::{Baseline, MAX_BASELINE_RUNS, MIN_REPEATS, undecided, unusable, within};
use crate::compare::sides::{
    CompareOptions, FigureComparison, Side, SideComparison, SidesComparison, compare_sides,
};
use crate::compare::{MEAN_FIGURE, TPS_FIGURE, Unit, differences};
use crate::experiment::is_counted;
use prony_store::{
    AnswerVerdict, Comparator, RequiredFigure, RequiredLimit, Requirement, RequirementResult, Run,
    Severity, Statistic,
};

/// The result of runs beside those of a label; `None` if the label is not among the baselines.
pub(super) fn beside(
    requirement: &Requirement,
    label: &str,
    runs: &[&Run],
    baselines: &[Baseline],
) -> Option<RequirementResult> {
    let baseline = baselines.iter().find(|baseline| baseline.label == label)?;
    Some(compare_with(requirement, runs, baseline))
}

pub(super) fn compare_with(
    requirement: &Requirement,
    runs: &[&Run],
    baseline: &Baseline,
) -> RequirementResult {
    let side = |runs: Vec<_>| Side {
        name: String::new(),
        runs,
    };
    if !runs.iter().any(|run| is_counted(run)) {
        return undecided(requirement, None, unusable(runs));
    }
    // A label may have runs of other settings and machines.
    let alike = baseline.runs.iter().filter(|run| {
        let differences = runs.iter().flat_map(|own| differences(run, own));
        !differences
            .into_iter()
            .any(|difference| difference.severity == Severity::Invalid)
    });
    let mut alike: Vec<&Run> = alike.collect();
    // Ids begin with the time.
    alike.sort_by(|a, b| b.id.cmp(&a.id));
    alike.truncate(MAX_BASELINE_RUNS);
    let sides = [side(alike), side(runs.to_vec())];
    if sides[0].runs.is_empty() {
        let label = &baseline.label;
        let reason =
            format!("no run of {label} can be compared with it: see prony runs --label {label}");
        return undecided(requirement, None, reason);
    }
    let comparison = compare_sides(&sides, &CompareOptions::default());
    match &comparison.side_comparisons[..] {
        [side] => compared(requirement, &comparison, side),
        _ => undecided(requirement, None, NOTHING_TO_COMPARE),
    }
}

pub(super) const NOTHING_TO_COMPARE: &str = "there is nothing to compare with";

/// The result of a side beside the first.
pub(super) fn compared(
    requirement: &Requirement,
    comparison: &SidesComparison,
    side: &SideComparison,
) -> RequirementResult {
    let RequiredLimit::Of { share, label } = &requirement.limit else {
        return undecided(requirement, None, NOTHING_TO_COMPARE);
    };
    let found: Option<&FigureComparison> = match &requirement.figure {
        RequiredFigure::Primary => comparison.primary_figure(side),
        figure => match name_in_comparisons(figure) {
            Some(name) => side.figures.iter().find(|compared| compared.name == name),
            None => return undecided(requirement, None, format!("comparisons have no {figure}")),
        },
    };
    let Some(found) = found else {
        let reason = if side.figures.is_empty() {
            format!("it cannot be compared with {label}")
        } else {
            "the sides have no such figure".to_owned()
        };
        return undecided(requirement, None, reason);
    };
    let undecided = |reason| RequirementResult {
        compared: Some(found.name.clone()),
        ..undecided(requirement, Some(found.ratio), reason)
    };
    let Some(significance) = found.significance else {
        return undecided("a side has 1 run, which says nothing about other runs: repeat both");
    };
    let (comparator, limit) = match (&requirement.figure, found.unit) {
        // Slower by 3 % is a time longer by 3 %.
        (RequiredFigure::Primary, Unit::Nanoseconds) => (Comparator::AtMost, 2.0 - share),
        _ => (requirement.comparator, *share),
    };
    let interval = Some([significance.low, significance.high]);
    let result = within(requirement, comparator, limit, found.ratio, interval);
    let is_primary = requirement.figure == RequiredFigure::Primary;
    if result.verdict == AnswerVerdict::Pass
        && is_primary
        && found.unit == Unit::Rate
        && comparison.is_rate_given()
    {
        return undecided("at a rate, the throughput is that of the load");
    }
    let fewest = found.a.values.len().min(found.b.values.len());
    if result.verdict == AnswerVerdict::Pass && fewest < MIN_REPEATS {
        return undecided("a side has 2 runs, and an interval needs 3: repeat both");
    }
    RequirementResult {
        compared: Some(found.name.clone()),
        ..result
    }
}

/// A figure's name in comparisons; `None` if these do not have it.
fn name_in_comparisons(figure: &RequiredFigure) -> Option<String> {
    match figure {
        RequiredFigure::Throughput => Some(TPS_FIGURE.to_owned()),
        RequiredFigure::Metric(name) => Some(name.clone()),
        RequiredFigure::Time {
            kind: None,
            is_server: false,
            statistic,
        } => match statistic {
            Statistic::Mean => Some(MEAN_FIGURE.to_owned()),
            Statistic::P90 | Statistic::Max => None,
            Statistic::P50 | Statistic::P95 | Statistic::P99 | Statistic::P999 => {
                Some(statistic.name().to_owned())
            }
        },
        _ => None,
    }
}
