//! What happened at each of several servers.

use super::measured::Latency;
use prony_document::{Product, ServerSecond, ServerState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the servers over which the connections of a run were spread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EndpointFigures {
    /// Its addresses, as in `tcp:127.0.0.1:5432 (db1)`.
    pub address: String,
    /// Whether it served only the read-only transactions, or a share of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_reads: bool,
    /// Connections that were up when the load began.
    pub connections_at_start: u32,
    /// Connections that were up at the end of the load.
    pub connections_at_end: u32,
    /// How often a connection was lost during the load.
    pub lost: u64,
    /// Connections that came up here because another server did not answer.
    pub arrived: u64,
    /// Connections that came back here, when the server answered again, after they had been at another one.
    pub returned: u64,
    /// Transactions committed per second of the measured window.
    pub tps: f64,
    /// Transactions of the window that failed.
    pub failed: u64,
    /// Response times of the committed transactions of the window. The histogram has two significant digits.
    pub response: Latency,
    /// What the clients measured here in each second of the load, warm-up included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<EndpointSecond>,
    /// What was read from it in each second of the load; empty for the server of `observed`, which has its own series,
    /// and if it was not observed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<ServerSecond>,
    /// The product that answers; absent if it was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<Product>,
    /// Version text; empty if it was not observed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Its state before the load, without its tables; absent if it was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ServerState>,
    /// Its state after the load, without its tables; absent if it was not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ServerState>,
    /// Why it could not be observed before or after the load; absent if it was, or was not to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_observed: Option<String>,
}

/// What happened at a server in a second of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EndpointSecond {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that failed.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub failed: u64,
    /// Connections that were up at its end.
    pub connections: u32,
}
