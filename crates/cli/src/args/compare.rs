//! Arguments of `compare`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use super::price::share;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `prony compare`.
#[derive(Args, Debug)]
#[command(after_help = "\
Each side is one run, several runs of the same thing with commas between, or an experiment, whose
variants become the sides. An experiment is named by the id of its first run (`ID,` is that run by
itself), and by any of its runs if nothing else is named. The first side is the one that the
others are held against.

Two runs a side or more give an interval of 95 % by Welch's t on the logarithms of their figures.
One run a side gives one by its seconds, which says nothing of how far runs differ. A side is
slower by its NOPM or TPS; where the load came at a rate, by its 99th percentile.

Exit code 7 says that the figures do not compare: of two workloads, modes, profiles, scales,
protocols, or promises about a commit, or of a run that must not be used. Between variants of one
experiment, what its plan varies is to be weighed and refuses nothing, but for two workloads. 8 says
that a side is slower than --fail-if-slower allows.

Examples:
  prony compare 20261120-2333 last
  prony compare 20261120-2333,20261120-2339,20261120-2345 20261120-2336,20261120-2342,20261120-2348
  prony compare last --fail-if-slower 3% --markdown
  prony compare before.json after.json --json | jq -r .verdict")]
pub struct CompareArgs {
    /// The sides: runs named as in `prony show`, or an experiment
    #[arg(value_name = "SIDE", required = true)]
    pub sides: Vec<String>,

    /// Fail if a side is slower than the first by more than this, with confidence
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_if_slower: Option<f64>,

    /// Fail too if the runs cannot tell
    #[arg(long, requires = "fail_if_slower")]
    pub fail_if_unsure: bool,

    /// All of it, as JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,

    /// As Markdown, for a pull request
    #[arg(long)]
    pub markdown: bool,

    /// Write JUnit's XML to this file; with - to standard output, in place of all else
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}
