//! Identifies the bundled test from counts of queries.
//!
//! In: reads, writes and others, with or without a count of transactions. Out: the test, if one matches, and
//! its intended shares. Must never: name a test whose counts differ by more than the tolerance.

use prony_store::{QueryCounts, ReportedRun};

/// A bundled test: its name, and the reads, writes and others of one event with its default options.
pub struct Mix {
    /// Name of the test.
    pub name: &'static str,
    /// Reads of one event.
    pub reads: u64,
    /// Writes of one event.
    pub writes: u64,
    /// Other queries of one event: BEGIN and COMMIT, or none with `--skip_trx`.
    pub others: [u64; 2],
}

const fn mix(name: &'static str, reads: u64, writes: u64, others: [u64; 2]) -> Mix {
    Mix {
        name,
        reads,
        writes,
        others,
    }
}

/// The tests that can be identified by their queries.
pub const MIXES: [Mix; 3] = [
    mix("oltp_read_write", 14, 4, [2, 0]),
    mix("oltp_read_only", 14, 0, [2, 0]),
    mix("oltp_write_only", 0, 4, [2, 0]),
];

/// The maximum relative difference from a test's counts.
const MAX_RELATIVE_DIFFERENCE: f64 = 0.05;

fn is_near(counted: u64, expected: u64) -> bool {
    let (counted, expected) = (counted as f64, expected as f64);
    (counted - expected).abs() <= MAX_RELATIVE_DIFFERENCE * expected
}

/// Sets the run's workload to the test whose queries match these counts, if there is one.
pub(super) fn identify_test(run: &mut ReportedRun, queries: &QueryCounts) {
    let is_match = |mix: &&Mix| match run.transactions.filter(|count| *count > 0) {
        Some(transactions) => {
            let expected = |per_event: u64| per_event.saturating_mul(transactions);
            is_near(queries.reads, expected(mix.reads))
                && is_near(queries.writes, expected(mix.writes))
                // With --skip_trx there is no BEGIN and COMMIT: only writes that match no row count as
                // others.
                && (is_near(queries.others, expected(mix.others[0]))
                    || queries.others as f64 <= MAX_RELATIVE_DIFFERENCE * transactions as f64)
        }
        // Results that were published as tables list only reads and writes, so compare their ratio.
        None => {
            mix.reads > 0
                && mix.writes > 0
                && is_near(
                    queries.reads.saturating_mul(mix.writes),
                    queries.writes.saturating_mul(mix.reads),
                )
        }
    };
    if let Some(mix) = MIXES.iter().find(is_match) {
        run.workload = Some(mix.name);
        run.reads_and_writes_per_txn = Some([mix.reads, mix.writes]);
        run.title = format!("sysbench's {}, by its queries", mix.name);
    }
}
