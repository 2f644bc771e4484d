//! Loads and runs of the oltp workloads on any engine.

pub use crate::common::*;
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;
use prony_workload::LoadPhase;
use std::sync::atomic::AtomicBool;

/// Returns the number of reads, writes and other queries in a run.
pub fn query_counts(outcome: &RunOutcome) -> [u64; 3] {
    let counts: Vec<u64> = outcome.shares.iter().map(|share| share.count).collect();
    counts.try_into().expect("reads, writes, others")
}

/// Returns a description of the table with this number.
type DescribeTable<'a> = &'a dyn Fn(&TestDatabase, u32) -> String;

/// Stops a load once `rows` rows have been sent, stops its continuation after all rows, and then completes
/// it. Checks that the result equals that of an uninterrupted load. `check_first_stop` examines the state
/// after the first stop.
pub fn test_interrupted_load(
    (database, uninterrupted): (&TestDatabase, &TestDatabase),
    rows: u64,
    digest: DescribeTable<'_>,
    shape: DescribeTable<'_>,
    check_first_stop: impl FnOnce(),
) {
    let options = [("tables", "6"), ("table_size", "20000")];
    let stop_load = |phase, rows| {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, rows, &stop);
        let result = database.load_with("oltp_read_write", &options, 2, &progress, &stop);
        let message = expect_error(result);
        message.assert_contains("the load was stopped");
        message.assert_contains("with the same options continues it");
        let run_problem = expect_error(database.program("oltp_read_write", &[]));
        run_problem.assert_contains("hint: ");
        // Rows that are not loaded yet are not reported as lost.
        let problems = database.problems("oltp_read_write");
        assert!(
            problems.iter().all(|text| !text.starts_with("rows: ")),
            "{problems:?}"
        );
        run_problem
    };
    stop_load(LoadPhase::Rows, rows);
    check_first_stop();
    let run_problem = stop_load(LoadPhase::Statistics, 0);
    run_problem
        .assert_contains("`prony load oltp_read_write --scale 6 -o table_size=20000 --seed 1`");
    database.problems("oltp_read_write")[0].assert_starts_with("load-unfinished: ");
    let report = database.load("oltp_read_write", &options, 2);
    assert_eq!(report.rows, 0, "all rows were stored: {}", report.method);
    report.method.assert_starts_with("continued: 6 of 6 parts");
    uninterrupted.load("oltp_read_write", &options, 1);
    for table in 1..=6 {
        assert_eq!(digest(database, table), digest(uninterrupted, table));
        assert_eq!(shape(database, table), shape(uninterrupted, table));
    }
    assert_eq!(database.problems("oltp_read_write"), [""; 0]);
    let reloaded = database.load("oltp_read_write", &options, 2);
    assert_eq!(reloaded.rows, 120_000, "a finished load is replaced");
}

/// Runs each workload whose transactions preserve the number of rows, and checks the counts of its
/// queries.
pub fn run_workloads_that_preserve_rows(database: &TestDatabase, protocol: QueryMode) {
    for (name, [reads, writes, others]) in [
        ("oltp_read_write", [14, 4, 2]),
        ("oltp_read_only", [14, 0, 2]),
        ("oltp_write_only", [0, 4, 2]),
        ("oltp_point_select", [1, 0, 0]),
        ("oltp_update_index", [0, 1, 0]),
        ("oltp_update_non_index", [0, 1, 0]),
        ("select_random_points", [1, 0, 0]),
        ("select_random_ranges", [1, 0, 0]),
    ] {
        let context = format!("{name} {protocol:?}");
        let outcome = run_workload(
            database,
            name,
            &[("rand_type", "uniform")],
            protocol,
            (4, 25),
        );
        assert_all_committed(&outcome, 100, &context);
        let counts = query_counts(&outcome);
        assert_eq!(counts[0], reads * 100, "{context}");
        assert_eq!(counts[1] + counts[2], (writes + others) * 100, "{context}");
        // An update that has waited for a row finds none if another user has replaced the row. Such an update
        // counts as one of the other queries.
        let not_found = counts[2] - others * 100;
        assert!(not_found <= 10, "{context}: {counts:?}");
    }
}
