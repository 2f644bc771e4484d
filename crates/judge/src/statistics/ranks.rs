//! Compares repeated runs of two sides by ranks.
//!
//! In: one figure of each run. Out: the exact p value of the Wilcoxon-Mann-Whitney test and the exact
//! interval of the shift that belongs to it, on logarithms. Must never: return an interval whose level does
//! not exist.
//!
//! The interval goes from one order statistic of all differences between a run of the second side and a run
//! of the first to another (Hodges and Lehmann 1963; Bauer 1972). It assumes nothing about the distribution
//! of the runs except that a change scales it, so one run in ten that is disturbed neither hides a
//! difference nor makes one.

use super::{Estimate, student};

/// Largest number of runs, of both sides together, for which the distribution is computed by counting; with
/// more, the normal approximation is off by at most 0.002.
const MAX_EXACT_RUNS: usize = 60;

/// Two sides, compared pair by pair.
#[derive(Clone, Debug, PartialEq)]
pub struct RankComparison {
    /// The logarithms of the ratios of all pairs, ascending.
    log_ratios: Vec<f64>,
    runs: [usize; 2],
    /// How far the rounding of the figures may shift a logarithm.
    resolution: f64,
}

impl RankComparison {
    /// Compares the second side's figures with the first's. `resolution` is the rounding step of the figures
    /// as a share of them, 0 if they are exact: figures that are that close are equal. `None` if a figure is
    /// not above 0, or a side is empty.
    pub fn new(first: &[f64], second: &[f64], resolution: f64) -> Option<RankComparison> {
        let valid = |value: &f64| *value > 0.0 && value.is_finite();
        if first.is_empty() || second.is_empty() || !first.iter().chain(second).all(valid) {
            return None;
        }
        let pairs = first
            .iter()
            .flat_map(|a| second.iter().map(move |b| (b / a).ln()));
        let mut log_ratios: Vec<f64> = pairs.collect();
        log_ratios.sort_by(f64::total_cmp);
        Some(RankComparison {
            log_ratios,
            runs: [first.len(), second.len()],
            resolution,
        })
    }

    /// Probability that two equal systems differ by as much or more, in either direction. Pairs of equal
    /// figures raise it.
    pub fn p_value(&self) -> f64 {
        let pairs = self.log_ratios.len();
        let not_above = self
            .log_ratios
            .partition_point(|ratio| *ratio <= self.resolution);
        let not_below = pairs
            - self
                .log_ratios
                .partition_point(|ratio| *ratio < -self.resolution);
        let tail = mann_whitney_cdf(self.runs, not_above.min(not_below));
        (2.0 * tail).min(1.0)
    }

    /// The interval of the ratio at a level of at least `1 - alpha`; `None` if there are too few runs for
    /// one. It excludes 1 exactly if [`RankComparison::p_value`] is at most `alpha`.
    pub fn interval(&self, alpha: f64) -> Option<[f64; 2]> {
        let cut = pairs_left_out(self.runs, alpha)?;
        let low = self.log_ratios[cut] - self.resolution;
        let high = self.log_ratios[self.log_ratios.len() - 1 - cut] + self.resolution;
        Some([low, high].map(f64::exp))
    }

    /// The smallest ratio above 1 that would have been found with a probability of [`POWER`](super::POWER). A
    /// standard error follows from the interval, as if it were Student's at the level that the ranks attain.
    /// `None` if there are too few runs for an interval.
    pub fn detectable(&self, alpha: f64) -> Option<f64> {
        let [low, high] = self.interval(alpha)?;
        let cut = pairs_left_out(self.runs, alpha)?;
        let attained = 2.0 * mann_whitney_cdf(self.runs, cut);
        let [m, n] = self.runs;
        let dof = (m + n - 2) as f64;
        let half = (high / low).ln() / 2.0;
        let estimate = Estimate {
            log_ratio: 0.0,
            std_error: half / student::quantile(1.0 - attained / 2.0, dof),
            dof,
        };
        Some(estimate.detectable(attained))
    }
}

/// Whether sides with these numbers of runs can show a difference at this level: the two most extreme orders
/// of the runs must be rare enough.
pub fn ranks_suffice(runs: [usize; 2], alpha: f64) -> bool {
    pairs_left_out(runs, alpha).is_some()
}

/// How many of the sorted pairs an interval leaves out at each end; `None` if there are too few runs for an
/// interval.
fn pairs_left_out(runs: [usize; 2], alpha: f64) -> Option<usize> {
    let [m, n] = runs;
    if m == 0 || n == 0 {
        return None;
    }
    let is_within = |tail: &f64| 2.0 * tail <= alpha;
    if m + n <= MAX_EXACT_RUNS {
        let tails = exact_cdf(runs, m * n / 2);
        return tails.partition_point(is_within).checked_sub(1);
    }
    // The largest count whose two tails are within the level, by bisection.
    let (mut within, mut beyond) = (None, m * n);
    while beyond > within.map_or(0, |count| count + 1) {
        let middle = (within.unwrap_or(0) + beyond) / 2;
        if is_within(&mann_whitney_cdf(runs, middle)) {
            within = Some(middle)
        } else {
            beyond = middle
        }
    }
    within
}

