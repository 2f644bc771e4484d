//! Estimates how far chance explains a difference.
//!
//! In: figures of repeated runs. Out: an [`Estimate`] of the ratio of two figures, which yields an interval,
//! a p value, and the smallest difference that would probably have been found. Must never: use a Run, take
//! the best of several, or claim more than the data support.
//!
//! Design decisions:
//!
//! - **Logarithms.** Comparisons are ratios, and disturbances of a benchmark scale its figures.
//! - **Medians.** The figure of a side is the median of its runs, and the effect is the ratio of the two
//!   medians, so that the two cannot contradict each other. Geometric means can: 100, 101, 102, 60, 103 and
//!   98, 99, 100, 98, 99 have medians that fall by 2 % and geometric means that rise by 8 %.
//! - **Ranks** ([`RankComparison`]): the exact interval of the shift by Hodges and Lehmann, and the exact p
//!   value of Mann and Whitney that belongs to it. Its level is at least 95 % whatever the distribution of
//!   the runs: 97.1 % with 4 runs per side, 96.8 % with 5, 95.0 % to 95.9 % from 6 to 20. One disturbed run
//!   of ten neither hides a difference of 5 % nor makes one; it costs Welch's t half of its power.
//! - **Welch's t where ranks do not suffice** ([`ranks_suffice`]): with 3 runs per side the rarest order of
//!   the runs has a probability of 10 %, so no exact interval at 95 % exists. Nor does it for 4 runs per side
//!   if several sides share the level. There the interval is Welch's (1947, degrees of freedom by
//!   Satterthwaite 1946), which assumes that the logarithms are normally distributed, and reports say so. No
//!   statement at all would make three repeats useless, and the error is on the safe side: disturbed runs
//!   widen the interval, from a coverage of 96.7 % to 98 %. If the side with more scatter has fewer runs, up
//!   to 8 % of equal pairs show a difference, not 5 % (`tests/statistics.rs`): repeat both sides equally
//!   often.
//! - **No pairing.** Runs in the order A B B A could be grouped in blocks. Over an even number of repeats a
//!   steady drift of the machine cancels in the means anyway, but remains in the scatter, which at worst
//!   makes Welch's interval too wide; blocks of two or three would cost half of the degrees of freedom.
//!   With an odd number n of repeats, an nth of the drift from one run to the next remains between the
//!   means of two sides: far less than the scatter that the same drift causes within each side.
//! - **One run per side: no estimate.** The seconds of a run say how precisely its own mean is known, and
//!   nothing about the next run. If runs of one system scatter by 2 %, the seconds of two of them call 42 %
//!   of equal pairs of 60 s different, and 81 % of pairs of 600 s. [`runs_needed`] says how many runs it
//!   takes.
//! - **Several sides against one base**: Holm (1979, [`holm()`]), with one family for each figure. Intervals
//!   have the level of their test, so that an interval excludes 1 exactly if a difference was found.
//! - **Histories** ([`change_points()`]): where the level of many runs changed, by ranks and random orders.
//! - **Sweeps** ([`find_knee()`], [`fit_usl()`]): where a throughput curve bends, and a law that explains it.
//! - **Smallest difference**: the one that the noncentral t distribution finds with a probability of 80 %.
//!
//! Student's t is computed here: it takes a few functions of ten lines ([`student`]), and the libraries
//! that have them depend on linear algebra or a random number generator.

mod change_points;
mod holm;
mod knee;
mod median_interval;
mod ranks;
mod runs;
mod series;
pub mod student;
mod usl;

pub(crate) use change_points::levels_between;
pub use change_points::{ChangePoint, MIN_RUNS_OF_LEVEL, change_points};
pub use holm::{HolmResult, holm};
pub use knee::{CurvePoint, KneeState, find_knee};
pub use median_interval::{median_intervals, order_statistic_interval, ranks_below};
pub use ranks::{RankComparison, ranks_suffice};
pub(crate) use runs::moments;
pub use runs::{coefficient_of_variation, median, paired, runs_needed, welch};
pub use series::{SeriesInterval, SeriesMean, series_interval, series_mean};
pub use usl::{MIN_USL_POINTS, Usl, UslFit, fit_usl};

/// Two-sided level of a test: one in twenty pairs of equal systems shows a difference.
pub const ALPHA: f64 = 0.05;
/// Probability with which the smallest detectable difference would have been found.
pub const POWER: f64 = 0.8;

/// The estimated ratio of two figures, second to first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the ratio.
    pub log_ratio: f64,
    /// Standard error of `log_ratio`.
    pub std_error: f64,
    /// Degrees of freedom of that error.
    pub dof: f64,
}

impl Estimate {
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// Probability that two equal systems differ by as much or more, in either direction.
    pub fn p_value(&self) -> f64 {
        if self.std_error > 0.0 {
            student::two_sided_p(self.log_ratio / self.std_error, self.dof)
        } else {
            // Figures without any scatter.
            if self.log_ratio == 0.0 { 1.0 } else { 0.0 }
        }
    }

    /// The interval of the ratio, at a level of `1 - alpha`.
    pub fn interval(&self, alpha: f64) -> [f64; 2] {
        let half = self.half_width(alpha);
        [-half, half].map(|half| (self.log_ratio + half).exp())
    }

    /// The smallest ratio above 1 that would have been found with a probability of [`POWER`].
    pub fn detectable(&self, alpha: f64) -> f64 {
        if self.std_error <= 0.0 {
            return 1.0;
        }
        // With few runs the estimated error is more often too small than too large. Dividing by the median
        // of its distribution, a chi-square's (Wilson and Hilferty 1931), corrects this.
        let median = (1.0 - 2.0 / (9.0 * self.dof)).powf(1.5);
        (student::noncentrality_for_power(alpha, POWER, self.dof) * self.std_error / median).exp()
    }

    fn half_width(&self, alpha: f64) -> f64 {
        if self.std_error > 0.0 {
            student::quantile(1.0 - alpha / 2.0, self.dof) * self.std_error
        } else {
            0.0
        }
    }
}

/// The interval of the mean of values that are normally distributed and not negative, at a level of `1 - ALPHA`; `None`
/// for fewer than two.
pub fn mean_interval(values: &[f64]) -> Option<[f64; 2]> {
    let [mean, variance] = moments(values)?;
    let error = (variance / values.len() as f64).sqrt();
    let half = student::quantile(1.0 - ALPHA / 2.0, values.len() as f64 - 1.0) * error;
    Some([(mean - half).max(0.0), mean + half])
}

/// The difference of two means with their variances and degrees of freedom, second minus first.
fn difference_of_means(first: [f64; 3], second: [f64; 3]) -> Estimate {
    let ([a, var_a, dof_a], [b, var_b, dof_b]) = (first, second);
    let variance = var_a + var_b;
    let dof = if variance > 0.0 {
        variance.powi(2) / (var_a.powi(2) / dof_a + var_b.powi(2) / dof_b)
    } else {
        dof_a + dof_b
    };
    Estimate {
        log_ratio: b - a,
        std_error: variance.sqrt(),
        dof,
    }
}
