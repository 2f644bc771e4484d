//! Runs through a pooler: it is named, nothing is misjudged, and its price is measured.

use crate::common::{TestBench, ok_stdout, parse_run, stderr_text, stored_runs};
use prony_assertions::TextAssertions;
use prony_store::Pooler;
use prony_test_servers::{PgBouncer, shared_postgres};

/// A loaded database with PgBouncer before it, and the URL through PgBouncer; `None` if none is installed.
pub fn bench_with_pooler(name: &str) -> Option<(TestBench, PgBouncer, String)> {
    let bench = TestBench::new(name);
    let Some(pooler) = PgBouncer::start(shared_postgres(), name) else {
        eprintln!("{name} is skipped: PgBouncer is not installed");
        return None;
    };
    ok_stdout(&bench.prony("load tpcb --scale 1"));
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{}/{name}",
        bench.password,
        pooler.port()
    );
    Some((bench, pooler, url))
}

#[test]
fn a_run_through_a_pooler_names_it_and_is_not_misjudged() {
    let Some((bench, _pooler, url)) = bench_with_pooler("through_pooler") else {
        return;
    };
    let run = |arguments: &str| {
        let output = bench.command(arguments).args(["--url", &url]).output();
        bench.assert_no_password(output.expect("it starts"))
    };
    let pooled = parse_run(&run(
        "run tpcb --clients 8 --duration 3s --protocol simple --json",
    ));
    let found = pooled.server.pooler.as_ref().expect("a pooler");
    assert_eq!(found.product, Some(Pooler::PgBouncer), "{found:?}");
    assert!(found.shares_sessions, "{found:?}");
    let ids: Vec<&str> = pooled
        .checks
        .iter()
        .map(|check| check.id.as_str())
        .collect();
    assert!(ids.contains(&"pooler"), "{ids:?}");
    // Its sessions report their commits late.
    assert!(!ids.contains(&"server-commits"), "{:?}", pooled.checks);
    let shown = ok_stdout(&bench.prony_without_server("show last"));
    shown.assert_contains("through PgBouncer");
    // Before 1.21 it cannot keep prepared statements, and before 1.24 it does not unless it is told.
    if PgBouncer::version() < Some((1, 24)) {
        let output = run("run tpcb --clients 8 --duration 5s --protocol prepared");
        let text = stderr_text(&output).replace("\n        ", " ");
        text.assert_contains("use --protocol simple or extended");
        text.assert_contains("1.21 on with max_prepared_statements");
    }
    ok_stdout(&run(
        "run tpcb --clients 8 --transactions 20 --protocol extended",
    ));
}

#[test]
fn via_measures_a_pooler_against_the_server_itself() {
    let Some((bench, _pooler, url)) = bench_with_pooler("via_pooler") else {
        return;
    };
    let arguments =
        "run tpcb --clients 8 --transactions 100 --protocol simple --repeats 2 --keep-going --via";
    let mut command = bench.command(arguments);
    let output = command.args([&url, "--url", &bench.url]).output();
    let output = bench.assert_no_password(output.expect("it starts"));
    let (printed, messages) = (ok_stdout(&output), stderr_text(&output));
    for line in [
        "run 1 of 4: variant direct, repeat 1",
        "run 2 of 4: variant pooler, repeat 1",
        "run 3 of 4: variant pooler, repeat 2",
        "run 4 of 4: variant direct, repeat 2",
    ] {
        messages.assert_contains(line);
    }
    let runs = stored_runs(&bench.home);
    let poolers: Vec<_> = runs.iter().map(|run| run.server.pooler.is_some()).collect();
    assert_eq!(poolers, [false, true, true, false]);
    if !printed.contains("Not counted") {
        for part in [
            "What PgBouncer costs and gives",
            "TPS: ",
            "sessions of clients through PgBouncer",
        ] {
            printed.assert_contains(part);
        }
    }
    let id = &runs[0].experiment.as_ref().unwrap().id;
    let compared = bench.prony_without_server(&format!("compare {id}"));
    let compared = String::from_utf8_lossy(&compared.stdout).into_owned();
    let line = compared
        .lines()
        .find(|line| line.contains("pooler") && line.contains("PgBouncer"));
    assert!(
        line.is_some_and(|line| line.contains("none found")),
        "{compared}"
    );
    if !printed.contains("Not counted") {
        compared.assert_lacks("NOT COMPARABLE");
    }
}
