//! Observations of the server before, during and after the load. A value that could not be read is
//! absent, not zero.
//!
//! Times of the series and events are seconds from the start of the load, as in the seconds of a run, so that the
//! two series can be plotted together.

use crate::names::{DurabilityClass, EventKind, Replication};
use crate::service::Service;
use crate::topic::ObservedTopic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Observations of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Observed {
    /// Why the server was not observed during the load; absent if it was.
    pub off: Option<String>,
    /// Before the clients connected.
    pub before: Option<ServerState>,
    /// After the last client disconnected.
    pub after: Option<ServerState>,
    /// Settings whose value changed during the run: name to the new value.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub settings_changed: Map<String, Value>,
    /// Round-trip time of an empty statement, before the load.
    pub round_trip: Option<RoundTrip>,
    /// The machine of the server, and the source of its figures.
    pub machine: ServerMachine,
    /// One entry per interval between two readings, about one per second.
    pub series: Vec<ServerSecond>,
    /// Checkpoints, vacuums, backups, restarts, in order of time.
    pub events: Vec<Event>,
    /// The topics that could not be observed, with reasons.
    pub missing: Vec<MissingObservation>,
    /// The cost of observing.
    pub cost: Option<ObserverCost>,
}

impl Observed {
    /// Whether the service does not have what this topic is about.
    pub fn is_absent(&self, topic: ObservedTopic) -> bool {
        let mut missing = self.missing.iter();
        missing.any(|missing| missing.absent && missing.what == topic)
    }
}

/// A topic that could not be observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingObservation {
    /// The topic.
    pub what: ObservedTopic,
    /// The reason, in the words of the server or the system.
    pub why: String,
    /// The service does not have it: there is nothing to observe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub absent: bool,
}

impl MissingObservation {
    /// A topic that could not be observed, for this reason.
    pub fn new(what: ObservedTopic, why: impl Into<String>) -> MissingObservation {
        MissingObservation {
            what,
            why: why.into(),
            absent: false,
        }
    }

    /// The topics that a service does not have.
    pub fn absent_from(service: Service) -> impl Iterator<Item = MissingObservation> {
        service.absent().map(|(what, why)| MissingObservation {
            absent: true,
            ..MissingObservation::new(what, why)
        })
    }
}

/// A server at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerState {
    /// When the server was started, seconds since 1970 on its own clock.
    pub started_unix_s: Option<f64>,
    /// Whether it is itself a replica.
    pub is_replica: Option<bool>,
    /// How it replicates.
    pub replication: Option<Replication>,
    /// Replicas that are connected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<Replica>,
    /// Extensions or plugins beyond those built in, with their versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Size of the database, bytes.
    pub database_bytes: Option<u64>,
    /// Size of the server's own cache (shared buffers, buffer pool), bytes.
    pub cache_bytes: Option<u64>,
    /// Which crashes a committed transaction survives.
    pub durability: Option<Durability>,
    /// The largest tables, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableState>,
    /// Table name to an identity that changes when a table of that name is recreated: in PostgreSQL its
    /// oid and file number, `16384/16391`; in MySQL and MariaDB its creation time. The first 1,000 by
    /// name; absent if unknown.
    pub table_ids: Option<BTreeMap<String, String>>,
    /// Commits of this database since its counters were reset.
    pub commits: Option<u64>,
    /// Rollbacks of this database since its counters were reset.
    pub rollbacks: Option<u64>,
    /// Commits of the server's other databases (PostgreSQL), and the sessions that are busy in any; only of a run whose
    /// server was read before and after the load, and not during it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherClients>,
}

/// What other clients do at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OtherClients {
    /// Commits of the server's other databases since their counters were reset (PostgreSQL).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Busy sessions by who they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionGroup>,
}

