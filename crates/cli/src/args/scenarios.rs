//! Arguments of `scenarios` and `reproduce`.
//!
//! In: clap. Out: plain values. Must never: decide what a value means.

use super::{KeepingArgs, ServerArgs};
use clap::{Args, ValueEnum};
use prony_plan::parse_duration;
use prony_plan::scenario::{parse_share, parse_shrink};
use prony_workload::LoadRequest;
use std::time::Duration;

/// Arguments of `prony scenarios`.
#[derive(Args, Debug)]
#[command(after_help = "\
Figures are those of the documents named, as published. Prony has run none of them on those machines.

Examples:
  prony scenarios                              all of them
  prony scenarios hotset 16c                   those with both words in what is known of them
  prony scenarios tpcb-cached                  one whole: figures, source, steps, commands
  prony scenarios hotset-2c16g-0.1b-ro --script
  prony scenarios --json mysql80")]
pub struct ScenariosArgs {
    /// An id, or words that id, title, machine, product or document hold
    #[arg(value_name = "ID|FILTER")]
    pub filter: Vec<String>,

    /// All that is known of them, as JSON
    #[arg(long, conflicts_with = "script")]
    pub json: bool,

    /// Print the script of the one that is named, in pgbench's language, and nothing else
    #[arg(long, requires = "filter")]
    pub script: bool,
}

/// Arguments of `prony reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "\
Tables of the scenario's workload that are there already are replaced, as `prony load` does; tables
of others are never touched. The new load is what the guides ask for between runs; --cleanup drops
the tables at the end.

Without --shrink, --minutes and --clients a scenario is run as published. Clients beyond those that
the server has connections for are left out, unless --clients asks for them.

Examples:
  prony reproduce tpcb-cached --url postgres://bench@db1/bench --shrink 1/1000 --minutes 1
  prony reproduce tpcc-16vcpu-30pct --url postgres://bench@db1/bench --cached 30% --jobs 8
  prony reproduce mysql80-rw-4c16g-cached --url mysql://bench@db2/bench
  prony reproduce tpcb-partly-cached --restart-command 'ssh db1 systemctl restart postgresql'")]
pub struct ReproduceArgs {
    /// Id of the scenario; `prony scenarios` lists them
    #[arg(value_name = "ID")]
    pub id: String,

    #[command(flatten)]
    pub server: ServerArgs,

    /// Run this part of the published size, such as 1/1000: fewer branches, warehouses, tables or rows,
    /// and a smaller hot set [default: 1]
    #[arg(long, value_name = "PART", help_heading = "Data", value_parser = parse_shrink,
          conflicts_with = "cached")]
    pub shrink: Option<f64>,

    #[command(flatten)]
    pub cached: CachedArgs,

    /// Connections that load at the same time
    #[arg(long, value_name = "N", default_value_t = LoadRequest::DEFAULT_JOBS, help_heading = "Data",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: u32,

    /// Take the data that is there, of the size that is asked for
    #[arg(long, help_heading = "Data")]
    pub no_load: bool,

    /// Drop the tables at the end
    #[arg(long, help_heading = "Data")]
    pub cleanup: bool,

    /// What restarts the server, where the scenario asks for cold caches: run through sh, as it is
    /// written. Without it the caches are what they are, and the result says so
    #[arg(long, value_name = "CMD", help_heading = "Server")]
    pub restart_command: Option<String>,

    /// Measure for so many minutes; a warm-up is shortened as much [default: as published]
    #[arg(long, value_name = "N", help_heading = "Time", allow_negative_numbers = true,
          value_parser = minutes)]
    pub minutes: Option<Duration>,

    /// Drive for so long before, and keep its figures apart [default: as published]
    #[arg(long, value_name = "TIME", help_heading = "Time", value_parser = parse_duration)]
    pub warmup: Option<Duration>,

    /// Virtual users [default: as published, at most as many as the server takes]
    #[arg(long, short = 'c', value_name = "N", help_heading = "Load",
          allow_negative_numbers = true, value_parser = super::positive)]
    pub clients: Option<u64>,

    /// OS threads that drive them [default: one a CPU of this machine]
    #[arg(long, short = 'j', value_name = "N", help_heading = "Load",
          allow_negative_numbers = true, value_parser = super::positive)]
    pub threads: Option<u64>,

    /// Where the node_exporter of the server's machine answers
    #[arg(long, value_name = "URL", help_heading = "Server")]
    pub server_metrics: Option<String>,

    /// Print the result as the JSON document alone
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    #[command(flatten)]
    pub keeping: KeepingArgs,
}

/// How much of the data the server is to hold in memory.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CachedArgs {
    /// Choose the scale so that this share of the data fits: 30% makes data of 3.3 times the memory
    #[arg(long, value_name = "SHARE", help_heading = "Data", value_parser = parse_share)]
    pub cached: Option<f64>,

    /// With --cached: fits into the memory of the server's machine (memory), or into its own
    /// shared_buffers or innodb_buffer_pool_size (cache) [default: memory where it is known, else cache]
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Data",
        requires = "cached",
        hide_possible_values = true
    )]
    pub cached_of: Option<CachedOf>,
}

/// What data is to fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CachedOf {
    /// The memory of the server's machine
    Memory,
    /// shared_buffers, or innodb_buffer_pool_size
    Cache,
}

/// Reads minutes: `1`, `0.5`.
fn minutes(text: &str) -> Result<Duration, String> {
    let most = prony_plan::MAX_TIME.as_secs_f64();
    let seconds = text.trim().parse::<f64>().map(|minutes| minutes * 60.0);
    match seconds {
        // Whole seconds: what is shown is what is run.
        Ok(seconds) if seconds >= 1.0 && seconds <= most => {
            Ok(Duration::from_secs(seconds.round() as u64))
        }
        _ => Err("give minutes, such as 1 or 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_read_with_fractions() {
        assert_eq!(minutes("1"), Ok(Duration::from_secs(60)));
        assert_eq!(minutes("0.05"), Ok(Duration::from_secs(3)));
        for text in ["", "0", "-1", "nan", "inf", "1e9", "1m"] {
            assert!(minutes(text).is_err(), "{text}");
        }
        let words = ["prony", "reproduce", "tpcb-cached", "--minutes", "-1"];
        let told = <crate::args::Cli as clap::Parser>::try_parse_from(words);
        let told = told.expect_err("it is none").to_string();
        assert!(
            told.contains("give minutes, such as 1") && !told.contains("-- -1"),
            "{told}"
        );
    }
}
