//! Arguments of `prony trend`.

use super::run::answer_format;
use super::stored::FilterArgs;
use crate::run::ResultFormat;
use clap::Args;
use prony_store::Requirement;
use std::path::PathBuf;

/// The newest runs of which a trend consists, unless another number is given.
pub const TREND_RUNS: usize = 200;

/// Arguments of `prony trend`.
#[derive(Args, Debug)]
#[command(after_help = "\
Shows the runs that are comparable with the newest usable one, or with --like RUN, by the rules of
`prony compare`; all runs are judged by the checks of this version. Other runs are listed with the
reason. At each change, the differences between the last run before it and the first run
after it are listed.

A change is found by ranks: runs are assumed to scatter in random order while nothing changes, in
any distribution. A history without a change shows one in at most 5 % of cases. At least 8 runs are
needed, and 3 after a change.

Examples:
  prony trend tpcc
  prony trend tpcb --label nightly --since 90d --figure p99
  prony trend tpcc --require 'not slower than release by 3%'
  prony trend tpcb --like 20261120-2333 --output trend.html
  prony trend tpcc --json | jq '.changes[] | select(.is_better | not)'")]
pub struct TrendArgs {
    /// Name of the workload, or of the plan with transactions of your own
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,

    #[command(flatten)]
    pub filter: FilterArgs,

    /// Use at most this many of the newest runs; 0 uses all
    #[arg(long, short = 'n', value_name = "N", default_value_t = TREND_RUNS)]
    pub last: usize,

    /// Show runs that are comparable with this one: a run, named as in `prony show`
    #[arg(long, value_name = "RUN")]
    pub like: Option<String>,

    /// Show this figure instead of throughput, or of p99 at a rate: a name of the table of `prony compare`
    #[arg(long, value_name = "FIGURE")]
    pub figure: Option<String>,

    /// What the runs since the last change must meet, as in `prony run`
    #[arg(long, value_name = "REQUIREMENT", value_parser = Requirement::parse)]
    pub require: Vec<Requirement>,

    /// Print only what is required and whether it is met: JUnit XML, or annotations of GitHub's workflows
    #[arg(long, value_name = "FORMAT", value_parser = answer_format, conflicts_with_all = ["json", "output"])]
    pub format: Option<ResultFormat>,

    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Write a page to this file, replacing an older one; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,
}
