//! Identifies the bundled test from counts of queries.
//!
//! In: reads, writes and others, with or without a count of transactions. Out: the test, if one matches, and
//! its intended shares. Must never: name a test whose counts differ by more than the tolerance.

use prony_store::{QueryCounts, ReportedRun};

/// The tests that can be identified by their queries: the reads and writes of one event with default options.
const MIXES: [(&str, [u64; 2]); 3] = [
    ("oltp_read_write", [14, 4]),
    ("oltp_read_only", [14, 0]),
    ("oltp_write_only", [0, 4]),
];

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
    let transactions = run.transactions.filter(|count| *count > 0);
    let is_match = |(_, [reads, writes]): &&(&str, [u64; 2])| match transactions {
        Some(transactions) => {
            let expected = |per_event: u64| per_event.saturating_mul(transactions);
            is_near(queries.reads, expected(*reads))
                && is_near(queries.writes, expected(*writes))
                // With --skip_trx there is no BEGIN and COMMIT: only writes that match no row count as
                // others.
                && (is_near(queries.others, expected(OTHERS))
                    || queries.others as f64 <= MAX_RELATIVE_DIFFERENCE * transactions as f64)
        }
        // Results that were published as tables list only reads and writes, so compare their ratio.
        None => {
            *reads > 0
                && *writes > 0
                && is_near(
                    queries.reads.saturating_mul(*writes),
                    queries.writes.saturating_mul(*reads),
                )
        }
    };
    if let Some((name, per_event)) = MIXES.iter().find(is_match) {
        run.workload = Some(name);
        run.reads_and_writes_per_txn = Some(*per_event);
        run.title = format!("sysbench's {name}, by its queries");
    }
}
