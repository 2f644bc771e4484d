//! Arguments of `report` and `verify`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use clap::Args;
use std::path::PathBuf;

/// Arguments of `prony report`.
#[derive(Args, Debug)]
#[command(after_help = "\
The page needs no network and no script, prints, and holds the documents it was drawn from. Each run
after the first is set beside the first: what differs, and their figures if these compare.

With --prices it has the chart of throughput against cost with its frontier, and what prony price
says: where each price is from and as of when, and which runs have none. The sheets are in the page.

Examples:
  prony report last -o report.html
  prony report small=20261120-2333 big=last --prices prices.toml -o report.html
  prony report 20261120-2333 last -o report.html
  prony verify report.html")]
pub struct ReportArgs {
    /// The runs, named as in `prony show`, with commas between several, or an experiment alone, of which all
    /// runs are taken; with --prices as in `prony price`, and CONFIGURATION= before it where the
    /// sheet does not say on which of its configurations a run was measured
    #[arg(value_name = "[CONFIGURATION=]RUN", required = true)]
    pub runs: Vec<String>,

    /// Show what their throughput costs by this price sheet, as in `prony price`; may be given several
    /// times
    #[arg(long, value_name = "FILE")]
    pub prices: Vec<PathBuf>,

    /// With --prices: share of the measured throughput that is used over a month, for the second cost
    /// of a million [default: 30%]
    #[arg(long, value_name = "SHARE", requires = "prices", value_parser = super::price::share)]
    pub utilisation: Option<f64>,

    /// With --prices: rank prices of different regions too
    #[arg(long, requires = "prices")]
    pub across_regions: bool,

    /// Write the page to this file, or with - to standard output; an older report there is replaced
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `prony verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Computes the SHA-256 of each document in the page again, and draws the page anew from them. Exit
code 7 says that the file was changed or cut off, 1 that it cannot be read or is no report. A hash is
no signature: it is that of the stored run, as sha256sum says it, so compare the two to know that
the page is of that run.

Examples:
  prony verify report.html")]
pub struct VerifyArgs {
    /// The report
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}
