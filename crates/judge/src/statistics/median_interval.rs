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
    let ranks_left_out = ranks_left_out(values.len(), alpha)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([
        sorted[ranks_left_out],
        sorted[sorted.len() - 1 - ranks_left_out],
    ])
}

/// How many values an interval leaves out at each end; `None` if there are too few values for an interval.
fn ranks_left_out(count: usize, alpha: f64) -> Option<usize> {
    // Logarithms, because a power of one half vanishes for a thousand values.
    let n = count as f64;
    let mut log_probability = n * 0.5_f64.ln();
    let mut below = log_probability.exp();
    if count == 0 || 2.0 * below > alpha {
        return None;
    }
    let mut cut = 0;
    loop {
        let heads = (cut + 1) as f64;
        log_probability += ((n - heads + 1.0) / heads).ln();
        below += log_probability.exp();
        if 2.0 * below > alpha {
            return Some(cut);
        }
        cut += 1;
    }
}

/// An interval of the median for two values or more: the order-statistic interval if there is one, otherwise
/// Student's t on the logarithms, which assumes that these are normally distributed. `None` for fewer than
/// two values, or if a value is not above 0.
pub fn median_interval(values: &[f64], alpha: f64) -> Option<[f64; 2]> {
    if values
        .iter()
        .any(|value| *value <= 0.0 || !value.is_finite())
    {
        return None;
    }
    order_statistic_interval(values, alpha).or_else(|| {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let [mean, variance] = runs::moments(&logs)?;
        let count = logs.len() as f64;
        let half = student::quantile(1.0 - alpha / 2.0, count - 1.0) * (variance / count).sqrt();
        Some([-half, half].map(|half| (mean + half).exp()))
    })
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
            assert_eq!(ranks_left_out(count, ALPHA), ranks, "{count}");
        }
        for (count, rank) in [(12, 2), (15, 3), (20, 5), (25, 7), (50, 17)] {
            assert_eq!(ranks_left_out(count, ALPHA), Some(rank), "{count}");
        }
        let many = ranks_left_out(10_000, ALPHA).unwrap();
        assert!((4_900..4_904).contains(&many), "{many}");
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(order_statistic_interval(&values, ALPHA), Some([2.0, 8.0]));
    }

    #[test]
    fn few_values_use_student() {
        assert_eq!(median_interval(&[5.0], ALPHA), None);
        assert_eq!(median_interval(&[5.0, 0.0], ALPHA), None);
        let [low, high] = median_interval(&[9_900.0, 10_000.0, 10_100.0], ALPHA).unwrap();
        // A standard deviation of 1 %, divided by the root of 3, times 4.303.
        assert!((low / 10_000.0 - 0.9755).abs() < 2e-4, "{low}");
        assert!((high / 10_000.0 - 1.0251).abs() < 2e-4, "{high}");
    }
}
