//! Arguments of `runs` and `show`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use clap::Args;

/// Arguments of `prony runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    /// Show at most so many; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub last: usize,
}

/// Arguments of `prony show`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  prony show last
  prony show 20261120-2333 --csv > seconds.csv
  prony show last --rates
  prony show last --hdr-log > last.hlog        for tools that read HdrHistogram's logs
  prony show last --json | jq .measured.kinds[0].tps")]
pub struct ShowArgs {
    /// Id of the run, the beginning of one, `last`, or a file with the document
    #[arg(value_name = "RUN")]
    pub run: String,

    #[command(flatten)]
    pub format: Format,
}

/// In which form; without any of them the result for a person.
#[derive(Args, Clone, Copy, Debug, Default)]
#[group(multiple = false)]
pub struct Format {
    /// The whole document, as JSON
    #[arg(long)]
    pub json: bool,

    /// The per-second series, as CSV
    #[arg(long)]
    pub csv: bool,

    /// What was seen of the server each second, as CSV
    #[arg(long)]
    pub csv_server: bool,

    /// The distributions of the measured window as an HdrHistogram log: one interval of all of it, by
    /// kind of transaction
    #[arg(long)]
    pub hdr_log: bool,

    /// The percentiles of the measured window, as CSV
    #[arg(long)]
    pub percentiles: bool,

    /// What the workload's field counts by names of its own, such as NOPM and TPM, as CSV
    #[arg(long)]
    pub rates: bool,
}
