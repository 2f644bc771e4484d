//! YcsbCounts of operations by kind, and of lookups that found a record. Each user counts separately, and adds
//! its counts to the shared ones when it ends.

use super::mix::{Mix, Operation};
use prony_session::ActionShare;
use std::sync::{Mutex, PoisonError};

/// Counts over the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct YcsbCounts {
    /// Operations that succeeded, by kind.
    pub completed: [u64; Operation::ALL.len()],
    /// Reads and scans, including those of read-modify-writes.
    pub lookups: u64,
    /// Lookups that found a record.
    pub hits: u64,
}

impl YcsbCounts {
    /// Returns the shares of operations and of successful lookups in a run of this workload.
    pub fn shares(&self, mix: &Mix) -> Vec<ActionShare> {
        let total = self.completed.iter().sum();
        let operations = mix.shares.iter().map(|(operation, share)| ActionShare {
            name: operation.name(),
            base: "operations",
            count: self.completed[*operation as usize],
            total,
            expected: Some(*share),
            exact: false,
            minimum: None,
        });
        let hits = ActionShare {
            name: "with a record",
            base: "reads and scans",
            count: self.hits,
            total: self.lookups,
            expected: Some(1.0),
            exact: true,
            minimum: None,
        };
        operations.chain([hits]).collect()
    }
}

/// One user's counts; dropping them adds them to the shared ones.
pub struct UserCounts<'a> {
    /// Counts so far.
    pub sums: YcsbCounts,
    total: &'a Mutex<YcsbCounts>,
}

impl<'a> UserCounts<'a> {
    /// Starts with empty counts.
    pub fn new(total: &'a Mutex<YcsbCounts>) -> Self {
        UserCounts {
            sums: YcsbCounts::default(),
            total,
        }
    }
}

impl Drop for UserCounts<'_> {
    fn drop(&mut self) {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, count) in total.completed.iter_mut().zip(self.sums.completed) {
            *sum += count;
        }
        total.lookups += self.sums.lookups;
        total.hits += self.sums.hits;
    }
}
