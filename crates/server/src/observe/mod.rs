//! Observes a server and its machine.
//!
//! In: a control connection; the files of this machine, or the URL of a node_exporter. Out: version
//! and settings ([`ServerFacts`]), state ([`StateSnapshot`]), counters that are read repeatedly
//! ([`Counters`]), and the machine's usage ([`machine`]). Must never: change a setting, return zero
//! for a value that could not be read, fail a run because a view does not exist or is not allowed, or
//! return a setting that may contain a secret.

mod connection_limits;
pub mod counters;
mod durability;
mod facts;
pub mod machine;
mod ping;
mod sqlserver_facts;
mod state;

pub use connection_limits::{AccountLimits, ConnectionLimit, LimitOwner, read_account_limits};
pub use counters::{ActivityKind, CounterReader, Counters};
pub use durability::{Durability, DurabilityClass};
pub use facts::{ServerFacts, read_server_facts};
pub use ping::{RoundTrip, measure_round_trip, measure_round_trips};
pub use state::{Replica, Replication, StateSnapshot, TableState, read_server_state};

use crate::control::{Control, Error, TextRow};
use prony_wire::Protocol;

/// The subject of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// When the server was started.
    ServerStart,
    DatabaseSize,
    /// Extensions of PostgreSQL.
    Extensions,
    /// Plugins of MySQL and MariaDB.
    Plugins,
    /// Identities of the tables.
    TableIds,
    /// The largest tables.
    Tables,
    /// Tables without a log, whose contents a crash destroys.
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
    /// The privileges of the role (PostgreSQL).
    RoleRights,
    /// The privileges of the user (MySQL, MariaDB).
    Privileges,
    /// Waits of other roles, which need `pg_read_all_stats`.
    OtherRolesWaits,
    /// Threads of other users, which need the privilege `PROCESS`.
    OtherUsersThreads,
    /// Counts of commits, and of pages found in the cache (PostgreSQL).
    CommitsAndCache,
    /// Bytes of the write-ahead log.
    WriteAheadLog,
    /// Checkpoints (PostgreSQL).
    Checkpoints,
    /// Sessions by state and wait event.
    SessionsAndWaits,
    /// Sessions of other clients.
    OtherSessions,
    /// Commits confirmed by the server's counters, which a pooler delays (PostgreSQL).
    CommitsThroughPooler,
    /// Vacuums, backups and similar work in progress (PostgreSQL).
    Vacuums,
    /// The server's clock (MySQL, MariaDB).
    ServerClock,
    /// The status variables (MySQL, MariaDB).
    Status,
    /// InnoDB's purge and deadlocks.
    PurgeAndDeadlocks,
    /// Time that sessions waited, by wait type (SQL Server).
    WaitTimes,
    /// CPU time of the server's processes, by its own count (SQL Server).
    ServerCpu,
    /// How much of its service's limits a database uses (Azure SQL Database).
    ServiceLimits,
}

/// A value that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingValue {
    /// The subject of the query.
    pub topic: Topic,
    /// The error of the server or the system, and what to do if that is known.
    pub reason: String,
}

impl MissingValue {
    /// A missing value of this topic, with the reason.
    pub fn new(topic: Topic, reason: impl Into<String>) -> MissingValue {
        MissingValue {
            topic,
            reason: reason.into(),
        }
    }
}

/// Runs a query. If the server refuses it, adds the refusal to `missing` and returns `None`.
///
/// # Errors
/// The connection is lost.
fn query_or_missing(
    control: &mut Control,
    topic: Topic,
    sql: &str,
    missing: &mut Vec<MissingValue>,
) -> Result<Option<Vec<TextRow>>, Error> {
    match control.query(sql) {
        Ok(rows) => Ok(Some(rows)),
        Err(error) if error.is_lost() => Err(error),
        Err(error) => {
            missing.push(MissingValue::new(topic, first_line(&error)));
            Ok(None)
        }
    }
}

/// The first line of an error.
fn first_line(error: &Error) -> String {
    let text = match error {
        // SQL Server's message is on the second line.
        Error::Statement(error) if error.protocol == Protocol::Tds => error.message.clone(),
        error => error.to_string(),
    };
    text.lines().next().unwrap_or_default().trim().to_owned()
}

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
