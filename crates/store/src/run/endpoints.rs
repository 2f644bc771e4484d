//! What happened at each of several servers.

use super::measured::Latency;
use prony_document::{Product, ServerState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the servers over which the connections of a run were spread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EndpointFigures {
    /// Its addresses, as in `tcp:127.0.0.1:5432 (db1)`.
    pub address: String,
    /// Connections that were up when the load began.
    pub connections_at_start: u32,
    /// Connections that were up at the end of the load.
    pub connections_at_end: u32,
    /// How often a connection was lost during the load.
    pub lost: u64,
    /// Connections that came up here because another server did not answer.
    pub arrived: u64,
    /// Transactions committed per second of the measured window.
    pub tps: f64,
    /// Transactions of the window that failed.
    pub failed: u64,
    /// Response times of the committed transactions of the window. The histogram has two significant digits.
    pub response: Latency,
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
