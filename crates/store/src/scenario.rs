//! The published scenario that a run repeats. It never holds figures measured by Prony.

use prony_document::{Replication, SqlDialect};
pub use prony_plan::scenario::{PublishedFigure, PublishedSetup};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A published scenario, and how this run repeated it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Scenario {
    /// Its id, as `prony scenarios` lists it.
    pub id: String,
    /// A one-line description.
    pub title: String,
    /// The document that publishes its figures.
    pub source: String,
    /// The page or section of that document.
    pub source_location: String,
    /// The published figures.
    pub published: Vec<PublishedFigure>,
    /// How it was run for the publication.
    pub original: OriginalSetup,
    /// The requested share of the published size, above 0 and at most 1.
    pub size_share: f64,
    /// Number of statements per transaction that a published QPS counts; absent if it counts all.
    pub qps_statements_per_txn: Option<u32>,
    /// Whether the scenario requires cold caches.
    pub cold: bool,
    /// Whether the server was restarted to have cold caches.
    pub restarted: bool,
    /// Whether the data was loaded for this run.
    pub loaded: bool,
    /// Whether the tables were read before the run, to fill the caches.
    pub prewarmed: bool,
    /// The load of the data for this run; absent if it was not loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<ScenarioLoad>,
    /// Further remarks, such as errors in the document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A load of a scenario's data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioLoad {
    /// Seconds of the whole load.
    pub seconds: f64,
    /// Seconds of its phases: `create`, `rows`, `statistics` and `keys`.
    pub phases: BTreeMap<String, f64>,
    /// Number of connections that sent rows at the same time.
    pub jobs: u32,
    /// Number of rows.
    pub rows: u64,
    /// Size of the loaded tables with their indexes, bytes; absent if the server does not show it.
    pub bytes: Option<u64>,
}

/// How a scenario was run for its publication. Facts that the document does not state are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OriginalSetup {
    /// The SQL that the server understands; `mysql` also means MariaDB.
    pub dialect: Option<SqlDialect>,
    #[serde(flatten)]
    pub setup: PublishedSetup,
    /// Memory of the server's machine, bytes.
    pub memory_bytes: Option<u64>,
    /// The data: `4,000 branches`.
    pub data: Option<String>,
    /// A description of how much of the data was cached.
    pub cached: Option<String>,
    /// The cached share, above 0 and at most 1.
    pub cached_share: Option<f64>,
    /// Number of clients.
    pub clients: Option<u32>,
    /// Warm-up, seconds.
    pub warmup_s: Option<f64>,
    /// Measured window, seconds.
    pub duration_s: Option<f64>,
    /// How it was replicated.
    pub replication: Option<Replication>,
}

/// The requested share of the data in the cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CachedShare {
    /// The share, above 0 and at most 1.
    pub share: f64,
    /// The memory that the share refers to: `the machine's memory`, `shared_buffers`...
    pub of: String,
    /// Size of that memory, bytes.
    pub of_bytes: u64,
}
