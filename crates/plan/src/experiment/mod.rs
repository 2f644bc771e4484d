//! Repeats and variants: several runs that belong together, and their order.
//!
//! An [`Experiment`] has a checked plan for each variant, and lists its runs in order. No clock is read
//! and no seed chosen here.
//!
//! The order matters because a server drifts (caches fill, tables grow, other load comes and goes), and a
//! variant that always runs second would be blamed for it. `interleaved` runs the variants alternately
//! forwards and backwards (A B B A A B B A...): a steady drift affects all variants equally if the number of
//! repeats is even. With an odd number the last pass is not balanced, and a small part of the drift remains.

mod input;
mod sweep;

pub use input::{VariantInput, merge_findings};
pub use sweep::{
    MACHINE_AXIS, SWEEP_VALUES_HELP, SweepAxis, SweepInput, SweepMachine, option_from_text,
    parse_values,
};

use crate::choice::choices;
use crate::plan::Plan;
use crate::random::SplitMix;
use prony_document::Setting;
use std::fmt;
use std::time::Duration;

pub const MAX_REPEATS: u32 = 1_000;
pub const MAX_VARIANTS: usize = 100;
/// Default number of repeats with variants: enough that one outlier does not decide the median, and an
/// even number, so that a steady drift cancels between interleaved variants.
pub const DEFAULT_REPEATS: u32 = 6;
/// Names of the variants of a plan with a pooler (`via`).
pub const DIRECT_VARIANT: &str = "direct";
pub const POOLED_VARIANT: &str = "pooler";
/// Names of the variants of a plan with two servers (`versus`).
pub const VERSUS_VARIANTS: [&str; 2] = ["A", "B"];
/// Names of the variants of a plan that measures what the ledger costs (`ledger_cost`).
pub const LEDGER_VARIANTS: [&str; 2] = ["without-ledger", "with-ledger"];
/// Longest name of a variant, in characters.
pub const MAX_NAME_CHARS: usize = 32;

choices! {
    /// The order of the runs of an experiment.
    #[derive(Default)]
    #[schemars(rename = "Order")]
    pub enum RunOrder {
        /// Alternately forwards and backwards: A B B A A B B A. A steady drift of the server cancels if
        /// the number of repeats is even.
        #[default]
        Interleaved = "interleaved",
        /// Shuffled in each repeat, by a seed.
        Random = "random",
        /// All repeats of the first variant, then all of the next. A drift of the server looks like a
        /// difference between the variants.
        Sequential = "sequential",
    }
}

/// A checked experiment: at least one variant, each run at least once.
#[derive(Clone, PartialEq)]
pub struct Experiment {
    pub repeats: u32,
    pub order: RunOrder,
    /// Time to wait before each run except the first.
    pub pause: Duration,
    /// Command that `sh` runs before each run, as the user wrote it: it may contain a
    /// password.
    pub between: Option<String>,
    /// Whether the runs go on although those so far are invalid for one reason.
    pub keep_going: bool,
    /// The variants, in the order of the file. Two may be equal, to show how much repeats of the same plan
    /// differ.
    pub variants: Vec<Variant>,
    /// File of the price sheet for a sweep, if one is named.
    pub prices: Option<String>,
}

impl fmt::Debug for Experiment {
    /// Omits the command: it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Experiment")
            .field("repeats", &self.repeats)
            .field("order", &self.order)
            .field("pause", &self.pause)
            .field("variants", &self.variants)
            .finish_non_exhaustive()
    }
}

/// A checked variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The name of its TOML table (`[variants.NAME]`); without variants, the name of the workload.
    pub name: String,
    pub plan: Plan,
    /// The settings that it has as a point of a sweep; empty if it is none.
    pub point: Vec<Setting>,
    /// What it costs: the name of a configuration in the price sheet, if there is a sheet.
    pub configuration: Option<String>,
}

/// One run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimentRun {
    /// Index of the variant.
    pub variant: usize,
    /// Number of the repeat, from 1.
    pub repeat: u32,
}

impl Experiment {
    pub fn run_count(&self) -> u32 {
        let variants = u32::try_from(self.variants.len()).unwrap_or(u32::MAX);
        self.repeats.saturating_mul(variants)
    }

    /// The runs of the experiment, in order. Only the random order uses the seed; the same seed gives the
    /// same order.
    pub fn run_order(&self, seed: u64) -> Vec<ExperimentRun> {
        let mut runs = Vec::new();
        let mut random = SplitMix::new(seed);
        for repeat in 1..=self.repeats {
            let mut order: Vec<usize> = (0..self.variants.len()).collect();
            match self.order {
                RunOrder::Random => random.shuffle(&mut order),
                RunOrder::Interleaved if repeat % 2 == 0 => order.reverse(),
                RunOrder::Interleaved | RunOrder::Sequential => {}
            }
            let run = |variant| ExperimentRun { variant, repeat };
            runs.extend(order.into_iter().map(run));
        }
        if self.order == RunOrder::Sequential {
            runs.sort_by_key(|run| run.variant);
        }
        runs
    }
}

#[cfg(test)]
mod tests;
