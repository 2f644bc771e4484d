//! Differences between two servers, as far as both were observed.
//!
//! In: two Runs. Out: differences. Must never: call a missing observation on one side a difference.

use super::rules::{
    DURABILITY_SETTINGS, WHY_IT_MAY_EXPLAIN, WHY_OTHER_DURABILITY, WHY_OTHER_SERVICE, plain_text,
};
use super::{Difference, difference, merge_by_name};
use crate::checks::caveat_or_note;
use crate::machine::shared_machine_evidence;
use Severity::{Caveat, Invalid, Note};
use prony_store::{Durability, Replication, Run, Severity};

/// Settings of memory, parallelism, the log and maintenance, whose differences are caveats. Settings of
/// durability are compared by `property_differences`; differences of other settings are notes.
pub(super) const RELEVANT_SETTINGS: [&str; 55] = [
    "autovacuum",
    "autovacuum_naptime",
    "bgwriter_delay",
    "binlog_format",
    "binlog_row_image",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "data_checksums",
    "effective_cache_size",
    "effective_io_concurrency",
    "huge_pages",
    "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_deadlock_detect",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_snapshot_isolation",
    "io_method",
    "jit",
    "join_buffer_size",
    "log_bin",
    "log_min_duration_statement",
    "maintenance_work_mem",
    "max_connections",
    "max_heap_table_size",
    "max_parallel_workers",
    "max_wal_size",
    "min_wal_size",
    "performance_schema",
    "query_cache_type",
    "random_page_cost",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "shared_buffers",
    "shared_preload_libraries",
    "slow_query_log",
    "sort_buffer_size",
    "synchronous_standby_names",
    "thread_handling",
    "tmp_table_size",
    "wal_buffers",
    "wal_compression",
    "wal_level",
    "wal_sync_method",
    "work_mem",
];
/// Settings that hold the isolation level of transactions, by preference: MySQL and MariaDB name one and the
/// same setting differently, and PostgreSQL's default applies to the transactions of the load.
pub(super) const ISOLATION_SETTINGS: [&str; 3] = [
    "default_transaction_isolation",
    "transaction_isolation",
    "tx_isolation",
];

/// The setting with which SQL Server reads row versions at the isolation level read committed, instead of
/// locking the rows that it reads.
pub(super) const READS_ROW_VERSIONS: &str = "database.is_read_committed_snapshot_on";

/// Name of the difference between isolation levels.
pub(super) const ISOLATION_PROPERTY: &str = "isolation level";

pub(super) const WHY_OTHER_ISOLATION: &str =
    "transactions of another isolation level see and lock other rows, which costs more or less";

/// Name of the difference between data that fit into the cache and data that do not.
pub(super) const DATA_AND_CACHE_PROPERTY: &str = "data against cache";

/// Prefixes of the names of settings that identify a server, or change by themselves.
const IDENTITY_PREFIXES: [&str; 11] = [
    "gtid_",
    "timestamp",
    "rand_seed",
    "pseudo_",
    "server_id",
    "server_uuid",
    "hostname",
    "port",
    "data_directory",
    "cluster_name",
    "report_",
];
/// Suffixes of the names of settings that are paths.
const PATH_SUFFIXES: [&str; 6] = [
    "_file",
    "_dir",
    "datadir",
    "socket",
    "_directories",
    "_basename",
];
/// Prefixes of the names of settings that cannot affect a server's speed, such as addresses, names of log
/// files and formats of values; and of settings of procedural languages, which a session sees only after it
/// has loaded the language.
const IRRELEVANT_PREFIXES: [&str; 29] = [
    "admin_",
    "application_name",
    "bind_address",
    "bonjour",
    "bytea_output",
    "datestyle",
    "event_source",
    "external_pid_file",
    "extra_float_digits",
    "intervalstyle",
    "krb_",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "license",
    "listen_addresses",
    "log_file",
    "log_line_prefix",
    "log_rotation_",
    "log_timezone",
    "log_truncate_on_rotation",
    "plperl.",
    "plpgsql.",
    "pltcl.",
    "syslog_",
    "unix_socket_",
    "version_",
    "xml",
];
/// A run with fewer settings than this does not have all of its server's.
const COMPLETE_SETTINGS_MIN: usize = 64;

fn has_all_settings(run: &Run) -> bool {
    run.server.settings.len() >= COMPLETE_SETTINGS_MIN
}

