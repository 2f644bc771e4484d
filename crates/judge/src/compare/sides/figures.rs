//! The figures of two sides, and how far chance explains their ratio.
//!
//! In: Runs that compare. Out: medians, ratios, intervals. Must never: treat one run's seconds as repeats;
//! an interval states its basis.

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
    /// The other side as a multiple of the first: the ratio of the geometric means of their runs.
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
        let Some(significance) = self.significance.filter(|of| of.basis == Basis::Repeats) else {
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
    let of = |unit: Unit| figures.iter().filter(move |one| one.unit == unit);
    let named = |unit, name: &str| of(unit).find(|one| one.name == name);
    let throughput = named(Unit::Rate, MetricName::NOPM).or(named(Unit::Rate, TPS));
    let throughput = throughput.or(of(Unit::Rate).next());
    let response = named(Unit::Nanoseconds, "p99").or(of(Unit::Nanoseconds).next());
    let mut leading: Vec<&FigureComparison> = throughput.into_iter().chain(response).collect();
    if paced {
        leading.reverse();
    }
    leading
}

/// The figures that all runs of both sides have, in the first side's order.
pub(super) fn figure_comparisons(first: &[&Run], second: &[&Run]) -> Vec<FigureComparison> {
    let sides = [first, second].map(|runs| runs.iter().map(|run| values(run)).collect::<Vec<_>>());
    let of = |side: &[Vec<(String, Unit, f64)>], name: &str, unit: Unit| {
        let each = side.iter().map(|run| {
            let found = run.iter().find(|one| one.0 == name && one.1 == unit);
            found.map(|one| one.2)
        });
        each.collect::<Option<Vec<f64>>>()
    };
    let Some(names) = sides[0].first() else {
        return Vec::new();
    };
    let found = names.iter().filter_map(|(name, unit, _)| {
        let a = of(&sides[0], name, *unit)?;
        let b = of(&sides[1], name, *unit)?;
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
            a: FigureSample::of(a),
            b: FigureSample::of(b),
            significance: None,
            estimate,
        })
    });
    found.collect()
}

impl FigureSample {
    fn of(values: Vec<f64>) -> FigureSample {
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
            .find(|one| one.0 == name)
            .map(|one| one.2)
    };
    let side = |run: &Run| -> Option<SeriesMean> {
        let mut mean = series_mean(&per_second_rates(run, |second: &Second| second.committed)?)?;
        if name == MetricName::NOPM {
            let orders = rate(run)? / 60.0 * run.measured.length_s;
            mean.variance += mean.mean.powi(2) / orders;
        }
        Some(mean)
    };
    let mut estimate = match name {
        TPS | MetricName::NOPM => ratio_of_series(&side(a)?, &side(b)?)?,
        _ => return None,
    };
    // The ratio is computed from the figures, because whole seconds may leave out an edge of the window.
    estimate.log_ratio = (rate(b)? / rate(a)?).ln();
    estimate.log_ratio.is_finite().then_some(estimate)
}

/// Decides which figures differ: for each figure, the comparisons of all sides with the first are one
/// family.
pub(super) fn decide_significance(against: &mut [SideComparison], alpha: f64) {
    let figures = against.iter().flat_map(|one| &one.figures);
    let mut names: Vec<(String, Unit)> = Vec::new();
    for one in figures {
        if !names
            .iter()
            .any(|known| known.0 == one.name && known.1 == one.unit)
        {
            names.push((one.name.clone(), one.unit));
        }
    }
    for (name, unit) in names {
        let same_figure = against.iter_mut().filter_map(|one| {
            let mut figures = one.figures.iter_mut();
            figures.find(|one| one.name == name && one.unit == unit && one.estimate.is_some())
        });
        let mut same_figure: Vec<&mut FigureComparison> = same_figure.collect();
        let estimates: Vec<(Basis, Estimate)> =
            same_figure.iter().filter_map(|one| one.estimate).collect();
        let p_values: Vec<f64> = estimates.iter().map(|(_, estimate)| estimate.p()).collect();
        let results = holm(&p_values, alpha);
        for ((one, (basis, estimate)), result) in same_figure.iter_mut().zip(estimates).zip(results)
        {
            let [low, high] = estimate.interval(result.alpha);
            one.significance = Some(Significance {
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
