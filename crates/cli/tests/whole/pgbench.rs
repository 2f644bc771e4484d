//! The installed pgbench on tables created by `prony load`, and Prony on tables created by pgbench.

use crate::common::*;
use prony_server::embedded;

/// Runs the installed pgbench; asserts that it succeeds.
fn pgbench(bench: &TestBench, arguments: &str) {
    let path = embedded::find()
        .expect("a PostgreSQL")
        .bin_dir
        .join("pgbench");
    let program = if path.exists() { path } else { "pgbench".into() };
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .arg(&bench.socket_url)
        .output()
        .expect("pgbench is installed");
    ok_stdout(&output);
}

/// Asserts that `prony check` passes and the history table has `history_rows` rows.
fn assert_checked(bench: &TestBench, history_rows: u64) {
    let stdout = bench.ok("check tpcb");
    stdout.assert_contains("balances-accounts-history");
    let rows = bench
        .control()
        .query_value("SELECT count(*) FROM pgbench_history");
    assert_eq!(rows.expect("counts"), Some(history_rows.to_string()));
}

#[test]
fn pgbench_runs_on_tables_of_prony() {
    let bench = TestBench::loaded("ours", 1);
    pgbench(&bench, "-n -S -c 2 -t 100");
    pgbench(&bench, "-n -b tpcb-like -c 4 -t 25");
    assert_checked(&bench, 100);
    // pgbench's own check of the tables and its vacuum succeed too.
    pgbench(&bench, "-b tpcb-like -c 2 -t 10");
    bench.ok("check tpcb");
}

#[test]
fn prony_runs_on_tables_of_pgbench() {
    let bench = TestBench::new("theirs");
    pgbench(&bench, "-i -q -s 2");
    assert_checked(&bench, 0);
    for workload in ["tpcb", "simple-update", "select-only"] {
        let run = bench.run(&format!("run {workload} --clients 4 --transactions 25"));
        assert_eq!(total_figures(&run.measured).committed, 100);
        assert_eq!(run.workload.scale, 2);
    }
    pgbench(&bench, "-n -b tpcb-like -c 4 -t 25");
    assert_checked(&bench, 300);
    bench.ok("clean tpcb");
}
