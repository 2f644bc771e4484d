//! What a run does to a server on purpose, and what it says of it.

use crate::common::*;
use crate::controls::rounds;
use crate::lost_commits::start_standby;
use prony_server::observe::is_replica;
use prony_store::EventKind;
use std::collections::BTreeMap;

#[test]
fn a_server_that_hangs_by_command_is_an_outage_of_each_client() {
    let server = own_postgres();
    let bench = TestBench::loaded_on(&server, "drill", 4);
    let postmaster = server.pid().expect("it runs");
    let hang = format!(
        "all=\"{postmaster} $(cat /proc/{postmaster}/task/{postmaster}/children)\"; \
         kill -STOP $all; sleep 1.5; kill -CONT $all; echo \"$PGDATABASE goes on\""
    );
    let mut command = bench.command(
        "run tpcb --clients 4 --duration 5s --warmup 0s --expect-outage --ledger --json \
         --require outage>1s --at 2s",
    );
    let refused = command
        .arg(&hang)
        .args(["--url", &bench.url])
        .output()
        .expect("it starts");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr_text(&refused).contains("outage is better if it is lower"));

    let mut command = bench
        .command("drill tpcb --clients 4 --duration 5s --warmup 0s --require outage<1s --at 2s");
    let output = command
        .arg(&hang)
        .args(["--url", &bench.url])
        .output()
        .expect("it starts");
    let output = bench.assert_no_password(output);
    assert_code(&output, 8);
    let shown = stdout_text(&output);
    assert!(shown.lines().count() <= 15, "{shown}");
    let text = shown.unwrapped();
    text.assert_starts_with("FAIL: outage ");
    text.assert_contains_all([
        "exit status 0: drill goes on",
        " on; one client for ",
        "account lost 0 of ",
        "RPO 0 commits, 0 s",
        "permits crash: nothing; ",
    ]);
    let words: Vec<&str> = text.split(' ').collect();
    let mut fours = words.windows(4);
    assert!(
        fours.any(|four| (four[0], four[3]) == ("outage", "from")),
        "{shown}"
    );
    let run = last_run(&bench);
    let mut events = run.events.iter();
    let mark = events.find(|event| event.kind == EventKind::Mark);
    let mark = mark.expect("a mark");
    let result = mark.command.as_ref().expect("a command");
    assert_eq!(
        (result.exit_status, result.output.as_str()),
        (Some(0), "drill goes on")
    );
    let gap = run.commit_gap.as_ref().expect("measured");
    let length_s = gap.until_s.expect("it ended") - gap.from_s;
    assert!(length_s > 1.0, "{gap:?}");
    let over = mark.until_s.expect("it ended");
    assert!(
        gap.from_s < over && gap.until_s > Some(mark.at_s),
        "{gap:?} {mark:?}"
    );
    assert!(
        gap.clients.min_s > 1.0 && gap.clients.not_back == 0,
        "{gap:?}"
    );
    let answer = run.answer.as_ref().expect("required");
    assert_eq!(
        answer.verdict,
        prony_store::AnswerVerdict::Fail,
        "{answer:?}"
    );
    assert_eq!(run.ledger.as_ref().map(|account| account.lost), Some(0));
    let screen = bench.ok_without_server("show last");
    assert!(screen.contains("Nobody committed for"), "{screen}");

    let mut failing =
        bench.command("run tpcb --clients 1 --duration 1s --warmup 0s --json --at 100ms");
    let output = failing
        .arg("echo no server >&2; exit 3")
        .args(["--url", &bench.url])
        .output();
    let run = parse_run(&output.expect("it starts"));
    let check = run.checks.iter().find(|check| check.id == "marks");
    let check = check.expect("it failed");
    assert_eq!(check.severity, Severity::Invalid);
    assert!(
        check.finding.contains("exit status: 3: no server"),
        "{check:?}"
    );
}

/// The result of `prony demo failover`.
fn failover_demo(mode: &str) -> (Option<i32>, Run) {
    let home = TestFolder::create();
    let arguments = format!("demo failover {mode} --duration 16s --no-store --json");
    let output = prony_command(&arguments, &home).output();
    let output = output.expect("it starts");
    let run = serde_json::from_slice(&output.stdout);
    let run = run.unwrap_or_else(|error| panic!("{error}: {}", stderr_text(&output)));
    (output.status.code(), run)
}

#[test]
fn the_demo_of_a_failover_loses_commits_only_if_none_waits_for_the_standby() {
    let (exit, run) = failover_demo("");
    assert_eq!(exit, Some(0), "{:?} {:?}", run.answer, run.checks);
    let account = run.ledger.as_ref().expect("kept");
    assert_eq!((account.lost, &account.not_read), (0, &None), "{account:?}");
    let timeline = |position: &BTreeMap<String, String>| position["timeline"].clone();
    let timelines = [&account.server_before, &account.server_after].map(timeline);
    assert_eq!(timelines, ["1", "2"], "{account:?}");
    assert_ne!(
        account.server_before["server"],
        account.server_after["server"]
    );
    // The URL names the dead primary first, and then the standby, which is not promoted at once.
    let refused = run.events.iter().find(|event| {
        event.kind == EventKind::FailedAttempts && event.cause.as_deref() == Some("refused")
    });
    assert!(
        refused.is_some_and(|event| event.count > 0),
        "{:?}",
        run.events
    );
    let errors = run.series.iter().flat_map(|second| second.errors.values());
    assert!(errors.sum::<u64>() > 0, "clients lost their connections");

    let (exit, run) = failover_demo("--async");
    assert_eq!(exit, Some(8), "{:?}", run.answer);
    let account = run.ledger.as_ref().expect("kept");
    assert!(
        account.lost > 0 && account.clients_scattered == 0,
        "{account:?}"
    );
    // The standby lagged from 10 s on, and the primary was killed at 13 s.
    let outage_s = run.commit_gap.as_ref().expect("an outage").from_s;
    let first = account.first_lost.first().expect("it is named");
    let (after_s, by_s) = first.after_s.zip(first.by_s).expect("its time is known");
    assert!(
        after_s < by_s && after_s > 8.0 && after_s < outage_s,
        "{first:?} {outage_s}"
    );
}

