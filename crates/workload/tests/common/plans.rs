//! What the tests of runs ask for.

use prony_plan::{DrivePlan, IoEngine, Pace, QueryMode, Stop, WorkloadPlan};
use std::time::Duration;

/// A workload with these options, on the data that is there.
pub fn plan(name: &str, options: &[(&str, &str)]) -> WorkloadPlan {
    let options = options.iter();
    WorkloadPlan {
        name: name.to_owned(),
        scale: None,
        options: options
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect(),
    }
}

/// A closed loop on two threads, in prepared statements.
pub fn drive(clients: u32, stop: Stop) -> DrivePlan {
    DrivePlan {
        clients,
        threads: 2,
        pace: Pace::Closed,
        stop,
        warmup: Duration::ZERO,
        grace: Duration::from_secs(60),
        latency_limit: None,
        reconnect: true,
        connect_counts: true,
        protocol: QueryMode::Prepared,
        describe: false,
        io: IoEngine::Auto,
        connect_per_transaction: false,
        tcp_sample: 0,
        seed: None,
        pin: false,
    }
}
