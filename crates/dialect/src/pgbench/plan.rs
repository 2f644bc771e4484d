//! What a pgbench command line means to Prony's core.
//!
//! In: [`RunOptions`]. Out: how to drive, and in which manner to run the scripts. Must never: leave
//! out an option that changes what a server sees.

use super::level::Level;
use super::options::{Limit, Protocol, RunOptions};
use prony_plan::{Arrival, DrivePlan, IoEngine, Pace, QueryMode, Stop};
use prony_workload::script::{Listener, Manner, OnError};
use std::sync::Arc;
use std::time::Duration;

/// How the load is driven.
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
            Limit::Seconds(seconds) => Stop::Starts(Duration::from_secs(u64::from(seconds))),
        },
        warmup: Duration::ZERO,
        grace: Duration::MAX,
        latency_limit: options.latency_limit_us.map(Duration::from_micros),
        reconnect: false,
        protocol: match options.protocol {
            Protocol::Simple => QueryMode::Simple,
            Protocol::Extended => QueryMode::Extended,
            Protocol::Prepared => QueryMode::Prepared,
        },
        // As libpq does: without it the server would do less than under pgbench.
        describe: true,
        io: IoEngine::Auto,
        connect_per_transaction: options.reconnect,
        connect_counts: false,
        tcp_sample: 0,
        seed: Some(options.random_seed),
        pin: false,
    }
}

/// How the scripts are run; `listener` hears what pgbench prints meanwhile.
pub fn manner(level: &Level, options: &RunOptions, listener: Arc<dyn Listener>) -> Manner {
    Manner {
        level: u32::from(level.major()),
        on_error: if options.continue_on_error {
            OnError::FailUnlessLost
        } else if level.at_least(15) {
            OnError::AbortUnlessTransient
        } else {
            OnError::Abort
        },
        max_tries: options.max_tries,
        latency_limit_ns: options.latency_limit_us.map(|limit_us| limit_us * 1000),
        shell: true,
        as_pgbench: true,
        as_libpq: true,
        per_command: options.report_per_command,
        verbose: options.verbose_errors,
        debug: options.debug,
        listener: Some(listener),
    }
}
