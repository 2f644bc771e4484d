//! `prony demo`: a complete run on a throw-away server.
//!
//! Equivalent to a `prony run` command, which is shown on stderr.

use super::{demo_failover, output, plan};
use crate::args::DemoArgs;
use crate::exit::{Exit, Failure};
use crate::run::{ResultFormat, RunRequest, run_and_print};
use prony_plan::{Plan, PlanInput, cpu_count, value_from_flag};
use std::ffi::OsString;
use std::time::Duration;

/// Number of clients, and of branches: with fewer branches, clients mostly wait for each other's row locks.
const CLIENTS: u64 = 16;

/// Length of the measured window.
const DURATION: Duration = Duration::from_secs(22);

/// Runs tpcb on a throw-away server, or kills one.
pub fn demo(args: &DemoArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    if args.url.is_some() {
        return Err(Failure::usage(
            "the demo starts a PostgreSQL of its own; Prony has no throw-away MySQL, MariaDB or SQL Server",
            "use a server with prony load WORKLOAD --url URL, and then prony run WORKLOAD --url URL",
        ));
    }
    if args.kind.is_some() {
        return demo_failover::demo(args, arguments);
    }
    let threads = cpu_count().clamp(1, 2) as u64;
    let origin = "demo";
    let input = PlanInput {
        embedded: value_from_flag(origin, Some(true)),
        workload: value_from_flag(origin, Some("tpcb".to_owned())),
        scale: value_from_flag(origin, Some(CLIENTS)),
        clients: value_from_flag(origin, Some(CLIENTS)),
        threads: value_from_flag(origin, Some(threads)),
        warmup: value_from_flag(origin, Some(Duration::from_secs(2))),
        duration: value_from_flag("--duration", Some(args.duration.unwrap_or(DURATION))),
        ..PlanInput::default()
    };
    let flags = input.arguments().join(" ");
    output::notice(&format!("The same as: prony run tpcb {flags}"));
    let plan = plan::check_plan(input.clone(), "the demo")?;
    let format = ResultFormat::from_flags(args.json, args.full);
    run_and_print(&request(args, &input, plan, format, arguments))
}

pub(super) fn request(
    args: &DemoArgs,
    input: &PlanInput,
    plan: Plan,
    format: ResultFormat,
    arguments: &[OsString],
) -> RunRequest {
    RunRequest {
        may_download: args.download,
        format,
        must_store: !args.no_store,
        ..RunRequest::new(input, plan, arguments)
    }
}
