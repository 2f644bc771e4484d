//! Observes a server and its machine.
//!
//! In: a control connection; the files of this machine, or the URL of a node_exporter. Out: version
//! and settings ([`ServerFacts`]); its state at one moment ([`StateSnapshot`]); its counters, read repeatedly
//! ([`Counters`]); its machine ([`machine`]). Must never: change a setting, return zero for a value
//! that could not be read, fail a run because a view does not exist or is not allowed, or pass on a
//! setting that may contain a secret.

pub mod counters;
mod durability;
mod facts;
pub mod machine;
mod ping;
mod state;

pub use counters::{ActivityKind, CounterReader, Counters};
pub use durability::{Durability, DurabilityClass};
pub use facts::{ServerFacts, read_server_facts};
pub use ping::{RoundTrip, round_trip};
pub use state::{Replica, Replication, StateSnapshot, TableState, read_server_state};

use crate::control::{Control, Error, TextRow};

/// What a query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// When the server was started.
    ServerStart,
    /// The size of the database.
    DatabaseSize,
    /// Extensions of PostgreSQL.
    Extensions,
    /// Plugins of MySQL and MariaDB.
    Plugins,
    /// Identities of the tables.
    TableIds,
    /// The largest tables.
    Tables,
    /// Tables that a crash loses.
    UnloggedTables,
    /// Age of the planner's statistics.
    StatisticsAge,
    /// Connected replicas.
    Replicas,
    /// Whether commits wait for a replica (MySQL, MariaDB).
    SemiSynchronousReplication,
    /// Whether the server is itself a replica.
    IsReplica,
    /// Lag of the replicas.
    ReplicationLag,
    /// The rights of the role (PostgreSQL).
    RoleRights,
    /// The privileges of the user (MySQL, MariaDB).
    Privileges,
    /// What a role without `pg_read_all_stats` does not see.
    OtherRolesWaits,
    /// What a user without the privilege `PROCESS` does not see.
    OtherUsersThreads,
    /// Counts of commits, and of pages found in the cache (PostgreSQL).
    CommitsAndCache,
    /// Bytes of the write-ahead log.
    WriteAheadLog,
    /// Checkpoints (PostgreSQL).
    Checkpoints,
    /// Sessions by state and wait event.
    SessionsAndWaits,
    /// Vacuums, backups and similar work in progress (PostgreSQL).
    Vacuums,
    /// The server's clock (MySQL, MariaDB).
    ServerClock,
    /// The status variables (MySQL, MariaDB).
    Status,
    /// InnoDB's purge and deadlocks.
    PurgeAndDeadlocks,
}

/// A value that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingValue {
    /// What would have been read.
    pub what: Topic,
    /// The error of the server or the system, and what to do if that is known.
    pub why: String,
}

impl MissingValue {
    /// A topic and the reason.
    pub fn new(what: Topic, why: impl Into<String>) -> MissingValue {
        MissingValue {
            what,
            why: why.into(),
        }
    }
}

/// Runs a query. If the server refuses it, adds that to `missing` and returns no rows.
///
/// # Errors
/// If the connection is lost.
fn query_or_missing(
    control: &mut Control,
    what: Topic,
    sql: &str,
    missing: &mut Vec<MissingValue>,
) -> Result<Option<Vec<TextRow>>, Error> {
    match control.query(sql) {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.is_lost() => Err(error),
        Err(error) => {
            missing.push(MissingValue::new(what, first_line(&error)));
            Ok(None)
        }
    }
}

/// The first line of an error.
fn first_line(error: &Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// The text of a cell.
fn cell(row: &TextRow, column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

/// A cell as a number.
fn number<T: std::str::FromStr>(row: &TextRow, column: usize) -> Option<T> {
    cell(row, column)?.parse().ok()
}

/// A cell as a count. The server may report a statistic slightly below zero, or a sum as a decimal.
fn tally(row: &TextRow, column: usize) -> Option<u64> {
    let value: f64 = number(row, column)?;
    value.is_finite().then(|| value.max(0.0) as u64)
}
