//! What a run was one of: which Prony on which machine, which server, and which load.
//!
//! In: nothing. Out: parts of the Run document. Must never: hold a password.

use crate::named::Limit;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which Prony.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Package version.
    pub version: String,
    /// Target triple or `os-arch`.
    pub target: String,
    /// `release` or `debug`.
    pub profile: String,
}

/// The client machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel name and release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
}

/// What the server said of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// `postgresql`, later `mysql`, `mariadb`, `sqlserver`.
    pub engine: String,
    /// Version text.
    pub version: String,
    /// Where it was reached, without a password: `unix:/run/x/.s.PGSQL.5432`, `tcp:127.0.0.1:5432`.
    pub address: String,
    /// Database name.
    pub database: String,
    /// Role.
    pub user: String,
    /// TLS version and cipher, or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// Started by Prony for this run.
    pub embedded: bool,
    /// All settings but those that may hold a secret, name to value with unit.
    pub settings: Map<String, Value>,
}

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name.
    pub name: String,
    /// One line in words.
    pub title: String,
    /// Scale factor.
    pub scale: u32,
    /// What decides what its figures mean, as `name value`: figures of other settings do not compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<String>,
    /// Within what times most transactions of a kind are to end; empty where nobody says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Kinds of transaction.
    pub kinds: Vec<String>,
    /// The statements, as they stand before values are put in.
    pub statements: Vec<String>,
}

/// How it was driven.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// Clients.
    pub clients: u32,
    /// Threads.
    pub threads: u32,
    /// `closed`, or `rate`.
    pub pace: String,
    /// Asked rate, transactions a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_tps: Option<f64>,
    /// `poisson` or `even`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<String>,
    /// `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// The I/O engine that ran: `ring` or `epoll` (`sim` in tests), and why if it was not asked.
    pub io: String,
    /// Why that engine.
    pub io_reason: String,
    /// `unix`, `tcp`, or `unix + N tcp`.
    pub network: String,
    /// Seed.
    pub seed: u64,
    /// Whether each transaction had a connection of its own.
    pub connect_per_transaction: bool,
}
