//! Figures of the parts of a run and of each second.

use prony_document::{ErrorClass, InFlight, QueryCounts, SecondPhase, WarmupEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The parts of the run in time, seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Connecting all clients.
    pub connect_s: f64,
    /// Warm-up.
    pub warmup_s: f64,
    /// What ended the warm-up, if it had no fixed length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_end: Option<WarmupEnd>,
    /// Measured window, over which throughput is computed.
    pub measured_s: f64,
    /// Drain: ending the transactions that were in flight at the end of the window.
    pub drain_s: f64,
}

impl Window {
    /// The end of the load, seconds from its start.
    pub fn load_end_s(&self) -> f64 {
        self.warmup_s + self.measured_s + self.drain_s
    }
}

/// Figures of one part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Length of the part, seconds.
    pub length_s: f64,
    /// All kinds together first, then one entry per kind.
    pub kinds: Vec<KindFigures>,
    /// Failed transactions by kind, class and code.
    pub errors: Vec<ErrorCount>,
    /// Transactions still in flight at the end of the part; the figures above do not include them.
    pub unfinished: u64,
    /// Their outcomes; absent if unknown.
    pub in_flight: Option<InFlight>,
    /// How long they had been in progress within the part when it ended, summed, seconds; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_s: Option<f64>,
    /// The longest of these times, seconds; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_max_s: Option<f64>,
    /// Scheduled starts that were due but had not begun at the end of the part (rate only).
    pub never_started: u64,
    /// Queries, if the workload counts them.
    pub queries: Option<QueryCounts>,
}

impl Figures {
    /// The figures of all kinds together; absent if nothing was measured.
    pub fn all_kinds(&self) -> Option<&KindFigures> {
        self.kinds.iter().find(|figures| figures.kind.is_none())
    }

    /// Whether no part of the load was measured, because the run ended in its warm-up or before any load: zeros are then
    /// not figures.
    pub fn is_empty(&self) -> bool {
        self.length_s <= 0.0 && self.all_kinds().is_none_or(|all| all.ended() == 0)
    }
}

/// Figures of one kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindFigures {
    /// Name of the kind; null for all kinds together.
    pub kind: Option<String>,
    /// Committed transactions.
    pub committed: u64,
    /// Intentionally rolled back.
    pub rolled_back: u64,
    /// Failed.
    pub failed: u64,
    /// Skipped, because the start was later than the latency limit.
    pub skipped: u64,
    /// Extra tries.
    pub retries: u64,
    /// Transactions with extra tries.
    #[serde(default)]
    pub retried: u64,
    /// Committed transactions over the latency limit.
    #[serde(default)]
    pub over_latency_limit: u64,
    /// Committed transactions per second of the part.
    pub tps: f64,
    /// Response time of committed transactions: from the scheduled start.
    pub response: Latency,
    /// Service time of committed transactions: from the actual start. With `connect_per_transaction` the
    /// start is before connecting, so it includes [`KindFigures::connect`].
    pub service: Latency,
    /// Response time of all transactions that ended, whatever their outcome; absent if all committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Latency>,
    /// Response time of failed transactions; absent if none failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_response: Option<Latency>,
    /// From the scheduled start to the actual one (rate only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<Latency>,
    /// Parts of the service time, without connecting: their means add up to the mean service time, less
    /// connecting with `connect_per_transaction`. Absent if no timestamps were available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<PartLatencies>,
    /// Time spent on connecting inside transactions (`connect_per_transaction`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<Latency>,
    /// Sum of the response times of all transactions that ended in this part, committed or not,
    /// seconds: for Little's law.
    pub busy_s: f64,
}

impl KindFigures {
    /// Transactions that ended: committed, rolled back on purpose, or failed.
    pub fn ended(&self) -> u64 {
        self.committed + self.rolled_back + self.failed
    }

    /// The name of the kind in reports: `all` for all kinds together.
    pub fn name(&self) -> &str {
        self.kind.as_deref().unwrap_or(ALL_KINDS)
    }
}

/// The name of all kinds together in reports.
const ALL_KINDS: &str = "all";

/// The parts of the service time, without connecting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartLatencies {
    /// From queueing in the client to transmission.
    pub send_wait: Latency,
    /// From the transmission of the request to the arrival of the reply: the server's time, under the load
    /// that this client really offered.
    pub server: Latency,
    /// From the arrival of the reply until the client noticed it.
    pub client_wait: Latency,
    /// How many of the server times are upper bounds (several replies in one read).
    pub server_times_upper_bound: u64,
}

