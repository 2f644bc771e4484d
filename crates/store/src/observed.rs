//! What was seen of the server: before, during and after the load.
//!
//! In: nothing. Out: parts of the Run document. Must never: hold a password; hold a zero for what
//! could not be read, which is absent.
//!
//! Times of the series and of the events are seconds from the start of the load, as those of
//! [`Second`](crate::Second) are: the two series can be drawn above each other.

use crate::run::Event;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What was seen of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Why nobody looked during the load, in words; absent where somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off: Option<String>,
    /// Before the clients connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ServerState>,
    /// After the last of them had gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ServerState>,
    /// Settings that had another value after the run than before it: name to the new value.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub settings_changed: Map<String, Value>,
    /// How long a statement that does nothing takes, before the load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<RoundTrip>,
    /// The machine of the server, and where its figures come from.
    pub machine: Machine,
    /// What happened from one reading to the next, about one a second.
    pub series: Vec<ServerSecond>,
    /// Checkpoints, vacuums, backups, restarts, in order of time.
    pub events: Vec<Event>,
    /// What could not be seen, and why.
    pub missing: Vec<Missing>,
    /// What looking has cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ObserverCost>,
}

/// Something that could not be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What: `checkpoints`, `server machine`...
    pub what: String,
    /// Why, as the server or the system put it.
    pub why: String,
}

/// A server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerState {
    /// When the server was started, seconds since 1970 on its own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_unix_s: Option<f64>,
    /// Whether it is itself a replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_replica: Option<bool>,
    /// `none`, `asynchronous`, `semi-synchronous` or `synchronous`, by what is connected and set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<String>,
    /// Replicas that are connected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Replica>,
    /// Extensions or plugins beyond those built in, with their versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Size of the database, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_bytes: Option<u64>,
    /// Size of the server's own cache (shared buffers, buffer pool), bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// What of a committed transaction survives what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// The largest tables, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableState>,
    /// Commits of this database since its counters were reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Rollbacks of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollbacks: Option<u64>,
}

/// What of a committed transaction survives what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// `D0`: a crash may destroy the data; `D1`: a crash of the server process may lose commits;
    /// `D2`: one of the machine may; `D3`: neither; `D4`: nor the loss of the machine, as a replica
    /// has each commit first.
    pub class: String,
    /// The settings and tables that make it so; empty for D3.
    pub because: Vec<String>,
    /// Whether there are tables without a log could not be read: the class is that of the settings alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tables_unknown: bool,
}

impl Durability {
    /// The class, and what is not known of it: `D3, unlogged tables not known`.
    pub fn words(&self) -> String {
        match self.tables_unknown {
            true => format!("{}, unlogged tables not known", self.class),
            false => self.class.clone(),
        }
    }
}

/// A replica that is connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replica {
    /// Its name or address.
    pub name: String,
    /// `streaming`, or as the server calls it.
    pub state: String,
    /// `sync`, `async`, `quorum`..., as the server calls it; empty where it does not say.
    pub mode: String,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableState {
    /// Name, with its schema where that is not the usual one.
    pub name: String,
    /// Size with indexes, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Rows, as the server's statistics estimate them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Rows that are dead and not yet removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_rows: Option<u64>,
    /// Age of the planner's statistics, seconds; absent where there are none, or nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics_age_s: Option<f64>,
    /// A crash loses it: unlogged, or of an engine without a log.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// Vacuums so far, by hand and by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacuums: Option<u64>,
    /// Analyses so far, by hand and by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analyses: Option<u64>,
}

/// How long a statement that does nothing takes, from this client and back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// How many were timed.
    pub samples: u32,
    /// The shortest, nanoseconds.
    pub min_ns: u64,
    /// Median, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, nanoseconds; absent below 100 samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
}

/// The machine of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Where its figures come from: `/proc`, or `node_exporter at HOST`; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether client and server share it; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<bool>,
    /// How that is known, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shared_because: String,
    /// CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Memory, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// What happened from one reading of the server to the next, and how it stood at the later one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSecond {
    /// The earlier reading, seconds from the start of the load.
    pub at_s: f64,
    /// Time from it to the later one, seconds.
    pub seconds: f64,
    /// Transactions committed. The server's statistics may lag by a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Transactions rolled back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollbacks: Option<u64>,
    /// Pages found in the server's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hits: Option<u64>,
    /// Pages that had to be read into it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_reads: Option<u64>,
    /// Bytes of the write-ahead or redo log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
    /// Bytes of temporary files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temp_bytes: Option<u64>,
    /// Deadlocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlocks: Option<u64>,
    /// Connections of clients, without the observer's, at the later reading, as all that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Of them at work or waiting inside a statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<u32>,
    /// Of them waiting for a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_waits: Option<u32>,
    /// What those at work waited for, as `class/event`: `IO/WalSync`, `Lock/tuple`; `CPU` is no wait.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, u32>,
    /// Vacuums under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacuums: Option<u32>,
    /// Log since the last checkpoint, bytes (InnoDB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_age_bytes: Option<u64>,
    /// Old versions that purge has not removed yet (InnoDB's history list).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u64>,
    /// The slowest replica is behind by so many bytes of log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication_lag_bytes: Option<u64>,
    /// And by so much time, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication_lag_s: Option<f64>,
    /// The server's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSecond>,
    /// The client's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<MachineSecond>,
}

/// A machine from one reading to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSecond {
    /// CPUs at work, share of all, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// The busiest CPU's share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_cpu: Option<f64>,
    /// CPUs idle while I/O was under way, share of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_wait: Option<f64>,
    /// CPU time taken by the hypervisor, share of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// CPU time of the database server's processes, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_s: Option<f64>,
    /// Memory that programs could still have, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// Read from disks, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_read_bytes: Option<u64>,
    /// Written to disks, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_write_bytes: Option<u64>,
    /// The busiest disk's share of the time with I/O under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_busy: Option<f64>,
    /// Time in which this process's control group was denied CPU by its limit, seconds (client only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<f64>,
}

/// What looking at the server has cost, during the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObserverCost {
    /// Statements that were sent.
    pub queries: u64,
    /// Time from sending them to their replies, seconds.
    pub query_s: f64,
    /// The longest round of readings, seconds.
    pub longest_round_s: f64,
    /// CPU time of the observing thread in the client, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_s: Option<f64>,
    /// CPU time of the server's process or thread that answered, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_s: Option<f64>,
}
