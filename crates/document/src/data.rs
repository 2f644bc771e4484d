//! What a check of a workload's tables found, and what their server shows of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result for one condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConsistencyFinding {
    /// Short stable name of the condition, such as `balances-accounts-history`.
    pub id: String,
    /// Whether it holds.
    pub state: FindingState,
    /// A description with figures.
    pub text: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// It holds.
    Ok,
    /// It could not be decided, or is only worth knowing.
    Note,
    /// It does not hold.
    Wrong,
}

/// A table as the server's catalog and statistics show it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    pub name: String,
    /// Rows: counted if the data was read, otherwise the catalog's estimate.
    pub rows: u64,
    /// The table without its indexes (`pg_table_size`), bytes.
    pub table_bytes: u64,
    /// The indexes (`pg_indexes_size`), in bytes.
    pub index_bytes: u64,
    /// Why the server does not show these sizes, which are then 0.
    pub sizes_unknown: Option<String>,
    /// Dead rows, by the server's statistics.
    pub dead_rows: u64,
    /// Seconds since the planner's statistics were last collected; `None` if never.
    pub statistics_age_s: Option<f64>,
    /// Share of its pages that are marked all-visible, 0 to 1; `None` for an empty table.
    pub all_visible_share: Option<f64>,
}
