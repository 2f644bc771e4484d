//! Counts the queries that users sent, by sysbench's rule.
//!
//! Computes actual and expected shares.
//!
//! The rule: a statement that returns rows is a read; otherwise, one that changed rows is a write;
//! everything else, including `BEGIN` and `COMMIT`, is other.

use crate::user_counts::Counts;
use prony_document::ObservedShare;
pub use prony_session::{QueryCounts, QueryKind};

/// The kind of a data-changing statement that changed this many rows.
pub fn write_kind(rows: u64) -> QueryKind {
    if rows > 0 { QueryKind::Write } else { QueryKind::Other }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OltpCounts {
    pub completed: QueryCounts,
    /// Queries of tries that ended with an error, whether they were retried or not.
    pub failed_tries: QueryCounts,
    /// Tries that ended with an error and were retried with new values: sysbench's "ignored
    /// errors".
    pub ignored_errors: u64,
}

impl OltpCounts {
    /// Returns the shares of completed events. `expected` has the queries of one event; `is_exact` means that
    /// every event has exactly these.
    pub fn shares(&self, expected: &QueryCounts, is_exact: bool) -> Vec<ObservedShare> {
        let total = self.completed.all();
        let queries_per_event = expected.all().max(1) as f64;
        [
            ("reads", self.completed.reads, expected.reads),
            ("writes", self.completed.writes, expected.writes),
            ("others", self.completed.others, expected.others),
        ]
        .map(|(name, count, expected)| ObservedShare {
            name: name.to_owned(),
            base: "queries".to_owned(),
            count,
            total,
            expected_share: is_exact.then_some(expected as f64 / queries_per_event),
            exact: is_exact,
            ..ObservedShare::default()
        })
        .to_vec()
    }
}

impl Counts for OltpCounts {
    fn add(&mut self, other: &OltpCounts) {
        self.completed.add(&other.completed);
        self.failed_tries.add(&other.failed_tries);
        self.ignored_errors += other.ignored_errors;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user_counts::{SharedCounts, UserCounts};

    #[test]
    fn counts_of_users_are_summed_and_have_shares() {
        let total = SharedCounts::default();
        let expected = QueryCounts {
            reads: 14,
            writes: 4,
            others: 2,
            ..QueryCounts::default()
        };
        for _ in 0..2 {
            let mut user_counts = UserCounts::<OltpCounts>::new(&total);
            user_counts.sums.completed.add(&expected);
            user_counts.sums.failed_tries.count(write_kind(1));
            user_counts.sums.failed_tries.count(write_kind(0));
            user_counts.sums.ignored_errors += 1;
        }
        let total = total.get();
        assert_eq!(total.completed.all(), 40);
        assert_eq!(total.failed_tries.all(), 4);
        assert_eq!(total.ignored_errors, 2);
        let shares = total.shares(&expected, true);
        let parts: Vec<_> = shares
            .iter()
            .map(|share| (&*share.name, share.count))
            .collect();
        assert_eq!(parts, [("reads", 28), ("writes", 8), ("others", 4)]);
        assert_eq!(shares[0].expected_share, Some(0.7));
        assert_eq!(total.shares(&expected, false)[0].expected_share, None);
    }
}
