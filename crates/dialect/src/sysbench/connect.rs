//! Where connections go.
//!
//! In: the options of drivers. Out: the driver, the places in turn. Must never: look a name up, or hold
//! a password.

use super::options::{Database, Mysql};
use super::printed::fatal;
use prony_plan::QueryMode;
use prony_workload::sysbench::Driver;
use std::fmt;

/// Where a connection to MySQL goes. Shown as sysbench's messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A unix socket.
    Socket(String),
    /// A host; `localhost` means its customary socket, as for the clients of MySQL.
    Host(String, u16),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Socket(path) => write!(f, "socket '{path}'"),
            Endpoint::Host(host, port) => write!(f, "host '{host}', port {port}"),
        }
    }
}

/// The driver that was asked for.
///
/// # Errors
/// There is none of that name: the lines of the log. sysbench says so when threads begin.
pub fn driver(database: &Database) -> Result<Driver, String> {
    match database.driver.as_str() {
        "mysql" => Ok(Driver::Mysql),
        "pgsql" => Ok(Driver::Pgsql),
        other => Err(fatal(&format!("invalid database driver name: '{other}'"))),
    }
}

/// How statements are sent.
///
/// # Errors
/// `--db-ps-mode` is something else: the line of the log.
pub fn ps_mode(database: &Database) -> Result<QueryMode, String> {
    match database.ps_mode.as_str() {
        "auto" => Ok(QueryMode::Prepared),
        "disable" => Ok(QueryMode::Simple),
        other => Err(fatal(&format!("Invalid value for db-ps-mode: {other}"))),
    }
}

/// The places that connections take in turn: the first connection the first, and so on, round and
/// round. Sockets, or else the ports of a host, then those of the next.
pub fn endpoints(mysql: &Mysql) -> Vec<Endpoint> {
    if !mysql.sockets.is_empty() {
        return mysql
            .sockets
            .iter()
            .cloned()
            .map(Endpoint::Socket)
            .collect();
    }
    let ports = |host: &String| {
        let host = host.clone();
        mysql
            .ports
            .iter()
            .map(move |port| Endpoint::Host(host.clone(), *port))
    };
    mysql.hosts.iter().flat_map(ports).collect()
}
