//! Counts that workers add up during a run and documents store: of queries, of transactions in flight, of workers by
//! scheduling policy; and percentiles of sorted values. Must never: allocate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds the listed fields of `$other` to those of `$sum`, saturating.
#[macro_export]
macro_rules! add_counts {
    ($sum:expr, $other:expr, [$($field:ident),+ $(,)?]) => {
        $($sum.$field = $sum.$field.saturating_add($other.$field);)+
    };
}

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
    /// The number of queries, whatever their result.
    pub fn all(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    #[inline]
    pub fn count(&mut self, query: QueryKind) {
        match query {
            QueryKind::Read => self.reads += 1,
            QueryKind::Write => self.writes += 1,
            QueryKind::Other => self.others += 1,
        }
    }

    pub fn add(&mut self, other: &QueryCounts) {
        add_counts!(
            self,
            other,
            [reads, writes, others, ignored_errors, reconnects]
        );
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

    pub fn add(&mut self, other: &InFlight) {
        add_counts!(
            self,
            other,
            [committed, rolled_back, failed, ambiguous, cut_off]
        );
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
    pub fn add(&mut self, other: &BatchScheduling) {
        add_counts!(self, other, [active, reverted, refused]);
    }
}

/// A percentile of values in ascending order: the smallest value that `percent` % of them do not exceed; `None` without
/// values.
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::nearest_rank;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        assert_eq!(nearest_rank::<u64>(&[], 50), None);
        assert_eq!(nearest_rank(&[4, 7, 9, 30], 50), Some(7));
        assert_eq!(nearest_rank(&[4, 7, 9, 30], 51), Some(9));
        assert_eq!(nearest_rank(&[4, 7, 9, 30], 100), Some(30));
        let thousand: Vec<u32> = (1..=1000).collect();
        for percent in 1..=100 {
            assert_eq!(nearest_rank(&thousand, percent), Some(percent as u32 * 10));
        }
    }
}
