//! Differences between two servers, as far as both were observed.
//!
//! In: two Runs. Out: differences. Must never: call a missing observation on one side a difference.

use super::rules::{DURABILITY_SETTINGS, FOR_REFERENCE, OTHER_DURABILITY, plain};
use super::{Difference, difference, pairs};
use prony_store::{Durability, Run, ServerState, Severity};

/// Settings of memory, parallelism, the log and maintenance: each may explain a difference. Those of
/// durability are compared elsewhere; all others are stored for reference.
const RELEVANT_SETTINGS: [&str; 52] = [
    "autovacuum",
    "autovacuum_naptime",
    "bgwriter_delay",
    "binlog_format",
    "binlog_row_image",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "data_checksums",
    "default_transaction_isolation",
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
    "log_bin",
    "log_min_duration_statement",
    "maintenance_work_mem",
    "max_connections",
    "max_parallel_workers",
    "max_wal_size",
    "min_wal_size",
    "performance_schema",
    "query_cache_type",
    "random_page_cost",
    "shared_buffers",
    "shared_preload_libraries",
    "slow_query_log",
    "synchronous_standby_names",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
    "wal_buffers",
    "wal_compression",
    "wal_level",
    "wal_sync_method",
    "work_mem",
];
/// Settings that name a server, or change by themselves: prefixes and suffixes of their names.
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
const PATH_SUFFIXES: [&str; 6] = [
    "_file",
    "_dir",
    "datadir",
    "socket",
    "_directories",
    "_basename",
];
/// Settings that cannot affect a server's speed: how it listens, names its log and prints values; and those
/// of a procedural language, which a server shows only to sessions that have loaded it.
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
/// A document with fewer settings than this is of version 1.0 and has only those in `RELEVANT_SETTINGS`.
const COMPLETE_SETTINGS_MIN: usize = 64;

/// Whether a setting names a server, changes by itself, or does not affect its speed.
fn is_irrelevant(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut starts = IDENTITY_PREFIXES.iter().chain(&IRRELEVANT_PREFIXES);
    starts.any(|start| name.starts_with(start))
        || PATH_SUFFIXES.iter().any(|end| name.ends_with(end))
}

/// All that this module compares, as one text.
pub(super) fn settings_key(run: &Run) -> String {
    let settings = run.server.settings.iter();
    let compared: Vec<_> = settings
        .filter(|(name, _)| {
            DURABILITY_SETTINGS.contains(&name.as_str())
                || RELEVANT_SETTINGS.contains(&name.as_str())
                || !is_irrelevant(name)
        })
        .collect();
    let observed = OBSERVATIONS.each_ref().map(|(_, _, read, _)| read(run));
    // The number of settings decides which of them are compared.
    let complete = run.server.settings.len() >= COMPLETE_SETTINGS_MIN;
    let durability = durability_before(run).map(Durability::description);
    format!("{compared:?} {complete} {durability:?} {observed:?}")
}

pub(super) fn setting_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let runs = [a, b];
    let complete = runs.map(|run| run.server.settings.len() >= COMPLETE_SETTINGS_MIN) == [true; 2];
    if a.server.settings == b.server.settings {
        return Vec::new();
    }
    let is_compared = |name: &str| {
        !DURABILITY_SETTINGS.contains(&name)
            && (RELEVANT_SETTINGS.contains(&name) || (complete && !is_irrelevant(name)))
    };
    let [settings_a, settings_b] = runs.map(|run| {
        let settings = run
            .server
            .settings
            .iter()
            .filter(|(name, _)| is_compared(name));
        let texts = settings.map(|(name, value)| (name.clone(), plain(value)));
        texts.collect::<Vec<_>>()
    });
    let settings = pairs(settings_a.into_iter(), settings_b.into_iter());
    let severity = |name: &str| match RELEVANT_SETTINGS.contains(&name) {
        true => Severity::Caveat,
        false => Severity::Note,
    };
    settings
        .into_iter()
        .filter_map(|(name, a, b)| difference(severity(&name), &name, a, b, FOR_REFERENCE))
        .collect()
}

/// Why it matters that the tables of one side are unknown.
const TABLES_UNKNOWN: &str =
    "unlogged tables are faster, and one of the servers may have some that were not observed";

type ReadObservation = fn(&Run) -> Option<String>;

/// Observations of a server: how each is read, and why it matters if two values differ.
const OBSERVATIONS: [(&str, Severity, ReadObservation, &str); 3] = [
    (
        "replication",
        Severity::Invalid,
        |run| Some(before(run)?.replication?.name().to_owned()),
        "only one figure includes sending each commit to another server and waiting for it",
    ),
    (
        "server's CPUs",
        Severity::Caveat,
        |run| Some(run.observed.as_ref()?.machine.cpus?.to_string()),
        "the servers ran on different machines",
    ),
    (
        "server's memory",
        Severity::Caveat,
        // Rounded to the nearest tenth: kernels on one machine reserve different amounts of memory.
        |run| {
            let bytes = run.observed.as_ref()?.machine.memory_bytes?;
            Some(format!("{:.1} GB", bytes as f64 / 1e9))
        },
        "the servers ran on different machines",
    ),
];

/// Compares durability, replication and machine, if both were observed.
pub(super) fn observed_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let observations = OBSERVATIONS
        .iter()
        .filter_map(|(what, severity, read, why)| {
            difference(*severity, what, read(a)?, read(b)?, why)
        });
    durability(a, b).into_iter().chain(observations).collect()
}