/// The client sessions of one program of one user in one database, without the observer's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionGroup {
    /// The database.
    pub database: String,
    /// The user.
    pub user: String,
    /// The program, as it calls itself; empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub application: String,
    /// Whether database, user and program are those of the run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Sessions that executed a statement in the last second.
    pub recent: u32,
    /// Sessions that are executing a statement; without those that wait for their client or sleep. On MySQL,
    /// MariaDB and SQL Server also those that had one in the last 20 ms.
    pub busy: u32,
}

/// Which crashes a committed transaction survives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Durability {
    /// The class.
    pub class: DurabilityClass,
    /// The settings and tables that cause this class; empty for D3.
    pub because: Vec<String>,
    /// It is unknown whether there are unlogged tables: the class is derived from the settings alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tables_unknown: bool,
}

impl Durability {
    /// The class as text, with a remark if the tables are unknown: `D3, unlogged tables not known`.
    pub fn description(&self) -> String {
        if self.tables_unknown {
            format!("{}, unlogged tables not known", self.class.name())
        } else {
            self.class.name().to_owned()
        }
    }
}

/// A replica that is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replica {
    /// Its name or address.
    pub name: String,
    /// Its state, in the server's terms, such as `streaming`.
    pub state: String,
    /// Its mode, in the server's terms, such as `sync`, `async` or `quorum`; empty if the server does not
    /// report one.
    pub mode: String,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TableState {
    /// Name, with its schema unless that is the default one.
    pub name: String,
    /// Size with indexes, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Rows, as the server's statistics estimate them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Dead rows that have not been removed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_rows: Option<u64>,
    /// Age of the planner's statistics, seconds; absent if there are none, or if unknown.
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

/// Round-trip time of an empty statement from this client: the network in both directions, the server's handling of
/// the statement, and the wake-up of this client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrip {
    /// Number of statements timed.
    pub samples: u32,
    /// The shortest, nanoseconds.
    pub min_ns: u64,
    /// Median, nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, nanoseconds; absent below 100 samples.
    pub p99_ns: Option<u64>,
}

/// The machine of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerMachine {
    /// Source of its figures: `/proc`, or `node_exporter at HOST`; absent if there are none.
    pub source: Option<String>,
    /// Whether client and server share it; absent if unknown.
    pub shared: Option<bool>,
    /// How this was determined.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shared_because: String,
    /// CPUs.
    pub cpus: Option<u32>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// CPU model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// Kernel name and release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Kinds of its disks: `NVMe`, `SSD`, `hard disk`, `virtual disk`; several joined by
    /// `and`. Which disk holds the data is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
}

/// Changes between two readings of the server, and its state at the later one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerSecond {
    /// The earlier reading, seconds from the start of the load.
    pub at_s: f64,
    /// Time until the later reading, seconds.
    pub length_s: f64,
    /// Whether the server was a replica at the later reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_replica: Option<bool>,
    /// Transactions committed. The server's statistics may lag by a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Transactions rolled back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollbacks: Option<u64>,
    /// Pages found in the server's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hits: Option<u64>,
    /// Pages that had to be read into the cache.
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
    /// Transactions that lost to one of another node, which changed the same rows (Galera).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_conflicts: Option<u64>,
    /// Share of the time in which flow control stopped commits, because a node was behind (Galera).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control_share: Option<f64>,
    /// Transactions committed in the server's other databases (PostgreSQL).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_commits: Option<u64>,
    /// Transactions rolled back in the server's other databases (PostgreSQL).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_rollbacks: Option<u64>,
    /// Client sessions by who they are: those like the run's, and others that are busy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionGroup>,
    /// Connections of clients, without the observer's, at the later reading. The fields that follow are
    /// also of the later reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Those of these connections that are executing a statement, including any waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<u32>,
    /// Those of these connections that are waiting for a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_waits: Option<u32>,
    /// Wait events of the active connections, as `class/event`: `IO/WalSync`, `Lock/tuple`;
    /// [`ServerSecond::ON_CPU`] means no wait.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, u32>,
    /// Time that all sessions waited between the readings, by wait type, seconds; types without any are absent
    /// (SQL Server). Absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<BTreeMap<String, f64>>,
    /// How much of its service's limits the database used in the last 15 s (Azure SQL Database).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_use: Option<LimitUse>,
    /// Vacuums in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vacuums: Option<u32>,
    /// Log since the last checkpoint, bytes (InnoDB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_age_bytes: Option<u64>,
    /// Old row versions that purge has not removed yet (InnoDB's history list length).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u64>,
    /// Lag of the slowest replica, bytes of log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication_lag_bytes: Option<u64>,
    /// Lag of the slowest replica, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication_lag_s: Option<f64>,
    /// The server's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSecond>,
    /// The client's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<MachineSecond>,
}