/// Whether a setting identifies a server, is a path, changes by itself, or does not affect the server's speed.
fn is_irrelevant(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut prefixes = IDENTITY_PREFIXES.iter().chain(&IRRELEVANT_PREFIXES);
    prefixes.any(|prefix| name.starts_with(prefix))
        || PATH_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Everything that this module compares, as one text.
pub(super) fn settings_key(run: &Run) -> String {
    let settings = run.server.settings.iter();
    let compared: Vec<_> = settings
        .filter(|(name, _)| {
            DURABILITY_SETTINGS.contains(&name.as_str())
                || RELEVANT_SETTINGS.contains(&name.as_str())
                || !is_irrelevant(name)
        })
        .collect();
    let isolation = isolation_level(run);
    let observed = OBSERVATIONS.map(|observation| (observation.read)(run));
    // The number of settings decides which of them are compared.
    let complete = has_all_settings(run);
    let durability = durability_before(run).map(Durability::description);
    let is_observed = is_observed(run);
    format!("{compared:?} {complete} {durability:?} {observed:?} {isolation:?} {is_observed}")
}

pub(super) fn setting_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let runs = [a, b];
    let are_complete = has_all_settings(a) && has_all_settings(b);
    if a.server.settings == b.server.settings {
        return Vec::new();
    }
    let is_compared = |name: &str| {
        !DURABILITY_SETTINGS.contains(&name)
            && !ISOLATION_SETTINGS.contains(&name)
            && name != READS_ROW_VERSIONS
            && (RELEVANT_SETTINGS.contains(&name) || (are_complete && !is_irrelevant(name)))
    };
    let [settings_a, settings_b] = runs.map(|run| {
        let settings = run.server.settings.iter();
        let compared = settings.filter(|(name, _)| is_compared(name));
        let texts = compared.map(|(name, value)| (name.clone(), plain_text(value)));
        texts.collect::<Vec<_>>()
    });
    let settings = merge_by_name(settings_a.into_iter(), settings_b.into_iter());
    let severity = |name: &str| caveat_or_note(RELEVANT_SETTINGS.contains(&name));
    settings
        .into_iter()
        .filter_map(|(name, value_a, value_b)| {
            difference(severity(&name), &name, value_a, value_b, WHY_IT_MAY_EXPLAIN)
        })
        .collect()
}

/// Why it matters that the tables of one Run were not observed.
pub(super) const WHY_TABLES_UNKNOWN: &str = "unlogged tables are faster than logged ones, and one of the servers may have some that were not observed";

/// A property of a server that a run observed, and that is compared if both runs have it.
#[derive(Clone, Copy)]
pub(super) struct Observation {
    pub name: &'static str,
    /// The severity of a difference.
    pub severity: Severity,
    /// The value in a run; `None` if it was not observed.
    pub read: fn(&Run) -> Option<String>,
    /// Why a difference matters.
    pub why: &'static str,
}

pub(super) const OBSERVATIONS: [Observation; 12] = [
    Observation {
        name: "service",
        severity: Caveat,
        read: |run| {
            let service = run.server.service.map(|service| service.name().to_owned());
            service.or_else(|| has_all_settings(run).then(|| "none recognized".to_owned()))
        },
        why: WHY_OTHER_SERVICE,
    },
    Observation {
        name: "pooler",
        severity: Caveat,
        read: |run| {
            let pooler = run.server.pooler.as_ref();
            let name = pooler.map(|pooler| pooler.name().to_owned());
            name.or_else(|| has_all_settings(run).then(|| "none found".to_owned()))
        },
        why: "a pooler's time is part of every response time, and it shares the server's sessions between clients",
    },
    Observation {
        name: "replication",
        severity: Invalid,
        read: |run| {
            // Earlier documents say "none" where no replica is visible.
            let replication = match run.state_before()?.replication? {
                Replication::None => Replication::NotVisible,
                visible => visible,
            };
            Some(replication.name().to_owned())
        },
        why: "only one figure includes sending each commit to another server and waiting for it",
    },
    Observation {
        name: "connected replicas",
        severity: Caveat,
        read: |run| {
            let replicas = run.state_before()?.replicas.len();
            (replicas > 0).then(|| replicas.to_string())
        },
        why: "each replica costs the server CPU time and network",
    },
    Observation {
        name: "place of the client",
        severity: Caveat,
        read: |run| {
            // Without an address, a missing sign of a shared machine says nothing.
            run.server.address.as_ref()?;
            let evidence = shared_machine_evidence(run);
            let place = evidence.map_or("on another machine", |_| "on the server's machine");
            Some(place.to_owned())
        },
        why: "a client on the server's machine has no network before it, and takes CPU time from the server",
    },
    Observation {
        name: ROUND_TRIP_PROPERTY,
        severity: Caveat,
        // Rounded, because two measurements of one network differ.
        read: |run| Some(format!("{:.1} ms", round_trip_ns(run)? as f64 / 1e6)),
        why: "the network is part of every response time",
    },
    Observation {
        name: "server's CPUs",
        severity: Caveat,
        read: |run| Some(run.observed.as_ref()?.machine.cpus?.to_string()),
        why: WHY_OTHER_MACHINE,
    },
    Observation {
        name: "server's memory",
        severity: Caveat,
        // Rounded to the nearest tenth: kernels on one machine reserve different amounts of memory.
        read: |run| {
            let bytes = run.observed.as_ref()?.machine.memory_bytes?;
            Some(format!("{:.1} GB", bytes as f64 / 1e9))
        },
        why: WHY_OTHER_MACHINE,
    },
    Observation {
        name: "server's CPU",
        severity: Caveat,
        read: |run| run.observed.as_ref()?.machine.cpu.clone(),
        why: WHY_OTHER_MACHINE,
    },
    Observation {
        name: "server's storage",
        severity: Caveat,
        read: |run| run.observed.as_ref()?.machine.storage.clone(),
        why: WHY_OTHER_MACHINE,
    },
    Observation {
        name: "server's kernel",
        severity: Note,
        read: |run| run.observed.as_ref()?.machine.kernel.clone(),
        why: WHY_IT_MAY_EXPLAIN,
    },
    Observation {
        name: DATA_AND_CACHE_PROPERTY,
        severity: Caveat,
        read: |run| Some(format!("{:.2} times the cache", data_per_cache(run)?)),
        why: "what does not fit into the server's cache is read from the kernel's or from disk",
    },
];

