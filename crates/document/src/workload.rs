//! A workload's description of itself. Texts that are constants in a workload's code, and are owned when a document is read,
//! are `Cow`s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// An option of a workload with its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name, such as `mode`.
    pub name: String,
    /// Its value, such as `procedures`.
    pub value: String,
}

impl Setting {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Setting {
        let (name, value) = (name.into(), value.into());
        Setting { name, value }
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
}

/// A workload's description of itself and of a run by this plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// Its unit of scale; absent if the tables are the user's own.
    pub scale_unit: Option<ScaleUnit>,
    /// The tables whose size depends on the scale.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<ScaledTable>,
    /// The names of all its tables; of a numbered series, the first name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub table_names: Vec<String>,
    /// Rows for which clients wait on each other's locks.
    pub contention: Option<Contention>,
    /// Whether each transaction makes exactly one commit on PostgreSQL, and nothing else commits; then the
    /// server's count of commits can be compared with the number of transactions.
    #[serde(default)]
    pub commits_once: bool,
    /// The minimum measurement time that its specification requires.
    pub minimum_duration: Option<MinimumDuration>,
    /// Remarks on the run, each of which becomes a caveat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
}

/// The name of a unit of scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleUnit {
    /// Singular, such as `branch`.
    pub singular: Cow<'static, str>,
    /// Plural.
    pub plural: Cow<'static, str>,
}

impl ScaleUnit {
    /// A unit with these names.
    pub const fn new(singular: &'static str, plural: &'static str) -> ScaleUnit {
        ScaleUnit {
            singular: Cow::Borrowed(singular),
            plural: Cow::Borrowed(plural),
        }
    }
}

/// A table whose number of rows depends on the scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaledTable {
    /// Its name.
    pub name: String,
    /// Rows per unit of scale after a load.
    pub rows_per_scale: u64,
    /// Number of rows per unit of scale that transactions have to add before the data counts as grown.
    pub grows_per_scale: Option<u64>,
}

/// Rows for which transactions of all clients wait on each other's locks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contention {
    /// Number of clients per unit of scale up to which such waits are negligible.
    pub clients_per_scale: u32,
    /// The reason why clients above that number wait; completes a sentence.
    pub because: Cow<'static, str>,
}

/// The minimum measurement time that a specification requires.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MinimumDuration {
    /// The duration, seconds.
    pub duration_s: f64,
    /// Its source, which completes the sentence "less than the N minutes".
    pub source: Cow<'static, str>,
}

/// A caveat that only the workload can state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// Short stable name.
    pub id: Cow<'static, str>,
    /// The finding.
    pub finding: String,
    /// The advice.
    pub advice: String,
}