/// A distribution of times. A percentile with too few samples is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of samples.
    pub samples: u64,
    /// Arithmetic mean, exact, nanoseconds.
    pub mean_ns: f64,
    /// Smallest, nanoseconds.
    pub min_ns: u64,
    /// Largest, nanoseconds.
    pub max_ns: u64,
    /// 50th percentile, nanoseconds; like the others it needs 10 / (1 - q) samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    /// The whole distribution: HdrHistogram V2, uncompressed, base64. Empty without samples, and where it would
    /// repeat another: the service time of a closed loop is its response time, and a single kind is all kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub histogram: String,
}

impl KindFigures {
    /// Removes the histograms, not the figures.
    pub fn clear_histograms(&mut self) {
        let mut latencies = vec![&mut self.response, &mut self.service];
        let optional = [
            &mut self.attempts,
            &mut self.failed_response,
            &mut self.lag,
            &mut self.connect,
        ];
        latencies.extend(optional.into_iter().flatten());
        if let Some(parts) = &mut self.parts {
            let parts = [
                &mut parts.send_wait,
                &mut parts.server,
                &mut parts.client_wait,
            ];
            latencies.extend(parts);
        }
        for latency in latencies {
            latency.histogram.clear();
        }
    }
}

/// One second of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// Start, seconds from the start of the load.
    pub at_s: f64,
    /// Length, seconds; the last one may be shorter.
    pub length_s: f64,
    /// Warm-up or measured window.
    pub phase: SecondPhase,
    /// Committed transactions.
    pub committed: u64,
    /// Intentionally rolled back.
    pub rolled_back: u64,
    /// Failed.
    pub failed: u64,
    /// Failed transactions by class; empty if none failed, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorClass, u64>,
    /// Mean response time of committed transactions, nanoseconds; the percentiles that follow are theirs, too.
    pub mean_ns: f64,
    /// Median response time, nanoseconds. It and the percentiles that follow are absent with too few
    /// samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 95th.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ns: Option<u64>,
    /// 99th.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 99th percentile of all transactions that ended, whatever their outcome; absent if all committed, or
    /// with too few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts_p99_ns: Option<u64>,
    /// Percentiles over this second and earlier ones, if this one has too few transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling: Option<RollingPercentiles>,
    /// Largest response time, nanoseconds.
    pub max_ns: u64,
    /// The longest times in which no transaction of any client ended: at most four of 50 ms or more, in order of
    /// time. A time that reaches into the next second is in both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Mean server time, nanoseconds; absent without timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_mean_ns: Option<f64>,
    /// CPU time of the client's threads, seconds; absent if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu_s: Option<f64>,
    /// Longest iteration of any event loop, nanoseconds.
    pub loop_delay_max_ns: u64,
    /// Connections that were up at its end: a snapshot, not a mean. With a connection for each transaction
    /// the value means little, because it counts the connections that happen to be open at that time.
    pub connections: u32,
    /// Queries, if the workload counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryCounts>,
}

impl Second {
    /// Transactions that ended: committed, rolled back on purpose, or failed.
    pub fn ended(&self) -> u64 {
        self.committed + self.rolled_back + self.failed
    }

    /// Whether it is not the rest of a second in which the load ended.
    pub fn is_whole(&self) -> bool {
        self.length_s > 0.5
    }

    /// How many seconds it covers: ten, in a long run that was killed.
    pub fn whole_seconds(&self) -> u64 {
        self.length_s.round().max(1.0) as u64
    }

    /// Committed transactions per second; 0 if it has no length.
    pub fn committed_per_second(&self) -> f64 {
        if self.length_s > 0.0 { self.committed as f64 / self.length_s } else { 0.0 }
    }

    pub fn ended_per_second(&self) -> f64 {
        self.ended() as f64 / self.whole_seconds() as f64
    }
}

/// A time in which no transaction ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Start, seconds from the start of the load.
    pub at_s: f64,
    /// Length, seconds.
    pub length_s: f64,
}

/// Percentiles of the response time over the fewest last seconds that have enough transactions,
/// at most 60.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RollingPercentiles {
    /// Length of the window, seconds.
    pub length_s: f64,
    /// 95th percentile, nanoseconds.
    pub p95_ns: u64,
    /// 99th.
    pub p99_ns: u64,
}

/// Failed transactions of one kind, class and code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCount {
    /// Kind of transaction; null for all kinds together.
    pub kind: Option<String>,
    /// Why the transactions did not commit, independent of the protocol: `deadlock`, `lost connection`...
    pub class: ErrorClass,
    /// SQLSTATE, or the error number of a server that has none.
    pub code: String,
    /// Number of transactions.
    pub count: u64,
    /// The first error message.
    pub example: String,
}

impl ErrorCount {
    /// The name of the kind in reports: `all` for all kinds together.
    pub fn kind_name(&self) -> &str {
        self.kind.as_deref().unwrap_or(ALL_KINDS)
    }
}
