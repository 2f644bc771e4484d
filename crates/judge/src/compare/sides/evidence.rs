//! What the runs of two sides show about one figure.
//!
//! In: the figure of each run. Out: p values and intervals, by ranks, by Welch's t, or by pairs. Must never: choose
//! between them by looking at the figures, which would make their levels wrong.

use super::Basis;
use crate::statistics::{Estimate, RankComparison, paired, ranks_suffice, welch};

/// The comparison of one figure of two sides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Evidence {
    runs: [usize; 2],
    by_ranks: RankComparison,
    /// By pairs if each run of one side has a partner on the other, otherwise by Welch's t.
    estimate: Estimate,
    are_pairs: bool,
}

impl Evidence {
    /// Compares one figure of the runs of two sides. `None` if a side has fewer than two runs, or a figure is
    /// not above 0. `resolution` is the rounding step of the figures, a share of them. `are_pairs`: each run has the partner
    /// at the same position of the other side.
    pub fn new(
        first: &[f64],
        second: &[f64],
        resolution: f64,
        are_pairs: bool,
    ) -> Option<Evidence> {
        let estimate = if are_pairs { paired } else { welch };
        Some(Evidence {
            runs: [first.len(), second.len()],
            by_ranks: RankComparison::new(first, second, resolution)?,
            estimate: estimate(first, second, resolution)?,
            are_pairs,
        })
    }

    /// The mean ratio of pairs; `None` if the runs are not paired.
    pub fn ratio_of_pairs(&self) -> Option<f64> {
        self.are_pairs.then(|| self.estimate.ratio())
    }

    /// [`Basis::Pairs`] if the runs are paired, [`Basis::Ranks`] if they are enough for ranks at this level.
    pub fn basis(&self, alpha: f64) -> Basis {
        if self.are_pairs {
            Basis::Pairs
        } else if ranks_suffice(self.runs, alpha) {
            Basis::Ranks
        } else {
            Basis::Normal
        }
    }

    /// Probability that two equal sides differ by as much or more.
    pub fn p_value(&self, basis: Basis) -> f64 {
        match basis {
            Basis::Ranks => self.by_ranks.p_value(),
            Basis::Normal | Basis::Pairs => self.estimate.p_value(),
        }
    }

    /// The interval of the ratio at a level of at least `1 - alpha`.
    pub fn interval(&self, basis: Basis, alpha: f64) -> Option<[f64; 2]> {
        match basis {
            Basis::Ranks => self.by_ranks.interval(alpha),
            Basis::Normal | Basis::Pairs => Some(self.estimate.interval(alpha)),
        }
    }

    /// The smallest ratio above 1 that the test would probably have found.
    pub fn detectable(&self, basis: Basis, alpha: f64) -> Option<f64> {
        match basis {
            Basis::Ranks => self.by_ranks.detectable(alpha),
            Basis::Normal | Basis::Pairs => Some(self.estimate.detectable(alpha)),
        }
    }
}
