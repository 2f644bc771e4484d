//! The consistency check of a workload's data after the load, and what its transactions added to the data.

use prony_document::ConsistencyFinding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of the check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsistencyCheck {
    /// One for each condition, in the order of the workload.
    pub findings: Vec<ConsistencyFinding>,
    /// Why the check could not be completed; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What committed transactions added to the data, as the server and the clients count it. `after - before` is at
/// least `committed`, and at most `committed + ambiguous`, unless acknowledged commits were lost, commits were
/// doubled, or others wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthReading {
    /// What is counted, such as `rows of pgbench_history`; the server's count may start at any number.
    pub what: String,
    /// The kinds of transaction each of which adds one when it commits.
    pub kinds: Vec<String>,
    /// The server's count before the load; absent if it was not read.
    pub before: Option<u64>,
    /// The server's count after the load; absent if it was not read.
    pub after: Option<u64>,
    /// Transactions of these kinds whose commit was acknowledged: in warm-up, window and grace period.
    pub committed: u64,
    /// Transactions that may have committed: their commit was sent, and no reply came.
    pub ambiguous: u64,
    /// Why the count was not read; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_read: Option<String>,
}
