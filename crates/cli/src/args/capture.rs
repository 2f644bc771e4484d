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
the query store (sys.dm_exec_query_stats if it is off). The plan has the statements that took most
of the time, with their calls as weights, and draws their parameters from rows of the tables. Its
comments name every guess. Nothing is changed on the server, and no literal or row is copied.

With --log the server is not asked: its log has the sessions, with the times of their statements,
and the file is a recording that prony replay replays. Read are PostgreSQL's csvlog and jsonlog, and
the general and the slow query log of MySQL and MariaDB.

Examples:
  prony capture --url postgres://bench@db1/bench --for 10m --out mix.toml
  prony capture --url mysql://bench@db2/bench --for 0s --out mix.toml
  prony run mix.toml --url postgres://bench@copy/bench --clients 16
  prony capture --log postgresql.csv --keep-literals --out monday.rec
  zcat slow.log.1.gz | prony capture --log - --keep-literals --out monday.rec")]
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

    /// Record the sessions of these logs of one server; -: the standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["url", "time", "share"])]
    pub log: Vec<PathBuf>,

    /// Keep literals that the server's statistics have left in statements; with --log, keep literals and parameters,
    /// without which nothing can be replayed
    #[arg(long)]
    pub keep_literals: bool,

    /// The plan or recording to write
    #[arg(long, short = 'o', value_name = "FILE", required = true)]
    pub out: PathBuf,
}
