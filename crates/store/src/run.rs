//! The Run document: what was asked, what was observed, what was measured.
//!
//! In: figures, plan and observations. Out: one JSON document with a schema version. Must never:
//! hold a password; change a figure. All times are seconds or nanoseconds, as the names say.

use crate::client::Client;
use crate::experiment::Experiment;
use crate::imported::Imported;
use crate::named::{Limit, QueryCounts, Rate, Share};
use crate::observed::Observed;
use crate::scenario::{Cached, Scenario};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of this document. Readers refuse a newer major part.
pub const SCHEMA_VERSION: &str = "1.2";

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Version of this document's form, [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// Sortable name of the run, such as `20261120-233342-tpcb-7f3a`.
    pub id: String,
    /// Start of the run, RFC 3339 with the local offset.
    pub started_at: String,
    /// How it ended.
    pub state: State,
    /// Why it ended early, in words; absent for a complete run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_because: Option<String>,
    /// It was not driven by Prony: its figures are what another tool printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// It is one of the repeats of an experiment; absent for a run by itself, as before version 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Experiment>,
    /// It repeats a published scenario; absent for a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// The share of the data that was to be cached, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Cached>,
    /// Which Prony.
    pub build: Build,
    /// Which client machine.
    pub host: Host,
    /// The plan as it was asked, without passwords: command line or TOML as written.
    pub asked: Value,
    /// The plan as it was run, every default filled in.
    pub plan: Value,
    /// What the server said of itself.
    pub server: Server,
    /// What was run.
    pub workload: Workload,
    /// How it was driven.
    pub drive: Drive,
    /// The parts of the run in time.
    pub window: Window,
    /// Figures of the warm-up; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Figures>,
    /// Figures of the measured window: the result.
    pub measured: Figures,
    /// What the workload's field counts beside transactions a second, such as NOPM; leads the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<Rate>,
    /// What users did, where shares of it are meant: over the whole run, warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Share>,
    /// One entry a second, warm-up included.
    pub series: Vec<Second>,
    /// Reconnects, outages and the like, in order of time.
    pub events: Vec<Event>,
    /// What was seen of the server; absent where nobody looked, as before version 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The client's own health in the measured window.
    pub client: Client,
    /// How good the split of the response time is.
    pub timing: Timing,
    /// What `judge` found.
    pub checks: Vec<Check>,
}

impl Default for Run {
    /// An empty document of a run that is going on.
    fn default() -> Run {
        Run {
            schema_version: SCHEMA_VERSION.into(),
            id: String::new(),
            started_at: String::new(),
            state: State::Running,
            ended_because: None,
            imported: None,
            experiment: None,
            scenario: None,
            cached: None,
            build: Build::default(),
            host: Host::default(),
            asked: Value::Null,
            plan: Value::Null,
            server: Server::default(),
            workload: Workload::default(),
            drive: Drive::default(),
            window: Window::default(),
            warmup: None,
            measured: Figures::default(),
            rates: Vec::new(),
            shares: Vec::new(),
            series: Vec::new(),
            events: Vec::new(),
            observed: None,
            client: Client::default(),
            timing: Timing::default(),
            checks: Vec::new(),
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Still going on (the document of a live run).
    Running,
    /// As planned.
    Complete,
    /// Ended early by a signal, an error or a kill; its figures cover what was measured.
    Partial,
}

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

/// The parts of the run in time, seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Connecting all clients.
    pub connect_s: f64,
    /// Warm-up.
    pub warmup_s: f64,
    /// Measured window: throughput is counted over this.
    pub measured_s: f64,
    /// Finishing what was in flight at the end of the window.
    pub drain_s: f64,
}

/// Figures of one part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Length of the part, seconds.
    pub seconds: f64,
    /// All kinds together first, named `all`, then one entry a kind.
    pub kinds: Vec<KindFigures>,
    /// Failed transactions by kind, class and code.
    pub errors: Vec<ErrorCount>,
    /// Transactions still in flight at the end of the part, counted nowhere else.
    pub unfinished: u64,
    /// Scheduled starts that were due and had not begun at the end of the part (rate only).
    pub never_started: u64,
    /// Queries, where the workload counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryCounts>,
}

