//! Intervals of the median of one side's runs.
//!
//! In: one figure of each run. Out: an interval that encloses the median of all runs that the system would
//! make, at a given level. Must never: return the range of too few runs, whose level is lower.

use super::{runs, student};

/// The order-statistic interval of the median: it assumes nothing about the distribution, and its level is at
/// least `1 - alpha`. The kth smallest and the kth largest of n values both miss the median on one side with
/// the probability that fewer than k of n coins show heads (David and Nagaraja 2003, Order Statistics,
/// section 7.1). `None` if even the smallest and the largest value do not suffice: at 5 %, below 6 values.
pub fn order_statistic_interval(values: &[f64], alpha: f64) -> Option<[f64; 2]> {
    let ranks_left_out = ranks_below(values.len(), 0.5, alpha / 2.0)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([
        sorted[ranks_left_out],
        sorted[sorted.len() - 1 - ranks_left_out],
    ])
}

/// How many of the lowest of `count` values are below the quantile `share` of all, except with this probability; `None` if
/// not even the lowest is: all of them may be above it by chance.
pub fn ranks_below(count: usize, share: f64, probability: f64) -> Option<usize> {
    // Logarithms, because a power of a share vanishes for a thousand values.
    let n = count as f64;
    let odds = (share / (1.0 - share)).ln();
    let mut log_probability = n * (1.0 - share).ln();
    let mut fewer = log_probability.exp();
    if count == 0 || fewer > probability {
        return None;
    }
    for below in 1..=count {
        log_probability += ((n - below as f64 + 1.0) / below as f64).ln() + odds;
        fewer += log_probability.exp();
        if fewer > probability {
            return Some(below - 1);
        }
    }
    None
}

/// Intervals of the medians of several groups in an order, such as the points of a curve: the order-statistic interval if
/// a group has one, otherwise Student's t on the logarithms, which assumes that these are normally distributed. Two values
/// say next to nothing of their scatter: that of the group with its neighbours takes its place. It is not that of all
/// groups, because a system that is loaded fully scatters more. `None` for a group of fewer values, for two of the only
/// group, and if a value is not above 0.
pub fn median_intervals(groups: &[&[f64]], alpha: f64) -> Vec<Option<[f64; 2]>> {
    let moments: Vec<Option<Moments>> = groups.iter().map(|values| Moments::of(values)).collect();
    let known: Vec<(usize, &Moments)> = moments
        .iter()
        .enumerate()
        .filter_map(|(index, moments)| Some((index, moments.as_ref()?)))
        .collect();
    let mut intervals = vec![None; groups.len()];
    for (position, (index, own)) in known.iter().enumerate() {
        let near = if own.count > 2.0 {
            &known[position..=position]
        } else {
            &known[position.saturating_sub(1)..(position + 2).min(known.len())]
        };
        let dof: f64 = near.iter().map(|(_, group)| group.count - 1.0).sum();
        let squares = near
            .iter()
            .map(|(_, group)| group.variance * (group.count - 1.0));
        let variance = squares.sum::<f64>() / dof;
        let by_student = || {
            let half = student::quantile(1.0 - alpha / 2.0, dof) * (variance / own.count).sqrt();
            [(own.mean - half).exp(), (own.mean + half).exp()]
        };
        let by_ranks = order_statistic_interval(groups[*index], alpha);
        intervals[*index] = by_ranks.or_else(|| (dof > 1.0).then(by_student));
    }
    intervals
}

/// Mean and variance of the logarithms of a group.
struct Moments {
    mean: f64,
    variance: f64,
    count: f64,
}

