//! How long nobody could commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest time without a commit, in a run that expects an outage, keeps a ledger or runs commands. The load's
/// beginning does not count, up to the first commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommitGap {
    /// The last commit of any client before it, seconds from the start of the load.
    pub from_s: f64,
    /// The first commit after it; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
    /// How long clients wait for a server that is silent; absent without TCP, and in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<ClientTimeouts>,
    /// How wrong the length may be by the clocks of several machines, seconds; absent if one machine measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_bound_s: Option<f64>,
    /// The longest such times, in order, each from the last commit before it to the first one after it, if any; absent in
    /// documents of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<(f64, Option<f64>)>,
    /// The longest time between two commits of each client, from the client with the shortest to that with the longest.
    pub clients: ClientGaps,
}

/// How long clients wait for a server that is silent, by the settings of the URL and of this machine, seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientTimeouts {
    /// For connecting to one address and logging in; absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_s: Option<f64>,
    /// For the acknowledgement of what was sent (`tcp_user_timeout`); absent if the system decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_user_s: Option<f64>,
    /// For the reply to a request (MySQL's `read-timeout`, SQL Server's `socketTimeout`); absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_s: Option<f64>,
    /// Whether the addresses of a server's name are tried at once (SQL Server's `MultiSubnetFailover`); absent for other
    /// servers, and for a name with one address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries_all_addresses: Option<bool>,
    /// For an answer to keepalive probes on an idle connection; absent without probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keepalive_s: Option<f64>,
}

/// Percentiles over clients of their longest time without a commit, seconds. A client that did not commit again counts
/// up to the end of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientGaps {
    /// Of the client with the shortest one.
    pub min_s: f64,
    /// Median.
    pub p50_s: f64,
    /// Of the client with the longest one.
    pub max_s: f64,
    /// Clients that did not commit again before the end.
    pub not_back: u32,
}
