//! Which script comes next.
//!
//! In: the scripts' weights. Out: the number of a script for each transaction. Must never: draw a
//! random number where there is only one script, because pgbench does not.

use super::ast::Script;
use crate::random::Random;

/// The scripts of a run by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// For each script the sum of the weights up to and with its own.
    sums: Vec<i64>,
}

impl Choice {
    /// A choice among scripts; none if all weights are zero.
    pub fn new(scripts: &[Script]) -> Option<Choice> {
        let mut sum = 0;
        let sums = scripts
            .iter()
            .map(|script| {
                sum += i64::from(script.weight);
                sum
            })
            .collect();
        (sum > 0).then_some(Choice { sums })
    }

    /// Number of the script of the next transaction.
    pub fn pick(&self, random: &mut Random) -> usize {
        match self.sums[..] {
            [] | [_] => 0,
            [.., total] => {
                let drawn = random.uniform(0, total - 1);
                self.sums.partition_point(|sum| *sum <= drawn)
            }
        }
    }
}
