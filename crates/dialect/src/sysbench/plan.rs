//! Translates a sysbench command line into plans of Prony's core.
//!
//! In: a checked command line. Out: a drive plan; a workload with its options. Must never: omit an option
//! that changes what a server executes.

use super::compat::Compat;
use super::connect::parse_ps_mode;
use super::messages::QUEUE_CAPACITY_EVENTS;
use super::options::{GeneralOptions, MysqlOptions, NativeCommand};
use prony_plan::{Arrival, DrivePlan, MAX_DURATION, Pace, Stop, WorkloadPlan, default_threads};
use std::collections::BTreeMap;
use std::time::Duration;

/// The maximum number of a script's users per worker, if there are enough processors for that many workers.
const USERS_PER_WORKER: u32 = 32;

/// How much CPU time a program needs in its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramCost {
    /// That of a bundled test: one worker drives about 200,000 statements per second.
    Low,
    /// That of a script, which may use much CPU time itself.
    High,
}

/// Up to this many users get a worker each, as far as there are processors. Measured on 2 CPUs with MariaDB: with 8 users,
/// two workers had 1.2 to 1.4 times the transactions of one; with 16 users, 0.7 to 0.9 times.
const FEW_USERS_MAX: u32 = 8;

/// The number of workers for this many users. A run starts no more workers than it has users.
fn worker_count(users: u32, processors: usize, cost: ProgramCost) -> u32 {
    if users <= FEW_USERS_MAX {
        return default_threads(users, processors);
    }
    let processors = u32::try_from(processors).unwrap_or(u32::MAX).max(1);
    // The other half is left to a local server.
    let half = (processors / 2).max(1);
    match cost {
        ProgramCost::Low => half,
        ProgramCost::High => users.div_ceil(USERS_PER_WORKER).clamp(half, processors),
    }
}

/// The drive plan of a run: each sysbench thread becomes a user. `processors`: the number of processors of this
/// machine.
///
/// # Errors
/// The line of the log about an invalid `--db-ps-mode`.
pub fn drive_plan(
    settings: &GeneralOptions,
    processors: usize,
    cost: ProgramCost,
) -> Result<DrivePlan, String> {
    let time = settings
        .time_s
        .map_or(MAX_DURATION, to_duration)
        .min(MAX_DURATION);
    let database = &settings.database;
    Ok(DrivePlan {
        clients: settings.threads,
        threads: worker_count(settings.threads, processors, cost),
        pace: match settings.rate_tps {
            None => Pace::Closed,
            Some(rate_tps) => Pace::Rate {
                rate_tps: f64::from(rate_tps),
                arrival: Arrival::Poisson,
                queue_max: Some(QUEUE_CAPACITY_EVENTS),
            },
        },
        // The run waits for all events that started in time, unless a shutdown is forced.
        stop: match settings.events {
            None => Stop::NoStartsAfter(time),
            Some(transactions) => Stop::SharedTransactions {
                transactions,
                within: time,
            },
        },
        warmup: to_duration(settings.warmup_s),
        grace: (settings.forced_shutdown_s).map_or(Duration::MAX, to_duration),
        // PostgreSQL has no option that enables reconnecting.
        reconnect: database.driver == "mysql"
            && database.mysql.ignored_errors.ignores_lost_connection(),
        protocol: parse_ps_mode(database)?,
        // sysbench's client libraries describe statements; otherwise the server would do less work than with
        // sysbench.
        describe: true,
        connect_time_counts: false,
        // A negative seed is valid: its bits are used.
        seed: settings.random.seed.map(|seed| i64::from(seed) as u64),
        ..DrivePlan::default()
    })
}

fn to_duration(seconds: u32) -> Duration {
    Duration::from_secs(u64::from(seconds))
}

/// The workload of a bundled test, with the options that change what is sent to the server.
pub fn workload_plan(native: &NativeCommand) -> WorkloadPlan {
    let mut options: BTreeMap<String, toml::Value> = BTreeMap::new();
    // `bulk_insert` uses one table per thread, and is the only test without options.
    if !native.test.declares_options {
        let tables = i64::from(native.settings.threads);
        options.insert("tables".to_owned(), tables.into());
    } else {
        let is_sent = |name: &str| !CLIENT_ONLY_OPTIONS.contains(&name);
        let workload_options = native.options.iter().filter(|(name, _)| is_sent(name));
        options.extend(workload_options.map(|(name, value)| ((*name).to_owned(), value.clone())));
        options.extend(random_options(&native.settings));
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

/// Options that do not change what is sent to the server; `pgsql_variant` has no effect in sysbench either.
const CLIENT_ONLY_OPTIONS: [&str; 2] = ["pgsql_variant", "reconnect"];

fn random_options(settings: &GeneralOptions) -> Vec<(String, toml::Value)> {
    let random = &settings.random;
    let mut options = vec![
        ("rand_type", random.distribution.clone().into()),
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
    // Pass only the parameters of the selected distribution, so that unused ones cannot be invalid.
    let applies = |name: &str| match name {
        "rand_pareto_h" => random.distribution == "pareto",
        "rand_zipfian_exp" => random.distribution == "zipfian",
        "rand_spec_pct" | "rand_spec_res" => random.distribution == "special",
        "rand_spec_iter" => random.distribution == "special" || random.distribution == "gaussian",
        _ => true,
    };
    options
        .into_iter()
        .filter(|(name, _)| applies(name))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Why Prony does not support an option of the driver; `None` if it supports all. A run that ignored the option would not
/// measure what the user requested.
pub fn unsupported_driver_option(mysql: &MysqlOptions) -> Option<String> {
    if mysql.dry_run {
        return Some("--mysql-dry-run: Prony measures a real server; remove the option".to_owned());
    }
    if mysql.compression {
        let reason = "--mysql-compression: connections are not compressed; remove the option";
        return Some(reason.to_owned());
    }
    None
}
