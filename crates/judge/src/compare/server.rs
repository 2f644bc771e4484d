//! What two servers were, as far as both were looked at.
//!
//! In: two Runs. Out: differences. Must never: call what was not seen on one side a difference.

use super::rules::{FOR_REFERENCE, OTHER_PROMISE, PROMISES, plain};
use super::{Difference, difference, pairs};
use prony_store::{Durability, Run, ServerState, Severity};

/// Settings that decide memory, parallelism, the log and housekeeping: each may explain a difference.
/// Those of a promise are weighed elsewhere, all others are for reference.
const TELLING: [&str; 52] = [
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
/// Settings that name a server, or change by themselves: beginnings and ends of their names.
const NAMES: [&str; 11] = [
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
const PLACES: [&str; 6] = [
    "_file",
    "_dir",
    "datadir",
    "socket",
    "_directories",
    "_basename",
];
/// A document with fewer settings than this has the telling ones alone: those of version 1.0.
const ALL_SETTINGS: usize = 64;

/// Whether a setting names a server, or changes by itself.
fn is_own(name: &str) -> bool {
    NAMES.iter().any(|start| name.starts_with(start))
        || PLACES.iter().any(|end| name.ends_with(end))
}

/// All that is read of a server here, in one text.
pub(super) fn reading(run: &Run) -> String {
    let settings = run.server.settings.iter();
    let told: Vec<_> = settings
        .filter(|(name, _)| {
            PROMISES.contains(&name.as_str()) || TELLING.contains(&name.as_str()) || !is_own(name)
        })
        .collect();
    let seen = SEEN.each_ref().map(|(_, _, read, _)| read(run));
    // How many there are decides which of them are looked at.
    let all = run.server.settings.len() >= ALL_SETTINGS;
    let survives = promised(run).map(Durability::words);
    format!("{told:?} {all} {survives:?} {seen:?}")
}

pub(super) fn settings(a: &Run, b: &Run) -> Vec<Difference> {
    let both = [a, b];
    let all = both.map(|run| run.server.settings.len() >= ALL_SETTINGS) == [true; 2];
    if a.server.settings == b.server.settings {
        return Vec::new();
    }
    let wanted = |name: &str| {
        !PROMISES.contains(&name) && (TELLING.contains(&name) || (all && !is_own(name)))
    };
    let [of_a, of_b] = both.map(|run| {
        let settings = run.server.settings.iter().filter(|(name, _)| wanted(name));
        let each = settings.map(|(name, value)| (name.clone(), plain(value)));
        each.collect::<Vec<_>>()
    });
    let found = pairs(of_a.into_iter(), of_b.into_iter());
    let severity = |name: &str| match TELLING.contains(&name) {
        true => Severity::Caveat,
        false => Severity::Note,
    };
    found
        .into_iter()
        .filter_map(|(name, a, b)| difference(severity(&name), &name, a, b, FOR_REFERENCE))
        .collect()
}

/// Why it matters that the tables of one side were not seen.
const NOT_KNOWN: &str =
    "tables without a log are faster, and one of the servers may have some that were not seen";

type Read = fn(&Run) -> Option<String>;

/// What is seen of a server: how it is read, and what it means when two readings differ.
const SEEN: [(&str, Severity, Read, &str); 3] = [
    (
        "replication",
        Severity::Invalid,
        |run| before(run)?.replication.clone(),
        "sending each commit to another server, and waiting for it, is in one figure only",
    ),
    (
        "server's CPUs",
        Severity::Caveat,
        |run| Some(run.observed.as_ref()?.machine.cpus?.to_string()),
        "the servers had other machines",
    ),
    (
        "server's memory",
        Severity::Caveat,
        // To the nearest tenth: kernels of one machine keep different amounts for themselves.
        |run| {
            let bytes = run.observed.as_ref()?.machine.memory_bytes?;
            Some(format!("{:.1} GB", bytes as f64 / 1e9))
        },
        "the servers had other machines",
    ),
];

/// Durability, replication and machine, where both were seen.
pub(super) fn seen(a: &Run, b: &Run) -> Vec<Difference> {
    let found = SEEN.iter().filter_map(|(what, severity, read, why)| {
        difference(*severity, what, read(a)?, read(b)?, why)
    });
    durability(a, b).into_iter().chain(found).collect()
}

/// Another class is another promise. Of one class both promise the same as far as it is known: where
/// the tables of one were not seen, some of them may be without a log, and so faster.
fn durability(a: &Run, b: &Run) -> Option<Difference> {
    let (of_a, of_b) = (promised(a)?, promised(b)?);
    let (severity, why) = match of_a.class == of_b.class {
        true => (Severity::Caveat, NOT_KNOWN),
        false => (Severity::Invalid, OTHER_PROMISE),
    };
    difference(severity, "durability", of_a.words(), of_b.words(), why)
}

fn promised(run: &Run) -> Option<&Durability> {
    before(run)?.durability.as_ref()
}

fn before(run: &Run) -> Option<&ServerState> {
    run.observed.as_ref()?.before.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::sample::{healthy, observed_mut, watched};

    #[test]
    fn what_was_seen_on_both_sides_is_compared() {
        let names = |a: &Run, b: &Run| -> Vec<String> {
            seen(a, b).into_iter().map(|one| one.what).collect()
        };
        assert_eq!(names(&watched(), &watched()), [""; 0]);
        let mut other = watched();
        let before = observed_mut(&mut other).before.as_mut().unwrap();
        before.durability.as_mut().unwrap().class = "D1".to_owned();
        before.replication = Some("asynchronous".to_owned());
        observed_mut(&mut other).machine.cpus = Some(8);
        assert_eq!(names(&watched(), &other), ["durability", "server's CPUs"]);
        assert_eq!(compare(&watched(), &other).verdict, Verdict::NotComparable);
        assert_eq!(names(&healthy(), &other), [""; 0], "one was not looked at");
    }

    #[test]
    fn durability_that_is_not_known_is_not_the_same() {
        let unknown = |class: &str| {
            let mut run = watched();
            let before = observed_mut(&mut run).before.as_mut().unwrap();
            before.durability = Some(Durability {
                class: class.to_owned(),
                tables_unknown: true,
                ..Durability::default()
            });
            run
        };
        let found = compare(&watched(), &unknown("D3"));
        assert_eq!(found.verdict, Verdict::WithCaveats);
        let [one] = &found.differences[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (one.what.as_str(), one.a.as_str(), one.b.as_str()),
            ("durability", "D3", "D3, unlogged tables not known")
        );
        assert_eq!(one.severity, Severity::Caveat);
        assert_eq!(
            compare(&unknown("D3"), &unknown("D3")).verdict,
            Verdict::Comparable
        );
        assert_eq!(
            compare(&watched(), &unknown("D1")).verdict,
            Verdict::NotComparable
        );
        // Nor are they repeats of the same reading, of which one stands for all.
        assert_ne!(reading(&watched()), reading(&unknown("D3")));
    }

    #[test]
    fn settings_by_their_weight() {
        let with = |count: usize, value: &str| {
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
        let told = |a: &Run, b: &Run| -> Vec<(String, Severity)> {
            settings(a, b)
                .into_iter()
                .map(|one| (one.what, one.severity))
                .collect()
        };
        let work_mem = ("work_mem".to_owned(), Severity::Caveat);
        let seed = ("geqo_seed".to_owned(), Severity::Note);
        assert_eq!(
            told(&with(80, "1"), &with(80, "2")),
            [seed, work_mem.clone()]
        );
        assert_eq!(
            told(&with(80, "1"), &with(0, "2")),
            [work_mem],
            "an older document"
        );
    }
}