#[test]
fn the_account_of_commits_survives_the_client() {
    let bench = TestBench::loaded("ledger_killed", 4);
    (0..rounds()).for_each(|_| kill_a_client(&bench));
}

fn kill_a_client(bench: &TestBench) {
    let mut child = bench.start("run tpcb --clients 4 --duration 60s --ledger");
    let knows_commits = |run: &Run| run.ledger.as_ref().is_some_and(|it| it.acknowledged > 10);
    wait_until(&bench.home, knows_commits);
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    let run = stored_runs(&bench.home).pop().expect("it is stored");
    let account = run.ledger.as_ref().expect("in the journal");
    let check = || {
        let output = bench.prony("check ledger --run last");
        (
            output.status.code(),
            stdout_text(&output),
            stderr_text(&output),
        )
    };
    let (code, text, _) = check();
    let acknowledged = account.acknowledged;
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("lost 0 of "), "{acknowledged} {text}");

    // What the client knew of is looked for one by one.
    let table = &account.table;
    let delete = format!("delete from {table} where client = 1 and sequence in (2, 3)");
    bench.control().execute(&delete).expect("they are there");
    let (code, text, messages) = check();
    assert_eq!(code, Some(4), "{text}");
    assert!(
        text.contains("lost 2 of ")
            && text.contains("number 2 of client 1, acknowledged between 0.0 s and"),
        "{text}"
    );
    let drop = format!("DROP TABLE {table};");
    messages.assert_contains(&drop);
    bench.control().execute(&drop).expect("it is there");
}

#[test]
fn a_run_that_accounted_for_all_of_its_commits_is_not_a_failure_when_asked_again() {
    let bench = TestBench::loaded("ledger_decided", 1);
    let run = bench.prony("run tpcb --clients 1 --duration 1s --warmup 0s --ledger");
    assert_ne!(run.status.code(), Some(4), "{run:?}");
    let checked = bench.prony("check ledger --run last");
    let text = stdout_text(&checked);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    assert!(
        text.contains(": lost 0 of ") && text.contains("as found after its load"),
        "{text}"
    );
    let without = bench.prony("run tpcb --clients 1 --duration 1s --warmup 0s");
    assert_ne!(without.status.code(), Some(4), "{without:?}");
    assert_eq!(
        bench.prony("check ledger --run last").status.code(),
        Some(4)
    );
}

#[test]
fn sigusr1_is_a_mark_and_ends_nothing() {
    let bench = TestBench::loaded("drill_signal", 1);
    let child = bench.start("run tpcb --clients 1 --duration 3s --warmup 0s");
    wait_until(&bench.home, any_committed);
    send_signal(&child, "-USR1");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.code().is_some(), "{output:?}");
    let run = last_run(&bench);
    let events = run.events.iter();
    let marks = events.filter(|event| event.kind == EventKind::Mark);
    let marks: Vec<_> = marks
        .map(|mark| (mark.detail.as_str(), &mark.command))
        .collect();
    assert_eq!(marks, [("SIGUSR1", &None)]);
    assert!(run.measured.length_s > 2.5);
}

#[test]
fn a_replica_that_stops_replaying_is_stale() {
    let primary = own_postgres();
    let bench = TestBench::loaded_on(&primary, "stale", 4);
    let standby = start_standby(&primary);
    let reads = format!(
        "postgres://postgres:{}@127.0.0.1:{}/stale",
        bench.password,
        standby.port()
    );
    let mut on_standby = connect(&standby.url_for("stale"));
    // It would not be asked what is lost.
    assert!(is_replica(&mut on_standby) && !is_replica(&mut bench.control()));
    for agents in [0, 2] {
        let mut command = bench.command(
            "drill script -b tpcb-like -b select-only --clients 4 --threads 2 --duration 6s --warmup 0s --json",
        );
        command.args(["--url", &bench.url, "--read-from", &reads]);
        for number in 1..=agents {
            command.args(["--agent", &crate::fleet::agent("stale", number)]);
        }
        let (child, _) = start_run(command);
        wait_until(&bench.home, any_committed);
        on_standby.run("select pg_wal_replay_pause()");
        std::thread::sleep(Duration::from_secs(2));
        on_standby.run("select pg_wal_replay_resume()");
        let run = parse_run(&child.wait_with_output().expect("it ends"));
        let account = run.ledger.as_ref().expect("kept");
        assert_eq!((account.lost, &account.not_read), (0, &None), "{account:?}");
        let staleness = account.staleness.as_ref().expect("there is a replica");
        assert!(staleness.readings > 5, "{staleness:?}");
        assert_eq!(staleness.went_back, 0, "{staleness:?}");
        assert!(
            staleness.age_max_s > 1.0 && staleness.commits_max > 10,
            "{staleness:?}"
        );
        assert!(
            staleness.commits_p50 < staleness.commits_max,
            "{staleness:?}"
        );
        // What clients of other machines know is known later, but less than a second.
        assert_eq!(staleness.told_within_s.is_some(), agents > 0);
        assert!(
            staleness
                .told_within_s
                .is_none_or(|s| s < staleness.age_max_s),
            "{staleness:?}"
        );
    }
}
