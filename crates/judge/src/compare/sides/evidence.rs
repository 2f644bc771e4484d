//! What the runs of two sides say about one figure.
//!
//! In: the figure of each run. Out: p values and intervals, by ranks or by Welch's t. Must never: choose between
//! the two by the figures themselves, which would make either level wrong.

use super::Basis;
use crate::statistics::{Estimate, RankComparison, ranks_suffice, welch};

/// The runs of two sides, compared both ways.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evidence {
    runs: [usize; 2],
    ranks: RankComparison,
    normal: Estimate,
}

impl Evidence {
    /// `None` if a side has fewer than two runs, or a figure is not above 0. `resolution` is the rounding step of
    /// the figures, a share of them.
    pub fn of(first: &[f64], second: &[f64], resolution: f64) -> Option<Evidence> {
        Some(Evidence {
            runs: [first.len(), second.len()],
            ranks: RankComparison::new(first, second, resolution)?,
            normal: welch(first, second, resolution)?,
        })
    }

    /// Ranks if the runs are enough for them at this level.
    pub fn basis(&self, alpha: f64) -> Basis {
        match ranks_suffice(self.runs, alpha) {
            true => Basis::Ranks,
            false => Basis::Normal,
        }
    }

    /// Probability that two equal sides differ by as much or more.
    pub fn p(&self, basis: Basis) -> f64 {
        match basis {
            Basis::Ranks => self.ranks.p(),
            Basis::Normal => self.normal.p(),
        }
    }

    /// The interval of the ratio at a level of at least `1 - alpha`.
    pub fn interval(&self, basis: Basis, alpha: f64) -> Option<[f64; 2]> {
        match basis {
            Basis::Ranks => self.ranks.interval(alpha),
            Basis::Normal => Some(self.normal.interval(alpha)),
        }
    }

    /// The smallest ratio above 1 that the test would probably have found.
    pub fn detectable(&self, basis: Basis, alpha: f64) -> Option<f64> {
        match basis {
            Basis::Ranks => self.ranks.detectable(alpha),
            Basis::Normal => Some(self.normal.detectable(alpha)),
        }
    }
}
