//! Errors of the tpcc workload: wrong schemas, missing privileges, interrupted loads, killed servers. Messages
//! say what happened and what to do, and no data is lost.

use crate::common::*;

/// Runs the program with the role and password of `url`.
fn run_as(bench: &TestBench, arguments: &str, url: &str) -> Output {
    bench.prony_with(arguments, &["--url", url])
}

/// Asserts the exit code of a failed command, and that stderr contains each of `parts`.
fn assert_failed(output: &Output, code: i32, parts: &[&str]) {
    let messages = stderr_text(output);
    assert_eq!(output.status.code(), Some(code), "{messages}");
    // Lines are wrapped at the width of the terminal.
    let unwrapped = messages.unwrapped();
    for part in parts {
        assert!(unwrapped.contains(part), "no `{part}` in {messages}");
    }
    messages.assert_lacks("panicked");
}

#[test]
fn wrong_schemas_and_roles_are_reported() {
    let bench = TestBench::new("trouble");
    let run = "run tpcc --clients 2 --duration 1s";
    let expected = ["table item is missing", "prony load tpcc --scale N"];
    assert_failed(&bench.prony(run), 4, &expected);
    bench.ok("load tpcc --scale 1");
    let expected = [
        "the data has scale 1, but scale 7 was requested",
        "omit the scale",
    ];
    assert_failed(&bench.prony(&format!("{run} --scale 7")), 4, &expected);

    // With more clients than warehouses, the run reports contention.
    let crowded_run = bench.run("run tpcc --clients 5 --transactions 20");
    let mut checks = crowded_run.checks.iter();
    let contention = checks.find(|check| check.id == "contention");
    let finding = &contention.expect("one warehouse").finding;
    finding.assert_starts_with("5 clients shared 1 warehouse:");
    assert!(total_figures(&crowded_run.measured).committed > 0);

    let mut control = bench.control();
    control.run(
        "create role stranger login password 'let-me-in'; \
             grant usage on schema public to stranger; revoke create on schema public from public",
    );
    let restricted_url = bench.url.replace(
        &format!("postgres:{}@", bench.password),
        "stranger:let-me-in@",
    );
    let expected = [
        "the role stranger lacks privileges: select on item; select, update on warehouse;",
        "grant select on item to stranger;",
    ];
    assert_failed(&run_as(&bench, run, &restricted_url), 4, &expected);
    control.run("grant all on all tables in schema public to stranger");
    control.run("drop function prony_tpcc_standard_payment");
    let expected = [
        "installing the functions of tpcc",
        "as the owner",
        "mode = \"statements\"",
    ];
    assert_failed(&run_as(&bench, run, &restricted_url), 4, &expected);
    ok_stdout(&run_as(
        &bench,
        &format!("{run} --mode statements"),
        &restricted_url,
    ));
    bench.ok(run);
    ok_stdout(&run_as(&bench, run, &restricted_url));
    // The server's error names one of the tables that a load would replace.
    for command in ["load tpcc --scale 1", "clean tpcc"] {
        let expected = [
            "only the owner, postgres, may drop 9 of the tables",
            "connect as postgres, or as a superuser ALTER TABLE t OWNER TO stranger; for each t of item",
            "order_line",
        ];
        assert_failed(&run_as(&bench, command, &restricted_url), 4, &expected);
    }
    bench.ok("check tpcc");

    let wrong_password = restricted_url.replace("let-me-in", "let-me-out");
    let expected = ["password authentication failed for user \"stranger\""];
    for command in [run, "load tpcc --scale 1", "check tpcc", "clean tpcc"] {
        let output = run_as(&bench, command, &wrong_password);
        assert_failed(&output, 3, &expected);
        stderr_text(&output).assert_lacks("let-me-out");
    }
    let unknown_role = restricted_url.replace("stranger:", "nobody:");
    assert_failed(
        &run_as(&bench, run, &unknown_role),
        3,
        &["for user \"nobody\""],
    );
    bench.ok("check tpcc");
}

/// Creates an event trigger that makes the creation of keys wait for an advisory lock, so that no load can
/// end before the lock is released.
const LOCK_TRIGGER_SQL: &str = "\
create function held() returns event_trigger language plpgsql as \
 'begin perform pg_advisory_xact_lock(815); end'; \
create event trigger held on ddl_command_start when tag in ('ALTER TABLE', 'CREATE INDEX') \
 execute function held()";

#[test]
fn an_interrupted_load_can_be_continued_and_refuses_runs() {
    let bench = TestBench::new("half");
    let mut control = bench.control();
    control.run(LOCK_TRIGGER_SQL);
    let lock = "select pg_advisory_lock(815)";
    control.query(lock).expect("a lock");
    let child = bench.start("load tpcc --scale 3 --jobs 2");
    let table_sql = "select count(*) from pg_class where relname = 'order_line'";
    wait_for("no load started", || {
        query_number(&mut control, table_sql) != 0
    });
    send_signal(&child, "-INT");
    let output = bench.finish(child);
    assert_failed(
        &output,
        130,
        &["`prony load tpcc --scale 3 --url URL` with the same options continues it"],
    );
    control.run("drop event trigger held");
    let advice = "`prony load tpcc --scale 3 --url URL` continues it";
    assert_failed(&bench.prony("run tpcc --duration 1s"), 4, &[advice]);
    assert_failed(&bench.prony("check tpcc"), 4, &[]);
    assert_failed(&bench.prony("load tpcc --scale 2"), 4, &[advice]);
    bench
        .ok("load tpcc --scale 3")
        .assert_contains("continued: ");
    bench.ok("check tpcc");
}

#[test]
fn a_run_survives_a_server_that_is_killed_and_restarted() {
    let server = own_postgres();
    let bench = TestBench::on(&server, "killed");
    bench.ok("load tpcc --scale 2 --jobs 2");
    let mut control = bench.control();
    let orders_sql = "select count(*) from orders";
    let loaded = query_number(&mut control, orders_sql);
    for mode in ["procedures", "statements"] {
        let before = query_number(&mut bench.control(), orders_sql);
        let arguments = format!(
            "run tpcc --clients 4 --rate 50 --home all --duration 25s --warmup 0s --mode {mode} --json"
        );
        let mut command = bench.command(&arguments);
        command.args(["--url", &bench.socket_url]);
        let (child, _) = start_run(command);
        wait_until(&bench.home, any_committed);
        server.kill();
        server.restart().expect("restarts");
        let output = bench.finish(child);
        let run = parse_run(&output);
        assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
        let outage = run
            .events
            .iter()
            .find(|event| event.kind == prony_store::EventKind::Outage);
        let outage = outage.expect("an outage");
        let outage_end_s = outage.until_s.expect("an end of the outage");
        let series = run.series.iter();
        let mut later_seconds = series.filter(|second| second.at_s > outage_end_s);
        assert!(
            later_seconds.any(|second| second.committed > 0),
            "no commits after the outage"
        );
        // TPM is not reported because the server's counts were reset.
        assert!(
            run.rates.iter().all(|rate| rate.name != prony_store::TPM),
            "{:?}",
            run.rates
        );

        // All orders reported as committed exist; those in flight may exist.
        let inserted = query_number(&mut bench.control(), orders_sql) - before;
        let mut kinds = run.measured.kinds.iter();
        let kind = kinds.find(|kind| kind.kind.as_deref() == Some("new-order"));
        let committed = kind.expect("new orders").committed;
        assert!(
            inserted >= committed && inserted <= committed + 8,
            "{inserted} inserted, {committed} committed"
        );
        bench.ok("check tpcc");
    }
    assert!(query_number(&mut bench.control(), orders_sql) > loaded);
}