impl ServerSecond {
    /// The wait event of sessions that do not wait.
    pub const ON_CPU: &str = "CPU";
}

/// How much of the limits of its service a database uses, as shares of these limits, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitUse {
    /// CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// I/O on the files of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_io_share: Option<f64>,
    /// Writes to the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_write_share: Option<f64>,
}

/// The use of a machine between two readings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MachineSecond {
    /// Busy CPUs, share of all, 0 to 1 like the other shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_share: Option<f64>,
    /// The busiest CPU's share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_cpu_share: Option<f64>,
    /// CPUs idle while I/O was in progress, share of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_wait_share: Option<f64>,
    /// CPU time taken by the hypervisor, share of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// CPU time of the database server's processes, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu_s: Option<f64>,
    /// Available memory, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_available_bytes: Option<u64>,
    /// Swapped in and out, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swap_bytes: Option<u64>,
    /// Read from disks, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_read_bytes: Option<u64>,
    /// Written to disks, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_write_bytes: Option<u64>,
    /// The busiest disk's share of time with I/O in progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_busy_share: Option<f64>,
    /// Received and sent over the network, bytes; without the loopback interface (this machine only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_bytes: Option<u64>,
    /// The busiest network link's share of its speed, in its busier direction; absent if no link reports a speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_busy_share: Option<f64>,
    /// Time in which this process's control group was throttled by its CPU limit, seconds (client only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<f64>,
}

/// The cost of observing the server during the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObserverCost {
    /// Statements sent.
    pub queries: u64,
    /// Time from sending them to their replies, seconds.
    pub query_s: f64,
    /// The longest round of readings, seconds.
    pub longest_round_s: f64,
    /// CPU time of the observing thread in the client, seconds.
    pub client_cpu_s: Option<f64>,
    /// CPU time of the server process or thread that answered, seconds.
    pub server_cpu_s: Option<f64>,
}

/// The start of [`Event::detail`] of an outage whose connection the system ended: its reason follows.
pub const CONNECTION_WAS_LOST: &str = "the connection was lost: ";

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When it began, seconds from the start of the load.
    pub at_s: f64,
    /// When it ended, if it has a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
    /// Its kind.
    pub kind: EventKind,
    /// Why attempts to connect failed, in a word or two, such as `refused`; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// A description.
    pub detail: String,
    /// Number of connections or users it affected.
    pub count: u64,
    /// What became of the command that ran, if the event is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandResult>,
}

/// What became of a command that ran during the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandResult {
    /// Its exit status, 128 plus its number if a signal ended it; absent if it did not run, or did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The end of its output.
    pub output: String,
}

/// What a limit on connections belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitOwner {
    /// The role of PostgreSQL that logged in.
    Role,
    /// The database of this name.
    Database(String),
    /// The account of MySQL or MariaDB.
    Account,
    /// Each account of MySQL or MariaDB (`max_user_connections`).
    EachAccount,
}

/// A limit on connections that is narrower than `max_connections`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// What it belongs to.
    pub owner: LimitOwner,
    /// The most connections.
    pub limit: u64,
    /// Those of other clients that count towards it.
    pub in_use: u64,
}
