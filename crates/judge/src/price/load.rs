//! The cheapest configuration that holds a load.
//!
//! In: points, and what is demanded. Out: which holds it, and why the others do not. Must never:
//! conclude from a run beyond what it showed.

use super::point::good_tps;
use super::rank::{Obstacle, obstacles};
use super::{Offer, Point, Terms};
use crate::thresholds::RATE_CAVEAT;
use crate::words::{thousands, time};
use prony_store::{Check, Severity};
use serde::Serialize;

/// A load that is to be held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Demand {
    /// Committed transactions a second.
    pub tps: f64,
    /// The 95th percentile of the response time may be so long, nanoseconds.
    pub p95_ns: Option<u64>,
    /// The 99th may be so long.
    pub p99_ns: Option<u64>,
}

/// What holds it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What was demanded.
    pub demand: Demand,
    /// Each point, the cheapest that holds it first, then those that do not, by cost.
    pub candidates: Vec<Candidate>,
    /// The place of the point that holds it at the least cost; absent where none does, or where they do
    /// not compare.
    pub cheapest: Option<usize>,
    /// Why the cheapest is not named although one holds it.
    pub obstacles: Vec<Obstacle>,
}

/// How one point stands to the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Place of the point.
    pub point: usize,
    /// Whether it held it.
    pub holds: bool,
    /// Why not; empty where it does.
    pub why: String,
    /// Of its runs so many gave less than what is needed: the median decides whether it holds.
    pub short: usize,
    /// What the slowest of its runs gave, transactions a second.
    pub lowest_tps: f64,
    /// So many of it would hold the load if that can be divided among them; absent where the response
    /// times are not kept.
    pub count: Option<u64>,
    /// What these cost a month.
    pub cost: Option<f64>,
}

impl Answer {
    /// What speaks against those that hold the load by the median of their runs, and not in each of them.
    pub(super) fn short(&self, points: &[Point]) -> Vec<Check> {
        let partly = self.candidates.iter().filter(|one| one.is_partly());
        let remarks = partly.filter_map(|one| {
            let point = &points[one.point];
            let finding = format!("{}: {}.", point.name(), one.in_part(point.runs.len()));
            let advice = "Repeat it until the runs agree, or count on the slowest.";
            crate::found("load-not-always-held", Severity::Caveat, finding, advice)
        });
        remarks.collect()
    }
}

impl Candidate {
    /// Whether it holds the load by its median, and not in each of its runs.
    pub fn is_partly(&self) -> bool {
        self.holds && self.short > 0
    }

    /// How many of so many runs gave less, and how little: `1 of 4 runs gave less: 294 a second`.
    pub fn in_part(&self, runs: usize) -> String {
        let lowest = thousands(self.lowest_tps as u64);
        match self.short {
            1 => format!("1 of {runs} runs gave less: {lowest} a second"),
            short => format!("{short} of {runs} runs gave less, down to {lowest} a second"),
        }
    }
}

/// Differences that do not matter here: how the load came about, if it was held.
const BUT: [&str; 1] = ["pace"];

pub(super) fn answer(
    groups: &[Vec<Offer<'_>>],
    points: &[Point],
    demand: &Demand,
    terms: &Terms,
) -> Answer {
    let each = groups.iter().zip(points).enumerate();
    let mut candidates: Vec<Candidate> = each
        .map(|(place, (group, point))| candidate(place, group, point, demand))
        .collect();
    candidates.sort_by(|a, b| {
        let cost = |one: &Candidate| points[one.point].cost;
        b.holds.cmp(&a.holds).then(cost(a).total_cmp(&cost(b)))
    });
    let holds = candidates.first().filter(|first| first.holds);
    let cheapest = holds.map(|first| first.point);
    // Only those that hold it are ranked by their cost.
    let mut holding: Vec<usize> = candidates
        .iter()
        .filter(|one| one.holds)
        .map(|one| one.point)
        .collect();
    holding.sort_unstable();
    let of_them = holding
        .iter()
        .map(|place| (groups[*place].clone(), points[*place].clone()));
    let (groups, points): (Vec<_>, Vec<_>) = of_them.unzip();
    let obstacles = obstacles(&groups, &points, terms, &BUT);
    Answer {
        demand: *demand,
        cheapest: cheapest.filter(|_| obstacles.is_empty()),
        candidates,
        obstacles,
    }
}

fn candidate(place: usize, group: &[Offer<'_>], point: &Point, demand: &Demand) -> Candidate {
    let slow = [
        ("95th", demand.p95_ns, point.p95_ns),
        ("99th", demand.p99_ns, point.p99_ns),
    ]
    .into_iter()
    .find_map(|(which, limit, seen)| too_slow(which, limit?, seen));
    // A schedule of random starts gives some less than its rate.
    let rate = group[0].run.drive.rate_tps;
    let least = match rate {
        Some(rate) if rate >= demand.tps => RATE_CAVEAT * demand.tps,
        _ => demand.tps,
    };
    let rates: Vec<f64> = group.iter().map(|one| good_tps(one.run)).collect();
    let enough = point.tps >= least;
    // A run at a lower rate says nothing of how much more there was.
    let below = rate.filter(|rate| *rate < demand.tps && !enough);
    let count = match (&slow, below, enough) {
        (None, None, true) => Some(1),
        (None, None, false) => Some((demand.tps / point.tps).ceil() as u64),
        _ => None,
    };
    let why = match (&slow, below, enough) {
        (_, Some(rate), _) => format!("it was asked for no more than {rate} a second"),
        (Some(slow), None, true) => format!(
            "{slow} at {} a second; a run with --rate {} may show that it holds it",
            thousands(point.tps as u64),
            demand.tps.ceil() as u64,
        ),
        (Some(slow), None, false) => slow.clone(),
        (None, None, false) => format!("it did {} a second", thousands(point.tps as u64)),
        (None, None, true) => String::new(),
    };
    Candidate {
        point: place,
        holds: enough && slow.is_none(),
        why,
        short: rates.iter().filter(|rate| **rate < least).count(),
        lowest_tps: rates.iter().copied().fold(f64::INFINITY, f64::min),
        count,
        cost: count.map(|count| count as f64 * point.cost),
    }
}

/// Why a percentile is not kept.
fn too_slow(which: &str, limit_ns: u64, seen_ns: Option<u64>) -> Option<String> {
    match seen_ns {
        None => Some(format!("its runs do not say their {which} percentile")),
        Some(seen) if seen > limit_ns => {
            let seen = time(seen as f64);
            Some(format!("its {which} percentile was {seen}"))
        }
        Some(_) => None,
    }
}
