//! Counts of what users did: the operations by kind, and whether records were found. Each user writes its
//! own counts and adds them to the shared ones when it ends.

use super::mix::{Mix, Operation};
use prony_session::ActionShare;
use std::sync::{Mutex, PoisonError};

/// Counts over the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations that succeeded, by kind.
    pub completed: [u64; Operation::ALL.len()],
    /// Reads and scans, including those of read-modify-writes.
    pub lookups: u64,
    /// Lookups that found a record.
    pub hits: u64,
}

impl Counts {
    /// The operation shares of a run of this workload.
    pub fn shares(&self, mix: &Mix) -> Vec<ActionShare> {
        let whole = self.completed.iter().sum();
        let operations = mix.shares.iter().map(|(operation, share)| ActionShare {
            name: operation.name(),
            of: "operations",
            part: self.completed[*operation as usize],
            whole,
            expected: Some(*share),
            exact: false,
            minimum: None,
        });
        let hits = ActionShare {
            name: "with a record",
            of: "reads and scans",
            part: self.hits,
            whole: self.lookups,
            expected: Some(1.0),
            exact: true,
            minimum: None,
        };
        operations.chain([hits]).collect()
    }
}

/// One user's counts, which are added to the shared ones however the user ends.
pub struct UserCounts<'a> {
    /// Counts so far.
    pub sums: Counts,
    all: &'a Mutex<Counts>,
}

impl<'a> UserCounts<'a> {
    /// Starts with empty counts.
    pub fn new(all: &'a Mutex<Counts>) -> Self {
        UserCounts {
            sums: Counts::default(),
            all,
        }
    }
}

impl Drop for UserCounts<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, more) in all.completed.iter_mut().zip(self.sums.completed) {
            *sum += more;
        }
        all.lookups += self.sums.lookups;
        all.hits += self.sums.hits;
    }
}
