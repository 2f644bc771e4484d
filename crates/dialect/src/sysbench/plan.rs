//! What a sysbench command line means to Prony's core.
//!
//! In: a checked command line. Out: how to drive, which workload with which options. Must never: leave
//! out an option that changes what a server sees.

use super::bundled::Bundled;
use super::compat::Compat;
use super::connect::ps_mode;
use super::messages::QUEUE_EVENTS;
use super::options::{Native, Settings};
use prony_plan::{Arrival, DrivePlan, IoEngine, MAX_TIME, Pace, Stop, WorkloadPlan};
use std::collections::BTreeMap;
use std::time::Duration;

/// Users that one thread of Prony's drives before another helps it.
const USERS_A_THREAD: u32 = 32;

/// How a run with these options is driven; `processors`: that it may keep busy. A thread of sysbench is a
/// user here.
///
/// # Errors
/// `--db-ps-mode` is not known: the line of the log.
pub fn drive_plan(settings: &Settings, processors: usize) -> Result<DrivePlan, String> {
    let time = settings
        .time_s
        .map_or(MAX_TIME, |time_s| seconds(time_s).min(MAX_TIME));
    let most = u32::try_from(processors).unwrap_or(u32::MAX).max(1);
    let database = &settings.database;
    Ok(DrivePlan {
        clients: settings.threads,
        threads: settings.threads.div_ceil(USERS_A_THREAD).clamp(1, most),
        pace: match settings.rate_tps {
            None => Pace::Closed,
            Some(rate_tps) => Pace::Rate {
                rate_tps: f64::from(rate_tps),
                arrival: Arrival::Poisson,
                queue_max: Some(QUEUE_EVENTS),
            },
        },
        // All that began in time is awaited, unless a shutdown is forced.
        stop: match settings.events {
            None => Stop::Starts(time),
            Some(transactions) => Stop::Shared {
                transactions,
                within: time,
            },
        },
        warmup: seconds(settings.warmup_s),
        grace: settings.forced_shutdown_s.map_or(Duration::MAX, seconds),
        latency_limit: None,
        // No option of PostgreSQL's asks for it.
        reconnect: database.driver == "mysql" && database.mysql.ignored.reconnects(),
        protocol: ps_mode(database)?,
        // As libpq and MySQL's library do.
        describe: true,
        io: IoEngine::Auto,
        connect_per_transaction: false,
        connect_counts: false,
        tcp_sample: 0,
        // Its bits: a negative seed is one as well.
        seed: settings.random.seed.map(|seed| i64::from(seed) as u64),
        pin: false,
    })
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}

/// How many loaders `prepare` has.
pub fn load_jobs(settings: &Settings) -> u32 {
    settings.threads
}

/// The workload of a bundled test.
pub fn workload_plan(native: &Native) -> WorkloadPlan {
    let mut options: BTreeMap<String, toml::Value> = BTreeMap::new();
    if is_bulk(native.test) {
        // A table for each thread, and nothing else to ask for.
        options.insert(
            "tables".to_owned(),
            i64::from(native.settings.threads).into(),
        );
    } else {
        let taken = native
            .options
            .iter()
            .filter(|(name, _)| !NOT_THE_WORKLOADS.contains(name));
        options.extend(taken.map(|(name, value)| ((*name).to_owned(), value.clone())));
        options.extend(random(&native.settings));
        if native.test.name == "oltp_point_select" {
            options.insert("point_selects".to_owned(), 1.into());
        }
    }
    WorkloadPlan {
        name: native.test.name.to_owned(),
        scale: None,
        options,
    }
}

/// Options that decide nothing of what is sent: `pgsql_variant` is without effect in sysbench too.
const NOT_THE_WORKLOADS: [&str; 2] = ["pgsql_variant", "reconnect"];

fn is_bulk(test: &Bundled) -> bool {
    !test.declares_options
}

/// How numbers are drawn, as the workloads name it.
fn random(settings: &Settings) -> Vec<(String, toml::Value)> {
    let random = &settings.random;
    let mut options = vec![
        ("rand_type", random.kind.clone().into()),
        ("rand_pareto_h", random.pareto_h.into()),
    ];
    match settings.compat {
        Compat::V1_0 => options.extend([
            ("rand_spec_iter", i64::from(random.spec_iterations).into()),
            ("rand_spec_pct", i64::from(random.spec_pct).into()),
            ("rand_spec_res", i64::from(random.spec_res).into()),
        ]),
        Compat::V1_1 => options.push(("rand_zipfian_exp", random.zipfian_exponent.into())),
    }
    // Only a distribution's own parameters can be wrong.
    let of_kind = |name: &str| match name {
        "rand_pareto_h" => random.kind == "pareto",
        "rand_zipfian_exp" => random.kind == "zipfian",
        "rand_spec_pct" | "rand_spec_res" => random.kind == "special",
        "rand_spec_iter" => random.kind == "special" || random.kind == "gaussian",
        _ => true,
    };
    let options = options.into_iter().filter(|(name, _)| of_kind(name));
    options
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Why Prony cannot do what was asked, where it cannot: a run that leaves an option out would measure
/// something else.
pub fn unsupported(native: &Native) -> Option<String> {
    let mysql = &native.settings.database.mysql;
    let reconnect = native
        .options
        .get("reconnect")
        .and_then(toml::Value::as_integer);
    if mysql.dry_run {
        return Some("--mysql-dry-run: Prony measures a server's answers; leave it out".to_owned());
    }
    if mysql.compression {
        return Some(
            "--mysql-compression: connections are not compressed; leave it out".to_owned(),
        );
    }
    let every = reconnect.filter(|every| *every > 0)?;
    Some(format!(
        "--reconnect={every}: connections are kept for the whole run; leave it out"
    ))
}
