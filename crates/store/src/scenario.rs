//! The published scenario that a run repeats, as far as it does.
//!
//! In: nothing. Out: a part of the Run document. Must never: hold a measured figure, or say what follows;
//! that is `judge`'s.

use serde::{Deserialize, Serialize};

/// A published scenario, and what was made of it here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scenario {
    /// Its id, as `prony scenarios` lists it.
    pub id: String,
    /// One line in words.
    pub title: String,
    /// The document that has its figures.
    pub source: String,
    /// Where in it.
    pub place: String,
    /// What was measured there.
    pub published: Vec<Published>,
    /// How it was run there.
    pub original: Original,
    /// What part of the published size was asked for, above 0 and at most 1.
    pub shrink: f64,
    /// Statements of a transaction that a published QPS counts; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statements: Option<u32>,
    /// Whether it asks for cold caches.
    pub cold: bool,
    /// Whether the server was restarted for that.
    pub restarted: bool,
    /// Whether the data was loaded for this run; else it was there.
    pub loaded: bool,
    /// Whether the tables were read before the run, to fill the caches.
    pub prewarmed: bool,
    /// What else is to be known of it, slips of the document among it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One published figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// What it counts: `NOPM`, `TPS`, `latency mean`...
    pub name: String,
    /// As published.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// How a scenario was run where it was published. What its document does not say is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Original {
    /// `postgresql`, `mysql`, `sqlserver`.
    pub engine: String,
    /// What ran.
    pub product: String,
    /// The version of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The server's machine, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Its CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// Its memory, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The data: `4,000 branches`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// How much of it was cached, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached: Option<String>,
    /// Clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// `simple`, `extended` or `prepared`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Warm-up, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_s: Option<f64>,
    /// Measured window, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// What was set that decides whether a commit lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// `asynchronous`, `semi-synchronous`, `synchronous`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replication: Option<String>,
}

/// A share of the data that was to be in the cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cached {
    /// The share, above 0 and at most 1.
    pub share: f64,
    /// What the data was measured against: `the machine's memory`, `shared_buffers`...
    pub of: String,
    /// Its size, bytes.
    pub of_bytes: u64,
}
