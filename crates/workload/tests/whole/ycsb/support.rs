//! Loads and runs of YCSB on any engine.

pub use crate::common::*;
use prony_assertions::{TextAssertions, cases};
use prony_plan::QueryMode;
use prony_workload::{LoadPhase, LoadReport};
use std::sync::atomic::AtomicBool;

pub const WORKLOAD_LETTERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Loads `scale` thousand records.
pub fn load(database: &TestDatabase, scale: u32, jobs: u32) -> LoadReport {
    database.load("ycsb", &[("scale", &scale.to_string())], jobs)
}

pub fn count_records(database: &TestDatabase) -> i64 {
    database.query_number("select count(*) from usertable")
}

/// Runs each core workload, and asserts that every read finds its record.
pub fn run_all_workloads(database: &TestDatabase, protocol: QueryMode) {
    for letter in WORKLOAD_LETTERS {
        let (records_before, context) = (count_records(database), format!("{letter} {protocol:?}"));
        let options = [("workload", letter)];
        let run = run_workload(database, "ycsb", &options, protocol, (4, 50));
        assert_all_committed(&run, 200, &context);
        assert_eq!(run.retries, 0);
        let (hits, mix) = run.shares.split_last().expect("shares");
        assert_eq!(hits.count, hits.total, "{context}: {hits:?}");
        assert!(hits.total > 60, "{context}");
        assert_eq!(mix.iter().map(|share| share.count).sum::<u64>(), 200);
        let inserts = mix.iter().find(|share| share.name == "insert");
        let inserted = inserts.map_or(0, |share| share.count as i64);
        assert_eq!(
            count_records(database),
            records_before + inserted,
            "{context}"
        );
        assert_eq!(inserts.is_some(), ["d", "e"].contains(&letter));
    }
    assert_eq!(database.problems("ycsb"), [""; 0], "{protocol:?}");
}

/// Asserts that concurrent runs with inserts succeed, and that the check counts all their records.
pub fn assert_concurrent_runs_succeed(database: &TestDatabase, protocol: QueryMode) {
    let records_before = count_records(database);
    let run = |letter| {
        let run = run_workload(
            database,
            "ycsb",
            &[("workload", letter)],
            protocol,
            (4, 200),
        );
        assert_all_committed(&run, 800, &format!("{letter} {protocol:?}"));
        let (hits, mix) = run.shares.split_last().expect("shares");
        assert_eq!(hits.count, hits.total, "{letter} {protocol:?}: {hits:?}");
        let inserts = mix.iter().find(|share| share.name == "insert");
        inserts.map_or(0, |share| share.count as i64)
    };
    let inserted: i64 = std::thread::scope(|scope| {
        let runs = ["d", "d", "e"].map(|letter| scope.spawn(move || run(letter)));
        runs.map(|run| run.join().expect("a run")).iter().sum()
    });
    assert!(inserted > 60, "{inserted}");
    assert_eq!(count_records(database), records_before + inserted);
    assert_eq!(database.problems("ycsb"), [""; 0], "{protocol:?}");
}

/// Stops a load while it sends rows, and again after all rows. Asserts that it can be continued, with the same
/// result as an uninterrupted load.
pub fn assert_stopped_load_continues(
    database: &TestDatabase,
    uninterrupted: &TestDatabase,
    digest: &dyn Fn(&TestDatabase) -> String,
) {
    let scale = [("scale", "40")];
    let stop_load = |phase, rows| {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, rows, &stop);
        let message = expect_error(database.load_with("ycsb", &scale, 2, &progress, &stop));
        message.assert_contains("the load was stopped");
        message.assert_contains("`prony load ycsb --scale 40 --seed 1`");
    };
    // 20,000 rows are more than two parts, so at least one part is complete.
    stop_load(LoadPhase::Rows, 20_000);
    assert!(
        (1..40_000).contains(&count_records(database)),
        "some parts are loaded"
    );
    let message = database.program_error("ycsb", &scale);
    message.assert_contains("is under way or was interrupted");
    message.assert_contains("continues it; `prony clean ycsb`");
    assert!(database.check("ycsb").is_unfinished());
    database.problems("ycsb")[0].assert_starts_with("load-unfinished: ");
    let loaded_rows = count_records(database) as u64;
    let report = load(database, 40, 2);
    assert_eq!(report.rows, 40_000 - loaded_rows, "loaded rows are kept");
    report.method.assert_starts_with("continued: ");
    assert_eq!(database.problems("ycsb"), [""; 0]);
    load(uninterrupted, 40, 1);
    assert_eq!(digest(database), digest(uninterrupted));

    stop_load(LoadPhase::Statistics, 0);
    let report = load(database, 40, 1);
    assert_eq!(
        report.rows, 0,
        "all rows were loaded before: {}",
        report.method
    );
    assert_eq!(database.problems("ycsb"), [""; 0]);
    assert_eq!(digest(database), digest(uninterrupted));

    stop_load(LoadPhase::Statistics, 0);
    let report = load(database, 3, 2);
    assert_eq!(report.rows, 3_000, "a different load starts from scratch");
    assert_eq!(database.problems("ycsb"), [""; 0]);
}

pub fn assert_damage_is_detected(database: &TestDatabase) {
    let key = "'user6284781860667377211'";
    for [damage, id, message] in cases(
        r#"
            delete from usertable
                => records => there are 1,999 records, but the load and runs have stored 2,000
            update usertable set ycsb_key = 'user1'
                => records => as many as the load and runs have stored, but some have different keys
            update usertable set ycsb_key = 'anna' => records => the keys of 1 records are not "user" and a number
            update usertable set field3 = 'short'
                => shape => 1 records have a field whose length is not 100 characters
            update usertable set field9 = null => shape => 1 records have a field whose length is not 100
        "#,
    ) {
        let damage = format!("{damage} where ycsb_key = {key}");
        load(database, 2, 1);
        assert_eq!(database.problems("ycsb"), [""; 0]);
        database.execute(&damage);
        let problems = database.problems("ycsb");
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].assert_starts_with(&format!("{id}: "));
        problems[0].assert_contains(message);
    }
}

/// Asserts that plans that do not match the data are refused.
pub fn assert_mismatches_are_refused(database: &TestDatabase) {
    for (option, message) in [
        (("scale", "3"), "the data has scale 2, but 3 was requested"),
        (("fieldcount", "9"), "the data has fieldcount 10, but 9"),
        (("fieldlength", "9"), "the data has fieldlength 100, but 9"),
        (("workload", "g"), "workload = g is not known"),
        (("scale", "0"), "a scale of 0 is not possible"),
    ] {
        let problem = database.program_error("ycsb", &[option]);
        problem.assert_contains(message).assert_contains("hint: ");
    }
    let options = [("scale", "2"), ("fieldcount", "10"), ("fieldlength", "100")];
    let loaded = database.program("ycsb", &options);
    assert_eq!(loaded.expect("the table exists").scale, 2);
}
