//! Arguments of `run` and `drill`: the flags that replace settings of a plan, and how to show the result.

use super::plan_flags::{PlanFlags, RunFlags};
use crate::run::ResultFormat;
use clap::Args;
use prony_plan::experiment::SweepAxis;
use prony_plan::scenario::parse_share;
use prony_plan::{PlanInput, SweepInput, parse_duration, value_from_flag};
use std::time::Duration;

/// Arguments of `prony run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Response time is measured from the moment a transaction was due to its last reply; service time
from the moment it was sent. In a closed loop (without --rate) they are equal.

Times are written as 500ms, 30s, 5m, 1h30m. Ctrl-C ends the run at once and prints its partial
result; a second one ends prony without it.

Examples:
  prony run tpcb --clients 64 --threads 2 --duration 60s --warmup 10s
  prony run select-only --clients 16 --duration 30s --rate 5000 --arrival even
  prony run tpcb --embedded --duration 10s     on a throw-away server
  prony run script --file pay.sql@3 --file look.sql@1
  prony run plan.toml --clients 128            a plan from a file, with one setting changed
  prony run tpcb --duration 10s --repeats 5    five runs, and their median
  prony run tpcb --duration 30s --sweep clients=1,2,4,8,16   throughput by clients
  prony run tpcb --duration 30s --vary settings.synchronous_commit=on,off     which is better
  prony run tpcb --duration 10s --json | jq .measured.kinds[0].tps")]
pub struct RunArgs {
    /// Name of a workload (`prony workloads` lists them), or a plan file, whose name ends in .toml or has a /
    #[arg(value_name = "WORKLOAD|PLAN.toml")]
    pub workload_or_plan: String,

    #[command(flatten)]
    pub flags: PlanFlags<RunFlags>,

    /// Vary a setting of the load or an option of the workload, such as clients=1,2,4,8, clients=1..64 times 2 or
    /// rate=1000..8000 step 1000; each value is run as often as --repeats says, and the curve has its knee and what
    /// limits it. Several sweeps make every combination [repeatable]
    #[arg(long, value_name = "KEY=VALUES", help_heading = "Repeats", value_parser = SweepAxis::from_flag)]
    pub sweep: Vec<SweepAxis>,

    /// Compare values of a setting of the server, of the load or of the workload, such as
    /// settings.synchronous_commit=on,off: each repeat runs once with each, and the summary says whether they differ
    /// [repeatable]
    #[arg(long, value_name = "KEY=VALUES", help_heading = "Repeats", value_parser = SweepAxis::from_vary,
          conflicts_with = "sweep")]
    pub vary: Vec<SweepAxis>,

    /// Compare variants by this figure instead of throughput, or p99 at a rate; cpu is CPU time per transaction, which the
    /// work of others on the machine changes least
    #[arg(long, value_name = "FIGURE", help_heading = "Repeats",
          value_parser = ["throughput", "cpu", "p50", "p95", "p99", "p99.9"])]
    pub primary: Option<String>,

    /// With --embedded: download PostgreSQL's programs if there are none on this machine
    #[arg(long, help_heading = "Server")]
    pub download: bool,

    /// Check that this share of the data, such as 30%, was cached, by the size of the data and the server's cache
    /// hits
    #[arg(long, value_name = "SHARE", help_heading = "Server", value_parser = parse_share,
          conflicts_with_all = ["embedded", "no-observe"])]
    pub expect_cached: Option<f64>,

    /// The memory that --expect-cached refers to: 'memory' is the RAM of the server's machine, 'cache' is
    /// shared_buffers or innodb_buffer_pool_size [default: memory if its size is known, else cache]
    #[arg(
        long,
        value_name = "WHAT",
        help_heading = "Server",
        requires = "expect_cached",
        hide_possible_values = true
    )]
    pub expect_cached_of: Option<super::ReferenceMemory>,

    /// With --agent: drive the same load again from half of the machines. If the throughput is the same, the client was
    /// not the limit
    #[arg(long, help_heading = "Result")]
    pub prove_client: bool,

    /// Check the consistency of the data after the run, as `prony check` does; a failure makes the run invalid
    #[arg(long, help_heading = "Result")]
    pub check_after: bool,

    /// Examine the machine and the server for 10 s before the load, as `prony doctor` does, and store the findings
    #[arg(long, help_heading = "Result")]
    pub doctor: bool,

    /// Print the result as JSON; for several runs, one line for each as it ends, then one with the comparison of variants
    /// or the curve of a sweep
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    /// Print only what is required and whether it is met: JUnit XML, or annotations of GitHub's workflows
    #[arg(long, value_name = "FORMAT", help_heading = "Result", value_parser = answer_format,
          conflicts_with_all = ["json", "full"])]
    pub format: Option<ResultFormat>,

    /// Label of the stored run, as `prony runs label` sets it
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Result",
        conflicts_with = "no_store",
        value_parser = super::stored::parse_label
    )]
    pub label: Option<String>,

    #[command(flatten)]
    pub output: RunOutputArgs,
}

