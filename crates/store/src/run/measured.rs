//! Figures: of the parts of a run, of each second, and what happened meanwhile.
//!
//! In: nothing. Out: parts of the Run document. Must never: round what was measured.

use crate::named::QueryCounts;
use serde::{Deserialize, Serialize};

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
