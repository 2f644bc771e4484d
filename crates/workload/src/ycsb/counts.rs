//! Counts of operations by kind, and of lookups that found a record.

use super::mix::{Mix, Operation};
use crate::user_counts::Counts;
use prony_document::ObservedShare;

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

impl Counts for YcsbCounts {
    fn add(&mut self, other: &YcsbCounts) {
        for (sum, count) in self.completed.iter_mut().zip(other.completed) {
            *sum += count;
        }
        self.lookups += other.lookups;
        self.hits += other.hits;
    }
}
