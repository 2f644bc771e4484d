//! Compares repeated runs of two sides.
//!
//! In: one figure of each run. Out: medians, scatter, the estimated ratio. Must never: judge from one run
//! on each side.

use super::{ALPHA, Estimate, difference_of_means};

/// The median: the middle value, or the mean of the two in the middle; 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.is_empty() {
        0.0
    } else if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

/// Standard deviation as a share of the mean; `None` for fewer than two values, or a mean of 0.
pub fn coefficient_of_variation(values: &[f64]) -> Option<f64> {
    let [mean, variance] = moments(values)?;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// The ratio of the second side's figures to the first's, by Welch's t on their logarithms. `resolution` is
/// the rounding step of the figures, as a share of them (0 if they are exact): figures that are equal only
/// because of rounding have the scatter of the rounding. `None` with fewer than two figures on a side, or if
/// one of them is not above 0.
pub fn welch(first: &[f64], second: &[f64], resolution: f64) -> Option<Estimate> {
    let mean_of_logs = |values: &[f64]| {
        let valid = values.iter().all(|value| *value > 0.0 && value.is_finite());
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let [mean, sample_variance] = moments(&logs).filter(|_| valid)?;
        let count = logs.len() as f64;
        // The true value is uniformly distributed over its step.
        let variance = sample_variance.max(resolution.powi(2) / 12.0);
        Some([mean, variance / count, count - 1.0])
    };
    Some(difference_of_means(
        mean_of_logs(first)?,
        mean_of_logs(second)?,
    ))
}

/// The ratio of the second figure to the first of each pair, by Student's t on their logarithms: what both runs of a pair
/// have in common cancels out. `None` with fewer than two pairs, or if a figure is not above 0.
pub fn paired(first: &[f64], second: &[f64], resolution: f64) -> Option<Estimate> {
    let pairs = || first.iter().zip(second);
    let is_valid = |value: &f64| *value > 0.0 && value.is_finite();
    if !pairs().all(|(a, b)| is_valid(a) && is_valid(b)) {
        return None;
    }
    let logs: Vec<f64> = pairs().map(|(a, b)| (b / a).ln()).collect();
    let [mean, sample_variance] = moments(&logs)?;
    let count = logs.len() as f64;
    // Each of the two true values is uniformly distributed over its step.
    let variance = sample_variance.max(resolution.powi(2) / 6.0);
    Some(Estimate {
        log_ratio: mean,
        std_error: (variance / count).sqrt(),
        dof: count - 1.0,
    })
}

/// The number of runs per side with which an effect would probably be found, if runs of one system scatter
/// by `scatter`; both are shares, above 0.
pub fn runs_needed(effect: f64, scatter: f64) -> usize {
    let is_found = |runs: &usize| {
        let count = *runs as f64;
        let estimate = Estimate {
            log_ratio: 0.0,
            std_error: scatter * (2.0 / count).sqrt(),
            dof: 2.0 * (count - 1.0),
        };
        estimate.detectable(ALPHA) - 1.0 <= effect
    };
    (2..MAX_RUNS_NEEDED)
        .find(is_found)
        .unwrap_or(MAX_RUNS_NEEDED)
}

/// The largest number that [`runs_needed`] returns.
const MAX_RUNS_NEEDED: usize = 1_000;

/// Mean and sample variance; `None` for fewer than two values.
pub(crate) fn moments(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some([mean, squares / (count - 1.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(actual: f64, exact: f64) {
        assert!(
            (actual - exact).abs() < 1e-3 * exact.abs(),
            "{actual} {exact}"
        );
    }

    #[test]
    fn median_and_coefficient_of_variation() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
        assert_near(
            coefficient_of_variation(&[98.0, 100.0, 102.0]).unwrap(),
            0.02,
        );
        assert_eq!(coefficient_of_variation(&[98.0]), None);
    }

    /// Computed by hand: the logarithms are 0, 1, 2 and 2, 3, 4, 5, so that the means differ by 2.5, the
    /// variances are 1 and 5/3, their shares 1/3 and 5/12: t = 2.5 / sqrt(3/4) = 2.887 with (3/4)^2 /
    /// ((1/3)^2/2 + (5/12)^2/3) = 4.959 degrees of freedom; p is 0.0346, between those of 4 and 5 degrees.
    #[test]
    fn welch_matches_a_hand_calculation() {
        let exp_all = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect::<Vec<_>>();
        let (first, second) = (exp_all(&[0.0, 1.0, 2.0]), exp_all(&[2.0, 3.0, 4.0, 5.0]));
        let estimate = welch(&first, &second, 0.0).unwrap();
        assert_near(estimate.log_ratio, 2.5);
        assert_near(estimate.std_error, 0.75_f64.sqrt());
        assert_near(estimate.dof, 4.9592);
        assert_near(estimate.ratio(), 2.5_f64.exp());
        assert!(
            estimate.p_value() > 0.0342 && estimate.p_value() < 0.0447,
            "{}",
            estimate.p_value()
        );
        let [low, high] = estimate.interval(0.05);
        // t at 0.975 is 2.577.
        assert_near(low.ln(), 2.5 - 2.5770 * 0.866_025);
        assert_near(high.ln(), 2.5 + 2.5770 * 0.866_025);
        let swapped = welch(&second, &first, 0.0).unwrap();
        assert_near(swapped.ratio(), 1.0 / estimate.ratio());
        assert_eq!(swapped.p_value(), estimate.p_value());
    }

    /// With a known scatter, 2 (1.96 + 0.84)^2 (scatter / effect)^2 runs suffice: 2.5 for an effect of 5 %
    /// and a scatter of 2 %, 16 for 5 % and 5 %. With few runs the scatter is itself uncertain, which takes a
    /// few runs more.
    #[test]
    fn the_runs_needed_exceed_those_of_a_known_scatter() {
        assert_eq!(runs_needed(0.05, 0.02), 5);
        assert!((17..=19).contains(&runs_needed(0.05, 0.05)));
        assert_eq!(runs_needed(0.5, 0.001), 2);
        assert_eq!(runs_needed(1e-9, 1.0), MAX_RUNS_NEEDED);
    }

    #[test]
    fn pairs_cancel_what_both_runs_have_in_common() {
        // The machine slows down threefold; the second is faster by 10 % in each pair, by chance 9 to 11.
        let first = [900.0, 600.0, 300.0];
        let second = [900.0 * 1.09, 600.0 * 1.10, 300.0 * 1.11];
        let estimate = paired(&first, &second, 0.0).unwrap();
        assert!((estimate.ratio() - 1.10).abs() < 1e-3);
        // By hand: the deviation of the logarithms is 0.00909, over the root of 3, times 4.303.
        let [low, high] = estimate.interval(ALPHA);
        assert!(
            (low - 1.0754).abs() < 5e-4 && (high - 1.1251).abs() < 5e-4,
            "{low} {high}"
        );
        let unpaired = welch(&first, &second, 0.0).unwrap();
        assert!(unpaired.interval(ALPHA)[0] < 1.0);
        assert_eq!(paired(&first[..1], &second[..1], 0.0), None);
        assert_eq!(paired(&[1.0, 0.0], &[1.0, 2.0], 0.0), None);
    }

    #[test]
    fn welch_without_enough_data_gives_no_result() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.0), None);
        assert_eq!(welch(&[1.0, 0.0], &[1.0, 2.0], 0.0), None);
        assert_eq!(welch(&[1.0, f64::NAN], &[1.0, 2.0], 0.0), None);
        // Without scatter the ratio is exact.
        let equal = welch(&[5.0; 3], &[5.0; 3], 0.0).unwrap();
        assert_eq!((equal.p_value(), equal.interval(0.05)), (1.0, [1.0, 1.0]));
        let unequal = welch(&[5.0; 3], &[5.1; 3], 0.0).unwrap();
        assert_eq!(unequal.p_value(), 0.0);
        // Figures that are rounded to steps have the scatter of the rounding.
        let steps = welch(&[5.0; 3], &[5.001; 3], 0.001).unwrap();
        assert!(steps.detectable(0.05) > 1.0005, "{steps:?}");
    }
}
