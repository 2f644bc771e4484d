//! Arguments of `capture`.

use super::TimeoutArgs;
use super::plan_flags::{PlanFlags, ServerFlags};
use clap::Args;
use prony_plan::parse_duration;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `prony capture`.
#[derive(Args, Debug)]
#[command(after_help = "\
The server counts its statements: in the extension pg_stat_statements, in performance_schema, or in
sys.dm_exec_query_stats. The plan has the statements that took most of the time, with their calls as
weights, and draws their parameters from rows of the tables. Its comments name every guess. Nothing is
changed on the server, and no literal or row is copied.

Examples:
  prony capture --url postgres://bench@db1/bench --for 10m --out mix.toml
  prony capture --url mysql://bench@db2/bench --for 0s --out mix.toml
  prony run mix.toml --url postgres://bench@copy/bench --clients 16")]
pub struct CaptureArgs {
    #[command(flatten)]
    pub flags: PlanFlags<ServerFlags>,

    #[command(flatten)]
    pub timeout: TimeoutArgs,

    /// How long to let the server count; 0s: take what it has counted since its statistics began
    #[arg(long = "for", value_name = "TIME", default_value = "1m", value_parser = parse_duration)]
    pub time: Duration,

    /// The share of the statements' time that the plan holds, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95, value_parser = clap::value_parser!(u8).range(1..=100))]
    pub share: u8,

    /// Keep literals that the server's statistics have left in statements
    #[arg(long)]
    pub keep_literals: bool,

    /// The plan to write
    #[arg(long, short = 'o', value_name = "FILE", required = true)]
    pub out: PathBuf,
}