/// Compares the durability classes. Servers of one class may still differ: if the tables of one are unknown,
/// some of them may be unlogged, and therefore faster.
fn durability(a: &Run, b: &Run) -> Option<Difference> {
    let (durability_a, durability_b) = (durability_before(a)?, durability_before(b)?);
    let (severity, why) = match durability_a.class == durability_b.class {
        true => (Severity::Caveat, TABLES_UNKNOWN),
        false => (Severity::Invalid, OTHER_DURABILITY),
    };
    difference(
        severity,
        "durability",
        durability_a.description(),
        durability_b.description(),
        why,
    )
}

fn durability_before(run: &Run) -> Option<&Durability> {
    before(run)?.durability.as_ref()
}

fn before(run: &Run) -> Option<&ServerState> {
    run.observed.as_ref()?.before.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::sample::{healthy, observed_mut, observed_run};
    use prony_store::{DurabilityClass, Replication};

    #[test]
    fn values_observed_on_both_sides_are_compared() {
        let names = |a: &Run, b: &Run| -> Vec<String> {
            observed_differences(a, b)
                .into_iter()
                .map(|difference| difference.what)
                .collect()
        };
        assert_eq!(names(&observed_run(), &observed_run()), [""; 0]);
        let mut different = observed_run();
        let before = observed_mut(&mut different).before.as_mut().unwrap();
        before.durability.as_mut().unwrap().class = DurabilityClass::D1;
        before.replication = Some(Replication::Asynchronous);
        observed_mut(&mut different).machine.cpus = Some(8);
        assert_eq!(
            names(&observed_run(), &different),
            ["durability", "server's CPUs"]
        );
        assert_eq!(
            compare(&observed_run(), &different).verdict,
            Verdict::NotComparable
        );
        assert_eq!(
            names(&healthy(), &different),
            [""; 0],
            "one was not observed"
        );
    }

    #[test]
    fn unknown_durability_is_a_caveat() {
        let unknown = |class: DurabilityClass| {
            let mut run = observed_run();
            let before = observed_mut(&mut run).before.as_mut().unwrap();
            before.durability = Some(Durability {
                class,
                because: Vec::new(),
                tables_unknown: true,
            });
            run
        };
        let comparison = compare(&observed_run(), &unknown(DurabilityClass::D3));
        assert_eq!(comparison.verdict, Verdict::WithCaveats);
        let [difference] = &comparison.differences[..] else {
            panic!("{comparison:?}");
        };
        assert_eq!(
            (
                difference.what.as_str(),
                difference.a.as_str(),
                difference.b.as_str()
            ),
            ("durability", "D3", "D3, unlogged tables not known")
        );
        assert_eq!(difference.severity, Severity::Caveat);
        assert_eq!(
            compare(&unknown(DurabilityClass::D3), &unknown(DurabilityClass::D3)).verdict,
            Verdict::Comparable
        );
        assert_eq!(
            compare(&observed_run(), &unknown(DurabilityClass::D1)).verdict,
            Verdict::NotComparable
        );
        // Their keys differ too, so that neither Run represents both.
        assert_ne!(
            settings_key(&observed_run()),
            settings_key(&unknown(DurabilityClass::D3))
        );
    }

    #[test]
    fn settings_differ_by_relevance() {
        let run_with_settings = |count: usize, value: &str| {
            let mut run = healthy();
            for name in ["work_mem", "port", "ssl_ca_file", "geqo_seed"] {
                run.server.settings.insert(name.to_owned(), value.into());
            }
            for number in 0..count {
                run.server
                    .settings
                    .insert(format!("setting{number}"), "on".into());
            }
            run
        };
        let run_with_names = |names: &[&str], value: &str| {
            let mut run = run_with_settings(80, "1");
            let settings = names.iter().map(|name| ((*name).to_owned(), value.into()));
            run.server.settings.extend(settings);
            run
        };
        // A session shows the settings of a language only after it has loaded it.
        let language = ["plpgsql.variable_conflict", "plpgsql.check_asserts"];
        assert_eq!(
            setting_differences(&run_with_names(&language, "on"), &run_with_names(&[], "")),
            []
        );
        let irrelevant = ["DateStyle", "IntervalStyle", "lc_time", "log_line_prefix"];
        assert_eq!(
            setting_differences(
                &run_with_names(&irrelevant, "a"),
                &run_with_names(&irrelevant, "b")
            ),
            []
        );
        let extension = ["pg_stat_statements.track", "log_statement"];
        let all = run_with_names(&extension, "all");
        let differences = setting_differences(&all, &run_with_names(&extension, "none"));
        assert_eq!(differences.len(), 2, "{differences:?}");

        let settings_differences = |a: &Run, b: &Run| -> Vec<(String, Severity)> {
            setting_differences(a, b)
                .into_iter()
                .map(|difference| (difference.what, difference.severity))
                .collect()
        };
        let work_mem = ("work_mem".to_owned(), Severity::Caveat);
        let seed = ("geqo_seed".to_owned(), Severity::Note);
        assert_eq!(
            settings_differences(&run_with_settings(80, "1"), &run_with_settings(80, "2")),
            [seed, work_mem.clone()]
        );
        assert_eq!(
            settings_differences(&run_with_settings(80, "1"), &run_with_settings(0, "2")),
            [work_mem],
            "an older document"
        );
    }
}
