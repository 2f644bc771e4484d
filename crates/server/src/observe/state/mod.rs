//! Reads a server's state before and after the load.
//!
//! Must never: fail because a value is not available to this user or in this version; such a value
//! is listed as missing.

mod mysql;
mod postgres;
mod sqlserver;

pub(super) use mysql::replica_status;

use super::{Durability, MissingValue, ServerFacts, cell};
use crate::control::{Control, Error, TextRow};
use prony_wire::Engine;
use std::collections::BTreeMap;

/// Maximum number of tables to list.
const MAX_LISTED_TABLES: usize = 100;

/// Maximum number of tables whose ids are read.
const MAX_TABLE_IDS: usize = 1000;

/// A server's state at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateSnapshot {
    /// When the server was started, seconds since 1970 on its own clock.
    pub started_unix_s: Option<f64>,
    /// Whether the server is itself a replica.
    pub is_replica: Option<bool>,
    /// How the server replicates.
    pub replication: Option<Replication>,
    /// Connected replicas.
    pub replicas: Vec<Replica>,
    /// Installed extensions or plugins that are not built in, with versions.
    pub extensions: Vec<String>,
    /// Size of the database, bytes.
    pub database_bytes: Option<u64>,
    /// Size of the server's page cache (shared buffers, buffer pool), bytes.
    pub cache_bytes: Option<u64>,
    /// Durability class.
    pub durability: Option<Durability>,
    /// The largest tables.
    pub tables: Vec<TableState>,
    /// By table name, an id that changes if the table is recreated: in PostgreSQL its oid and file
    /// node, such as `16384/16391`; in MySQL and MariaDB its creation time. The first [`MAX_TABLE_IDS`]
    /// by name. `None`: not known.
    pub table_ids: Option<BTreeMap<String, String>>,
    /// Whether a pooler or proxy is between client and server; `None`: not known.
    pub pooled: Option<bool>,
    /// The values that could not be read.
    pub missing: Vec<MissingValue>,
}

/// How a server replicates, derived from its connected replicas and its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// No replica is visible. A service may replicate below SQL.
    NotVisible,
    /// Commits do not wait for a replica.
    Asynchronous,
    /// Commits wait until a replica has received them, or until a time-out (MySQL, MariaDB).
    SemiSynchronous,
    /// Commits wait for a replica.
    Synchronous,
}

/// A connected replica.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// Name or address.
    pub name: String,
    /// The replica's state, in the server's terms.
    pub state: String,
    /// `sync`, `async`, `quorum`...; empty if the server does not report it.
    pub mode: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableState {
    /// Name, with its schema if that is not `public`.
    pub name: String,
    /// Size with indexes, bytes.
    pub bytes: Option<u64>,
    /// Rows, estimated.
    pub rows: Option<u64>,
    /// Dead rows, estimated.
    pub dead_rows: Option<u64>,
    /// Age of the planner's statistics, seconds.
    pub statistics_age_s: Option<f64>,
    /// Whether a crash loses its contents.
    pub unlogged: bool,
    /// Vacuums so far.
    pub vacuums: Option<u64>,
    /// Analyses so far.
    pub analyses: Option<u64>,
}

/// Names and ids of tables; `None` unless all of them could be read.
fn table_ids(rows: &[TextRow]) -> Option<BTreeMap<String, String>> {
    let id = |row: &TextRow| Some((cell(row, 0)?.to_owned(), cell(row, 1)?.to_owned()));
    rows.iter().map(id).collect()
}

/// Reads the server's state.
///
/// # Errors
/// The connection is lost.
pub fn read_server_state(
    control: &mut Control,
    facts: &ServerFacts,
) -> Result<StateSnapshot, Error> {
    let mut state = StateSnapshot::default();
    match control.engine() {
        Engine::PostgreSql => postgres::read(control, facts, &mut state)?,
        Engine::MySql | Engine::MariaDb => mysql::read(control, facts, &mut state)?,
        Engine::SqlServer => sqlserver::read(control, facts, &mut state)?,
    }
    Ok(state)
}
