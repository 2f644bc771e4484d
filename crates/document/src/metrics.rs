//! Industry metrics of a workload, shares of its mix, response-time limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The metric of new orders committed per minute.
pub const NOPM: &str = "NOPM";
/// The metric of transactions per minute by the server's count.
pub const TPM: &str = "TPM";

/// An industry metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IndustryMetric {
    /// Its name, such as `NOPM`.
    pub name: String,
    /// Its meaning: `new orders committed per minute`.
    pub title: String,
    /// The figure.
    pub value: f64,
    /// The figure per unit of scale.
    pub per_scale: f64,
    /// A remark on the figure.
    pub note: Option<String>,
}

/// The [`ObservedShare::base`] of entries that count the rows which the calls of a transaction returned or changed. There may
/// be more rows than calls.
pub const ROWS_OF_CALLS: &str = "calls";

/// The [`ObservedShare::base`] of entries that count the microseconds which the calls of one statement of a transaction took;
/// their total is the time of all its statements.
pub const TIME_OF_CALLS: &str = "time of calls";

/// The [`ObservedShare::name`] of the entries of one statement of a transaction; the first statement has number 1.
pub fn name_of_statement(transaction: &str, number: usize) -> String {
    format!("{transaction}, statement {number}")
}

/// How often users performed an action, and how often the workload expects it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedShare {
    /// The action, such as `rolled back`; in the mix, the kind of transaction.
    pub name: String,
    /// What the share is a share of, such as `new orders`.
    pub base: String,
    /// How often users performed the action.
    pub count: u64,
    /// How often users could have performed the action.
    pub total: u64,
    /// The expected share, 0 to 1; absent if the workload expects none.
    pub expected_share: Option<f64>,
    /// The share is exact in each transaction, not random.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The minimum that a specification allows, 0 to 1.
    pub minimum_share: Option<f64>,
}

/// How long a statement took on the server in the log from which it is replayed. The server's own time, without the way to
/// the client and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedLatency {
    /// Number of executions whose time is in the log.
    pub samples: u64,
    /// Arithmetic mean, nanoseconds.
    pub mean_ns: f64,
    /// 50th percentile, nanoseconds, within 5 %; like the others it needs 10 / (1 - q) samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
}

/// The response-time limit of a kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseTimeLimit {
    /// The kind.
    pub kind: String,
    /// Limit of the 90th percentile, seconds.
    pub p90_s: f64,
    /// These transactions run in the background: their time is from queueing to completion, and no user
    /// waits for them.
    #[serde(default)]
    pub deferred: bool,
}
