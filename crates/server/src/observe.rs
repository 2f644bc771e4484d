//! What a server says of itself.
//!
//! In: a control connection. Out: its version and the settings that decide what a figure means.
//! Must never: change a setting, or fail a run for one that this version does not have.

use crate::control::{Control, Error, Product};

/// The settings that decide durability, memory, parallelism and housekeeping. Those that a version
/// does not have are left out of the answer by the server itself.
const SETTINGS: [&str; 31] = [
    "autovacuum",
    "autovacuum_naptime",
    "bgwriter_delay",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "data_checksums",
    "default_transaction_isolation",
    "effective_cache_size",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "huge_pages",
    "io_method",
    "jit",
    "log_min_duration_statement",
    "maintenance_work_mem",
    "max_connections",
    "max_parallel_workers",
    "max_wal_size",
    "min_wal_size",
    "random_page_cost",
    "shared_buffers",
    "shared_preload_libraries",
    "synchronous_commit",
    "synchronous_standby_names",
    "wal_buffers",
    "wal_compression",
    "wal_level",
    "wal_sync_method",
    "work_mem",
];

/// The same of MySQL and MariaDB.
const VARIABLES: [&str; 32] = [
    "autocommit",
    "binlog_format",
    "binlog_row_image",
    "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_size",
    "innodb_deadlock_detect",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lock_wait_timeout",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_page_size",
    "innodb_redo_log_capacity",
    "innodb_snapshot_isolation",
    "log_bin",
    "max_connections",
    "performance_schema",
    "query_cache_type",
    "slow_query_log",
    "sync_binlog",
    "thread_handling",
    "tls_version",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "version_comment",
];

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Version as a person reads it, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// Settings by name, as the server prints them: PostgreSQL's `SHOW` with their units.
    pub settings: Vec<(String, String)>,
}

/// Asks the server.
///
/// # Errors
/// If the connection is lost, or the server refuses.
pub fn observe(control: &mut Control) -> Result<Facts, Error> {
    let version = control.parameter("server_version").unwrap_or_default();
    let version = version.to_owned();
    let list = |names: &[&str]| {
        let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        quoted.join(", ")
    };
    let rows = control.query(&match control.product() {
        Product::Postgres => format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({}) ORDER BY name",
            list(&SETTINGS)
        ),
        // It comes in the order of the names.
        Product::Mysql | Product::MariaDb => format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})",
            list(&VARIABLES)
        ),
    })?;
    let settings = rows
        .into_iter()
        .filter_map(|row| match <[Option<String>; 2]>::try_from(row) {
            Ok([Some(name), Some(value)]) => Some((name, value)),
            _ => None,
        })
        .collect();
    Ok(Facts { version, settings })
}
