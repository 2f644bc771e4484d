//! The figures of two sides, and how far chance explains their ratio.
//!
//! In: comparable Runs. Out: medians, ratios and intervals, each interval with its basis. Must never: say
//! anything about a difference if a side has a single run.

use super::SideComparison;
use super::evidence::Evidence;
use crate::compare::{
    FigureValue, MEAN_FIGURE, P99_FIGURE, TPS_FIGURE, Unit, figure_values, is_compared,
    is_outage_figure, preferred_figures,
};
use crate::noise::{CLIENT_CPU_FIGURE, SERVER_CPU_FIGURE, is_cpu_figure};
use crate::statistics::{coefficient_of_variation, holm, median, runs_needed};
use crate::thresholds::PERCENTILE_STEP_SHARE;
use prony_store::{NOPM, Run};
use serde::Serialize;

/// One figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureComparison {
    /// Its name, such as `NOPM`, `TPS`, `p99`.
    pub name: String,
    pub unit: Unit,
    /// The first side's values.
    pub a: FigureSample,
    /// The other side's values.
    pub b: FigureSample,
    /// The other side divided by the first: the ratio of the medians of their runs; of pairs, the mean ratio.
    pub ratio: f64,
    /// How far chance explains the ratio; absent if it cannot be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub significance: Option<Significance>,
    #[serde(skip)]
    evidence: Option<Evidence>,
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

/// What an interval assumes about the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Their ranks, without an assumption about their distribution.
    Ranks,
    /// The logarithms of their figures are assumed to be normally distributed, because there are too few runs
    /// for ranks.
    Normal,
    /// The runs are pairs, one of each side soon after the other; the logarithms of their ratios are assumed to be
    /// normally distributed.
    Pairs,
}

/// How far chance explains a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Significance {
    /// What the interval assumes.
    pub basis: Basis,
    /// Whether chance does not explain the ratio; absent for figures other than the primary one, which are
    /// not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_significant: Option<bool>,
    /// Least confidence level of the interval: 0.95, and more for the primary figure of several sides.
    pub level: f64,
    /// Lower end of the interval of the ratio.
    pub low: f64,
    /// Upper end of the interval of the ratio.
    pub high: f64,
    /// Probability that two equal sides differ by as much; adjusted for several sides (Holm). Absent for
    /// figures that are not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The smallest difference that the test would have found with a probability of 80 %, a share.
    pub detectable: f64,
}

/// How many runs it takes to find a difference; reported if a side has only one run.
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
const USUAL_EFFECT_SHARE: f64 = 0.05;
/// The usual coefficient of variation of runs on a dedicated machine; on shared machines runs scatter more.
const USUAL_SCATTER_CV: f64 = 0.02;

/// The runs per side for a difference of 5 % at the usual scatter.
pub fn typical_runs_needed() -> RunsNeeded {
    RunsNeeded {
        effect: USUAL_EFFECT_SHARE,
        scatter: USUAL_SCATTER_CV,
        runs: runs_needed(USUAL_EFFECT_SHARE, USUAL_SCATTER_CV),
    }
}

/// The name of the primary figure, among those that all sides with figures have: the requested one, otherwise
/// throughput or, for a load at a rate, the 99th percentile. `None` if the sides have no figure in common.
pub(super) fn primary_name(
    sides: &[Vec<FigureComparison>],
    paced: bool,
    requested: Option<&str>,
) -> Option<String> {
    let requested_figures = requested.map_or(Vec::new(), figures_of_request);
    let compared = || sides.iter().filter(|figures| !figures.is_empty());
    let all_have = |name: &&str| {
        let mut sides = compared();
        sides.all(|figures| figures.iter().any(|figure| figure.name == **name))
    };
    let first = compared().next()?;
    // Imported runs may have none of the requested and preferred figures.
    let others = first.iter().map(|figure| figure.name.as_str());
    let mut names = requested_figures
        .into_iter()
        .chain(preferred_figures(paced))
        .chain(others);
    names.find(all_have).map(str::to_owned)
}

/// The figures that a request for the primary one means, the preferred one first.
pub(super) fn figures_of_request(name: &str) -> Vec<&str> {
    match name {
        "throughput" => vec![NOPM, TPS_FIGURE],
        "cpu" => vec![SERVER_CPU_FIGURE, CLIENT_CPU_FIGURE],
        name => vec![name],
    }
}

/// The headline figures: the primary one first, then the most important one of the other unit.
pub(super) fn headline_figures<'a>(
    figures: &'a [FigureComparison],
    primary: Option<&str>,
) -> Vec<&'a FigureComparison> {
    let named = |name: &str| figures.iter().find(|figure| figure.name == name);
    let primary = primary.and_then(named);
    let of_unit = |unit: Unit| {
        let mut others = figures.iter();
        others.find(move |figure| figure.unit == unit && !is_cpu_figure(&figure.name))
    };
    let second = match primary.map(|figure| figure.unit) {
        Some(Unit::Rate) => named(P99_FIGURE).or(of_unit(Unit::Nanoseconds)),
        Some(Unit::Nanoseconds) => named(NOPM).or(named(TPS_FIGURE)).or(of_unit(Unit::Rate)),
        None => None,
    };
    primary.into_iter().chain(second).collect()
}

