//! Which configuration is worth its price.
//!
//! In: points and the runs behind them. Out: an order, a frontier and break-even prices, or what
//! stands against them. Must never: rank what does not compare.

use super::{Offer, Point, Terms};
use crate::compare::between_priced;
use prony_store::Severity;
use serde::Serialize;

/// Which of several is worth its price.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// Why there is none; empty where there is one.
    pub obstacles: Vec<Obstacle>,
    /// Most throughput for the money: the places of points, best first; empty where there is no order.
    pub order: Vec<usize>,
    /// Places of points that none beats in both cost and throughput, cheapest first.
    pub frontier: Vec<usize>,
}

/// What keeps two points from being ranked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// One configuration, with its variant.
    pub a: String,
    /// The other.
    pub b: String,
    /// What differs.
    pub what: String,
    /// In the first.
    pub in_a: String,
    /// In the second.
    pub in_b: String,
    /// Why it matters.
    pub why: String,
}

/// Ranks the points, and writes into each where it stands.
pub(super) fn rank(groups: &[Vec<Offer<'_>>], points: &mut [Point], terms: &Terms) -> Ranking {
    let obstacles = obstacles(groups, points, terms, &[]);
    if !obstacles.is_empty() {
        return Ranking {
            obstacles,
            order: Vec::new(),
            frontier: Vec::new(),
        };
    }
    let mut order: Vec<usize> = (0..points.len()).collect();
    let worth = |place: &usize| points[*place].tps / points[*place].cost;
    order.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let frontier = frontier(points);
    let best = order[0];
    let (cost, tps) = (points[best].cost, points[best].tps);
    for (place, point) in points.iter_mut().enumerate() {
        point.on_frontier = Some(frontier.contains(&place));
        point.break_even = (place != best).then(|| cost * point.tps / tps);
    }
    Ranking {
        obstacles,
        order,
        frontier,
    }
}

/// Those that no other beats in one of cost and throughput without being beaten in the other.
fn frontier(points: &[Point]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..points.len()).collect();
    let key = |place: &usize| (points[*place].cost, -points[*place].tps);
    places.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let mut most = 0.0;
    places.retain(|place| {
        let better = points[*place].tps > most;
        if better {
            most = points[*place].tps;
        }
        better
    });
    places
}

/// What stands against ranking, each point against the first. `but` are differences that do not matter
/// for what is asked.
pub(super) fn obstacles(
    groups: &[Vec<Offer<'_>>],
    points: &[Point],
    terms: &Terms,
    but: &[&str],
) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let (Some(group), Some(first)) = (groups.first(), points.first()) else {
        return found;
    };
    for (other, point) in groups.iter().zip(points).skip(1) {
        let mut add = |what: &str, in_a: String, in_b: String, why: &str| {
            found.push(Obstacle {
                a: first.name(),
                b: point.name(),
                what: what.to_owned(),
                in_a,
                in_b,
                why: why.to_owned(),
            });
        };
        let compared = between_priced(group[0].run, other[0].run).into_iter();
        let grave = compared.filter(|one| one.severity == Severity::Invalid);
        for one in grave.filter(|one| !but.contains(&one.what.as_str())) {
            add(&one.what, one.a, one.b, one.why);
        }
        let (a, b) = (first.replicas_paid, point.replicas_paid);
        if a != b {
            let why = "one pays for more safety than the other";
            add("replicas paid for", a.to_string(), b.to_string(), why);
        }
        if first.regions != point.regions && !terms.across_regions {
            let why = "prices differ by region; --across-regions ranks them all the same";
            add(
                "region",
                first.regions.join(", "),
                point.regions.join(", "),
                why,
            );
        }
    }
    found
}
