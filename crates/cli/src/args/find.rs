//! Arguments of `find`: what is required, and how the highest rate is searched for.

use super::plan_flags::{FindFlags, PlanFlags};
use super::results::parse_tps;
use super::run::{answer_format, input_of, is_plan};
use crate::run::ResultFormat;
use clap::Args;
use prony_plan::scenario::parse_share;
use prony_plan::{OPEN_LOOP_CLIENTS, PlanInput, parse_duration, value_from_flag};
use prony_store::{Requirement, Requirements};
use std::time::Duration;

/// Lowest first rate, transactions per second: so slow a load has one transaction in a quarter of an hour.
const MIN_FIRST_TPS: f64 = 0.001;

/// Warm-up of a step.
const WARMUP: Duration = Duration::from_secs(2);

/// Arguments of `prony find`.
#[derive(Args, Debug)]
#[command(mut_arg("warmup", |warmup| warmup.help("Drive the load for this long before the window of each step [default: 2s]")))]
#[command(after_help = "\
Measures rates, each in an open loop as `prony run --rate` does, until the highest one that meets
what is required is known. The first rate comes from a short closed loop. The answer is in the
first line, with the highest rate that met it and the lowest that did not:

  4,310 /s (4,180 to 4,420) at p99 below 20.0 ms; limit: the server's CPUs

A rate fails if a figure misses its limit with its whole interval at 95 %, or if the load falls
behind. The lowest rate that fails is measured twice. The steps are one experiment: `prony runs`
lists them, and `prony report ID` draws the curve. Each client has one transaction at a time: with
too few of them, they are the limit. Without a requirement, the answer is the highest rate with
which the server keeps up.

Exit codes: 0 with an answer, 7 if its steps must not be used, 8 if no rate meets what is required,
9 if nothing was decided.

Examples:
  prony find tpcb --p99 20ms --url postgres://bench@db1/bench
  prony find tpcb --require 'p99.9<50ms' --require 'errors<0.1%' --clients 200
  prony find tpcb --p99 20ms --resume last     go on after Ctrl-C
  prony find plan.toml --p99 20ms --json | jq .capacity")]
pub struct FindArgs {
    /// Name of a workload (`prony workloads` lists them), or a plan file, whose name ends in .toml or has a /
    #[arg(value_name = "WORKLOAD|PLAN.toml")]
    pub workload_or_plan: String,

    #[command(flatten)]
    pub flags: PlanFlags<FindFlags>,

    /// Limit of the 99th percentile of the response time, such as 20ms: short for --require 'p99<20ms'
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = parse_p99)]
    pub p99: Option<Requirement>,

    /// What the search varies: the rate of an open loop, or the clients of a closed one, whose throughput is sought
    #[arg(long, value_name = "SETTING", help_heading = "Search", default_value = "rate", value_parser = ["rate", "clients"])]
    pub over: String,

    /// First rate to measure, instead of an estimate by a closed loop
    #[arg(long, value_name = "TPS", help_heading = "Search", value_parser = parse_first_rate)]
    pub from: Option<f64>,

    /// Continue an interrupted search: name one of its runs as in `prony show`, such as last, and give the other
    /// arguments again. With another limit, the steps that were measured count for that one
    #[arg(long, value_name = "RUN", help_heading = "Search", conflicts_with_all = ["from", "embedded"])]
    pub resume: Option<String>,

    /// Length of a step; longer where the percentile needs more transactions at the rate [default: 20s]
    #[arg(long, value_name = "TIME", help_heading = "Search", value_parser = parse_step)]
    pub step: Option<Duration>,

    /// How precise the answer must be: the search ends when it is known to plus or minus this share
    #[arg(long, value_name = "SHARE", help_heading = "Search", default_value = "2%", value_parser = parse_precision)]
    pub precision: f64,

    /// Measure at most this many rates
    #[arg(long, value_name = "N", help_heading = "Search", default_value_t = 13,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub max_steps: u32,

    /// With --embedded: download PostgreSQL's programs if there are none on this machine
    #[arg(long, help_heading = "Server")]
    pub download: bool,

    /// Print only the answer: JUnit XML, or annotations of GitHub's workflows
    #[arg(long, value_name = "FORMAT", help_heading = "Result", value_parser = answer_format, conflicts_with_all = ["json"])]
    pub format: Option<ResultFormat>,

    /// Print the answer and its steps as JSON
    #[arg(long, help_heading = "Result")]
    pub json: bool,

    /// Label of the stored runs, as `prony runs label` sets it
    #[arg(long, value_name = "NAME", help_heading = "Result", value_parser = super::stored::parse_label)]
    pub label: Option<String>,

    /// Time between progress lines if stderr is not a terminal; 0s: no progress
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Result",
          value_parser = parse_duration)]
    pub progress: Duration,
}

