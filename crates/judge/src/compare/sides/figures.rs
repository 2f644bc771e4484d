//! The figures of two sides, and how far chance explains their ratio.
//!
//! In: Runs that compare. Out: medians, ratios and intervals, each interval with its basis. Must never: say
//! anything about a difference if a side has a single run.

use super::SideComparison;
use crate::compare::{MEAN, P99, TPS, Unit, values};
use crate::statistics::{Estimate, coefficient_of_variation, holm, median, runs_needed, welch};
use crate::thresholds::PERCENTILE_STEP;
use prony_store::{MetricName, Run};
use serde::Serialize;

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureComparison {
    /// Its name, such as `NOPM`, `TPS`, `p99`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The first side's values.
    pub a: FigureSample,
    /// The other side's values.
    pub b: FigureSample,
    /// The other side divided by the first: the ratio of the geometric means of their runs.
    pub ratio: f64,
    /// How far chance explains the ratio; absent if it cannot be estimated.
    #[serde(rename = "found", skip_serializing_if = "Option::is_none")]
    pub significance: Option<Significance>,
    #[serde(skip)]
    estimate: Option<(Basis, Estimate)>,
}

/// The values of one figure on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSample {
    /// The median of its runs.
    pub median: f64,
    /// Coefficient of variation of its runs; absent for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
    /// The value of each run, in the order given.
    pub values: Vec<f64>,
}

/// The basis of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The differences between the runs of each side.
    Repeats,
}

/// How far chance explains a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Significance {
    /// Its basis.
    pub basis: Basis,
    /// Whether chance does not explain the ratio.
    pub difference: bool,
    /// Confidence level of the interval: 0.95, and more if several sides are compared.
    pub level: f64,
    /// Lower end of the interval of the ratio.
    pub low: f64,
    /// Upper end of the interval of the ratio.
    pub high: f64,
    /// Probability that two equal sides differ by as much; adjusted for several sides (Holm).
    pub p: f64,
    /// The smallest difference that the test would have found with a probability of 80 %, a share.
    pub detectable: f64,
}

/// How many runs it takes to find a difference, told where a side has only one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunsNeeded {
    /// The difference, a share.
    pub effect: f64,
    /// The assumed scatter of runs of one system, a share.
    pub scatter: f64,
    /// Runs per side with which the difference would probably be found.
    pub runs: usize,
}

/// The difference for which [`RunsNeeded`] counts runs.
const USUAL_EFFECT: f64 = 0.05;
/// The usual coefficient of variation of runs on a machine of one's own; shared ones scatter more.
const USUAL_SCATTER: f64 = 0.02;

/// The runs per side for a difference of 5 % at the usual scatter.
pub fn runs_needed_usually() -> RunsNeeded {
    RunsNeeded {
        effect: USUAL_EFFECT,
        scatter: USUAL_SCATTER,
        runs: runs_needed(USUAL_EFFECT, USUAL_SCATTER),
    }
}

/// The leading figures, most important first: throughput and the 99th percentile, in reverse order for a
/// load at a rate.
pub(super) fn leading(figures: &[FigureComparison], paced: bool) -> Vec<&FigureComparison> {
    let with_unit = |unit: Unit| figures.iter().filter(move |figure| figure.unit == unit);
    let with_name = |unit, name: &str| with_unit(unit).find(|figure| figure.name == name);
    let throughput = with_name(Unit::Rate, MetricName::NOPM).or(with_name(Unit::Rate, TPS));
    let throughput = throughput.or(with_unit(Unit::Rate).next());
    let response = with_name(Unit::Nanoseconds, P99).or(with_unit(Unit::Nanoseconds).next());
    let mut leading: Vec<&FigureComparison> = throughput.into_iter().chain(response).collect();
    if paced {
        leading.reverse();
    }
    leading
}

/// The figures that all runs of both sides have, in the first side's order.
pub(super) fn figure_comparisons(first: &[&Run], second: &[&Run]) -> Vec<FigureComparison> {
    let sides = [first, second].map(|runs| runs.iter().map(|run| values(run)).collect::<Vec<_>>());
    let values_of = |side: &[Vec<(String, Unit, f64)>], name: &str, unit: Unit| {
        let per_run = side.iter().map(|run| {
            let value = run.iter().find(|value| value.0 == name && value.1 == unit);
            value.map(|figure| figure.2)
        });
        per_run.collect::<Option<Vec<f64>>>()
    };
    let Some(names) = sides[0].first() else {
        return Vec::new();
    };
    let comparisons = names.iter().filter_map(|(name, unit, _)| {
        let a = values_of(&sides[0], name, *unit)?;
        let b = values_of(&sides[1], name, *unit)?;
        let step = match unit {
            Unit::Nanoseconds if name != MEAN => PERCENTILE_STEP,
            _ => 0.0,
        };
        let estimate = welch(&a, &b, step).map(|estimate| (Basis::Repeats, estimate));
        Some(FigureComparison {
            name: name.clone(),
            unit: *unit,
            ratio: (mean_log(&b) - mean_log(&a)).exp(),
            a: FigureSample::new(a),
            b: FigureSample::new(b),
            significance: None,
            estimate,
        })
    });
    comparisons.collect()
}

impl FigureSample {
    fn new(values: Vec<f64>) -> FigureSample {
        FigureSample {
            median: median(&values),
            variation: coefficient_of_variation(&values),
            values,
        }
    }
}

fn mean_log(values: &[f64]) -> f64 {
    values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64
}

/// Decides which figures differ. For each figure, the comparisons of all sides with the first are one family
/// of tests.
pub(super) fn decide_significance(against: &mut [SideComparison], alpha: f64) {
    let figures = against.iter().flat_map(|comparison| &comparison.figures);
    let mut names: Vec<(String, Unit)> = Vec::new();
    for figure in figures {
        if !names
            .iter()
            .any(|known| known.0 == figure.name && known.1 == figure.unit)
        {
            names.push((figure.name.clone(), figure.unit));
        }
    }
    for (name, unit) in names {
        let same_figure = against.iter_mut().filter_map(|comparison| {
            let mut figures = comparison.figures.iter_mut();
            figures.find(|figure| {
                figure.name == name && figure.unit == unit && figure.estimate.is_some()
            })
        });
        let mut same_figure: Vec<&mut FigureComparison> = same_figure.collect();
        let estimates: Vec<(Basis, Estimate)> = same_figure
            .iter()
            .filter_map(|figure| figure.estimate)
            .collect();
        let p_values: Vec<f64> = estimates.iter().map(|(_, estimate)| estimate.p()).collect();
        let results = holm(&p_values, alpha);
        for ((figure, (basis, estimate)), result) in
            same_figure.iter_mut().zip(estimates).zip(results)
        {
            let [low, high] = estimate.interval(result.alpha);
            figure.significance = Some(Significance {
                basis,
                difference: result.significant,
                level: 1.0 - result.alpha,
                low,
                high,
                p: result.adjusted_p,
                detectable: estimate.detectable(result.alpha) - 1.0,
            });
        }
    }
}
