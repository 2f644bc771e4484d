//! Arguments of `scenarios` and `reproduce`.

use super::RunOutputArgs;
use super::plan_flags::{PlanFlags, ReproduceFlags};
use clap::{Args, ValueEnum};
use prony_plan::scenario::{parse_fraction, parse_share};
use prony_workload::LoadRequest;
use std::time::Duration;

/// Arguments of `prony scenarios`.
#[derive(Args, Debug)]
#[command(after_help = "\
The figures are as published in the named documents. They were not measured with Prony.

Examples:
  prony scenarios                              all of them
  prony scenarios hotset 16c                   those that contain both words
  prony scenarios tpcb-cached                  one, with figures, source, steps and commands
  prony scenarios hotset-2c16g-0.1b-ro --script
  prony scenarios --json mysql80")]
pub struct ScenariosArgs {
    /// An id, or words to find in id, title, machine, product or document
    #[arg(value_name = "ID|FILTER")]
    pub filter: Vec<String>,

    /// Print JSON
    #[arg(long, conflicts_with = "script")]
    pub json: bool,

    /// Print only the scenario's script, in pgbench's language
    #[arg(long, requires = "filter")]
    pub script: bool,
}

/// Arguments of `prony reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "\
Replaces existing tables of the scenario's workload, as `prony load` does; other tables are never
touched. The published guides require a new load before each run; --cleanup drops the tables at the
end.

Without --shrink, --duration, --warmup and --clients a scenario is run as published, on one thread
per CPU of this machine. If the server has too few connections for the published clients, fewer are
used; with --clients, that is an error.

Examples:
  prony reproduce tpcb-cached --url postgres://bench@db1/bench --shrink 1/1000 --duration 1m
  prony reproduce tpcc-16vcpu-30pct --url postgres://bench@db1/bench --cached 30% --jobs 8
  prony reproduce mysql80-rw-4c16g-cached --url mysql://bench@db2/bench
  prony reproduce tpcb-partly-cached --restart-command 'ssh db1 systemctl restart postgresql'")]
pub struct ReproduceArgs {
    /// Id of the scenario; `prony scenarios` lists them
    #[arg(value_name = "ID")]
    pub id: String,

    #[command(flatten)]
    pub flags: PlanFlags<ReproduceFlags>,

    /// Run a part of the published size, such as 1/1000: fewer branches, warehouses, tables or rows, and a smaller
    /// hot set [default: 1]
    #[arg(long, value_name = "PART", help_heading = "Data", value_parser = parse_fraction,
          conflicts_with = "cached")]
    pub shrink: Option<f64>,

    /// Warehouses, if the document does not state their number
    #[arg(long, short, value_name = "N", help_heading = "Data", conflicts_with_all = ["cached", "shrink"],
          value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub scale: Option<u64>,

    #[command(flatten)]
    pub cached: CachedArgs,

    /// Connections that load at the same time
    #[arg(long, value_name = "N", default_value_t = LoadRequest::DEFAULT_JOBS, help_heading = "Data",
          value_parser = super::load::parse_jobs)]
    pub jobs: u32,

    /// Use the existing data, which must have the requested size
    #[arg(long, help_heading = "Data")]
    pub no_load: bool,

    /// Drop the tables at the end
    #[arg(long, help_heading = "Data")]
    pub cleanup: bool,

    /// Command that restarts the server if the scenario requires cold caches; run with sh. Without it, the caches
    /// are not cold, and the result notes that
    #[arg(long, value_name = "CMD", help_heading = "Server")]
    pub restart_command: Option<String>,

    /// Length of the measured window; the warm-up is shortened in proportion [default: as published]
    #[arg(long, short = 'T', value_name = "TIME", help_heading = "Time",
          value_parser = parse_window_length)]
    pub duration: Option<Duration>,

    /// Print the result as JSON
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    #[command(flatten)]
    pub output: RunOutputArgs,
}

/// How much of the data fits into the server's memory.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CachedArgs {
    /// Choose the scale so that this share of the data fits into memory: with 30%, the data is 3.3 times the memory
    #[arg(long, value_name = "SHARE", help_heading = "Data", value_parser = parse_share)]
    pub cached: Option<f64>,

    /// The memory that --cached refers to: 'memory' is the RAM of the server's machine, 'cache' is
    /// shared_buffers or innodb_buffer_pool_size [default: memory if its size is known, else cache]
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Data",
        requires = "cached",
        hide_possible_values = true
    )]
    pub cached_of: Option<ReferenceMemory>,
}

/// The memory against which the share of `--cached` or `--expect-cached` is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReferenceMemory {
    /// The memory of the server's machine
    Memory,
    /// shared_buffers, or innodb_buffer_pool_size
    Cache,
}

/// Parses the length of the measured window, at least one second.
fn parse_window_length(text: &str) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
    let length = prony_plan::parse_duration(text)?;
    if (Duration::from_secs(1)..=prony_plan::MAX_DURATION).contains(&length) {
        Ok(length)
    } else {
        Err("give at least 1s, and at most 100 days".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_has_at_least_a_second() {
        assert_eq!(parse_window_length("1m").unwrap(), Duration::from_secs(60));
        assert_eq!(parse_window_length("1").unwrap(), Duration::from_secs(1));
        for text in ["0s", "999ms", "-1s", "1000d", "x"] {
            assert!(parse_window_length(text).is_err(), "{text}");
        }
    }
}
