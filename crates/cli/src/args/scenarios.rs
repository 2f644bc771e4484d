//! Arguments of `scenarios` and `reproduce`.

use super::plan_flags::{PlanFlags, ReproduceFlags};
use super::{CachedArgs, RunOutputArgs};
use clap::Args;
use prony_plan::MAX_DURATION;
use prony_plan::scenario::parse_fraction;
use prony_workload::LoadRequest;
use std::path::PathBuf;
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
#[command(mut_arg("warmup", |warmup| warmup.help("Drive the load for this long before the window, and report its figures separately [default: as published]")))]
#[command(after_help = "\
Replaces existing tables of the scenario's workload, as `prony load` does; other tables are never
touched. The published guides require a new load before each run; --cleanup drops the tables at the
end.

Without --shrink, --duration, --warmup and --clients a scenario is run as published, on one thread
per CPU of this machine. If the server has too few connections for the published clients, fewer are
used; with --clients, that is an error.

A suite is all scenarios of a document's table, in its order: `prony scenarios` lists suites. It
says how long it will take, how large its data is and, with a price sheet, what it costs. If it was
stopped, the same command continues it; rows on other machines are run with --only and another
--url. Figures of rows that are smaller or shorter than published are shown as not comparable.

Examples:
  prony reproduce tpcb-cached --url postgres://bench@db1/bench --shrink 1/1000 --duration 1m
  prony reproduce tpcc-16vcpu-30pct --url postgres://bench@db1/bench --cached 30% --jobs 8
  prony reproduce mysql80-rw-4c16g-cached --url mysql://bench@db2/bench
  prony reproduce tpcb-partly-cached --restart-command 'ssh db1 systemctl restart postgresql'
  prony reproduce alloydb-16 --url postgres://bench@db1/bench --repeats 3
  prony reproduce aiven-450 --estimate --sheet plans/prices/aiven-2019.toml
  prony reproduce apsaradb-mysql --only 4c16g --url mysql://bench@db2/bench")]
pub struct ReproduceArgs {
    /// Id of the scenario or suite; `prony scenarios` lists them
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

    #[command(flatten)]
    pub suite: SuiteArgs,

    /// Print the result as JSON
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    #[command(flatten)]
    pub output: RunOutputArgs,
}

/// How a suite is run.
#[derive(Args, Debug, Default)]
pub struct SuiteArgs {
    /// Run only the rows whose id contains this text, such as those of one machine [repeatable]
    #[arg(long, value_name = "TEXT", help_heading = "Suite",
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub only: Vec<String>,

    /// Runs of each row, each with a new load [default: 1]
    #[arg(long, value_name = "N", help_heading = "Suite", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: Option<u32>,

    /// Run all rows again, instead of continuing a suite that was stopped
    #[arg(long, help_heading = "Suite")]
    pub start_over: bool,

    /// Print how long the suite takes, how much data it loads and what it costs, and run nothing
    #[arg(long, help_heading = "Suite")]
    pub estimate: bool,

    /// Price sheet of the machines, for what the suite costs [default: prices.toml in PRONY_HOME, if it exists]
    #[arg(long, value_name = "FILE", help_heading = "Suite")]
    pub sheet: Option<PathBuf>,

    /// The sheet's configuration on which the rows run [default: the only one, else the one after which a row is
    /// named]
    #[arg(long, value_name = "NAME", help_heading = "Suite")]
    pub configuration: Option<String>,
}

/// Parses the length of the measured window, at least one second.
fn parse_window_length(text: &str) -> Result<Duration, Box<dyn std::error::Error + Send + Sync>> {
    let length = prony_plan::parse_duration(text)?;
    if (Duration::from_secs(1)..=MAX_DURATION).contains(&length) {
        Ok(length)
    } else {
        let days = MAX_DURATION.as_secs() / 86_400;
        Err(format!("give at least 1s, and at most {days} days").into())
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
        assert!(parse_window_length("366d").is_ok());
        let error = parse_window_length("367d").unwrap_err().to_string();
        assert_eq!(error, "give at least 1s, and at most 366 days");
    }
}