impl Moments {
    fn of(values: &[f64]) -> Option<Moments> {
        let values = values.iter();
        let logs = values.map(|value| Some(value.ln()).filter(|log| log.is_finite()));
        let logs: Vec<f64> = logs.collect::<Option<_>>()?;
        let [mean, variance] = runs::moments(&logs)?;
        let count = logs.len() as f64;
        Some(Moments {
            mean,
            variance,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::ALPHA;
    use prony_plan::SplitMix;

    /// The classical table of these intervals at 95 % (Conover 1999, Practical Nonparametric Statistics,
    /// section 3.2): the smallest to the largest from 6 values on, the second from 9, the third from 12.
    #[test]
    fn ranks_match_the_table() {
        for (count, ranks) in [
            (5, None),
            (6, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (11, Some(1)),
        ] {
            assert_eq!(ranks_below(count, 0.5, ALPHA / 2.0), ranks, "{count}");
        }
        for (count, rank) in [(12, 2), (15, 3), (20, 5), (25, 7), (50, 17)] {
            assert_eq!(ranks_below(count, 0.5, ALPHA / 2.0), Some(rank), "{count}");
        }
        let many = ranks_below(10_000, 0.5, ALPHA / 2.0).unwrap();
        assert!((4_900..4_904).contains(&many), "{many}");
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(order_statistic_interval(&values, ALPHA), Some([2.0, 8.0]));
    }

    #[test]
    fn ranks_of_a_high_quantile_match_the_binomial_distribution() {
        // Of 29 values, the 99th percentile has all below it with 0.99^29: 75 %. At most 27 are with 3.4 %, and 26 with
        // 0.3 %.
        assert_eq!(ranks_below(29, 0.99, 0.025), Some(26));
        assert_eq!(ranks_below(1, 0.99, 0.025), Some(0), "1 % is below 2.5 %");
        assert_eq!(ranks_below(1, 0.95, 0.025), None);
        // 990 of 1,000 with a standard deviation of 3.15.
        assert_eq!(ranks_below(1_000, 0.99, 0.025), Some(982));
        assert_eq!(ranks_below(0, 0.5, 0.025), None);
    }

    #[test]
    fn few_values_use_student() {
        let alone = |values: &[f64]| median_intervals(&[values], ALPHA)[0];
        assert_eq!(alone(&[5.0]), None);
        assert_eq!(alone(&[5.0, 0.0, 5.1]), None);
        let [low, high] = alone(&[9_900.0, 10_000.0, 10_100.0]).unwrap();
        // A standard deviation of 1 %, divided by the root of 3, times 4.303.
        assert!((low / 10_000.0 - 0.9755).abs() < 2e-4, "{low}");
        assert!((high / 10_000.0 - 1.0251).abs() < 2e-4, "{high}");
    }

    #[test]
    fn two_values_have_the_scatter_of_their_neighbours_too() {
        // By itself, a pair has one degree of freedom: from 4,000 to 25,000.
        assert_eq!(median_intervals(&[&[9_900.0, 10_100.0]], ALPHA), [None]);
        let groups: [&[f64]; 5] = [
            &[9_900.0, 10_100.0],
            &[2_000.0, 2_000.0],
            &[300.0],
            &[500.0, 510.0, 490.0],
            &[100.0, 200.0],
        ];
        let found = median_intervals(&groups, ALPHA);
        assert_eq!(found[2], None);
        // Squares of 2e-4 and 0 with 2 degrees of freedom: 4.303 times 1 % divided by the root of 2; and with the 8e-4 of
        // the next group 2.776 times 1.58 %.
        for (interval, value, half) in [(found[0], 10_000.0, 0.0304), (found[1], 2_000.0, 0.0310)] {
            let [low, high] = interval.unwrap().map(|end| end / value);
            assert!((low.ln() + half).abs() < 1e-3, "{low}");
            assert!((high.ln() - half).abs() < 1e-3, "{high}");
        }
        let own = median_intervals(&groups[3..4], ALPHA);
        assert_eq!(found[3], own[0], "three values suffice by themselves");
    }

    /// Past its knee a curve scatters more: with the scatter of all points, the intervals there would contain only two
    /// medians of three, and those before it would be far too wide.
    #[test]
    fn pairs_that_scatter_more_have_wider_intervals() {
        const CURVES: usize = 2_000;
        let mut random = SplitMix::new(1);
        let mut normal = || {
            let radius = (-2.0 * random.uniform().max(1e-12).ln()).sqrt();
            radius * (std::f64::consts::TAU * random.uniform()).cos()
        };
        let scatter = [0.01, 0.01, 0.01, 0.01, 0.01, 0.08, 0.08, 0.08];
        let mut covered = [0; 8];
        let mut widths = [0.0; 8];
        for _ in 0..CURVES {
            let pairs = scatter.map(|sigma| [(); 2].map(|()| 1_000.0 * (sigma * normal()).exp()));
            let groups = pairs.each_ref().map(<[f64; 2]>::as_slice);
            for (index, interval) in median_intervals(&groups, ALPHA).into_iter().enumerate() {
                let [low, high] = interval.unwrap();
                covered[index] += usize::from(low <= 1_000.0 && 1_000.0 <= high);
                widths[index] += (high / low).ln() / CURVES as f64;
            }
        }
        for (index, covered) in covered.into_iter().enumerate() {
            let share = covered as f64 / CURVES as f64;
            // The first point past the knee has a calm neighbour.
            let least = if index == 5 { 0.85 } else { 0.93 };
            assert!(share >= least, "{index}: {share}");
        }
        assert!(widths[1] < 0.06 && widths[6] > 0.2, "{widths:?}");
    }
}
