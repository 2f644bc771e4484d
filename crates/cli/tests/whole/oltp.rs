//! sysbench's workloads end to end: options, query counts, and a run with a wrong ratio of queries.

use crate::common::*;

fn query_share<'a>(run: &'a Run, name: &str) -> &'a prony_store::ObservedShare {
    let mut shares = run.shares.iter();
    let share = shares.find(|share| share.name == name && share.base == "queries");
    share.expect("counted")
}

/// The check of the shares; absent if they are as expected.
fn shares_check(run: &Run) -> Option<&prony_store::Check> {
    run.check("shares")
}

#[test]
fn the_result_counts_reads_writes_and_other_queries() {
    let bench = TestBench::new("oltp_counts");
    let loaded = bench.ok("load oltp_read_write --scale 2 -o table_size=3000 --jobs 2");
    loaded.assert_contains("Loaded oltp_read_write, scale 2: 6,000 rows");
    let arguments = "run oltp_read_write --clients 1 --transactions 200 -o rand_type=uniform";
    let run = bench.run(arguments);
    let committed = total_figures(&run.measured).committed;
    assert_eq!(committed, 200);
    for (name, per_transaction) in [("reads", 14), ("writes", 4), ("others", 2)] {
        let share = query_share(&run, name);
        assert_eq!(
            (share.count, share.total),
            (per_transaction * committed, 20 * committed)
        );
        assert!(share.exact);
    }
    assert_eq!(shares_check(&run), None);
    let settings = &run.workload.settings;
    for setting in [
        "tables 2",
        "table_size 3000",
        "rand_type uniform",
        "skip_trx off",
    ] {
        let is_equal = |other: &prony_store::Setting| other.to_string() == setting;
        assert!(settings.iter().any(is_equal), "{settings:?}");
    }
    assert_eq!(run.workload.statements.len(), 11);
    assert_eq!(last_run(&bench), run, "it is stored");
    let stdout = bench.ok_without_server("show last --full");
    let row = |name: &str| {
        let mut lines = stdout
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines
            .find(|cells| cells.first() == Some(&name))
            .unwrap_or_default()
    };
    assert_eq!(row("reads")[1..3], ["2,800", "2,800"], "{stdout}");
    assert_eq!(row("writes")[1..3], ["800", "800"], "{stdout}");
    let checked = bench.ok("check oltp_point_select");
    checked.assert_starts_with("oltp_read_write, scale 2\n");
    let cleaned = bench.ok("clean oltp_insert");
    assert_eq!(cleaned, "Dropped sbtest1, sbtest2.\n");
}

#[test]
fn a_run_with_a_wrong_ratio_has_a_caveat() {
    let bench = TestBench::new("oltp_ratio");
    bench.ok("load oltp_read_write -o table_size=2000");
    bench
        .control()
        .execute("delete from sbtest1 where id % 4 = 0")
        .expect("deletes rows");
    let run = bench.run("run oltp_read_write --clients 2 --transactions 50 -o rand_type=uniform");
    let check = shares_check(&run).expect("updates and deletes met no row");
    assert_eq!(check.severity, Severity::Caveat);
    check
        .finding
        .assert_starts_with("Shares are off: writes of queries: ");
    check.finding.assert_contains("with 400 expected");
    check.advice.assert_contains("prony check");
    assert!(query_share(&run, "writes").count < 400);
    let output = bench.prony("check oltp_read_write");
    assert_code(&output, 4);
}

#[test]
fn all_invalid_options_are_reported() {
    let bench = TestBench::new("oltp_mistakes");
    let invalid_options = "-o table_size=0 -o rand_type=zipf --scale 3 -o tables=2";
    for command in ["load", "run"] {
        let output = bench.prony(&format!("{command} oltp_insert {invalid_options}"));
        let stderr = assert_code(&output, 2);
        stderr.assert_contains_all([
            "the command line has 3 problems",
            "table_size = 0 is not a valid number",
            "rand_type = zipf is not known",
            "2 tables and a scale of 3 contradict each other",
        ]);
    }
    let output = bench.prony("run oltp_insert -o range_sized=5 -o delay");
    stderr_text(&output).assert_contains("an option is given as NAME=VALUE");
    let output = bench.prony("run oltp_insert -o range_sized=5");
    stderr_text(&output).assert_contains("did you mean range_size?");
}

#[test]
fn options_apply_to_the_load_of_a_throw_away_server() {
    let bench = TestBench::new("oltp_embedded");
    let arguments = "run hot-row --embedded --clients 4 --transactions 20 -o hint=on --json";
    let run = parse_run(&bench.prony_without_server(arguments));
    assert_eq!(total_figures(&run.measured).committed, 80);
    assert_eq!(query_share(&run, "writes").count, 80);
}
