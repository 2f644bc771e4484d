//! The seconds of one run: what their mean is worth.
//!
//! In: a series whose values follow from one another. Out: its mean with the variance of that mean, as
//! if there were fewer values that do not. Must never: take n seconds for n independent ones, or say
//! anything where they hang together too closely to tell.
//!
//! The variance is the sum of the autocovariances, cut off by Geyer's initial monotone sequence (Geyer
//! 1992, Practical Markov chain Monte Carlo, section 3.3). Autocovariances about the sample's own mean
//! are too small by the variance of that mean each; the sum is put right by it. Its degrees of freedom
//! are those of an estimate of the spectrum at 0 by as many lags, n / (lags on both sides)
//! (Priestley 1981, section 6.2).
//!
//! A short series with a long memory looks as if it had a short one. So the variance is at least that of
//! a process of first order whose memory is a standard error longer than it seems, and what hangs
//! together too closely says nothing: so the level is kept, over all pairs of runs and of those that are
//! spoken of (`tests/statistics.rs`).

use super::{Estimate, difference};

/// Fewest values: below, the sum has nothing to be cut off from.
const LEAST: usize = 20;
/// Fewest independent values that the series must be worth.
const LEAST_EFFECTIVE: f64 = 8.0;

/// What a series says of its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The mean.
    pub mean: f64,
    /// The variance of that mean.
    pub variance: f64,
    /// So many independent values would say as much.
    pub effective: f64,
    /// Degrees of freedom of the variance.
    pub freedom: f64,
}

/// What a series says of its mean; nothing where it is too short, or hangs together too closely.
pub fn course(series: &[f64]) -> Option<Course> {
    let count = series.len();
    let n = count as f64;
    if count < LEAST || series.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mean = series.iter().sum::<f64>() / n;
    let covariance = |lag: usize| {
        let pairs = series.iter().zip(&series[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n
    };
    let own = covariance(0);
    if own <= 0.0 {
        return Some(Course {
            mean,
            variance: 0.0,
            effective: n,
            freedom: n - 1.0,
        });
    }
    let mut sum = 0.0;
    let mut lags = 0;
    let mut last = f64::INFINITY;
    while lags + 1 < count {
        let pair = (covariance(lags) + covariance(lags + 1)).min(last);
        if pair <= 0.0 {
            break;
        }
        sum += pair;
        last = pair;
        lags += 2;
    }
    let both_sides = (2 * lags.max(1) - 1) as f64;
    let right = 1.0 - both_sides / n;
    if right < 0.5 {
        return None;
    }
    // Values that swing back are not counted as worth more than independent ones.
    let whole = ((2.0 * sum - own).max(own) / right).max(own * memory(covariance(1) / own, n)?);
    let effective = own / whole * n;
    (effective >= LEAST_EFFECTIVE).then(|| Course {
        mean,
        variance: whole / n,
        effective,
        freedom: n / both_sides,
    })
}

/// By what a memory of one step, which may be as long as this series allows, multiplies the variance
/// of the mean; nothing if it may be longer than the series. The sample's correlation of neighbours is
/// too small by (1 + 4 rho) / n (Kendall 1954), with an error of sqrt((1 - rho^2) / n).
fn memory(correlation: f64, n: f64) -> Option<f64> {
    let right = correlation + (1.0 + 4.0 * correlation) / n;
    let error = ((1.0 - right.powi(2)).max(0.0) / n).sqrt();
    let most = (right + error).max(0.0);
    let times = (1.0 + most) / (1.0 - most);
    (most < 1.0 && times < n / 2.0).then(|| times / (1.0 - times / n))
}

/// The ratio of the means of two series, second to first, to first order of its logarithm. Absent if a
/// mean is not above 0.
pub fn of_courses(first: &Course, second: &Course) -> Option<Estimate> {
    let side = |course: &Course| {
        let level = course.mean;
        let fit = level > 0.0 && level.is_finite();
        fit.then(|| [level.ln(), course.variance / level.powi(2), course.freedom])
    };
    Some(difference(side(first)?, side(second)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No pattern that is seen over some hundred values: multiples of the golden ratio, by a square.
    fn fresh(at: u32) -> f64 {
        (f64::from(at * at) * 0.618_033_988_749_895).fract()
    }

    #[test]
    fn values_that_swing_back_are_worth_no_more_than_they_are() {
        let swing: Vec<f64> = (0..100).map(|at| 9.0 + fresh(at + 1) - fresh(at)).collect();
        let found = course(&swing).unwrap();
        assert!((found.mean - 9.0).abs() < 0.02);
        assert!(
            found.effective <= 100.0 && found.effective > 70.0,
            "{found:?}"
        );
    }

    #[test]
    fn each_value_said_four_times_is_worth_no_more_for_it() {
        let one: Vec<f64> = (0..100).map(fresh).collect();
        let four: Vec<f64> = (0..400).map(|at| fresh(at / 4)).collect();
        let (one, four) = (course(&one).unwrap(), course(&four).unwrap());
        let ratio = four.variance / one.variance;
        // A memory of one step that correlates neighbours as much lasts twice as long.
        assert!((0.9..2.2).contains(&ratio), "{one:?} {four:?}");
        assert!(four.effective < 110.0, "{four:?}");
    }

    #[test]
    fn too_short_or_one_long_slope_says_nothing() {
        assert_eq!(course(&[1.0; 19]), None);
        assert_eq!(course(&[1.0; 20]).map(|found| found.variance), Some(0.0));
        let slope: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(course(&slope), None);
        let mut broken = vec![1.0; 30];
        broken[3] = f64::NAN;
        assert_eq!(course(&broken), None);
    }
}
