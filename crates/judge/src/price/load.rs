//! Finds the cheapest configuration that sustains a load.
//!
//! In: points, and a target load. Out: which points sustain the load, and why the others do not. Must never:
//! extrapolate from a run.

use super::point::good_tps;
use super::rank::{RankingObstacle, obstacles};
use super::{MeasuredConfiguration, PriceOptions, PricePoint};
use crate::formatting::{thousands, time};
use crate::thresholds::RATE_CAVEAT_BELOW_SHARE;
use prony_store::{Check, Severity};
use serde::Serialize;

/// A load that a configuration must sustain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TargetLoad {
    /// Committed transactions per second.
    pub tps: f64,
    /// Limit of the 95th percentile of the response time, nanoseconds.
    pub p95_ns: Option<u64>,
    /// Limit of the 99th percentile of the response time, nanoseconds.
    pub p99_ns: Option<u64>,
}

/// Which configurations sustain the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadAnswer {
    /// The requested load.
    pub demand: TargetLoad,
    /// All points: first those that sustain the load, then the others, both by cost.
    pub candidates: Vec<Candidate>,
    /// Index of the cheapest point that sustains the load; absent if none does, or if the points are not
    /// comparable.
    pub cheapest: Option<usize>,
    /// Why no configuration is named as the cheapest although a point sustains the load.
    pub obstacles: Vec<RankingObstacle>,
}

/// Whether one point sustains the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Index of the point.
    pub point: usize,
    /// Whether the median run sustains the load.
    pub sustains: bool,
    /// Whether that is unknown: the rate is reached, but its runs lack a percentile that has a limit.
    pub is_unknown: bool,
    /// Why it does not sustain the load, or why that is unknown; empty if it does.
    pub why: String,
    /// Number of its runs below the required rate; they do not matter if the median reaches it.
    pub runs_below: usize,
    /// Rate of its slowest run, transactions per second.
    pub lowest_tps: f64,
    /// How many such configurations sustain the load, if the load can be divided among them; absent if that
    /// cannot be computed from its runs.
    pub count: Option<u64>,
    /// Cost of `count` configurations per month.
    pub cost: Option<f64>,
}

impl LoadAnswer {
    /// Caveats for points that sustain the load by the median of their runs, but not in each run.
    pub(super) fn partly_sustained_caveats(&self, points: &[PricePoint]) -> Vec<Check> {
        let candidates = self.candidates.iter();
        let partly_sustaining = candidates.filter(|candidate| candidate.sustains_in_some_runs());
        let remarks = partly_sustaining.filter_map(|candidate| {
            let point = &points[candidate.point];
            let finding = format!(
                "{}: {}.",
                point.name(),
                candidate.slower_runs_text(point.runs.len())
            );
            let advice = "Repeat it until the runs agree, or plan with the slowest.";
            crate::new_check("load-not-always-held", Severity::Caveat, finding, advice)
        });
        remarks.collect()
    }
}

impl Candidate {
    /// Whether it sustains the load by the median of its runs, but not in each run.
    pub fn sustains_in_some_runs(&self) -> bool {
        self.sustains && self.runs_below > 0
    }

    /// Whether it sustains the load, in a word.
    pub fn answer(&self) -> &'static str {
        if self.sustains {
            "yes"
        } else if self.is_unknown {
            "unknown"
        } else {
            "no"
        }
    }

    /// The runs below the required rate: `1 of 4 runs did not sustain the load: 294 transactions per second`.
    pub fn slower_runs_text(&self, runs: usize) -> String {
        let lowest = thousands(self.lowest_tps as u64);
        match self.runs_below {
            1 => format!(
                "1 of {runs} runs did not sustain the load: {lowest} transactions per second"
            ),
            runs_below => format!(
                "{runs_below} of {runs} runs did not sustain the load: as few as {lowest} transactions per \
                 second"
            ),
        }
    }
}

/// Differences that do not prevent a ranking by cost: for a load that was sustained, it does not matter
/// whether the run had a rate.
const IGNORED_DIFFERENCES: [&str; 1] = ["pace"];

