//! The figures of two sides, and how far chance explains their ratio.
//!
//! In: Runs that compare. Out: medians, ratios and intervals, each interval with its basis. Must never: treat
//! the seconds of one run as repeats.

use super::SideComparison;
use crate::compare::{MEAN, TPS, Unit, values};
use crate::statistics::{
    Estimate, SeriesMean, coefficient_of_variation, holm, median, ratio_of_series, series_mean,
    welch,
};
use crate::steady::per_second_rates;
use crate::thresholds::PERCENTILE_STEP;
use prony_store::{MetricName, Run, Second};
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
    /// The seconds of one run on each side: differences between runs are not covered.
    WithinOneRun,
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

/// Whether a side is slower than the limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// The side is slower: the whole interval is beyond the limit.
    Slower,
    /// The side is not slower: the whole interval is within the limit.
    Within,
    /// The runs do not decide it: the limit is inside the interval.
    Unsure,
}

impl FigureComparison {
    /// Whether the other side is slower than the first by more than the share `allowed`.
    pub(super) fn gate(&self, allowed: f64) -> GateResult {
        let Some(significance) = self.significance.filter(|it| it.basis == Basis::Repeats) else {
            return GateResult::Unsure;
        };
        // How much slower, as shares of the first side's value.
        let (nearest, farthest) = match self.unit {
            Unit::Rate => (1.0 - significance.high, 1.0 - significance.low),
            Unit::Nanoseconds => (significance.low - 1.0, significance.high - 1.0),
        };
        match () {
            () if nearest > allowed => GateResult::Slower,
            () if farthest <= allowed => GateResult::Within,
            () => GateResult::Unsure,
        }
    }
}

/// The leading figures, most important first: throughput and the 99th percentile, in reverse order for a
/// load at a rate.
pub(super) fn leading(figures: &[FigureComparison], paced: bool) -> Vec<&FigureComparison> {
    let with_unit = |unit: Unit| figures.iter().filter(move |figure| figure.unit == unit);
    let with_name = |unit, name: &str| with_unit(unit).find(|figure| figure.name == name);
    let throughput = with_name(Unit::Rate, MetricName::NOPM).or(with_name(Unit::Rate, TPS));
    let throughput = throughput.or(with_unit(Unit::Rate).next());
    let response = with_name(Unit::Nanoseconds, "p99").or(with_unit(Unit::Nanoseconds).next());
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
        let estimate = match (first, second) {
            ([a], [b]) => {
                estimate_within_runs(name, a, b).map(|estimate| (Basis::WithinOneRun, estimate))
            }
            _ => welch(&a, &b, step).map(|estimate| (Basis::Repeats, estimate)),
        };
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

/// The ratio of two runs by their seconds, which count committed transactions: the basis for throughput,
/// and for new orders, which are a random share of the transactions.
fn estimate_within_runs(name: &str, a: &Run, b: &Run) -> Option<Estimate> {
    let rate = |run: &Run| {
        values(run)
            .into_iter()
            .find(|figure| figure.0 == name)
            .map(|figure| figure.2)
    };
    let mean_rate = |run: &Run| -> Option<SeriesMean> {
        let mut mean = series_mean(&per_second_rates(run, |second: &Second| second.committed)?)?;
        if name == MetricName::NOPM {
            let orders = rate(run)? / 60.0 * run.measured.length_s;
            mean.variance += mean.mean.powi(2) / orders;
        }
        Some(mean)
    };
    let mut estimate = match name {
        TPS | MetricName::NOPM => ratio_of_series(&mean_rate(a)?, &mean_rate(b)?)?,
        _ => return None,
    };
    // The ratio is that of the figures: whole seconds may leave out an edge of the window.
    estimate.log_ratio = (rate(b)? / rate(a)?).ln();
    estimate.log_ratio.is_finite().then_some(estimate)
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
