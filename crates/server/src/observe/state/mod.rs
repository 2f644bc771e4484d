//! How a server stands at one moment: before the load, and after it.
//!
//! In: a control connection, the settings. Out: a [`State`]. Must never: fail for what this user or
//! this version does not show; it is listed instead.

mod mysql;
mod postgres;

pub(super) use mysql::replica_status;

use super::{Durability, Facts, Missing};
use crate::control::{Control, Error, Product};

/// As many tables are listed.
const TABLES: usize = 100;

/// How a server stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// When it was started, seconds since 1970 on its own clock.
    pub started_unix_s: Option<f64>,
    /// Whether it is itself a replica.
    pub is_replica: Option<bool>,
    /// `none`, `asynchronous`, `semi-synchronous`, `synchronous`.
    pub replication: Option<&'static str>,
    /// Replicas that are connected.
    pub replicas: Vec<Replica>,
    /// Extensions or plugins beyond those built in, with versions.
    pub extensions: Vec<String>,
    /// Size of the database, bytes.
    pub database_bytes: Option<u64>,
    /// Size of the server's own cache, bytes.
    pub cache_bytes: Option<u64>,
    /// What of a commit survives what.
    pub durability: Option<Durability>,
    /// The largest tables.
    pub tables: Vec<TableState>,
    /// What could not be read.
    pub missing: Vec<Missing>,
}

/// A replica that is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// Name or address.
    pub name: String,
    /// Its state, as the server calls it.
    pub state: String,
    /// `sync`, `async`, `quorum`...; empty where the server does not say.
    pub mode: String,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableState {
    /// Name, with its schema where that is not the usual one.
    pub name: String,
    /// Size with indexes, bytes.
    pub bytes: Option<u64>,
    /// Rows, estimated.
    pub rows: Option<u64>,
    /// Dead rows, estimated.
    pub dead_rows: Option<u64>,
    /// Age of the planner's statistics, seconds.
    pub statistics_age_s: Option<f64>,
    /// A crash loses it.
    pub unlogged: bool,
    /// Vacuums so far.
    pub vacuums: Option<u64>,
    /// Analyses so far.
    pub analyses: Option<u64>,
}

/// Asks the server how it stands.
///
/// # Errors
/// If the connection is lost.
pub fn state(control: &mut Control, facts: &Facts) -> Result<State, Error> {
    let mut state = State::default();
    match control.product() {
        Product::Postgres => postgres::read(control, facts, &mut state)?,
        Product::Mysql | Product::MariaDb => mysql::read(control, facts, &mut state)?,
    }
    Ok(state)
}
