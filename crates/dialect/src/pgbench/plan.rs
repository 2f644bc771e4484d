//! Translates a pgbench command line into plans of Prony's core.
//!
//! In: [`RunOptions`]. Out: a drive plan, and the policy of the scripts. Must never: omit an option that
//! changes what a server executes.

use super::level::Level;
use super::options::{Limit, RunOptions};
use prony_plan::{Arrival, DrivePlan, Pace, Stop};
use prony_workload::script::{MessageListener, OnError, ScriptPolicy};
use std::sync::Arc;
use std::time::Duration;

pub fn drive_plan(options: &RunOptions) -> DrivePlan {
    DrivePlan {
        clients: options.clients,
        threads: options.threads,
        pace: match options.rate_tps {
            None => Pace::Closed,
            Some(rate_tps) => Pace::Rate {
                rate_tps,
                arrival: Arrival::Poisson,
                queue_max: None,
            },
        },
        stop: match options.limit {
            Limit::Transactions(count) => Stop::Transactions(u64::from(count)),
            Limit::Seconds(seconds) => Stop::NoStartsAfter(Duration::from_secs(u64::from(seconds))),
        },
        grace: Duration::MAX,
        latency_limit: options.latency_limit_us.map(Duration::from_micros),
        reconnect: false,
        protocol: options.protocol,
        // libpq sends Describe; without it the server would do less work than with pgbench.
        describe: true,
        connect_per_transaction: options.reconnect,
        connect_time_counts: false,
        seed: Some(options.random_seed),
        ..DrivePlan::default()
    }
}

/// The policy of the scripts. `listener` receives the texts that pgbench prints during the run.
pub fn script_policy(
    level: &Level,
    options: &RunOptions,
    listener: Arc<dyn MessageListener>,
) -> ScriptPolicy {
    ScriptPolicy {
        dialect: None,
        pgbench_version: u32::from(level.major()),
        on_error: if options.continue_on_error {
            OnError::FailUnlessLost
        } else if level.at_least(15) {
            OnError::AbortUnlessTransient
        } else {
            OnError::Abort
        },
        max_tries: options.max_tries,
        latency_limit_ns: options.latency_limit_us.map(|limit_us| limit_us * 1000),
        allows_shell: true,
        emulate_pgbench: true,
        emulate_libpq: true,
        records_command_stats: options.report_per_command,
        verbose_errors: options.verbose_errors,
        debug: options.debug,
        listener: Some(listener),
    }
}
