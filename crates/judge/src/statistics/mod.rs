//! How far chance explains a difference.
//!
//! In: figures of repeated runs, or the seconds of one run a side. Out: an [`Estimate`] of the ratio of
//! two figures, from which follow an interval, a p value, and the least difference that would probably
//! have been found. Must never: see a Run, take the best of several, or claim more than its data hold.
//!
//! The choices:
//!
//! - **Logarithms.** What is compared are ratios, and what disturbs a benchmark scales its figures. A
//!   side's level is the mean of the logarithms of its runs' figures, so that the estimate is the ratio
//!   of the two geometric means; the figure shown beside it is each side's median.
//! - **Repeats: Welch's t** (Welch 1947, degrees of freedom by Satterthwaite 1946). It does not suppose
//!   that both sides scatter alike, and needs two runs a side. Where the wilder side has the fewer runs,
//!   up to 8 % of equals differ by it, not 5 % (`tests/statistics.rs`): repeat both alike.
//! - **No pairing.** Runs in the order A B B A could be taken in blocks. Over an even number of repeats a
//!   steady drift of the machine cancels in the means even so, and stays in the scatter, which makes the
//!   interval of Welch too wide at worst; blocks of two or three would cost it half of its degrees of
//!   freedom. Of an odd number n, an nth of the drift from one run to the next stays between the means of
//!   two sides: far less than the scatter that the same drift makes within each.
//! - **One run a side**: the seconds follow from one another, so that n of them are worth fewer
//!   (`series`). The interval covers these two runs alone.
//! - **Several against one base**: Holm (1979, [`holm()`]), a family for each figure. Intervals have the
//!   level of their step, so that an interval is beside 1 exactly if a difference was found.
//! - **Least difference**: what the noncentral t distribution finds with a probability of 80 %.
//!
//! Student's t is computed here: what is needed are some functions of ten lines ([`student`]), and the
//! libraries that have them bring linear algebra or a random number generator along.

mod holm;
mod runs;
mod series;
pub mod student;

pub use holm::{Step, holm};
pub use runs::{coefficient_of_variation, median, welch};
pub use series::{Course, course, of_courses};

/// Two-sided level of a test: one in twenty pairs of equals shows a difference.
pub const ALPHA: f64 = 0.05;
/// Probability with which the least difference would have been found.
pub const POWER: f64 = 0.8;

/// The ratio of two figures, second to first, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Natural logarithm of the ratio.
    pub log_ratio: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub freedom: f64,
}

impl Estimate {
    /// The ratio.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// With which probability two equals differ by as much or more, in either direction.
    pub fn p(&self) -> f64 {
        match self.error > 0.0 {
            true => student::beyond(self.log_ratio / self.error, self.freedom),
            // Figures that do not scatter at all.
            false => f64::from(u8::from(self.log_ratio == 0.0)),
        }
    }

    /// From where to where the ratio may be, at a level of `1 - alpha`.
    pub fn interval(&self, alpha: f64) -> [f64; 2] {
        let half = self.half_width(alpha);
        [-half, half].map(|half| (self.log_ratio + half).exp())
    }

    /// The least ratio above 1 that would have been found with a probability of [`POWER`].
    pub fn detectable(&self, alpha: f64) -> f64 {
        if self.error <= 0.0 {
            return 1.0;
        }
        // Of few runs the estimated error is too small more often than not: put right by the median of
        // its distribution, a chi-square's (Wilson and Hilferty 1931), so that the promise is kept.
        let median = (1.0 - 2.0 / (9.0 * self.freedom)).powf(1.5);
        (student::reach(alpha, POWER, self.freedom) * self.error / median).exp()
    }

    fn half_width(&self, alpha: f64) -> f64 {
        match self.error > 0.0 {
            true => student::quantile(1.0 - alpha / 2.0, self.freedom) * self.error,
            false => 0.0,
        }
    }
}

/// The difference of two means with their variances and degrees of freedom, second less first.
fn difference(first: [f64; 3], second: [f64; 3]) -> Estimate {
    let ([a, of_a, free_a], [b, of_b, free_b]) = (first, second);
    let variance = of_a + of_b;
    let freedom = match variance > 0.0 {
        true => variance.powi(2) / (of_a.powi(2) / free_a + of_b.powi(2) / free_b),
        false => free_a + free_b,
    };
    Estimate {
        log_ratio: b - a,
        error: variance.sqrt(),
        freedom,
    }
}
