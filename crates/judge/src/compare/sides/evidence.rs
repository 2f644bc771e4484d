//! What the runs of two sides show about one figure.
//!
//! In: the figure of each run. Out: p values and intervals, by ranks or by Welch's t. Must never: choose
//! between ranks and Welch's t by looking at the figures, which would make the level of both wrong.

use super::Basis;
use crate::statistics::{Estimate, RankComparison, ranks_suffice, welch};

/// The comparison of one figure of two sides, by ranks and by Welch's t.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evidence {
    /// Number of runs of each side.
    runs: [usize; 2],
    by_ranks: RankComparison,
    by_welch: Estimate,
}

impl Evidence {
    /// Compares one figure of the runs of two sides. `None` if a side has fewer than two runs, or a figure is
    /// not above 0. `resolution` is the rounding step of the figures, a share of them.
    pub fn new(first: &[f64], second: &[f64], resolution: f64) -> Option<Evidence> {
        Some(Evidence {
            runs: [first.len(), second.len()],
            by_ranks: RankComparison::new(first, second, resolution)?,
            by_welch: welch(first, second, resolution)?,
        })
    }

    /// [`Basis::Ranks`] if the runs are enough for ranks at this level.
    pub fn basis(&self, alpha: f64) -> Basis {
        if ranks_suffice(self.runs, alpha) {
            Basis::Ranks
        } else {
            Basis::Normal
        }
    }

    /// Probability that two equal sides differ by as much or more.
    pub fn p_value(&self, basis: Basis) -> f64 {
        match basis {
            Basis::Ranks => self.by_ranks.p_value(),
            Basis::Normal => self.by_welch.p_value(),
        }
    }

    /// The interval of the ratio at a level of at least `1 - alpha`.
    pub fn interval(&self, basis: Basis, alpha: f64) -> Option<[f64; 2]> {
        match basis {
            Basis::Ranks => self.by_ranks.interval(alpha),
            Basis::Normal => Some(self.by_welch.interval(alpha)),
        }
    }

    /// The smallest ratio above 1 that the test would probably have found.
    pub fn detectable(&self, basis: Basis, alpha: f64) -> Option<f64> {
        match basis {
            Basis::Ranks => self.by_ranks.detectable(alpha),
            Basis::Normal => Some(self.by_welch.detectable(alpha)),
        }
    }
}
