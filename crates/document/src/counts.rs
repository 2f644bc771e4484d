//! Counts that workers add up during a run and documents store: of queries, of transactions in flight, of workers by
//! scheduling policy. Must never: allocate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a query, by its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// Returned rows.
    Read,
    /// Changed rows.
    Write,
    /// Anything else, such as `COMMIT`, or an update that changed no row.
    Other,
}

/// Queries by their result, including those of retried transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueryCounts {
    /// Returned rows.
    pub reads: u64,
    /// Changed rows.
    pub writes: u64,
    /// All other queries: ends of transactions, and changes that affected no row.
    pub others: u64,
    /// Events restarted after an ignored error.
    #[serde(default)]
    pub ignored_errors: u64,
    /// Reconnections because of such an error.
    #[serde(default)]
    pub reconnects: u64,
}

impl QueryCounts {
    /// All queries.
    pub fn all(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Counts one query.
    #[inline]
    pub fn count(&mut self, query: QueryKind) {
        match query {
            QueryKind::Read => self.reads += 1,
            QueryKind::Write => self.writes += 1,
            QueryKind::Other => self.others += 1,
        }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &QueryCounts) {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.others = self.others.saturating_add(other.others);
        self.ignored_errors = self.ignored_errors.saturating_add(other.ignored_errors);
        self.reconnects = self.reconnects.saturating_add(other.reconnects);
    }
}

/// Outcomes of the transactions that were in flight at the end of a part. They complete the balance of a
/// run: over all parts, the server's commits are at least the sum of `committed` here and in the figures,
/// and at most that sum plus `ambiguous` here and the ambiguous commits among the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InFlight {
    /// Committed after the window.
    pub committed: u64,
    /// Rolled back on purpose after the window.
    pub rolled_back: u64,
    /// Failed after the window by an error of the server. The effects of an earlier statement outside a
    /// transaction block remain committed.
    pub failed: u64,
    /// May have committed, in whole or in part, before the connection was lost or the run ended: the commit
    /// was sent and no reply came, or a statement outside a transaction block had committed by itself.
    pub ambiguous: u64,
    /// Cut off by the end of the run before anything could commit: the server rolls them back.
    pub cut_off: u64,
}

impl InFlight {
    /// Sum of all outcomes.
    pub fn total(&self) -> u64 {
        self.committed + self.rolled_back + self.failed + self.ambiguous + self.cut_off
    }

    /// Adds other counts.
    pub fn add(&mut self, other: &InFlight) {
        self.committed = self.committed.saturating_add(other.committed);
        self.rolled_back = self.rolled_back.saturating_add(other.rolled_back);
        self.failed = self.failed.saturating_add(other.failed);
        self.ambiguous = self.ambiguous.saturating_add(other.ambiguous);
        self.cut_off = self.cut_off.saturating_add(other.cut_off);
    }
}

/// Workers that requested `SCHED_BATCH` (sched(7)), counted by outcome. With it, waking up for a reply does
/// not preempt the server's processes on the same machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BatchScheduling {
    /// Workers that ran under `SCHED_BATCH`.
    pub active: u32,
    /// Workers that returned to the default policy during the run, because one of their users slept and had to
    /// wake on time.
    pub reverted: u32,
    /// Workers to which the system refused `SCHED_BATCH`.
    pub refused: u32,
}

impl BatchScheduling {
    /// Adds other counts.
    pub fn add(&mut self, other: &BatchScheduling) {
        self.active = self.active.saturating_add(other.active);
        self.reverted = self.reverted.saturating_add(other.reverted);
        self.refused = self.refused.saturating_add(other.refused);
    }
}
