//! Estimates the mean of a run's seconds, and how precisely it is known.
//!
//! In: an autocorrelated series. Out: its mean with the variance of that mean, as if there were fewer,
//! independent values. Must never: treat n seconds as n independent ones, or return a result if they are
//! too autocorrelated to judge.
//!
//! The variance is the sum of the autocovariances, truncated by Geyer's initial monotone sequence (Geyer
//! 1992, Practical Markov chain Monte Carlo, section 3.3). Each autocovariance about the sample's own mean
//! is too small by the variance of that mean; the sum is corrected for this. Its degrees of freedom are
//! those of an estimate of the spectrum at 0 with the same lags, n / (lags on both sides) (Priestley 1981,
//! section 6.2).
//!
//! A short series with long autocorrelation looks as if its autocorrelation were short. The variance is
//! therefore at least that of a first-order process whose correlation is a standard error higher than
//! estimated, and a series that is too autocorrelated yields no result. This keeps the level, both over all
//! pairs of runs and over those with a result (`tests/statistics.rs`).
//!
//! [`series_interval`] has an interval of such a series too, by the range of its values: wide enough for a first-order
//! process that keeps 0.9 of its deviation from one value to the next.

use super::{ALPHA, student};

/// Minimum number of values: with fewer, the sum cannot be truncated.
const MIN_VALUES: usize = 20;
/// Minimum number of independent values to which the series must be equivalent.
const MIN_EFFECTIVE_SIZE: f64 = 8.0;

/// A longer series is judged by the means of neighbours: the time for all its autocovariances grows with the square of its
/// length.
const MAX_VALUES: usize = 50_000;

/// How many times as far from the mean as the farthest value the ends of an interval are, if the series is too
/// autocorrelated to judge. With half of this, the interval of 20 values that keep 0.9 of their deviation misses the mean in
/// 17 of 100 series.
const FARTHEST_VALUE_FACTOR: f64 = 2.0;

/// Standard deviation of equal values that rounding may cause, share of their mean.
const ROUNDING: f64 = 1e-12;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesMean {
    pub mean: f64,
    /// Variance of the mean.
    pub variance: f64,
    /// The effective sample size: the equivalent number of independent values.
    pub effective_size: f64,
    /// Degrees of freedom of the variance.
    pub dof: f64,
}

/// The mean of a series, and the interval at 95 % in which the true mean lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesInterval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// The mean of a series with its variance; `None` if the series is too short or too autocorrelated to judge.
pub fn series_mean(series: &[f64]) -> Option<SeriesMean> {
    if is_long_enough(series) { estimate(series, mean_of(series)) } else { None }
}

/// The interval of the mean of a series. If the series is too autocorrelated to judge, the true mean is taken to be at most
/// twice as far from that of the series as the farthest value. `None` if the series is too short.
pub fn series_interval(series: &[f64]) -> Option<SeriesInterval> {
    if !is_long_enough(series) {
        return None;
    }
    let mean = mean_of(series);
    let [below, above] = match estimate(series, mean) {
        Some(known) => {
            let quantile = student::quantile(1.0 - ALPHA / 2.0, known.dof);
            [quantile * known.variance.sqrt(); 2]
        }
        None => {
            let lowest = series.iter().copied().fold(mean, f64::min);
            let highest = series.iter().copied().fold(mean, f64::max);
            [mean - lowest, highest - mean].map(|distance| FARTHEST_VALUE_FACTOR * distance)
        }
    };
    Some(SeriesInterval {
        mean,
        low: mean - below,
        high: mean + above,
    })
}

fn is_long_enough(series: &[f64]) -> bool {
    series.len() >= MIN_VALUES && series.iter().all(|value| value.is_finite())
}

