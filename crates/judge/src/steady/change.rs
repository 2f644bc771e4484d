//! Finds whether a series of seconds changed over the window: a steady slope, or a step at one moment.
//!
//! In: one value for each second, in which equal differences mean equal relative changes (a logarithm, or a
//! share of the mean). Out: the [`Change`] that fits better. Must never: take chance for a change, or the
//! autocorrelation of seconds for evidence.
//!
//! Both models are fitted by least squares to at most twenty bins. The error of each comes from its own
//! residuals, and is inflated by their first-order autocorrelation (Bayley and Hammersley 1946), because a
//! disturbance that lasts for some seconds looks like a change otherwise. The best of many cuts exceeds a
//! quantile of Student's t far more often than one cut does; [`CHANGE_MIN_STD_ERRORS`] is therefore
//! calibrated by simulation (`tests/simulated`).

use crate::thresholds::CHANGE_MIN_STD_ERRORS;

/// Largest number of bins.
const MAX_BINS: usize = 20;
/// Fewest bins on each side of a step.
const MIN_SIDE_BINS: usize = 2;
/// Smallest standard deviation of a bin, relative: percentiles are stored with three digits.
const MIN_STD_DEVIATION: f64 = 0.001;
/// Largest autocorrelation of the residuals for which the error is corrected.
const MAX_CORRELATION: f64 = 0.9;

/// A change of a series over the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Change {
    /// The value at the beginning: of the line, or before the step.
    pub start_value: f64,
    /// The value at the end: of the line, or after the step.
    pub end_value: f64,
    /// The share of the window before the step; `None` for a slope.
    pub share_before_step: Option<f64>,
}

impl Change {
    /// Effect of the change on a figure of the whole window, in units of the series: the whole size of a
    /// slope; the size of a step, times twice the share of its shorter part. A step in the middle counts as
    /// much as a slope of the same size, and one near an edge of the window hardly counts.
    pub fn effect(&self) -> f64 {
        let share = self
            .share_before_step
            .map_or(1.0, |before| 2.0 * before.min(1.0 - before));
        (self.end_value - self.start_value) * share
    }
}

/// How a series changed over the window, where `summarize` computes the value of a bin from its seconds;
/// `None` if chance explains the change.
pub(crate) fn find_change(series: &[f64], summarize: fn(&[f64]) -> f64) -> Option<Change> {
    let bins = summarize_bins(series, summarize);
    if bins.len() < 2 * MIN_SIDE_BINS + 2 {
        return None;
    }
    let line = fit_line(&bins);
    let step = (MIN_SIDE_BINS..=bins.len() - MIN_SIDE_BINS)
        .map(|cut| fit_step(&bins, cut))
        .min_by(|a, b| a.residual_variance.total_cmp(&b.residual_variance))?;
    let best = if line.residual_variance <= step.residual_variance {
        line
    } else {
        step
    };
    let size = best.change.end_value - best.change.start_value;
    (size.abs() > CHANGE_MIN_STD_ERRORS * best.std_error).then_some(best.change)
}

/// A fitted model.
struct Fit {
    change: Change,
    /// Variance of the bins about the model, for its degrees of freedom.
    residual_variance: f64,
    /// Standard error of the change's size.
    std_error: f64,
}

impl Fit {
    /// `model` returns the model's value for each bin, `parameters` is the number of fitted parameters, and
    /// `size_variance` the variance of the change's size, as a multiple of the variance of a bin.
    fn new(
        change: Change,
        bins: &[f64],
        model: impl Fn(usize) -> f64,
        parameters: f64,
        size_variance: f64,
    ) -> Fit {
        let residuals: Vec<f64> = bins
            .iter()
            .enumerate()
            .map(|(at, value)| value - model(at))
            .collect();
        let (residual_variance, variance) = variances(&residuals, parameters);
        Fit {
            change,
            residual_variance,
            std_error: (variance * size_variance).sqrt(),
        }
    }
}

/// The variance of residuals for their degrees of freedom, and the same inflated by their autocorrelation.
fn variances(residuals: &[f64], parameters: f64) -> (f64, f64) {
    let count = residuals.len() as f64;
    let sum_of_squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let variance = sum_of_squares / (count - parameters);
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = if sum_of_squares > 0.0 {
        products / sum_of_squares
    } else {
        0.0
    };
    // The correlation of a sample is too small by (1 + 4 rho) / n (Kendall 1954).
    let correlation = (correlation + (1.0 + 4.0 * correlation) / count).clamp(0.0, MAX_CORRELATION);
    let inflation = (1.0 + correlation) / (1.0 - correlation);
    let min_variance = MIN_STD_DEVIATION * MIN_STD_DEVIATION;
    (variance, variance.max(min_variance) * inflation)
}

