//! The figures of two sides, and what chance explains of their ratio.
//!
//! In: Runs that compare. Out: medians, ratios, intervals. Must never: take one run's seconds for
//! repeats; an interval says what it rests on.

use super::Against;
use crate::compare::{MEAN, Unit, values};
use crate::statistics::{
    Course, Estimate, coefficient_of_variation, course, holm, median, of_courses, welch,
};
use crate::steady::series_of;
use crate::thresholds::PERCENTILE_STEP;
use prony_store::{Run, Second};
use serde::Serialize;

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contrast {
    /// Its name, such as `NOPM`, `TPS`, `p99`.
    pub name: String,
    /// What it is measured in.
    pub unit: Unit,
    /// The first side's.
    pub a: Sample,
    /// The other's.
    pub b: Sample,
    /// The other's as a multiple of the first's: of the geometric means of their runs.
    pub ratio: f64,
    /// What chance explains of it; absent where nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Found>,
    #[serde(skip)]
    estimate: Option<(Basis, Estimate)>,
}

/// One figure of one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The median of its runs.
    pub median: f64,
    /// Coefficient of variation of its runs; absent for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<f64>,
    /// Each run's, in the order given.
    pub values: Vec<f64>,
}

/// What an interval rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// How far the runs of each side differ.
    Repeats,
    /// The seconds of one run a side: differences between runs are not covered.
    WithinOneRun,
}

/// What chance explains of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Found {
    /// What it rests on.
    pub basis: Basis,
    /// Chance does not explain it.
    pub difference: bool,
    /// Level of the interval: 0.95, and more where several sides are compared.
    pub level: f64,
    /// The ratio is at least.
    pub low: f64,
    /// And at most.
    pub high: f64,
    /// With which probability two equal sides differ by as much; adjusted for several (Holm).
    pub p: f64,
    /// The least difference that would have been found with a probability of 80 %, a share.
    pub detectable: f64,
}

/// Whether a side is slower than is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// It is: the whole interval is beyond.
    Slower,
    /// It is not: none of the interval is.
    Within,
    /// The runs cannot tell.
    Unsure,
}

impl Contrast {
    /// Whether the other side is slower than the first by more than a share of it.
    pub(super) fn gate(&self, allowed: f64) -> Gate {
        let Some(found) = self.found.filter(|of| of.basis == Basis::Repeats) else {
            return Gate::Unsure;
        };
        // As shares of the first side's that are slower than it.
        let (nearest, farthest) = match self.unit {
            Unit::Rate => (1.0 - found.high, 1.0 - found.low),
            Unit::Nanoseconds => (found.low - 1.0, found.high - 1.0),
        };
        match () {
            () if nearest > allowed => Gate::Slower,
            () if farthest <= allowed => Gate::Within,
            () => Gate::Unsure,
        }
    }
}

/// The figures that a result is told by, the first of them above all: throughput and the 99th percentile,
/// the other way round of a load at a rate.
pub(super) fn leading(figures: &[Contrast], paced: bool) -> Vec<&Contrast> {
    let of = |unit: Unit| figures.iter().filter(move |one| one.unit == unit);
    let named = |unit, name: &str| of(unit).find(|one| one.name == name);
    let throughput = named(Unit::Rate, "NOPM").or(named(Unit::Rate, "TPS"));
    let throughput = throughput.or(of(Unit::Rate).next());
    let slow = named(Unit::Nanoseconds, "p99").or(of(Unit::Nanoseconds).next());
    let mut found: Vec<&Contrast> = throughput.into_iter().chain(slow).collect();
    if paced {
        found.reverse();
    }
    found
}

/// The figures that all runs of both sides have, in the order of the first.
pub(super) fn contrasts(first: &[&Run], second: &[&Run]) -> Vec<Contrast> {
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
            ([a], [b]) => within(name, a, b).map(|found| (Basis::WithinOneRun, found)),
            _ => welch(&a, &b, step).map(|found| (Basis::Repeats, found)),
        };
        Some(Contrast {
            name: name.clone(),
            unit: *unit,
            ratio: (mean_log(&b) - mean_log(&a)).exp(),
            a: Sample::of(a),
            b: Sample::of(b),
            found: None,
            estimate,
        })
    });
    found.collect()
}

impl Sample {
    fn of(values: Vec<f64>) -> Sample {
        Sample {
            median: median(&values),
            variation: coefficient_of_variation(&values),
            values,
        }
    }
}

fn mean_log(values: &[f64]) -> f64 {
    values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64
}

/// The ratio of two runs by their seconds, which count committed transactions: those of the throughput,
/// and of new orders, a share of them that is drawn anew for each.
fn within(name: &str, a: &Run, b: &Run) -> Option<Estimate> {
    let rate = |run: &Run| {
        values(run)
            .into_iter()
            .find(|one| one.0 == name)
            .map(|one| one.2)
    };
    let side = |run: &Run| -> Option<Course> {
        let mut found = course(&series_of(run, |second: &Second| second.committed)?)?;
        if name == "NOPM" {
            let orders = rate(run)? / 60.0 * run.measured.seconds;
            found.variance += found.mean.powi(2) / orders;
        }
        Some(found)
    };
    let mut estimate = match name {
        "TPS" | "NOPM" => of_courses(&side(a)?, &side(b)?)?,
        _ => return None,
    };
    // The ratio is that of the figures; whole seconds may leave out an edge of the window.
    estimate.log_ratio = (rate(b)? / rate(a)?).ln();
    estimate.log_ratio.is_finite().then_some(estimate)
}

/// Says what is a difference: for each figure the sides against the first are one family.
pub(super) fn settle(against: &mut [Against], alpha: f64) {
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
        let like = against.iter_mut().filter_map(|one| {
            let mut figures = one.figures.iter_mut();
            figures.find(|one| one.name == name && one.unit == unit && one.estimate.is_some())
        });
        let mut like: Vec<&mut Contrast> = like.collect();
        let estimates: Vec<(Basis, Estimate)> =
            like.iter().filter_map(|one| one.estimate).collect();
        let p_values: Vec<f64> = estimates.iter().map(|(_, found)| found.p()).collect();
        let steps = holm(&p_values, alpha);
        for ((one, (basis, estimate)), step) in like.iter_mut().zip(estimates).zip(steps) {
            let [low, high] = estimate.interval(step.alpha);
            one.found = Some(Found {
                basis,
                difference: step.found,
                level: 1.0 - step.alpha,
                low,
                high,
                p: step.adjusted,
                detectable: estimate.detectable(step.alpha) - 1.0,
            });
        }
    }
}
