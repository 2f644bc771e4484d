//! Requirements relative to other runs, such as `throughput>=97% of main`.
//!
//! In: a requirement, and the runs of a label or a comparison. Out: a result. Must never: compare with runs of other
//! settings.

use super::{Baseline, MAX_BASELINE_RUNS, MIN_REPEATS, undecided, unusable, within};
use crate::compare::sides::{CompareOptions, Side, SideComparison, SidesComparison, compare_sides};
use crate::compare::{MEAN_FIGURE, TPS_FIGURE, Unit, differences};
use crate::experiment::is_counted;
use prony_store::{
    AnswerVerdict, Comparator, RequiredFigure, RequiredLimit, Requirement, RequirementResult, Run,
    Severity, Statistic,
};

pub(super) const NOTHING_TO_COMPARE: &str = "there is nothing to compare with";

/// The result of runs against those of a label; `None` if the label is not among the baselines.
pub(super) fn against_label(
    requirement: &Requirement,
    label: &str,
    runs: &[&Run],
    baselines: &[Baseline],
) -> Option<RequirementResult> {
    let baseline = baselines.iter().find(|baseline| baseline.label == label)?;
    Some(against_baseline(requirement, runs, baseline))
}

pub(super) fn against_baseline(
    requirement: &Requirement,
    runs: &[&Run],
    baseline: &Baseline,
) -> RequirementResult {
    if !runs.iter().any(|run| is_counted(run)) {
        return undecided(requirement, None, unusable(runs));
    }
    // A label may have runs of other settings and machines.
    let is_comparable = |run: &&Run| {
        let mut differences = runs.iter().flat_map(|own| differences(run, own));
        differences.all(|difference| difference.severity != Severity::Invalid)
    };
    let mut comparable: Vec<&Run> = baseline.runs.iter().filter(is_comparable).collect();
    if comparable.is_empty() {
        let label = &baseline.label;
        let reason =
            format!("no run of {label} can be compared with it: see prony runs --label {label}");
        return undecided(requirement, None, reason);
    }
    // Ids begin with the time.
    comparable.sort_by(|a, b| b.id.cmp(&a.id));
    comparable.truncate(MAX_BASELINE_RUNS);
    let sides = [comparable, runs.to_vec()].map(|runs| Side {
        name: String::new(),
        runs,
    });
    let comparison = compare_sides(&sides, &CompareOptions::default());
    match &comparison.side_comparisons[..] {
        [side] => against_first_side(requirement, &comparison, side),
        _ => undecided(requirement, None, NOTHING_TO_COMPARE),
    }
}

/// The result of a compared side against the first one.
pub(super) fn against_first_side(
    requirement: &Requirement,
    comparison: &SidesComparison,
    side: &SideComparison,
) -> RequirementResult {
    let RequiredLimit::Of { share, label } = &requirement.limit else {
        return undecided(requirement, None, NOTHING_TO_COMPARE);
    };
    let is_primary = requirement.figure == RequiredFigure::Primary;
    let found = if is_primary {
        comparison.primary_figure(side)
    } else {
        let figure = &requirement.figure;
        let Some(name) = name_in_comparisons(figure) else {
            return undecided(requirement, None, format!("comparisons have no {figure}"));
        };
        side.figures.iter().find(|compared| compared.name == name)
    };
    let Some(found) = found else {
        let reason = if side.figures.is_empty() {
            format!("it cannot be compared with {label}")
        } else {
            "the sides have no such figure".to_owned()
        };
        return undecided(requirement, None, reason);
    };
    let undecided_ratio = |reason| RequirementResult {
        compared: Some(found.name.clone()),
        ..undecided(requirement, Some(found.ratio), reason)
    };
    let Some(significance) = found.significance else {
        return undecided_ratio(
            "a side has 1 run, which says nothing about other runs: repeat both",
        );
    };
    // Slower by 3 % is a time longer by 3 %.
    let (comparator, limit) = if is_primary && found.unit == Unit::Nanoseconds {
        (Comparator::AtMost, 2.0 - share)
    } else {
        (requirement.comparator, *share)
    };
    let interval = Some([significance.low, significance.high]);
    let result = within(requirement, comparator, limit, found.ratio, interval);
    if result.verdict == AnswerVerdict::Pass {
        if is_primary && found.unit == Unit::Rate && comparison.is_rate_given() {
            return undecided_ratio("at a rate, the throughput is that of the load");
        }
        if found.a.values.len().min(found.b.values.len()) < MIN_REPEATS {
            return undecided_ratio("a side has 2 runs, and an interval needs 3: repeat both");
        }
    }
    RequirementResult {
        compared: Some(found.name.clone()),
        ..result
    }
}

/// A figure's name in comparisons; `None` if these do not have it.
fn name_in_comparisons(figure: &RequiredFigure) -> Option<&str> {
    match figure {
        RequiredFigure::Throughput => Some(TPS_FIGURE),
        RequiredFigure::Metric(name) => Some(name),
        RequiredFigure::Time {
            kind: None,
            is_server: false,
            statistic,
        } => match statistic {
            Statistic::Mean => Some(MEAN_FIGURE),
            Statistic::P90 | Statistic::Max => None,
            Statistic::P50 | Statistic::P95 | Statistic::P99 | Statistic::P999 => {
                Some(statistic.name())
            }
        },
        _ => None,
    }
}
