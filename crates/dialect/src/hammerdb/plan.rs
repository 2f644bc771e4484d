//! What a script's requests mean to Prony's core.
//!
//! In: requests. Out: how to drive, on which workload with which options. Must never: leave out a
//! setting that changes what a server sees.

use super::request::{BuildRequest, Driver, RunRequest};
use prony_plan::{DrivePlan, IoEngine, Pace, QueryMode, Stop, WorkloadPlan};
use std::collections::BTreeMap;
use std::time::Duration;

/// The workload that is TPROC-C.
pub const WORKLOAD: &str = "tpcc";

/// The option by which that workload cuts `order_line` in parts.
pub const PARTITIONS: &str = "partitions";

/// Virtual users that one thread drives with ease.
const USERS_A_THREAD: u32 = 64;

/// How long transactions in flight at the end may take.
const GRACE: Duration = Duration::from_secs(30);

/// How a run is driven. `minute`: how long a minute of the script lasts; `processors`: of this
/// machine.
pub fn drive_plan(request: &RunRequest, minute: Duration, processors: usize) -> DrivePlan {
    let minutes = |count: u64| minute.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let (stop, warmup) = match request.driver {
        Driver::Timed {
            rampup_min,
            duration_min,
            ..
        } => (Stop::After(minutes(duration_min)), minutes(rampup_min)),
        Driver::Test => (Stop::Transactions(request.iterations), Duration::ZERO),
    };
    let most = u32::try_from(processors).unwrap_or(u32::MAX).max(1);
    DrivePlan {
        clients: request.vusers,
        threads: request.vusers.div_ceil(USERS_A_THREAD).clamp(1, most),
        pace: Pace::Closed,
        stop,
        warmup,
        grace: GRACE,
        latency_limit: None,
        reconnect: true,
        // HammerDB prepares its calls once a connection.
        protocol: QueryMode::Prepared,
        describe: true,
        io: IoEngine::Auto,
        connect_per_transaction: false,
        connect_counts: false,
        tcp_sample: 0,
        seed: None,
        pin: false,
    }
}

/// The workload of a run with a profile, on the tables that are there.
pub fn run_plan(request: &RunRequest, profile: &str) -> WorkloadPlan {
    let word = |truth: bool, yes: &str, no: &str| if truth { yes } else { no }.to_owned();
    let options = [
        ("home", word(request.all_warehouses, "all", "user")),
        // HammerDB tries nothing again.
        ("max_tries", "1".to_owned()),
        ("mode", "procedures".to_owned()),
        ("pacing", word(request.key_and_think, "spec", "none")),
        ("profile", profile.to_owned()),
    ];
    let options = options.map(|(key, value)| (key.to_owned(), value.into()));
    workload(None, options.into())
}

/// The workload of a build.
///
/// # Errors
/// Why it cannot be built so.
pub fn build_plan(request: &BuildRequest) -> Result<WorkloadPlan, String> {
    for (asked, key) in [
        (request.oracle_types, "pg_oracompat"),
        (request.citus, "pg_cituscompat"),
    ] {
        if asked {
            return Err(format!(
                "Prony does not offer {key}: diset tpcc {key} false"
            ));
        }
    }
    let Ok(scale) = u32::try_from(request.warehouses) else {
        return Err(format!(
            "{} warehouses are more than any database holds",
            request.warehouses
        ));
    };
    let mut options = BTreeMap::new();
    if let Some(parts) = partitions(request) {
        options.insert(PARTITIONS.to_owned(), parts.into());
    }
    Ok(workload(Some(scale), options))
}

/// The parts of `order_line`: one for a hundred warehouses, from 200 on.
fn partitions(request: &BuildRequest) -> Option<i64> {
    let parts = i64::try_from(request.warehouses / 100).ok()?;
    (request.partition && request.warehouses >= 200).then_some(parts)
}

fn workload(scale: Option<u32>, options: BTreeMap<String, toml::Value>) -> WorkloadPlan {
    WorkloadPlan {
        name: WORKLOAD.to_owned(),
        scale,
        options,
    }
}