/// Which points sustain the load; `groups` are the runs of the `points`, in the same order.
pub(super) fn answer_load(
    groups: &[Vec<MeasuredConfiguration<'_>>],
    points: &[PricePoint],
    demand: &TargetLoad,
    options: &PriceOptions,
) -> LoadAnswer {
    let indexed = groups.iter().zip(points).enumerate();
    let mut candidates: Vec<Candidate> = indexed
        .map(|(index, (group, point))| candidate(index, group, point, demand))
        .collect();
    let cost = |candidate: &Candidate| points[candidate.point].total_monthly_cost;
    candidates.sort_by(|a, b| {
        let sustaining_first = b.sustains.cmp(&a.sustains);
        sustaining_first.then(cost(a).total_cmp(&cost(b)))
    });
    let best = candidates.first().filter(|first| first.sustains);
    let cheapest = best.map(|first| first.point);
    // Only points that sustain the load are ranked by their cost.
    let mut sustaining: Vec<usize> = candidates
        .iter()
        .filter(|candidate| candidate.sustains)
        .map(|candidate| candidate.point)
        .collect();
    sustaining.sort_unstable();
    let (ranked_groups, ranked_points): (Vec<_>, Vec<_>) = sustaining
        .iter()
        .map(|index| (groups[*index].clone(), points[*index].clone()))
        .unzip();
    let ignored = &IGNORED_DIFFERENCES;
    let obstacles = obstacles(&ranked_groups, &ranked_points, options, ignored);
    LoadAnswer {
        demand: *demand,
        cheapest: cheapest.filter(|_| obstacles.is_empty()),
        candidates,
        obstacles,
    }
}

fn candidate(
    index: usize,
    group: &[MeasuredConfiguration<'_>],
    point: &PricePoint,
    demand: &TargetLoad,
) -> Candidate {
    let limits = [
        ("95th", demand.p95_ns, point.p95_ns),
        ("99th", demand.p99_ns, point.p99_ns),
    ];
    let too_slow = limits
        .into_iter()
        .find_map(|(percentile, limit, measured)| {
            let measured_ns =
                measured.filter(|measured_ns| limit.is_some_and(|limit| *measured_ns > limit))?;
            let measured = time(measured_ns as f64);
            Some(format!("its {percentile} percentile was {measured}"))
        });
    let is_too_slow = too_slow.is_some();
    let mut limits = limits.into_iter();
    let unknown = limits.find_map(|(percentile, limit, measured)| {
        let is_unknown = limit.is_some() && measured.is_none();
        is_unknown.then(|| format!("its runs have no {percentile} percentile"))
    });
    let slow = too_slow.or(unknown);
    // A schedule of random starts yields slightly less than its rate, which is tolerated.
    let rate = group[0].run.drive.rate_tps;
    let required_tps = match rate {
        Some(rate) if rate >= demand.tps => RATE_CAVEAT_BELOW_SHARE * demand.tps,
        _ => demand.tps,
    };
    let rates: Vec<f64> = group
        .iter()
        .map(|measured| good_tps(measured.run))
        .collect();
    let enough = point.tps >= required_tps;
    // A run at a lower rate does not show how much more would have been possible.
    let lower_rate = rate.filter(|rate| *rate < demand.tps && !enough);
    let count = if slow.is_some() || lower_rate.is_some() {
        None
    } else if enough {
        Some(1)
    } else {
        Some((demand.tps / point.tps).ceil() as u64)
    };
    let reason = match (&slow, lower_rate, enough) {
        (_, Some(rate), _) => format!("its run was limited to {rate} transactions per second"),
        (Some(slow), None, true) => format!(
            "{slow} at {} transactions per second; a run with --rate {} may show that it sustains the load",
            thousands(point.tps as u64),
            demand.tps.ceil() as u64,
        ),
        (Some(slow), None, false) => slow.clone(),
        (None, None, false) => {
            let reached = thousands(point.tps as u64);
            format!("it reached {reached} transactions per second")
        }
        (None, None, true) => String::new(),
    };
    Candidate {
        point: index,
        sustains: enough && slow.is_none(),
        is_unknown: enough && slow.is_some() && !is_too_slow,
        why: reason,
        runs_below: rates.iter().filter(|rate| **rate < required_tps).count(),
        lowest_tps: rates.iter().copied().fold(f64::INFINITY, f64::min),
        count,
        cost: count.map(|count| count as f64 * point.total_monthly_cost),
    }
}
