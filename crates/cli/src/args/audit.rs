//! Arguments of `audit`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use clap::Args;

/// Arguments of `prony audit`.
#[derive(Args, Debug)]
#[command(after_help = "\
The tool is recognised by its text. What it does not say is not filled in: a run that is kept is
marked as imported, and names what is not known of it.

Exit code 7 says that figures of it must not be used; such a run can be kept, and says so.

Examples:
  prony audit pgbench.log
  pgbench -T 60 -P 1 bench 2>&1 | prony audit -
  prony audit results.out --keep && prony show last")]
pub struct AuditArgs {
    /// The output, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,

    /// Store each run in it, for `prony show`, `prony compare` and `prony price`
    #[arg(long)]
    pub keep: bool,

    /// The scale, or warehouses, where the output does not say it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: Option<u32>,

    /// All of it, as JSON
    #[arg(long)]
    pub json: bool,
}
