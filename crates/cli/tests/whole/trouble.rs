//! The workload tpcc on servers, schemas and roles that are not as they should be: what happened
//! and what to do is said, and nothing is lost.

use crate::common::{Bench, PATIENCE, number, ok, said, signal, under_way};
use prony_server::embedded::{Options, Server, find};
use prony_store::{Run, State};
use std::process::Output;
use std::time::{Duration, Instant};

fn server() -> Server {
    let installation = find().expect("PostgreSQL's programs");
    Server::start(&installation, &Options::default()).expect("it starts")
}

/// Runs the program under another role or password.
fn by(bench: &Bench, words: &str, url: &str) -> Output {
    let output = bench.command(words).args(["--url", url]).output();
    bench.silent(output.expect("it starts"))
}

/// What it said as it gave up with this exit code; twice at most on lines of its own.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let told = said(output);
    assert_eq!(output.status.code(), Some(code), "{told}");
    // Lines are broken at the width of the terminal.
    let plain: Vec<&str> = told.split_whitespace().collect();
    let plain = plain.join(" ");
    for word in words {
        assert!(plain.contains(word), "no `{word}` in {told}");
    }
    assert!(!told.contains("panicked"), "{told}");
}

#[test]
fn schemas_and_roles_that_do_not_fit() {
    let bench = Bench::new("trouble");
    let run = "run tpcc --clients 2 --duration 1s";
    let words = ["table item is missing", "prony load tpcc --scale N"];
    refused(&bench.prony(run), 4, &words);
    ok(&bench.prony("load tpcc --scale 1"));
    let words = [
        "the data has scale 1, and scale 7 was asked for",
        "leave the scale out",
    ];
    refused(&bench.prony(&format!("{run} --scale 7")), 4, &words);

    // More users than warehouses, each with one of its own: it runs, and says so.
    let crowd = bench.run("run tpcc --clients 5 --transactions 20");
    let contention = crowd
        .checks
        .iter()
        .find(|check| check.id == "warehouse-contention");
    let finding = &contention.expect("one warehouse").finding;
    assert!(
        finding.starts_with("5 clients shared 1 warehouse:"),
        "{finding}"
    );
    assert!(crowd.measured.kinds[0].committed > 0);

    let mut control = bench.control();
    control
        .execute(
            "create role stranger login password 'let-me-in'; \
             grant usage on schema public to stranger; revoke create on schema public from public",
        )
        .expect("a role");
    let stranger = bench.url.replace(
        &format!("postgres:{}@", bench.password),
        "stranger:let-me-in@",
    );
    let words = [
        "the role stranger lacks the right to select on item; select, update on warehouse;",
        "grant select on item to stranger;",
    ];
    refused(&by(&bench, run, &stranger), 4, &words);
    control
        .execute("grant all on all tables in schema public to stranger")
        .expect("rights");
    control
        .execute("drop function prony_tpcc_standard_payment")
        .expect("was there");
    let words = [
        "installing the functions of tpcc",
        "as the owner",
        "mode = \"statements\"",
    ];
    refused(&by(&bench, run, &stranger), 4, &words);
    ok(&by(&bench, &format!("{run} --mode statements"), &stranger));
    ok(&bench.prony(run));
    ok(&by(&bench, run, &stranger));
    // To load is to replace what is not one's own.
    let words = ["must be owner of table", "the database is as it was before"];
    refused(&by(&bench, "load tpcc --scale 1", &stranger), 6, &words);
    ok(&bench.prony("check tpcc"));

    let wrong = stranger.replace("let-me-in", "let-me-out");
    let words = ["password authentication failed for user \"stranger\""];
    for words_of in [run, "load tpcc --scale 1", "check tpcc", "clean tpcc"] {
        let output = by(&bench, words_of, &wrong);
        refused(&output, 3, &words);
        assert!(!said(&output).contains("let-me-out"));
    }
    let nobody = stranger.replace("stranger:", "nobody:");
    refused(&by(&bench, run, &nobody), 3, &["for user \"nobody\""]);
    ok(&bench.prony("check tpcc"));
}

/// Keys wait for whoever holds this lock: no load ends before.
const HELD: &str = "\
create function held() returns event_trigger language plpgsql as \
 'begin perform pg_advisory_xact_lock(815); end'; \
create event trigger held on ddl_command_start when tag in ('ALTER TABLE', 'CREATE INDEX') \
 execute function held()";

#[test]
fn a_load_broken_off_is_refused_by_runs_and_continued() {
    let bench = Bench::new("half");
    let mut command = bench.command("load tpcc --scale 3 --jobs 2");
    command.args(["--url", &bench.url]);
    let mut control = bench.control();
    control.execute(HELD).expect("a trigger");
    let lock = "select pg_advisory_lock(815)";
    control.query(lock).expect("a lock");
    let (child, _) = under_way(command);
    let begun = Instant::now();
    let there = "select count(*) from pg_class where relname = 'prony_tpcc_load'";
    while number(&mut control, there) == 0 {
        assert!(begun.elapsed() < PATIENCE, "no load began");
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "-INT");
    let output = bench.silent(child.wait_with_output().expect("it ends"));
    refused(&output, 130, &["with the same scale and seed continues"]);
    control.execute("drop event trigger held").expect("it goes");
    let continues = "`prony load tpcc --scale 3` continues it";
    refused(&bench.prony("run tpcc --duration 1s"), 4, &[continues]);
    refused(&bench.prony("check tpcc"), 4, &[]);
    refused(&bench.prony("load tpcc --scale 2"), 4, &[continues]);
    assert!(ok(&bench.prony("load tpcc --scale 3")).contains("continued: "));
    ok(&bench.prony("check tpcc"));
}

#[test]
fn a_server_killed_in_mid_run_costs_only_the_time_it_was_away() {
    let server = server();
    let bench = Bench::on(&server, "killed");
    ok(&bench.prony("load tpcc --scale 2 --jobs 2"));
    let mut control = bench.control();
    let orders = "select count(*) from orders";
    let loaded = number(&mut control, orders);
    for mode in ["procedures", "statements"] {
        let before = number(&mut bench.control(), orders);
        let words = format!("run tpcc --clients 4 --home all --duration 25s --mode {mode} --json");
        let mut command = bench.command(&words);
        command.args(["--url", &bench.socket_url]);
        let (child, _) = under_way(command);
        server.kill();
        server.restart().expect("restarts");
        let output = bench.silent(child.wait_with_output().expect("it ends"));
        let run: Run = serde_json::from_str(&ok(&output)).expect("a document");
        assert_eq!(run.state, State::Complete, "{:?}", run.ended_because);
        let outage = run.events.iter().find(|event| event.what == "outage");
        let outage = outage.expect("it was away");
        let back_s = outage.until_s.expect("and came back");
        let mut late = run.series.iter().filter(|second| second.at_s > back_s);
        assert!(late.any(|second| second.committed > 0), "it went on");
        // What cannot be known of a server that was reset is left out.
        assert!(
            run.rates.iter().all(|rate| rate.name != "TPM"),
            "{:?}",
            run.rates
        );

        // Every order that a user saw committed is there; of those under way either may be true.
        let made = number(&mut bench.control(), orders) - before;
        let kind = run
            .measured
            .kinds
            .iter()
            .find(|kind| kind.kind == "new-order");
        let seen = kind.expect("new orders").committed;
        assert!(made >= seen && made <= seen + 8, "{made} made, {seen} seen");
        ok(&bench.prony("check tpcc"));
    }
    assert!(number(&mut bench.control(), orders) > loaded);
}
