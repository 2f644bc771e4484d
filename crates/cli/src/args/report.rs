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

Examples:
  prony report last -o report.html
  prony report 20261120-2333 last -o report.html
  prony verify report.html")]
pub struct ReportArgs {
    /// The runs, named as in `prony show`
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,

    /// Write the page to this file, or with - to standard output; an older report there is replaced
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `prony verify`.
#[derive(Args, Debug)]
#[command(after_help = "\
Computes the SHA-256 of each document in the page again, and draws the page anew from them. Exit code 7
says that the file was changed or cut off, 1 that it cannot be read or is no report. The hash of a
document is that of the stored run, as sha256sum says it: compare the two to know that it is the same.

Examples:
  prony verify report.html")]
pub struct VerifyArgs {
    /// The report
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}
