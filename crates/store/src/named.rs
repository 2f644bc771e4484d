//! What a workload's field knows by names of its own: rates, shares, limits.
//!
//! In: nothing. Out: parts of the Run document. Must never: know a workload.

use serde::{Deserialize, Serialize};

/// A rate under the name by which the workload's field knows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Its name, such as `NOPM`.
    pub name: String,
    /// What it counts: `new orders committed a minute`.
    pub title: String,
    /// The figure.
    pub value: f64,
    /// For each unit of scale.
    pub per_scale: f64,
    /// What is to be known about it; absent where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How often users did a thing, and how often they were to do it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What they did, such as `rolled back`; of the mix, the kind of transaction.
    pub name: String,
    /// Of what it is a share, such as `new orders`.
    pub of: String,
    /// How often.
    pub part: u64,
    /// Of how many.
    pub whole: u64,
    /// The share that is meant, 0 to 1; absent where it is no matter of what was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant: Option<f64>,
    /// Each transaction keeps it: it does not scatter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The least that a specification allows, 0 to 1; absent where it sets none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
}

/// Within what time most transactions of a kind are to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The kind.
    pub kind: String,
    /// The 90th percentile is to be at most so long, seconds.
    pub p90_s: f64,
    /// They are carried out in the background: their time is from queueing to completion, and no
    /// user waits for it.
    #[serde(default)]
    pub deferred: bool,
}

/// Queries by what they came to, those of tries that were begun again included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryCounts {
    /// They gave rows.
    pub reads: u64,
    /// They changed rows.
    pub writes: u64,
    /// All others: the ends of transactions, changes that met no row.
    pub others: u64,
    /// Events begun again after an error that is ignored.
    #[serde(default)]
    pub ignored_errors: u64,
    /// Connections opened anew because of such an error.
    #[serde(default)]
    pub reconnects: u64,
}