/// The figures that all runs of both sides have, in the first side's order. `are_pairs`: each run has the partner at the
/// same position of the other side.
pub(super) fn figure_comparisons(
    first: &[&Run],
    second: &[&Run],
    are_pairs: bool,
) -> Vec<FigureComparison> {
    let sides = [first, second].map(|runs| {
        runs.iter()
            .map(|run| figure_values(run))
            .collect::<Vec<_>>()
    });
    let values_of = |side: &[Vec<FigureValue>], name: &str, unit: Unit| {
        let per_run = side.iter().map(|run| {
            let figure = run.iter().find(|figure| figure.is_same(name, unit))?;
            Some(figure.value)
        });
        per_run.collect::<Option<Vec<f64>>>()
    };
    let Some(figures_of_first_run) = sides[0].first() else {
        return Vec::new();
    };
    let all_runs: Vec<&Run> = first.iter().chain(second).copied().collect();
    let comparisons = figures_of_first_run.iter().filter_map(|figure| {
        let FigureValue { name, unit, .. } = figure;
        if !is_compared(name, &all_runs) {
            return None;
        }
        let a = values_of(&sides[0], name, *unit)?;
        let b = values_of(&sides[1], name, *unit)?;
        let is_exact = *unit == Unit::Rate
            || name == MEAN_FIGURE
            || is_cpu_figure(name)
            || is_outage_figure(name);
        let step = if is_exact { 0.0 } else { PERCENTILE_STEP_SHARE };
        let evidence = Evidence::new(&a, &b, step, are_pairs);
        let ratio_of_pairs = evidence.as_ref().and_then(Evidence::ratio_of_pairs);
        Some(FigureComparison {
            name: name.clone(),
            unit: *unit,
            ratio: ratio_of_pairs.unwrap_or(median(&b) / median(&a)),
            evidence,
            a: FigureSample::new(a),
            b: FigureSample::new(b),
            significance: None,
        })
    });
    comparisons.collect()
}

impl FigureComparison {
    /// Whether it is a response time of committed transactions. Names of response times of others say so: `p99 of failed`.
    pub fn is_of_committed(&self) -> bool {
        self.unit == Unit::Nanoseconds
            && !self.name.contains(" of ")
            && !is_cpu_figure(&self.name)
            && !is_outage_figure(&self.name)
    }

    /// The interval at a level of `1 - alpha`, without a test.
    fn significance_at(&self, basis: Basis, alpha: f64) -> Option<Significance> {
        let evidence = self.evidence.as_ref()?;
        let [low, high] = evidence.interval(basis, alpha)?;
        Some(Significance {
            basis,
            is_significant: None,
            level: 1.0 - alpha,
            // Reports print the ratio next to its interval: it is widened to include the ratio, which keeps
            // its level.
            low: low.min(self.ratio),
            high: high.max(self.ratio),
            p: None,
            detectable: evidence.detectable(basis, alpha)? - 1.0,
        })
    }
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

/// Decides whether the primary figure differs: the comparisons of all sides with the first are one family of
/// tests. The other figures get an interval and no test.
pub(super) fn decide_significance(
    side_comparisons: &mut [SideComparison],
    primary: Option<&str>,
    alpha: f64,
) {
    let side_comparisons = side_comparisons.iter_mut();
    let figures = side_comparisons.flat_map(|side| &mut side.figures);
    let (primary, others): (Vec<_>, Vec<_>) = figures
        .filter(|figure| figure.evidence.is_some())
        .partition(|figure| Some(figure.name.as_str()) == primary);
    for figure in others {
        let evidence = figure.evidence.as_ref();
        let basis = evidence.map(|evidence| evidence.basis(alpha));
        figure.significance = basis.and_then(|basis| figure.significance_at(basis, alpha));
    }
    // The basis depends on the number of runs alone: a choice by the figures would change the level of the
    // test.
    let strictest_alpha = alpha / primary.len().max(1) as f64;
    let bases_and_p = primary.iter().filter_map(|figure| {
        let evidence = figure.evidence.as_ref()?;
        let basis = evidence.basis(strictest_alpha);
        Some((basis, evidence.p_value(basis)))
    });
    let (bases, p_values): (Vec<Basis>, Vec<f64>) = bases_and_p.unzip();
    let results = holm(&p_values, alpha);
    for ((figure, basis), result) in primary.into_iter().zip(bases).zip(results) {
        let significance = figure.significance_at(basis, result.alpha);
        // A figure differs only if the printed interval says so too.
        figure.significance = significance.map(|significance| Significance {
            is_significant: Some(
                result.significant && (significance.low > 1.0 || significance.high < 1.0),
            ),
            p: Some(result.adjusted_p),
            ..significance
        });
    }
}
