//! Repeats and variants: several runs that belong together, and the order in which they come.
//!
//! In: a checked plan for each variant. Out: an [`Experiment`] and its turns. Must never: read a
//! clock, or choose a seed.
//!
//! Why the order matters: a server drifts (caches fill, tables grow, neighbours come and go), and what
//! is always run second would be blamed for it. `interleaved` runs the variants forwards and backwards
//! in turn (A B B A A B B A...), so that a steady drift weighs on all of them alike where the repeats are
//! even in number. Of an odd number the last pass has none to set it right, and a little of it stays.

mod asked;
pub(crate) mod form;

pub use asked::{AskedExperiment, AskedVariant, merged};

use crate::choice::Choice;
use crate::plan::Plan;
use crate::random::SplitMix;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Most repeats of a variant.
pub const MAX_REPEATS: u32 = 1_000;
/// Most variants of an experiment.
pub const MAX_VARIANTS: usize = 100;
/// Repeats where none are asked for: enough that one odd run does not decide the median, and even in
/// number, so that a steady drift cancels between interleaved variants.
pub const DEFAULT_REPEATS: u32 = 6;
/// Longest name of a variant, characters.
pub const MAX_NAME: usize = 32;

/// The order in which the runs of an experiment come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Forwards and backwards in turn: A B B A A B B A. A steady drift of the server cancels where the
    /// repeats are even in number.
    #[default]
    Interleaved,
    /// Shuffled anew within each repeat, by a seed.
    Random,
    /// All repeats of the first, then all of the next. A drift of the server looks like a difference
    /// between the variants then.
    Sequential,
}

impl Choice for Order {
    const ALL: &'static [(&'static str, Self)] = &[
        ("interleaved", Self::Interleaved),
        ("random", Self::Random),
        ("sequential", Self::Sequential),
    ];
}

/// A checked experiment: at least one variant, each run at least once.
#[derive(Clone, PartialEq)]
pub struct Experiment {
    /// How often each variant is run.
    pub repeats: u32,
    /// In which order.
    pub order: Order,
    /// How long nothing is done before each run but the first.
    pub pause: Duration,
    /// What `sh` runs before each run but the first, as the user wrote it: it may hold a password.
    pub between: Option<String>,
    /// What is run, in the order of the file. Two may be alike: that shows how far the same differs
    /// from itself.
    pub variants: Vec<Variant>,
}

impl fmt::Debug for Experiment {
    /// Without the command: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment")
            .field("repeats", &self.repeats)
            .field("order", &self.order)
            .field("pause", &self.pause)
            .field("variants", &self.variants)
            .finish_non_exhaustive()
    }
}

/// One of the things that an experiment sets beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name: that of its table; of a plan without variants that of the workload.
    pub name: String,
    /// What it runs.
    pub plan: Plan,
}

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Place of the variant.
    pub variant: usize,
    /// Which repeat of it, from 1.
    pub repeat: u32,
}

impl Experiment {
    /// How many runs it has.
    pub fn runs(&self) -> u32 {
        let variants = u32::try_from(self.variants.len()).unwrap_or(u32::MAX);
        self.repeats.saturating_mul(variants)
    }

    /// Its runs in their order. Only a random order asks for the seed; the same seed gives the same
    /// order.
    pub fn turns(&self, seed: u64) -> Vec<Turn> {
        let all = || 0..self.variants.len();
        let turn = |variant, repeat| Turn { variant, repeat };
        let mut turns = Vec::new();
        if self.order == Order::Sequential {
            turns.extend(all().flat_map(|one| (1..=self.repeats).map(move |nth| turn(one, nth))));
            return turns;
        }
        let mut random = SplitMix::new(seed);
        for repeat in 1..=self.repeats {
            let mut places: Vec<usize> = all().collect();
            match self.order {
                Order::Random => random.shuffle(&mut places),
                _ if repeat % 2 == 0 => places.reverse(),
                _ => {}
            }
            turns.extend(places.into_iter().map(|one| turn(one, repeat)));
        }
        turns
    }
}

#[cfg(test)]
mod tests;
