//! Runs in which the server stalled, was away, or had other tables: none of them is valid.

use crate::common::{Bench, any_committed, document, ok, start_run, stderr_text, until};
use crate::maria;
use crate::relay::Relay;
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, find};
use prony_store::{Run, Severity};
use std::process::Child;
use std::time::Duration;

/// Seconds without any transaction that count as a stall in these runs.
const STILL: usize = 3;

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    ok(&bench.prony("load tpcb --scale 2"));
    bench
}

fn severity(run: &Run, id: &str) -> Option<Severity> {
    let check = run.checks.iter().find(|check| check.id == id);
    check.map(|check| check.severity)
}

fn expects_outage(run: &Run) -> bool {
    run.plan.pointer("/run/expect_outage") == Some(&true.into())
}

/// Whether its latest seconds have no transaction, and some before had.
fn stands_still(run: &Run) -> bool {
    let counts: Vec<u64> = run.series.iter().map(|second| second.committed).collect();
    let (before, last) = counts.split_at(counts.len().saturating_sub(STILL));
    last.len() == STILL && last.iter().all(|count| *count == 0) && before.iter().any(|c| *c > 0)
}

fn ends(bench: &Bench, child: Child, code: i32) -> Run {
    let output = bench.assert_no_password(child.wait_with_output().expect("it ends"));
    assert_eq!(output.status.code(), Some(code), "{}", stderr_text(&output));
    document(&output)
}

#[test]
fn a_locked_table_is_a_stall_unless_an_outage_is_expected() {
    let bench = bench("locked");
    let start = |more: &str| {
        let words = format!("run tpcb --clients 4 --duration 20s --json --no-observe {more}");
        let mut command = bench.command(&words);
        command.args(["--url", &bench.url]);
        start_run(command).0
    };
    let (plain, expecting) = (start(""), start("--expect-outage"));
    for expects in [false, true] {
        let is_at_work = |run: &Run| expects_outage(run) == expects && run.series.len() > 1;
        until(&bench.home, is_at_work);
    }
    let mut control = bench.control();
    control
        .execute("begin; lock table pgbench_accounts")
        .expect("a lock");
    for expects in [false, true] {
        until(&bench.home, |run| {
            expects_outage(run) == expects && stands_still(run)
        });
    }
    control.execute("commit").expect("it is given back");

    let run = ends(&bench, plain, 7);
    assert_eq!(
        severity(&run, "stall"),
        Some(Severity::Invalid),
        "{:?}",
        run.checks
    );
    let output = expecting.wait_with_output().expect("it ends");
    let run = document(&bench.assert_no_password(output));
    assert_eq!(
        severity(&run, "stall"),
        Some(Severity::Note),
        "{:?}",
        run.checks
    );
}

#[test]
fn a_temporarily_frozen_server_makes_a_run_invalid() {
    let installation = find().expect("PostgreSQL's programs");
    let server =
        EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("it starts");
    let bench = Bench::on(&server, "frozen");
    ok(&bench.prony("load tpcb --scale 2"));
    let mut command = bench.command("run tpcb --clients 4 --duration 20s --json");
    command.args(["--url", &bench.url]);
    let (child, _) = start_run(command);
    server.freeze().expect("it runs");
    until(&bench.home, stands_still);
    server.thaw();
    let run = ends(&bench, child, 7);
    assert_eq!(
        severity(&run, "stall"),
        Some(Severity::Invalid),
        "{:?}",
        run.checks
    );
}

#[test]
fn a_temporary_network_outage_makes_a_run_invalid() {
    let bench = bench("cut");
    let relay = Relay::to(prony_server::embedded::shared_postgres().port());
    let port = format!(":{}/", prony_server::embedded::shared_postgres().port());
    let url = bench.url.replace(&port, &format!(":{}/", relay.port));
    // One after the other: each is cut shortly after its start.
    let cut = |more: &str| {
        let words = format!("run tpcb --clients 4 --duration 12s --json {more}");
        let mut command = bench.command(&words);
        command.args(["--url", &url]);
        let (child, _) = start_run(command);
        relay.take_down();
        std::thread::sleep(Duration::from_secs(3));
        relay.restore();
        child
    };
    let run = ends(&bench, cut(""), 7);
    assert_eq!(
        severity(&run, "outage"),
        Some(Severity::Invalid),
        "{:?}",
        run.checks
    );
    let output = cut("--expect-outage").wait_with_output().expect("it ends");
    let run = document(&bench.assert_no_password(output));
    assert_eq!(
        severity(&run, "outage"),
        Some(Severity::Note),
        "{:?}",
        run.checks
    );
}

#[test]
fn tables_that_are_reloaded_during_a_run_make_it_invalid() {
    let bench = bench("replaced");
    let sound = bench.run("run select-only --clients 2 --duration 1s");
    assert_eq!(
        severity(&sound, "tables-replaced"),
        None,
        "{:?}",
        sound.checks
    );
    let words = "run select-only --clients 2 --rate 20 --duration 20s --json";
    let child = bench.start_long_run(words, any_committed);
    ok(&bench.prony("load tpcb --scale 2"));
    let run = ends(&bench, child, 7);
    assert_eq!(
        severity(&run, "tables-replaced"),
        Some(Severity::Invalid),
        "{:?}",
        run.checks
    );
    let text = ok(&bench.local("show last"));
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    assert!(
        line.contains("pgbench_accounts, ") && line.contains("(replaced by others"),
        "{text}"
    );
}

#[test]
fn tables_that_are_reloaded_on_mariadb_make_a_run_invalid() {
    let bench = maria::Bench::new("replaced");
    let load = "load oltp_point_select --scale 1 -o table_size=2000";
    let run = "run oltp_point_select --clients 2 --duration 1s --json";
    ok(&bench.prony(load));
    let sound = document(&bench.prony(run));
    assert_eq!(
        severity(&sound, "tables-replaced"),
        None,
        "{:?}",
        sound.checks
    );
    let mut command = bench.command("run oltp_point_select --clients 2 --duration 20s --json");
    command.args(["--url", bench.url()]);
    let (child, _) = start_run(command);
    ok(&bench.prony(load));
    let output = child.wait_with_output().expect("it ends");
    let run = document(&output);
    let found = severity(&run, "tables-replaced");
    assert_eq!(found, Some(Severity::Invalid), "{:?}", run.checks);
}
