//! Finds the runs at which the level of a history changed.
//!
//! In: one figure of each run, in the order of the runs. Out: the first run of each new level. Must never:
//! assume a distribution of the runs, or let one or two disturbed runs make a change.
//!
//! The test of a history: for each cut, the Wilcoxon rank sum of the runs before it, in standard deviations
//! of a history without a change; the cut with the largest one is the candidate. If it is not significant,
//! the same is done for each period within the history: a level that changes and changes back has two cuts,
//! neither of which need show alone (circular binary segmentation: Olshen and others 2004). If no period is
//! significant all cuts are chosen at once, with a penalty for each: of levels that alternate, no cut
//! and no period shows against the others. Levels of 8 runs that alternate by five times their scatter are found
//! nearly always. The p values
//! come from random orders of the same runs, because the largest of many rank sums exceeds a quantile of one
//! far more often (a permutation test: its level holds whatever the distribution of the runs is, with ties
//! and outliers). The order of the runs must be random if nothing changed: a machine that drifts over weeks
//! shows changes, and does change.
//!
//! If a history changes, its parts are searched in the same way (binary segmentation: Scott and Knott 1974),
//! each at its share of the level. The shares of all parts that are left add up to the level, so that a
//! history without a change shows one with a probability of at most `alpha`, and the search for further
//! changes adds no more than `alpha` in all (`tests/change_points.rs`).

use prony_plan::SplitMix;
use std::ops::Range;

/// Fewest runs of a level: with fewer, one or two disturbed runs at the end would be one.
pub const MIN_RUNS_OF_LEVEL: usize = 3;
/// Fewest random orders per test. The p value cannot be smaller than 1 / (orders + 1).
const MIN_ORDERS: usize = 999;
/// Random orders of a test, multiplied by its level: parts of parts are tested at ever smaller levels, which the
/// smallest p value must stay below.
const ORDERS_TIMES_ALPHA: f64 = 10.0;
/// Most random orders per test: a level of 1 in 10,000, which eight nested changes leave, needs as many.
const MAX_ORDERS: usize = 99_999;
/// Seed of the random orders: the same history always has the same changes.
const SEED: u64 = 15;
/// Share of the level for the test of cuts; the rest is for the tests of periods and of alternating levels, which
/// are clear where they matter. With this share, 8 runs suffice for a cut at 5 %.
const SHARE_OF_CUTS: f64 = 0.75;
/// Penalty for each cut if all are chosen at once, in variances of a rank. A cut within a level rarely gains as
/// much: where levels alternate, the ranks of a level vary far less than all ranks.
const PENALTY_OF_CUT: f64 = 4.0;

/// A run at which the level changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first run of the new level.
    pub index: usize,
    /// Probability that runs of one level, in random order, show as clear a change.
    pub p: f64,
}

/// The changes of a history, in its order, at a level of `alpha` for the whole history.
pub fn change_points(values: &[f64], alpha: f64) -> Vec<ChangePoint> {
    let mut found = Vec::new();
    let mut random = SplitMix::new(SEED);
    // The parts that are left to search, each with its share of the level.
    let mut parts = vec![(0..values.len(), alpha)];
    while let Some((part, alpha)) = parts.pop() {
        let Some((cuts, p)) = significant_cuts(&values[part.clone()], alpha, &mut random) else {
            continue;
        };
        let part_alpha = alpha / (cuts.len() + 1) as f64;
        let indexes = cuts.into_iter().map(|cut| part.start + cut);
        let changes: Vec<ChangePoint> = indexes.map(|index| ChangePoint { index, p }).collect();
        parts.extend(levels_between(&changes, part).map(|level| (level, part_alpha)));
        found.extend(changes);
    }
    found.sort_by_key(|change| change.index);
    found
}

/// The parts of a range of runs from each change to the next.
pub fn levels_between(
    changes: &[ChangePoint],
    runs: Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    let indexes = changes.iter().map(|change| change.index);
    let starts = std::iter::once(runs.start).chain(indexes.clone());
    starts
        .zip(indexes.chain([runs.end]))
        .map(|(start, end)| start..end)
}

/// A statistic of rank deviations: the cuts that make it largest, and its value.
type Statistic = fn(&[i64]) -> (Vec<usize>, f64);

/// The cuts of the clearest change with their p value, if it is significant.
fn significant_cuts(
    values: &[f64],
    alpha: f64,
    random: &mut SplitMix,
) -> Option<(Vec<usize>, f64)> {
    if values.len() < 2 * MIN_RUNS_OF_LEVEL {
        return None;
    }
    let tests: [(Statistic, f64); 3] = [
        (clearest_cut, SHARE_OF_CUTS),
        (clearest_period, (1.0 - SHARE_OF_CUTS) / 2.0),
        (clearest_levels, (1.0 - SHARE_OF_CUTS) / 2.0),
    ];
    let deviations = rank_deviations(values);
    tests.into_iter().find_map(|(statistic, share)| {
        let p = p_value(&deviations, statistic, alpha * share, random)?;
        Some((statistic(&deviations).0, p))
    })
}

