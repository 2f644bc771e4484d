//! The consistency check of a workload's data after the load.

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

/// The result for one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsistencyFinding {
    /// Short stable name of the condition, such as `balances-accounts-history`.
    pub id: String,
    /// Whether it holds.
    pub state: ConsistencyState,
    /// A description with figures.
    pub text: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConsistencyState {
    /// It holds.
    Ok,
    /// It could not be decided, or is only worth knowing.
    Note,
    /// It does not hold.
    Wrong,
}
