//! Ranks configurations by throughput for the money.
//!
//! In: points and their runs. Out: an order, a frontier and break-even prices, or the obstacles to a
//! ranking. Must never: rank runs that are not comparable.

use super::{MeasuredConfiguration, PriceOptions, PricePoint};
use crate::compare::{price_ranking_differences, varies_availability};
use prony_store::Severity;
use serde::Serialize;

/// The ranking of several points.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// Why there is no ranking; empty if there is one.
    pub obstacles: Vec<RankingObstacle>,
    /// Indexes of points by throughput for the money of the median run, best first; empty if there is no ranking.
    /// Neighbours are ranked apart only if [`PricePoint::rank`] differs.
    pub order: Vec<usize>,
    /// Indexes of points that no other point beats in both cost and throughput, cheapest first.
    pub frontier: Vec<usize>,
}

/// A difference that prevents ranking two points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankingObstacle {
    /// One configuration, with its variant.
    pub a: String,
    /// The other configuration, with its variant.
    pub b: String,
    /// The property that differs.
    pub what: String,
    /// Its value in configuration `a`.
    pub in_a: String,
    /// Its value in configuration `b`.
    pub in_b: String,
    pub why: String,
}

/// Ranks the points, and stores the result in each.
pub(super) fn rank(
    groups: &[Vec<MeasuredConfiguration<'_>>],
    points: &mut [PricePoint],
    options: &PriceOptions,
) -> Ranking {
    let obstacles = obstacles(groups, points, options, &[]);
    if !obstacles.is_empty() {
        return Ranking {
            obstacles,
            order: Vec::new(),
            frontier: Vec::new(),
        };
    }
    let mut order: Vec<usize> = (0..points.len()).collect();
    let tps_per_cost = |index: &usize| points[*index].tps / points[*index].total_monthly_cost;
    order.sort_by(|a, b| tps_per_cost(b).total_cmp(&tps_per_cost(a)));
    let frontier = frontier(points);
    let ranks = ranks(points);
    let best = order[0];
    let (best_cost, best_tps) = (points[best].total_monthly_cost, points[best].tps);
    for (index, point) in points.iter_mut().enumerate() {
        point.rank = Some(ranks[index]);
        point.on_frontier = Some(frontier.contains(&index));
        point.break_even = (index != best).then(|| best_cost * point.tps / best_tps);
    }
    Ranking {
        obstacles,
        order,
        frontier,
    }
}

/// The rank of each point: chance may have put two points with overlapping intervals in either order.
fn ranks(points: &[PricePoint]) -> Vec<usize> {
    // Division by the cost: a point without a cost is above all others.
    let interval = |point: &PricePoint| match point.tps_interval {
        Some(range) => [
            range.low / point.total_monthly_cost,
            range.high / point.total_monthly_cost,
        ],
        None => [point.tps / point.total_monthly_cost; 2],
    };
    let rank = |point: &PricePoint| {
        let [_, high] = interval(point);
        let is_above = |other: &&PricePoint| interval(other)[0] > high;
        1 + points.iter().filter(is_above).count()
    };
    points.iter().map(rank).collect()
}

/// Indexes of the points for which no other point is at least as good in both cost and throughput and better
/// in one.
fn frontier(points: &[PricePoint]) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..points.len()).collect();
    indexes.sort_by(|a, b| {
        let (a, b) = (&points[*a], &points[*b]);
        let cheapest_first = a.total_monthly_cost.total_cmp(&b.total_monthly_cost);
        cheapest_first.then(b.tps.total_cmp(&a.tps))
    });
    let mut highest_tps = 0.0;
    indexes.retain(|index| {
        let is_faster = points[*index].tps > highest_tps;
        if is_faster {
            highest_tps = points[*index].tps;
        }
        is_faster
    });
    indexes
}

/// Obstacles to ranking: differences between each point and the first one, except those whose names are in
/// `ignored`.
pub(super) fn obstacles(
    groups: &[Vec<MeasuredConfiguration<'_>>],
    points: &[PricePoint],
    options: &PriceOptions,
    ignored: &[&str],
) -> Vec<RankingObstacle> {
    let mut obstacles = Vec::new();
    let (Some(group), Some(first)) = (groups.first(), points.first()) else {
        return obstacles;
    };
    for (other_group, point) in groups.iter().zip(points).skip(1) {
        let mut add = |what: &str, in_a: String, in_b: String, reason: &str| {
            obstacles.push(RankingObstacle {
                a: first.name(),
                b: point.name(),
                what: what.to_owned(),
                in_a,
                in_b,
                why: reason.to_owned(),
            });
        };
        let differences = price_ranking_differences(group[0].run, other_group[0].run).into_iter();
        let preventing = differences.filter(|difference| {
            difference.severity == Severity::Invalid && !ignored.contains(&&*difference.what)
        });
        for difference in preventing {
            add(&difference.what, difference.a, difference.b, difference.why);
        }
        let (a, b) = (first.replicas_paid, point.replicas_paid);
        if a != b && !varies_availability(group[0].run, other_group[0].run) {
            let reason = "one pays for more replicas than the other";
            add("replicas paid for", a.to_string(), b.to_string(), reason);
        }
        if first.regions != point.regions && !options.across_regions {
            let reason = "prices differ by region; --across-regions ranks them nevertheless";
            add(
                "region",
                first.regions.join(", "),
                point.regions.join(", "),
                reason,
            );
        }
    }
    obstacles
}
