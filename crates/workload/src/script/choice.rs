//! Chooses the script of each transaction by weight. Never draws a random number if there is only one
//! script, because pgbench does not.

use super::ast::Script;
use crate::random::Random;

/// The cumulative weights of a run's scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptChooser {
    /// For each script, the sum of its weight and those of the scripts before it.
    cumulative_weights: Vec<i64>,
}

impl ScriptChooser {
    /// Creates a chooser; `None` if all weights are zero.
    pub fn new(scripts: &[Script]) -> Option<ScriptChooser> {
        let mut sum = 0;
        let cumulative_weights = scripts
            .iter()
            .map(|script| {
                sum += i64::from(script.weight);
                sum
            })
            .collect();
        (sum > 0).then_some(ScriptChooser { cumulative_weights })
    }

    /// Draws the number of the script for the next transaction.
    pub fn pick(&self, random: &mut Random) -> usize {
        match self.cumulative_weights[..] {
            [] | [_] => 0,
            [.., total] => {
                let number = random.uniform(0, total - 1);
                self.cumulative_weights
                    .partition_point(|sum| *sum <= number)
            }
        }
    }
}
