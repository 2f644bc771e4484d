//! What became of each commit of a run that kept a ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The account of a run's commits: each transaction wrote its number into a table, in itself, and the client kept
/// which numbers were acknowledged. After the load, the table was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerAccount {
    /// The table. It was dropped if every commit is accounted for.
    pub table: String,
    /// Commits with an entry that the server acknowledged, over the whole run.
    pub acknowledged: u64,
    /// Commits that were sent and whose reply did not arrive.
    pub ambiguous: u64,
    /// Of those, the ones that are in the table.
    pub ambiguous_found: u64,
    /// Acknowledged commits that are not in the table.
    pub lost: u64,
    /// Entries that are in the table more than once, each counted as often as it is there too much.
    pub duplicated: u64,
    /// Entries whose commit was never sent, or which the server had refused.
    pub phantom: u64,
    /// Clients whose lost commits are not one unbroken series: they are scattered, as by a corruption, not the last
    /// ones before a crash or of a replica that lagged behind.
    pub clients_scattered: u32,
    /// The first lost commits, by client and number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_lost: Vec<LedgerNumber>,
    /// Transactions that committed without an entry, such as single statements outside a block.
    #[serde(default)]
    pub unrecorded: u64,
    /// Why the table was not read, so that nothing is known of what is there; absent if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_read: Option<String>,
    /// What the clients knew last, by which `prony check ledger` decides once more; absent if every commit is accounted for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_state: Option<LedgerState>,
    /// Entries after what the client knew last: a client that was killed may or may not have got their replies.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub unknown: u64,
}

/// What the clients of a run knew of their commits at some time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerState {
    /// The highest number of each client whose transaction had ended.
    pub last: Vec<u64>,
    /// Those of them whose reply did not arrive.
    pub ambiguous: Vec<LedgerNumber>,
    /// Whether the load had ended, so that there are no later commits.
    pub is_final: bool,
}

/// The number of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerNumber {
    /// The client, from 0.
    pub client: u32,
    /// The number of the client's transaction, from 1.
    pub sequence: u64,
}