impl FindArgs {
    /// The plan input from the flags.
    pub fn input(&self) -> PlanInput {
        input_of(&self.workload_or_plan, &self.flags.input)
    }

    /// Adds what `find` requires and assumes to the input, which may be from a file.
    pub fn complete(&self, mut input: PlanInput) -> PlanInput {
        let origin = "find";
        // The closed loop that estimates the first rate has the clients of the steps.
        input.clients = input
            .clients
            .or_else(|| value_from_flag(origin, Some(OPEN_LOOP_CLIENTS.into())));
        input.warmup = input
            .warmup
            .or_else(|| value_from_flag(origin, Some(WARMUP)));
        if let Some(limit) = &self.p99 {
            let mut all = input
                .require
                .take()
                .map_or_else(Requirements::default, |given| given.value);
            all.0.push(limit.clone());
            input.require = value_from_flag("--p99", Some(all));
        }
        input
    }

    /// Whether the argument is a plan file, not the name of a workload.
    pub fn is_plan(&self) -> bool {
        is_plan(&self.workload_or_plan)
    }
}

fn parse_p99(text: &str) -> Result<Requirement, String> {
    Requirement::parse(&format!("p99<{text}")).map_err(|_| "must be a time such as 20ms".to_owned())
}

/// Parses the first rate. A percentile at a very low one needs a step that is longer than any run can be.
fn parse_first_rate(text: &str) -> Result<f64, String> {
    let rate = parse_tps(text)?;
    if rate >= MIN_FIRST_TPS {
        Ok(rate)
    } else {
        Err(format!(
            "must be at least {MIN_FIRST_TPS} transactions per second"
        ))
    }
}

fn parse_step(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|error| error.to_string())?;
    if length >= Duration::from_secs(1) {
        Ok(length)
    } else {
        Err("must be at least 1s".to_owned())
    }
}

fn parse_precision(text: &str) -> Result<f64, String> {
    let share = parse_share(text)?;
    if (0.001..=0.5).contains(&share) {
        Ok(share)
    } else {
        Err("must be from 0.1% to 50%".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Command, FindArgs, usage_error};
    use clap::Parser;

    fn parsed(line: &str) -> FindArgs {
        match Cli::try_parse_from(line.split_whitespace())
            .unwrap()
            .command
        {
            Command::Find(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_limit_of_p99_is_one_more_requirement_and_defaults_come_after_flags() {
        let args = parsed("prony find tpcb --p99 20ms --require errors<0.1% --clients 3");
        let input = args.complete(args.input());
        let required = input.require.unwrap().value.0;
        let required: Vec<String> = required.iter().map(ToString::to_string).collect();
        assert_eq!(required, ["errors<0.1%", "p99<20ms"]);
        assert_eq!(input.clients.unwrap().value, 3);
        let args = parsed("prony find tpcb");
        let input = args.complete(args.input());
        assert_eq!((input.clients.unwrap().value, input.require), (32, None));
    }

    #[test]
    fn wrong_values_are_errors_with_what_is_valid() {
        for (option, expected) in [
            ("--p99=20", "a time such as 20ms"),
            ("--step=10ms", "at least 1s"),
            ("--precision=80%", "from 0.1% to 50%"),
            ("--from=0", "transactions per second"),
            ("--from=1e-17", "at least 0.001 transactions"),
            ("--max-steps=0", "from 1 to 100"),
        ] {
            let message = usage_error(&["prony", "find", "tpcb", option]);
            assert!(message.contains(expected), "{option}: {message}");
        }
    }
}