/// The difference of the means of two adjacent parts of a series in standard errors, by the scatter of the second part. The
/// series is relative, as for [`find_change`].
pub(crate) fn difference_in_std_errors(first: &[f64], second: &[f64]) -> f64 {
    let level = mean(second);
    let residuals: Vec<f64> = second.iter().map(|value| value - level).collect();
    let (_, variance) = variances(&residuals, 1.0);
    let size_variance = 1.0 / first.len() as f64 + 1.0 / second.len() as f64;
    (mean(first) - level) / (variance * size_variance).sqrt()
}

fn fit_line(bins: &[f64]) -> Fit {
    let length = bins.len() as f64 - 1.0;
    let (centre, level) = (length / 2.0, mean(bins));
    let sum_xx: f64 = (0..bins.len()).map(|at| (at as f64 - centre).powi(2)).sum();
    let sum_xy: f64 = bins
        .iter()
        .enumerate()
        .map(|(at, value)| (at as f64 - centre) * (value - level))
        .sum();
    let slope = sum_xy / sum_xx;
    let change = Change {
        start_value: level - slope * centre,
        end_value: level + slope * centre,
        share_before_step: None,
    };
    let model = |at: usize| level + slope * (at as f64 - centre);
    Fit::new(change, bins, model, 2.0, length * length / sum_xx)
}

fn fit_step(bins: &[f64], cut: usize) -> Fit {
    let (before, after) = bins.split_at(cut);
    let (start_value, end_value) = (mean(before), mean(after));
    let change = Change {
        start_value,
        end_value,
        share_before_step: Some(before.len() as f64 / bins.len() as f64),
    };
    let size_variance = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let model = |at: usize| if at < cut { start_value } else { end_value };
    Fit::new(change, bins, model, 3.0, size_variance)
}

/// The summaries of equal parts of the series; seconds that do not fill a part are dropped from the
/// beginning.
fn summarize_bins(series: &[f64], summarize: fn(&[f64]) -> f64) -> Vec<f64> {
    let count = MAX_BINS.min(series.len() / 2).max(1);
    let per_bin = series.len() / count;
    let skipped = series.len() - per_bin * count;
    series[skipped..]
        .chunks(per_bin.max(1))
        .map(summarize)
        .collect()
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median: one slow second in a bin does not move it.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 if middle > 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted.get(middle).copied().unwrap_or(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed noise between -1 and 1, without a visible pattern.
    fn noise(at: usize) -> f64 {
        ((at * 7919 + 104_729) % 101) as f64 / 50.5 - 1.0
    }

    fn series(count: usize, model: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..count)
            .map(|at| model(at as f64 / count as f64) + 0.02 * noise(at))
            .collect()
    }

    #[test]
    fn a_flat_series_has_no_change() {
        for count in [20, 37, 60, 600] {
            assert_eq!(find_change(&series(count, |_| 3.0), mean), None, "{count}");
        }
        assert_eq!(find_change(&[3.0; 60], median), None, "without noise");
        assert_eq!(find_change(&[], median), None);
        assert_eq!(find_change(&[1.0, 9.0, 1.0], median), None);
    }

    #[test]
    fn a_slope_and_a_step_are_distinguished() {
        let slope = find_change(&series(60, |at| 3.0 + 0.2 * at), mean).unwrap();
        assert_eq!(slope.share_before_step, None);
        assert!((slope.effect() - 0.2).abs() < 0.03, "{slope:?}");
        let step = find_change(&series(60, |at| if at < 0.25 { 3.0 } else { 3.2 }), mean).unwrap();
        assert_eq!(step.share_before_step, Some(0.25));
        assert!(
            (step.end_value - step.start_value - 0.2).abs() < 0.03,
            "{step:?}"
        );
        assert!((step.effect() - 0.1).abs() < 0.02, "{step:?}");
    }

    #[test]
    fn one_slow_second_is_no_change() {
        let mut with_peak = series(60, |_| 3.0);
        with_peak[40] = 9.0;
        assert_eq!(find_change(&with_peak, median), None);
        assert_eq!(find_change(&with_peak, mean), None);
    }

    #[test]
    fn the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 9.0]), 4.0);
    }
}