/// Name of the difference between the round trips of an empty statement before the load.
pub(super) const ROUND_TRIP_PROPERTY: &str = "round trip";

/// The median round trip of an empty statement before the load; `None` on one machine, where it has no network.
pub(super) fn round_trip_ns(run: &Run) -> Option<u64> {
    let round_trip = run.observed.as_ref()?.round_trip.as_ref()?;
    let is_shared = shared_machine_evidence(run).is_some();
    (!is_shared).then_some(round_trip.p50_ns)
}

const WHY_OTHER_MACHINE: &str = "the servers ran on different machines";

/// Size of the data as a multiple of the server's own cache; `None` if unknown.
pub(super) fn data_per_cache(run: &Run) -> Option<f64> {
    let state = run.state_before()?;
    let cache = state.cache_bytes.filter(|bytes| *bytes > 0)?;
    Some(state.database_bytes? as f64 / cache as f64)
}

/// The isolation level of the transactions: `read committed`; `None` if it was not read.
fn isolation_level(run: &Run) -> Option<String> {
    if let Some(reads_row_versions) = run.server.settings.get(READS_ROW_VERSIONS) {
        let reads = match plain_text(reads_row_versions).as_str() {
            "1" | "true" => "row versions",
            _ => "locks",
        };
        return Some(format!("read committed with {reads}"));
    }
    let isolation_settings = ISOLATION_SETTINGS.iter();
    let mut settings = isolation_settings.filter_map(|name| run.server.settings.get(*name));
    let level = plain_text(settings.next()?);
    Some(level.to_ascii_lowercase().replace('-', " "))
}

/// Whether a state before the load was read, or at least the part that a replaced tool reads.
fn is_observed(run: &Run) -> bool {
    let observed = run.observed.as_ref();
    observed.is_some_and(|observed| observed.before.is_some())
}

/// Why it matters that only one of two servers was observed.
pub(super) const WHY_ONE_OBSERVED: &str =
    "durability, replication, machine and size of the data are known of one server only";

/// The caveat that only one of two servers was observed.
fn observation_difference(a: &Run, b: &Run) -> Option<Difference> {
    let text = |run: &Run| if is_observed(run) { "observed" } else { "not observed" }.to_owned();
    difference(Caveat, "observation", text(a), text(b), WHY_ONE_OBSERVED)
}

/// Compares durability, isolation, replication and machine, as far as both were observed.
pub(super) fn observed_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let observations = OBSERVATIONS.iter().filter_map(|observation| {
        let [a, b] = [(observation.read)(a)?, (observation.read)(b)?];
        difference(
            observation.severity,
            observation.name,
            a,
            b,
            observation.why,
        )
    });
    let levels = isolation_level(a).zip(isolation_level(b));
    let isolation = levels
        .and_then(|(a, b)| difference(Invalid, ISOLATION_PROPERTY, a, b, WHY_OTHER_ISOLATION));
    let durability = durability_difference(a, b);
    let others = [durability, isolation, observation_difference(a, b)];
    others.into_iter().flatten().chain(observations).collect()
}

/// Compares the durability classes. Servers of the same class may still differ: if the tables of one server
/// were not observed, some of them may be unlogged, and therefore faster.
fn durability_difference(a: &Run, b: &Run) -> Option<Difference> {
    let (durability_a, durability_b) = (durability_before(a)?, durability_before(b)?);
    let (a, b) = (durability_a.description(), durability_b.description());
    let is_same = durability_a.class == durability_b.class;
    let (severity, why) =
        if is_same { (Caveat, WHY_TABLES_UNKNOWN) } else { (Invalid, WHY_OTHER_DURABILITY) };
    difference(severity, "durability", a, b, why)
}

fn durability_before(run: &Run) -> Option<&Durability> {
    run.state_before()?.durability.as_ref()
}

#[cfg(test)]
mod tests;