/// The variance of this mean of a series; `None` if the series is too autocorrelated to judge.
fn estimate(series: &[f64], mean: f64) -> Option<SeriesMean> {
    let count = series.len();
    let n = count as f64;
    if count > MAX_VALUES {
        return mean_of_long(series, mean);
    }
    let covariance = |lag: usize| {
        let pairs = series.iter().zip(&series[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n
    };
    let variance = covariance(0);
    // Equal values: their variance is not quite zero if their mean is rounded.
    if variance <= (ROUNDING * mean).powi(2) {
        return Some(SeriesMean {
            mean,
            variance: 0.0,
            effective_size: n,
            dof: n - 1.0,
        });
    }
    let mut sum = 0.0;
    let mut lags = 0;
    let mut previous_pair = f64::INFINITY;
    while lags + 1 < count {
        let pair = (covariance(lags) + covariance(lags + 1)).min(previous_pair);
        if pair <= 0.0 {
            break;
        }
        sum += pair;
        previous_pair = pair;
        lags += 2;
    }
    let lags_on_both_sides = (2 * lags.max(1) - 1) as f64;
    let bias = 1.0 - lags_on_both_sides / n;
    if bias < 0.5 {
        return None;
    }
    // Negatively correlated values do not count for more than independent ones.
    let total = ((2.0 * sum - variance).max(variance) / bias)
        .max(variance * ar1_variance_factor(covariance(1) / variance, n)?);
    let effective_size = variance / total * n;
    (effective_size >= MIN_EFFECTIVE_SIZE).then(|| SeriesMean {
        mean,
        variance: total / n,
        effective_size,
        dof: n / lags_on_both_sides,
    })
}

/// The mean; that of equal values is exactly their value.
fn mean_of(series: &[f64]) -> f64 {
    let first = series.first().copied().unwrap_or_default();
    let differences = series.iter().map(|value| value - first);
    first + differences.sum::<f64>() / series.len() as f64
}

/// As [`series_mean`], by the means of equally many neighbours, whose mean has the same variance.
fn mean_of_long(series: &[f64], mean: f64) -> Option<SeriesMean> {
    let n = series.len() as f64;
    let block = series.len().div_ceil(MAX_VALUES);
    let means: Vec<f64> = series.chunks_exact(block).map(mean_of).collect();
    let of_means = series_mean(&means)?;
    let squares = series.iter().map(|value| (value - mean).powi(2));
    let independent = squares.sum::<f64>() / n / n;
    // Equal means may be of values that differ.
    let variance = of_means.variance.max(independent);
    Some(SeriesMean {
        mean,
        variance,
        effective_size: if variance > 0.0 { independent / variance * n } else { n },
        dof: of_means.dof,
    })
}

/// The factor by which first-order autocorrelation, as high as this series allows, multiplies the variance of
/// the mean; `None` if it may extend over the whole series. The sample's lag-1 correlation is too small by
/// (1 + 4 rho) / n (Kendall 1954), with an error of sqrt((1 - rho^2) / n).
fn ar1_variance_factor(correlation: f64, n: f64) -> Option<f64> {
    let corrected = correlation + (1.0 + 4.0 * correlation) / n;
    let error = ((1.0 - corrected.powi(2)).max(0.0) / n).sqrt();
    let upper = (corrected + error).max(0.0);
    let factor = (1.0 + upper) / (1.0 - upper);
    (upper < 1.0 && factor < n / 2.0).then(|| factor / (1.0 - factor / n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::SplitMix;

    /// Numbers without a visible pattern over some hundred values: multiples of the golden ratio, squared.
    fn pseudo_random(at: u32) -> f64 {
        (f64::from(at * at) * 0.618_033_988_749_895).fract()
    }

    #[test]
    fn negative_correlation_does_not_increase_the_effective_size() {
        let oscillating: Vec<f64> = (0..100)
            .map(|at| 9.0 + pseudo_random(at + 1) - pseudo_random(at))
            .collect();
        let estimate = series_mean(&oscillating).unwrap();
        assert!((estimate.mean - 9.0).abs() < 0.02);
        assert!(
            estimate.effective_size <= 100.0 && estimate.effective_size > 70.0,
            "{estimate:?}"
        );
    }

    #[test]
    fn repeated_values_do_not_increase_the_effective_size() {
        let single: Vec<f64> = (0..100).map(pseudo_random).collect();
        let repeated: Vec<f64> = (0..400).map(|at| pseudo_random(at / 4)).collect();
        let single = series_mean(&single).unwrap();
        let repeated = series_mean(&repeated).unwrap();
        let ratio = repeated.variance / single.variance;
        // A first-order process with the same correlation of neighbours decays half as fast.
        assert!((0.9..2.2).contains(&ratio), "{single:?} {repeated:?}");
        assert!(repeated.effective_size < 110.0, "{repeated:?}");
    }

    #[test]
    fn a_long_series_has_the_variance_of_its_autocorrelation_and_takes_no_square_of_its_length() {
        // A first-order process; the variance of its mean is that of independent values times (1 + rho) / (1 - rho).
        for rho in [0.0, 0.5, 0.9] {
            let mut random = SplitMix::new(7);
            let mut value = 0.0;
            let mut next = || {
                value = rho * value + random.uniform() - 0.5;
                9.0 + value
            };
            let series: Vec<f64> = (0..600_000).map(|_| next()).collect();
            let estimate = series_mean(&series).unwrap();
            let independent = series.len() as f64 / estimate.effective_size;
            let ratio = independent / ((1.0 + rho) / (1.0 - rho));
            assert!((0.9..1.3).contains(&ratio), "{rho}: {ratio} {estimate:?}");
            assert!((estimate.mean - 9.0).abs() < 0.02, "{estimate:?}");
        }
        let equal = series_mean(&[14_600_123.7; 600_000]).unwrap();
        assert_eq!((equal.variance, equal.effective_size), (0.0, 600_000.0));
        let slope: Vec<f64> = (0..600_000).map(f64::from).collect();
        assert_eq!(series_mean(&slope), None);
    }

    #[test]
    fn a_series_that_is_too_autocorrelated_has_an_interval_that_is_wide_enough() {
        let mut random = SplitMix::new(11);
        for seconds in [20, 60] {
            for memory in [0.0, 0.5, 0.8, 0.9] {
                let (mut dependent, mut missed) = (0, 0);
                for _ in 0..4_000 {
                    let mut noise = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                    let mut value = noise();
                    let mut next = || {
                        let deviation: f64 = value;
                        value = memory * value + (1.0 - memory * memory).sqrt() * noise();
                        1_000.0 + 30.0 * deviation
                    };
                    let series: Vec<f64> = (0..seconds).map(|_| next()).collect();
                    if series_mean(&series).is_some() {
                        continue;
                    }
                    let SeriesInterval { low, high, .. } = series_interval(&series).unwrap();
                    dependent += 1;
                    missed += u32::from(!(low..=high).contains(&1_000.0));
                }
                println!("{seconds} s, {memory}: {missed} of {dependent}");
                assert!(
                    missed * 20 <= dependent,
                    "{seconds} s, {memory}: {missed} of {dependent}"
                );
            }
        }
        assert_eq!(series_interval(&[1.0; 19]), None);
    }

    #[test]
    fn short_series_and_trends_give_no_result() {
        assert_eq!(series_mean(&[1.0; 19]), None);
        assert_eq!(series_mean(&[1.0; 20]).map(|mean| mean.variance), Some(0.0));
        let rounded = series_mean(&[5e6_f64.ln(); 30]);
        assert_eq!(rounded.map(|mean| mean.variance), Some(0.0));
        let slope: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(series_mean(&slope), None);
        let mut broken = vec![1.0; 30];
        broken[3] = f64::NAN;
        assert_eq!(series_mean(&broken), None);
    }
}
