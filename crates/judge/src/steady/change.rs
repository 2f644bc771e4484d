//! Finds whether a series of seconds changed over the window: a steady slope, or a step at one moment.
//!
//! In: one value for each second, in which equal differences mean equal relative changes (a logarithm, or a
//! share of the mean). Out: the [`Change`] that fits better. Must never: take chance for a change, or the
//! autocorrelation of seconds for evidence.
//!
//! Both models are fitted by least squares to seconds or, in a longer window, to at most twenty bins of them. The error of
//! each comes from its own residuals and their first-order autocorrelation, because a disturbance that lasts for some
//! seconds looks like a change otherwise. Few residuals hide most of the correlation that the bins have (Kendall 1954):
//! the correlation and the variance are those of an autoregressive series whose residuals would on average be what these
//! are. The best of many cuts exceeds a quantile of Student's t far more often than one cut does;
//! [`CHANGE_MIN_STD_ERRORS`] is therefore calibrated by simulation (`tests/simulated`).

use crate::thresholds::CHANGE_MIN_STD_ERRORS;

/// Largest number of bins of several seconds.
const MAX_BINS: usize = 20;
/// In a shorter window each second is a bin: a step within one of few bins would look like noise.
const MAX_SINGLE_SECONDS: usize = 40;
/// Fewest bins on either side of a step.
const MIN_SIDE_BINS: usize = 2;
/// Smallest standard deviation of a bin, relative: percentiles are stored with three digits.
const MIN_STD_DEVIATION: f64 = 0.001;
/// Largest correlation of neighbouring bins that is considered: with more they are a random walk, in which any change is
/// chance.
const MAX_CORRELATION: f64 = 0.98;
/// Correlation of neighbouring seconds that is assumed at least, as virtual machines have it: few bins do not show it.
const SECONDS_CORRELATION: f64 = 0.65;
/// Bisections by which a correlation is found, to 1 in 4,096 of its range.
const CORRELATION_STEPS: u32 = 12;

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
    let (per_bin, bins) = summarize_bins(series, summarize);
    if bins.len() < 2 * MIN_SIDE_BINS + 2 {
        return None;
    }
    let line = fit_line(&bins);
    let step = (MIN_SIDE_BINS..=bins.len() - MIN_SIDE_BINS)
        .map(|cut| fit_step(&bins, cut))
        .min_by(|a, b| a.residual_variance().total_cmp(&b.residual_variance()))?;
    let is_line = line.residual_variance() <= step.residual_variance();
    let best = if is_line { line } else { step };
    let size = best.change.end_value - best.change.start_value;
    (size.abs() > CHANGE_MIN_STD_ERRORS * best.std_error(expected_correlation(per_bin)))
        .then_some(best.change)
}

/// A fitted model: two levels of the bins, each the mean of the bins by weights. For a line these are its height and its
/// slope, for a step the means before and after it.
struct Fit {
    change: Change,
    /// The directions that the model takes from the bins: orthogonal, of length 1.
    directions: [Vec<f64>; 2],
    /// The change's size, as a combination of the bins' lengths in these directions.
    size_weights: [f64; 2],
    residuals: Vec<f64>,
    /// Degrees of freedom that the model takes.
    parameters: f64,
}

impl Fit {
    /// `model` returns the model's value for each bin.
    fn new(
        change: Change,
        bins: &[f64],
        model: impl Fn(usize) -> f64,
        (directions, size_weights): ([Vec<f64>; 2], [f64; 2]),
        parameters: f64,
    ) -> Fit {
        let residuals = bins.iter().enumerate();
        Fit {
            change,
            directions,
            size_weights,
            residuals: residuals.map(|(at, value)| value - model(at)).collect(),
            parameters,
        }
    }

    /// Variance of the bins about the model, for its degrees of freedom.
    fn residual_variance(&self) -> f64 {
        sum_of_squares(&self.residuals) / (self.residuals.len() as f64 - self.parameters)
    }

    /// Standard error of the change's size, if each bin keeps a share of the deviation of the one before it: at least
    /// `min_correlation`, and at least the share with which the model would leave residuals of this correlation. Those of
    /// correlated bins are less correlated, and smaller, because the model takes a part of what the bins have in common.
    fn std_error(&self, min_correlation: f64) -> f64 {
        let products: f64 = self
            .residuals
            .windows(2)
            .map(|pair| pair[0] * pair[1])
            .sum();
        let squares = sum_of_squares(&self.residuals);
        let correlation = if squares > 0.0 { products / squares } else { 0.0 };
        let (mut low, mut high) = (min_correlation, MAX_CORRELATION);
        for _ in 0..CORRELATION_STEPS {
            let middle = (low + high) / 2.0;
            let expected = self.expect(middle);
            if expected.neighbours < correlation * expected.residuals {
                low = middle;
            } else {
                high = middle;
            }
        }
        let Expected {
            residuals, size, ..
        } = self.expect(low);
        // A cut that was chosen takes a degree of freedom too.
        let count = self.residuals.len() as f64;
        let freedom = residuals * (count - self.parameters) / (count - 2.0);
        let variance = (squares / freedom).max(MIN_STD_DEVIATION * MIN_STD_DEVIATION);
        (variance * size).sqrt()
    }

