//! Finds the bundled test that produced the counts of queries.
//!
//! In: reads, writes and others, with or without a count of transactions. Out: the test, if one matches, and
//! its intended shares. Must never: name a test that matches only roughly.

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

/// Tests that differ in their queries.
pub const MIXES: [Mix; 3] = [
    mix("oltp_read_write", 14, 4, [2, 0]),
    mix("oltp_read_only", 14, 0, [2, 0]),
    mix("oltp_write_only", 0, 4, [2, 0]),
];

/// The relative difference from a test's counts that still matches.
const TOLERANCE: f64 = 0.05;

fn is_near(counted: u64, expected: u64) -> bool {
    let (counted, expected) = (counted as f64, expected as f64);
    (counted - expected).abs() <= TOLERANCE * expected
}

/// Names the test that produced these counts, if one matches.
pub(super) fn identify_test(run: &mut ReportedRun, queries: &QueryCounts) {
    let is_match = |mix: &&Mix| match run.transactions.filter(|done| *done > 0) {
        Some(done) => {
            let expected = |each: u64| each.saturating_mul(done);
            is_near(queries.reads, expected(mix.reads))
                && is_near(queries.writes, expected(mix.writes))
                // With --skip_trx the few others are changes that matched no row.
                && (is_near(queries.others, expected(mix.others[0]))
                    || queries.others as f64 <= TOLERANCE * done as f64)
        }
        // Published tables list only reads and writes.
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
        run.mix = Some([mix.reads, mix.writes]);
        run.title = format!("sysbench's {}, by its queries", mix.name);
    }
}