/// The share of random orders with as large a statistic; `None` as soon as it is known to be above `alpha`.
fn p_value(
    deviations: &[i64],
    statistic: Statistic,
    alpha: f64,
    random: &mut SplitMix,
) -> Option<f64> {
    let (_, observed) = statistic(deviations);
    let mut shuffled = deviations.to_vec();
    let orders = ((ORDERS_TIMES_ALPHA / alpha) as usize).clamp(MIN_ORDERS, MAX_ORDERS);
    let all = (orders + 1) as f64;
    let mut as_clear = 1;
    for _ in 0..orders {
        random.shuffle(&mut shuffled);
        as_clear += usize::from(statistic(&shuffled).1 >= observed);
        if as_clear as f64 > alpha * all {
            return None;
        }
    }
    Some(as_clear as f64 / all)
}

/// The rank of each value less the mean rank, doubled: an integer, also with ties, which share the mean of
/// their ranks.
fn rank_deviations(values: &[f64]) -> Vec<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let deviation = |value: &f64| {
        let below = sorted.partition_point(|other| other < value) as i64;
        let not_above = sorted.partition_point(|other| other <= value) as i64;
        below + not_above - values.len() as i64
    };
    values.iter().map(deviation).collect()
}

/// The square of the rank sum of `runs` out of `count` runs, in units of its variance up to a factor that is the
/// same for all sums: the variance is proportional to the product of the numbers in and outside the sum.
fn standardized(sum: i64, runs: usize, count: usize) -> f64 {
    (sum as f64).powi(2) / (runs * (count - runs)) as f64
}

/// The cut with the largest rank sum.
fn clearest_cut(deviations: &[i64]) -> (Vec<usize>, f64) {
    let count = deviations.len();
    let mut sum = 0;
    let (mut best_cut, mut best_value) = (0, f64::NEG_INFINITY);
    for (index, deviation) in deviations.iter().enumerate() {
        let cut = index + 1;
        sum += deviation;
        if cut < MIN_RUNS_OF_LEVEL || count - cut < MIN_RUNS_OF_LEVEL {
            continue;
        }
        let value = standardized(sum, cut, count);
        if value > best_value {
            (best_cut, best_value) = (cut, value);
        }
    }
    (vec![best_cut], best_value)
}

/// The period with the largest rank sum: its first run, and the first run after it.
fn clearest_period(deviations: &[i64]) -> (Vec<usize>, f64) {
    let count = deviations.len();
    let (mut best_period, mut best_value) = ([0, 0], f64::NEG_INFINITY);
    for start in MIN_RUNS_OF_LEVEL..count {
        let mut sum = 0;
        for end in start + 1..=count - MIN_RUNS_OF_LEVEL {
            sum += deviations[end - 1];
            let runs = end - start;
            if runs < MIN_RUNS_OF_LEVEL {
                continue;
            }
            let value = standardized(sum, runs, count);
            if value > best_value {
                (best_period, best_value) = ([start, end], value);
            }
        }
    }
    (best_period.to_vec(), best_value)
}

/// The cuts that explain most of the variance of the ranks, less the penalties, by dynamic programming (optimal
/// partitioning: Jackson and others 2005).
fn clearest_levels(deviations: &[i64]) -> (Vec<usize>, f64) {
    let count = deviations.len();
    let penalty = PENALTY_OF_CUT * ((count * count) as f64 - 1.0) / 3.0;
    let mut sums = vec![0; count + 1];
    for (index, deviation) in deviations.iter().enumerate() {
        sums[index + 1] = sums[index] + deviation;
    }
    // Of the first runs: the largest value, and the start of the last level with which it is reached.
    let mut best = vec![(f64::NEG_INFINITY, 0); count + 1];
    best[0].0 = 0.0;
    for end in MIN_RUNS_OF_LEVEL..=count {
        for start in 0..=end - MIN_RUNS_OF_LEVEL {
            let explained = ((sums[end] - sums[start]) as f64).powi(2) / (end - start) as f64;
            let cost = if start == 0 { 0.0 } else { penalty };
            let value = best[start].0 + explained - cost;
            if value > best[end].0 {
                best[end] = (value, start);
            }
        }
    }
    let mut cuts = Vec::new();
    let mut end = count;
    while best[end].1 > 0 {
        end = best[end].1;
        cuts.push(end);
    }
    cuts.reverse();
    (cuts, best[count].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_mean_rank() {
        assert_eq!(rank_deviations(&[5.0, 7.0, 5.0, 9.0]), [-2, 1, -2, 3]);
        assert_eq!(rank_deviations(&[1.0; 5]), [0; 5]);
    }

    #[test]
    fn equal_runs_and_short_histories_have_no_change() {
        assert_eq!(change_points(&[], 0.05), []);
        assert_eq!(change_points(&[3.0; 40], 0.05), []);
        assert_eq!(change_points(&[1.0, 1.0, 9.0, 9.0, 9.0], 0.05), []);
    }

    /// 4 and 4 of 8 runs are in order in 2 of 70 orders; 3 and 4 of 7 in 2 of 35, which is above 5 %.
    #[test]
    fn eight_runs_are_the_fewest_that_show_a_change() {
        let step = |before: usize, after: usize| {
            let values = (0..before + after).map(|at| {
                if at < before { 100.0 + at as f64 / 10.0 } else { 90.0 - at as f64 / 10.0 }
            });
            change_points(&values.collect::<Vec<_>>(), 0.05)
        };
        let eight = step(4, 4);
        assert_eq!(eight.len(), 1, "{eight:?}");
        assert_eq!(eight[0].index, 4);
        assert!((eight[0].p - 2.0 / 70.0).abs() < 0.02, "{eight:?}");
        assert_eq!(step(3, 4), []);
    }
}