/// Below the options of `prony drill`.
pub const DRILL_EXAMPLES: &str = "\
The same options as those of `prony run`, with --ledger and --expect-outage. The exit code is 8 if
something that is required is missed, and 9 if it is undecided.

Examples:
  prony drill tpcb --url postgres://bench@db1,db2/bench --at 60s ./failover.sh --require 'outage<30s' --require lost=0
  prony drill plans/kits/failover.toml --url 'postgres://bench@db1,db2/bench?target_session_attrs=read-write'
  prony demo failover                          with a primary and a standby of its own";

/// Arguments of `prony drill`: those of `prony run`.
#[derive(Args, Debug)]
pub struct DrillArgs {
    #[command(flatten)]
    pub run: RunArgs,
}

/// How much of the result is printed, whether the run is stored, and how its progress is shown.
#[derive(Args, Clone, Copy, Debug)]
pub struct RunOutputArgs {
    /// Print all figures, checks and settings of the result, not only the first screen
    #[arg(long, help_heading = "Result", conflicts_with = "json")]
    pub full: bool,

    /// Do not store the run
    #[arg(long, help_heading = "Result")]
    pub no_store: bool,

    /// Time between progress lines if stderr is not a terminal; 0s: no progress
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Result",
          value_parser = parse_duration)]
    pub progress: Duration,
}

impl RunArgs {
    /// Whether the argument is a plan file, not the name of a workload.
    pub fn is_plan(&self) -> bool {
        is_plan(&self.workload_or_plan)
    }

    /// The plan input from the flags.
    pub fn input(&self) -> PlanInput {
        let axes = [&self.sweep[..], &self.vary].concat();
        PlanInput {
            sweep: (!axes.is_empty()).then(|| SweepInput {
                axes,
                is_compared: !self.vary.is_empty(),
                ..SweepInput::default()
            }),
            ..input_of(&self.workload_or_plan, &self.flags.input)
        }
    }
}

/// Whether an argument is a plan file, not the name of a workload.
pub fn is_plan(workload_or_plan: &str) -> bool {
    workload_or_plan.ends_with(".toml") || workload_or_plan.contains('/')
}

/// The flags as plan input, with the workload unless a plan names it.
pub(super) fn input_of(workload_or_plan: &str, flags: &PlanInput) -> PlanInput {
    let workload = (!is_plan(workload_or_plan)).then(|| workload_or_plan.to_owned());
    PlanInput {
        workload: value_from_flag("WORKLOAD", workload),
        ..flags.clone()
    }
}

/// A format of answers.
pub(super) fn answer_format(text: &str) -> Result<ResultFormat, String> {
    match text {
        "junit" => Ok(ResultFormat::Junit),
        "github" => Ok(ResultFormat::Github),
        _ => Err("must be junit or github".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::args::usage_error;
    use clap::Parser;
    use prony_assertions::TextAssertions;

    #[test]
    fn a_command_without_a_time_is_an_error_that_does_not_repeat_it() {
        let message = usage_error(&["prony", "run", "tpcb", "--at", "soon", "./fail geheim"]);
        message.assert_starts_with("invalid value for --at: ");
        message.assert_lacks("geheim");
    }

    #[test]
    fn an_invalid_number_is_an_error_with_the_valid_range() {
        let base = &["prony", "run", "tpcb"][..];
        for arguments in [
            &["--repeats=-1"][..],
            &["--repeats", "-1"],
            &["--repeats", "x"],
        ] {
            let message = usage_error(&[base, arguments].concat());
            message.assert_contains("must be from 1 to 1000");
            message.assert_lacks("-- -1");
        }
        for name in [
            "--clients",
            "-c",
            "--threads",
            "--rate",
            "-R",
            "--scale",
            "--transactions",
        ] {
            for number in ["-1", "x"] {
                let message = usage_error(&[base, &[name, number]].concat());
                assert!(
                    message.contains("must be from 1") || message.contains("must be a positive"),
                    "{name}: {message}"
                );
                assert!(!message.contains("-- -1"), "{name}: {message}");
            }
        }
        for valid in [["--repeats", "3"], ["--clients", "3"], ["--rate", "0.5"]] {
            assert!(crate::args::Cli::try_parse_from(base.iter().chain(&valid)).is_ok());
        }
    }
}