/// The probability that the Mann-Whitney statistic of two equal systems is at most `count`.
fn mann_whitney_cdf(runs: [usize; 2], count: usize) -> f64 {
    let [m, n] = runs;
    if m + n > MAX_EXACT_RUNS {
        let (m, n) = (m as f64, n as f64);
        let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
        return student::normal_cdf((count as f64 + 0.5 - m * n / 2.0) / deviation);
    }
    exact_cdf(runs, count)[count]
}

/// The exact distribution function of the Mann-Whitney statistic, for each value up to `count`.
fn exact_cdf(runs: [usize; 2], count: usize) -> Vec<f64> {
    let [m, n] = runs;
    // The numbers of orders with each statistic are the coefficients of a Gaussian binomial, a product of
    // (1 - q^(n+i)) / (1 - q^i) for i from 1 to m (Mann and Whitney 1947). All are integers below 2^60.
    let mut orders = vec![0_i128; count + 1];
    orders[0] = 1;
    for i in 1..=m {
        for at in (n + i..=count).rev() {
            orders[at] -= orders[at - n - i];
        }
        for at in i..=count {
            orders[at] += orders[at - i];
        }
    }
    let all = (1..=m).fold(1.0, |all, i| all * (n + i) as f64 / i as f64);
    let mut sum = 0;
    let tail = |orders: i128| {
        sum += orders;
        (sum as f64 / all).min(1.0)
    };
    orders.into_iter().map(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest statistics that are significant at 5 %, two-sided: table of Mann and Whitney, as in Siegel
    /// 1956, table K. `None` where the table has a dash.
    #[test]
    fn critical_values_match_the_table() {
        for (runs, critical) in [
            ([3, 3], None),
            ([3, 4], None),
            ([2, 7], None),
            ([2, 8], Some(0)),
            ([3, 5], Some(0)),
            ([4, 4], Some(0)),
            ([4, 5], Some(1)),
            ([5, 5], Some(2)),
            ([6, 6], Some(5)),
            ([7, 8], Some(10)),
            ([10, 10], Some(23)),
            ([15, 15], Some(64)),
            ([20, 20], Some(127)),
        ] {
            assert_eq!(pairs_left_out(runs, 0.05), critical, "{runs:?}");
            let [m, n] = runs;
            assert_eq!(pairs_left_out([n, m], 0.05), critical, "{runs:?} reversed");
        }
    }

    #[test]
    fn probabilities_match_a_count_of_all_orders() {
        // Of the 20 orders of three and three runs, 1, 2, 4 and 7 have a statistic of at most 0, 1, 2 and 3.
        for (count, orders) in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 7.0), (9, 20.0)] {
            assert!((mann_whitney_cdf([3, 3], count) - orders / 20.0).abs() < 1e-12);
        }
        // At the largest number of runs that is counted exactly, the approximation agrees.
        for count in [250, 320, 400, 450] {
            let exact = mann_whitney_cdf([30, 30], count);
            let deviation = (900.0_f64 * 61.0 / 12.0).sqrt();
            let normal = student::normal_cdf((count as f64 + 0.5 - 450.0) / deviation);
            assert!((exact - normal).abs() < 2e-3, "{count}: {exact} {normal}");
        }
        assert!((student::normal_cdf(-1.959_963_985) - 0.025).abs() < 1e-9);
        assert!((student::normal_cdf(-5.0) / 2.866_516e-7 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn the_interval_excludes_1_exactly_if_p_is_at_most_alpha() {
        let first = [100.0, 101.0, 102.0, 60.0, 103.0];
        for percent in 80..120 {
            let second = first.map(|value| value * f64::from(percent) / 100.0 + 0.01);
            let ranks = RankComparison::new(&first, &second, 0.0).unwrap();
            let [low, high] = ranks.interval(0.05).unwrap();
            assert_eq!(
                ranks.p_value() <= 0.05,
                low > 1.0 || high < 1.0,
                "{percent}"
            );
        }
    }

    #[test]
    fn equal_and_rounded_figures_are_no_difference() {
        let ranks = RankComparison::new(&[5.0; 4], &[5.0; 4], 0.0).unwrap();
        assert_eq!(
            (ranks.p_value(), ranks.interval(0.05)),
            (1.0, Some([1.0, 1.0]))
        );
        let exact = RankComparison::new(&[5.0; 4], &[5.001; 4], 0.0).unwrap();
        assert!(exact.p_value() < 0.03);
        let rounded = RankComparison::new(&[5.0; 4], &[5.001; 4], 0.001).unwrap();
        assert_eq!(rounded.p_value(), 1.0);
        assert_eq!(RankComparison::new(&[1.0, 0.0], &[1.0], 0.0), None);
        assert_eq!(RankComparison::new(&[], &[1.0], 0.0), None);
    }
}
