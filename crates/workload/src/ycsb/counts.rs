//! YcsbCounts of operations by kind, and of lookups that found a record. Each user counts separately, and adds
//! its counts to the shared ones when it ends.

use super::mix::{Mix, Operation};
use prony_document::ObservedShare;
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
    pub fn shares(&self, mix: &Mix) -> Vec<ObservedShare> {
        let total = self.completed.iter().sum();
        let operations = mix.shares.iter().map(|(operation, share)| ObservedShare {
            name: operation.name().to_owned(),
            base: "operations".to_owned(),
            count: self.completed[*operation as usize],
            total,
            expected_share: Some(*share),
            ..ObservedShare::default()
        });
        let hits = ObservedShare {
            name: "with a record".to_owned(),
            base: "reads and scans".to_owned(),
            count: self.hits,
            total: self.lookups,
            expected_share: Some(1.0),
            exact: true,
            ..ObservedShare::default()
        };
        operations.chain([hits]).collect()
    }
}

/// One user's counts; dropping them adds them to the shared ones.
pub struct UserCounts<'a> {
    pub sums: YcsbCounts,
    total: &'a Mutex<YcsbCounts>,
}

impl<'a> UserCounts<'a> {
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