/// Figures of one kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindFigures {
    /// Name; `all` for all kinds together.
    pub kind: String,
    /// Committed transactions.
    pub committed: u64,
    /// Rolled back by intent.
    pub rolled_back: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped.
    pub skipped: u64,
    /// Extra tries.
    pub retries: u64,
    /// Transactions with extra tries.
    #[serde(default)]
    pub retried: u64,
    /// Committed transactions over the latency limit.
    #[serde(default)]
    pub late: u64,
    /// Committed transactions a second of the part.
    pub tps: f64,
    /// Response time of committed transactions: from the scheduled start.
    pub response: Latency,
    /// Service time of committed transactions: from the actual start. With
    /// `connect_per_transaction` that is before connecting, so it includes [`KindFigures::connect`].
    pub service: Latency,
    /// From the scheduled start to the actual one (rate only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<Latency>,
    /// Parts of the service time, without connecting: their means add up to the service time, with
    /// `connect_per_transaction` to what is left of it after connecting. Absent where no stamps
    /// were available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Time spent on connecting inside transactions (`connect_per_transaction`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<Latency>,
    /// Sum of the response times of all transactions that ended in this part, committed or not,
    /// seconds: for Little's law.
    pub busy_s: f64,
}

/// The parts of the service time, without what connecting took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Queued in the client until transmitted.
    pub send_wait: Latency,
    /// Transmitted until arrived back: the server's, under the load this client really offered.
    pub server: Latency,
    /// Arrived until noticed by the client.
    pub client_wait: Latency,
    /// How many of the server times are upper bounds (several replies in one read).
    pub upper_bounds: u64,
}

/// A distribution of times. A percentile without enough samples behind it is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many times are behind it.
    pub samples: u64,
    /// Arithmetic mean, exact, nanoseconds.
    pub mean_ns: f64,
    /// Smallest, nanoseconds.
    pub min_ns: u64,
    /// Largest, nanoseconds.
    pub max_ns: u64,
    /// 50th percentile, nanoseconds; needs 10 / (1 - q) samples, as the others do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    /// The whole distribution: HdrHistogram V2, deflate-free, base64; empty if no samples.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub histogram: String,
}

/// One second of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Start, seconds from the start of the load.
    pub at_s: f64,
    /// Length, seconds; the last one may be shorter.
    pub seconds: f64,
    /// `warmup` or `measured`.
    pub part: String,
    /// Committed transactions.
    pub committed: u64,
    /// Rolled back by intent.
    pub rolled_back: u64,
    /// Failed.
    pub failed: u64,
    /// Mean response time, nanoseconds.
    pub mean_ns: f64,
    /// Percentiles of the response time, nanoseconds, where enough samples are behind them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 95th.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_ns: Option<u64>,
    /// 99th.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// Largest response time, nanoseconds.
    pub max_ns: u64,
    /// Mean server time, where stamps are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_mean_ns: Option<f64>,
    /// CPU time of the client's threads, seconds, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu_s: Option<f64>,
    /// Longest turn of any loop, nanoseconds.
    pub loop_delay_max_ns: u64,
    /// Connections that were up at its end: a snapshot, not a mean. With a connection for each
    /// transaction it says little, as it counts those that happened to be open at that moment.
    pub connections: u32,
    /// Queries, where the workload counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryCounts>,
}

/// Failed transactions of one sort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Kind of transaction.
    pub kind: String,
    /// `serialization`, `deadlock`, `timeout`, `lost connection`, `ambiguous commit`, `protocol`, `other`.
    pub class: String,
    /// SQLSTATE.
    pub code: String,
    /// How many.
    pub count: u64,
    /// The first message of this sort.
    pub example: String,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When it began, seconds from the start of the load.
    pub at_s: f64,
    /// When it ended, where it has a length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
    /// `outage` (connections lost until restored), `user ended`, `clock step`...
    pub what: String,
    /// In words.
    pub detail: String,
    /// Connections or users it concerned.
    pub count: u64,
}

/// How good the split of the response time is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// `kernel stamps`, `kernel stamps on N of M clients`, or `unavailable`, with the reason.
    pub split: String,
    /// Replies with a usable stamp.
    pub stamped: u64,
    /// Replies without one.
    pub unstamped: u64,
    /// Stamps before their request or after their notice: discarded.
    pub impossible: u64,
    /// Stamps taken since the last reading of the clock offset when that offset was found to have
    /// moved.
    pub doubtful: u64,
    /// How often the offset between the clocks moved by more than a microsecond.
    pub clock_steps: u64,
    /// Time for one send of a batch, nanoseconds, as calibrated by transmit stamps.
    pub send_cost_ns: f64,
    /// Transmit stamps behind that.
    pub transmit_stamps: u64,
}

/// One check of `judge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Short stable name: `littles-law`, `client-limit`...
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// What was found, with figures.
    pub finding: String,
    /// What to do about it.
    pub advice: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Recorded.
    Note,
    /// To be read beside the figure.
    Caveat,
    /// The figure must not be used.
    Invalid,
}
