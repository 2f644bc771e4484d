//! A run's place among the repeats of an experiment.
//!
//! In: nothing. Out: a part of the Run document. Must never: say what follows from the repeats; that
//! is `judge`'s.

use serde::{Deserialize, Serialize};

/// A run's place in an experiment: a plan with variants, each run several times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experiment {
    /// Name of the whole, the same in all its runs: the id of the first of them.
    pub id: String,
    /// Which variant was run.
    pub variant: String,
    /// Which repeat of that variant, from 1.
    pub repeat: u32,
    /// Which run of the experiment, from 1, in the order in which they were carried out.
    pub position: u32,
    /// How many runs were meant, of all variants together.
    pub runs: u32,
    /// Order of the variants: `interleaved` (A B B A), `random` or `sequential`.
    pub order: String,
    /// Seed of a random order; absent for the others, which need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_seed: Option<u64>,
    /// Names of all variants in the order of the plan, whichever was run first; empty in documents of
    /// older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
}
