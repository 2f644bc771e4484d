//! Identifies the bundled test from counts of queries.
//!
//! In: reads, writes and others, with or without a count of transactions. Out: the test, if one matches, and
//! its intended shares. Must never: name a test whose counts differ by more than the tolerance.

use prony_store::{QueryCounts, ReportedRun};

/// A test that can be identified by its queries: the reads and writes of one event with default options.
struct Mix {
    test: &'static str,
    reads: u64,
    writes: u64,
}

const MIXES: [Mix; 3] = [
    mix("oltp_read_write", 14, 4),
    mix("oltp_read_only", 14, 0),
    mix("oltp_write_only", 0, 4),
];

const fn mix(test: &'static str, reads: u64, writes: u64) -> Mix {
    Mix {
        test,
        reads,
        writes,
    }
}

/// The other queries of one event: BEGIN and COMMIT.
const OTHERS: u64 = 2;

/// The maximum relative difference from a test's counts.
const MAX_RELATIVE_DIFFERENCE: f64 = 0.05;

fn is_near(counted: u64, expected: u64) -> bool {
    let (counted, expected) = (counted as f64, expected as f64);
    (counted - expected).abs() <= MAX_RELATIVE_DIFFERENCE * expected
}

/// Sets the run's workload to the test whose queries match these counts, if there is one.
pub(super) fn identify_test(run: &mut ReportedRun, queries: &QueryCounts) {
    let found = match run.transactions.filter(|count| *count > 0) {
        Some(transactions) => MIXES
            .iter()
            .find(|mix| mix.has_counts(queries, transactions)),
        // Results that were published as tables list only reads and writes.
        None => MIXES.iter().find(|mix| mix.has_ratio(queries)),
    };
    if let Some(mix) = found {
        run.workload = Some(mix.test);
        run.reads_and_writes_per_txn = Some([mix.reads, mix.writes]);
        run.title = format!("sysbench's {}, by its queries", mix.test);
    }
}

impl Mix {
    /// Whether so many transactions of the test make these queries.
    fn has_counts(&self, queries: &QueryCounts, transactions: u64) -> bool {
        let expected = |per_event: u64| per_event.saturating_mul(transactions);
        // With --skip_trx there is no BEGIN and COMMIT: only writes that match no row count as others.
        let has_no_blocks = queries.others as f64 <= MAX_RELATIVE_DIFFERENCE * transactions as f64;
        is_near(queries.reads, expected(self.reads))
            && is_near(queries.writes, expected(self.writes))
            && (is_near(queries.others, expected(OTHERS)) || has_no_blocks)
    }

    /// Whether reads and writes have the test's ratio.
    fn has_ratio(&self, queries: &QueryCounts) -> bool {
        let has_both = self.reads > 0 && self.writes > 0;
        has_both
            && is_near(
                queries.reads.saturating_mul(self.writes),
                queries.writes.saturating_mul(self.reads),
            )
    }
}
