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

/// How many of the lowest of so many values are below the quantile `share` of all, except with this probability; `None` if
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

/// Intervals of the medians of several groups that scatter alike, such as the points of a curve: the order-statistic interval
/// if a group has one, otherwise Student's t on the logarithms, which assumes that these are normally distributed. Two values say
/// next to nothing of their scatter: that of all groups together takes its place. `None` for a group of fewer values, for two of
/// the only group, and if a value is not above 0.
pub fn median_intervals(groups: &[&[f64]], alpha: f64) -> Vec<Option<[f64; 2]>> {
    let logs: Vec<Option<Vec<f64>>> = groups
        .iter()
        .map(|values| {
            let logs = values
                .iter()
                .map(|value| Some(value.ln()).filter(|log| log.is_finite()));
            logs.collect()
        })
        .collect();
    let moments = |logs: &Option<Vec<f64>>| {
        let logs = logs.as_ref()?;
        let [mean, variance] = runs::moments(logs)?;
        Some((mean, variance, logs.len() as f64))
    };
    let moments: Vec<_> = logs.iter().map(moments).collect();
    let known = || moments.iter().flatten();
    let pooled_dof: f64 = known().map(|(.., count)| count - 1.0).sum();
    let pooled_squares: f64 = known()
        .map(|(_, variance, count)| variance * (count - 1.0))
        .sum();
    let interval = |(values, moments): (&&[f64], &Option<(f64, f64, f64)>)| {
        let (mean, variance, count) = (*moments)?;
        order_statistic_interval(values, alpha).or_else(|| {
            let (variance, dof) = if count > 2.0 {
                (variance, count - 1.0)
            } else {
                (pooled_squares / pooled_dof, pooled_dof)
            };
            let half = student::quantile(1.0 - alpha / 2.0, dof) * (variance / count).sqrt();
            (dof > 1.0).then(|| [-half, half].map(|half| (mean + half).exp()))
        })
    };
    groups.iter().zip(&moments).map(interval).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::ALPHA;

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
        // Of 29 values, the 99th percentile has all below it with 0.99^29: 75 %. At most 27 are with 3.4 %, and 26 with 0.3 %.
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
    fn two_values_have_the_scatter_of_all_groups() {
        // By itself, a pair has one degree of freedom: from 4,000 to 25,000.
        assert_eq!(median_intervals(&[&[9_900.0, 10_100.0]], ALPHA), [None]);
        let groups: [&[f64]; 4] = [
            &[9_900.0, 10_100.0],
            &[2_000.0, 2_000.0],
            &[300.0],
            &[500.0, 510.0, 490.0],
        ];
        let found = median_intervals(&groups, ALPHA);
        assert_eq!(found[2], None);
        // Squares of 2e-4, 0 and 8e-4 with 4 degrees of freedom: 2.776 times 1.58 % divided by the root of 2.
        for (interval, value) in [(found[0], 10_000.0), (found[1], 2_000.0)] {
            let [low, high] = interval.unwrap().map(|end| end / value);
            assert!((low - 0.9694).abs() < 1e-3, "{low}");
            assert!((high - 1.0315).abs() < 1e-3, "{high}");
        }
        let own = median_intervals(&groups[3..], ALPHA);
        assert_eq!(found[3], own[0], "three values suffice by themselves");
    }
}
