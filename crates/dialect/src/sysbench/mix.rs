//! Which bundled test made these counts of queries.
//!
//! In: reads, writes and others, with or without a count of transactions. Out: the test, where one fits,
//! and the shares that are meant. Must never: name a test that fits only roughly.

use prony_store::{QueryCounts, Reported};

/// A bundled test: its name, and the reads, writes and others of one event with its default options.
pub struct Mix {
    /// Name of the test.
    pub name: &'static str,
    /// Reads of one event.
    pub reads: u64,
    /// Writes of one event.
    pub writes: u64,
    /// Others: BEGIN and COMMIT, none with `--skip_trx`.
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

/// Tests that are told apart by their queries.
pub const MIXES: [Mix; 3] = [
    mix("oltp_read_write", 14, 4, [2, 0]),
    mix("oltp_read_only", 14, 0, [2, 0]),
    mix("oltp_write_only", 0, 4, [2, 0]),
];

/// By so much counts may be off those of a test and still be meant for it.
const NEAR: f64 = 0.05;

fn near(counted: u64, meant: u64) -> bool {
    let (counted, meant) = (counted as f64, meant as f64);
    (counted - meant).abs() <= NEAR * meant
}

/// Names the test that made these counts, where one fits.
pub(super) fn recognise(run: &mut Reported, queries: &QueryCounts) {
    let fits = |mix: &&Mix| match run.transactions.filter(|done| *done > 0) {
        Some(done) => {
            let meant = |each: u64| each.saturating_mul(done);
            near(queries.reads, meant(mix.reads))
                && near(queries.writes, meant(mix.writes))
                // With --skip_trx few others are left: changes that met no row.
                && (near(queries.others, meant(mix.others[0]))
                    || queries.others as f64 <= NEAR * done as f64)
        }
        // Published tables have reads and writes alone.
        None => {
            mix.reads > 0
                && mix.writes > 0
                && near(
                    queries.reads.saturating_mul(mix.writes),
                    queries.writes.saturating_mul(mix.reads),
                )
        }
    };
    if let Some(mix) = MIXES.iter().find(fits) {
        run.workload = Some(mix.name);
        run.mix = Some([mix.reads, mix.writes]);
        run.title = format!("sysbench's {}, by its queries", mix.name);
    }
}