    /// What is expected of bins with variance 1, of which neighbours have this correlation.
    fn expect(&self, correlation: f64) -> Expected {
        let count = self.residuals.len();
        let powers: Vec<f64> = (0..count).map(|lag| correlation.powi(lag as i32)).collect();
        let covariance = |a: usize, b: usize| powers[a.abs_diff(b)];
        let product = |of: &[f64], at: usize| -> f64 {
            of.iter()
                .enumerate()
                .map(|(other, value)| covariance(at, other) * value)
                .sum()
        };
        let images = self.directions.each_ref().map(|direction| {
            (0..count)
                .map(|at| product(direction, at))
                .collect::<Vec<_>>()
        });
        let between =
            [0, 1].map(|first| [0, 1].map(|second| dot(&self.directions[first], &images[second])));
        let residual_covariance = |a: usize, b: usize| {
            let mut left = covariance(a, b);
            for (direction, image) in self.directions.iter().zip(&images) {
                left -= direction[a] * image[b] + image[a] * direction[b];
            }
            for (first, row) in self.directions.iter().zip(&between) {
                for (second, common) in self.directions.iter().zip(row) {
                    left += first[a] * common * second[b];
                }
            }
            left
        };
        let [first, second] = self.size_weights;
        Expected {
            residuals: (0..count).map(|at| residual_covariance(at, at)).sum(),
            neighbours: (1..count).map(|at| residual_covariance(at - 1, at)).sum(),
            size: first * first * between[0][0]
                + 2.0 * first * second * between[0][1]
                + second * second * between[1][1],
        }
    }
}

/// Expected sums, as multiples of the variance of a bin.
struct Expected {
    /// Squares of the residuals.
    residuals: f64,
    /// Products of neighbouring residuals.
    neighbours: f64,
    /// Variance of the change's size.
    size: f64,
}

fn sum_of_squares(values: &[f64]) -> f64 {
    dot(values, values)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The variance of deviations from a mean, inflated by their autocorrelation.
fn inflated_variance(residuals: &[f64]) -> f64 {
    let count = residuals.len() as f64;
    let sum_of_squares = sum_of_squares(residuals);
    let variance = sum_of_squares / (count - 1.0);
    let products: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let of_sample = if sum_of_squares > 0.0 { products / sum_of_squares } else { 0.0 };
    // The correlation of a sample is too small by (1 + 4 rho) / n (Kendall 1954).
    let correlation = (of_sample + (1.0 + 4.0 * of_sample) / count).clamp(0.0, 0.9);
    let inflation = (1.0 + correlation) / (1.0 - correlation);
    variance.max(MIN_STD_DEVIATION * MIN_STD_DEVIATION) * inflation
}

/// The difference of the means of two adjacent parts of a series in standard errors, by the scatter of the second part. The
/// series is relative, as for [`find_change`].
pub(crate) fn difference_in_std_errors(first: &[f64], second: &[f64]) -> f64 {
    let level = mean(second);
    let residuals: Vec<f64> = second.iter().map(|value| value - level).collect();
    let variance = inflated_variance(&residuals);
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
    let at_all = vec![(bins.len() as f64).sqrt().recip(); bins.len()];
    let rising = (0..bins.len()).map(|at| (at as f64 - centre) / sum_xx.sqrt());
    let directions = [at_all, rising.collect()];
    Fit::new(
        change,
        bins,
        model,
        (directions, [0.0, length / sum_xx.sqrt()]),
        2.0,
    )
}

fn fit_step(bins: &[f64], cut: usize) -> Fit {
    let (before, after) = bins.split_at(cut);
    let (start_value, end_value) = (mean(before), mean(after));
    let change = Change {
        start_value,
        end_value,
        share_before_step: Some(before.len() as f64 / bins.len() as f64),
    };
    let model = |at: usize| if at < cut { start_value } else { end_value };
    let length_of = |part: &[f64]| (part.len() as f64).sqrt().recip();
    let lengths = [length_of(before), length_of(after)];
    let side_before = (0..bins.len()).map(|at| if at < cut { lengths[0] } else { 0.0 });
    let side_after = (0..bins.len()).map(|at| if at < cut { 0.0 } else { lengths[1] });
    let directions = [side_before.collect(), side_after.collect()];
    Fit::new(
        change,
        bins,
        model,
        (directions, [-lengths[0], lengths[1]]),
        3.0,
    )
}

/// The correlation of neighbouring bins of `per_bin` seconds each, if neighbouring seconds have [`SECONDS_CORRELATION`].
fn expected_correlation(per_bin: usize) -> f64 {
    let (rho, seconds) = (SECONDS_CORRELATION, per_bin as f64);
    let forgotten = 1.0 - rho.powf(seconds);
    rho * forgotten * forgotten / (seconds * (1.0 - rho * rho) - 2.0 * rho * forgotten)
}

/// How many seconds each of the equal parts of the series has, and the summaries of these parts; seconds that do not fill a
/// part are dropped from the beginning.
fn summarize_bins(series: &[f64], summarize: fn(&[f64]) -> f64) -> (usize, Vec<f64>) {
    let per_bin = match series.len() {
        ..=MAX_SINGLE_SECONDS => 1,
        count => count.div_ceil(MAX_BINS),
    };
    let skipped = series.len() % per_bin;
    (
        per_bin,
        series[skipped..].chunks(per_bin).map(summarize).collect(),
    )
}

/// The mean; not a number for no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::median;

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
