//! Runs find out whether acknowledged commits are missing on the server, and when they cannot.

use crate::common::*;
use crate::controls::rounds;
use prony_store::{Check, FindingState, GrowthReading};
use prony_test_servers::{FrozenServer, children, signal};

fn finding(run: &Run) -> Option<&Check> {
    run.check("lost-commits")
}

fn growth_of(reading: &GrowthReading) -> u64 {
    reading.after.expect("read") - reading.before.expect("read")
}

/// Asserts that the run is invalid because of lost commits, and says how many; returns that number.
fn assert_lost(run: &Run) -> u64 {
    let [reading] = &run.growth[..] else {
        panic!("{:?}", run.growth);
    };
    let lost = reading.committed.saturating_sub(growth_of(reading));
    assert!(lost > 0, "nothing is missing: {reading:?} {:?}", run.checks);
    let check = finding(run).unwrap_or_else(|| panic!("not found: {reading:?} {:?}", run.checks));
    assert_eq!(check.severity, Severity::Invalid);
    check.finding.assert_contains("missing on the server");
    lost
}

/// Asserts that a ledger agrees with the rows of the history, and returns the commits that it has found lost.
pub fn lost_of_ledger(run: &Run) -> u64 {
    let ([reading], Some(account)) = (&run.growth[..], &run.ledger) else {
        panic!("{:?} {:?}", run.growth, run.ledger);
    };
    assert_eq!(
        (&account.not_read, account.unrecorded),
        (&None, 0),
        "{account:?}"
    );
    assert_eq!(account.acknowledged, reading.committed, "{account:?}");
    assert_eq!(
        account.acknowledged + account.ambiguous_found - account.lost,
        growth_of(reading),
        "{account:?} {reading:?}"
    );
    let check = run.check("ledger");
    let expected = if account.lost > 0 { Severity::Invalid } else { Severity::Note };
    assert_eq!(
        check.map(|check| check.severity),
        Some(expected),
        "{check:?}"
    );
    account.lost
}

/// Asserts that each reading of a run without disturbance is exact.
fn assert_balanced(run: &Run, readings: usize) {
    assert_eq!(run.growth.len(), readings, "{:?}", run.growth);
    for reading in &run.growth {
        assert_eq!(
            (growth_of(reading), 0),
            (reading.committed, reading.ambiguous),
            "{reading:?}"
        );
    }
    assert!(
        run.growth.iter().any(|reading| reading.committed > 0),
        "{:?}",
        run.growth
    );
    assert_eq!(finding(run), None);
}

#[test]
fn what_healthy_runs_add_equals_what_they_committed() {
    let postgres = TestBench::new("balance");
    let maria = TestBench::maria("balance");
    const RUN: &str = "--clients 4 --warmup 200ms --duration 500ms --grace 30s";
    let common = [
        (
            "load oltp_insert --scale 2 -o table_size=100",
            "oltp_insert",
            1,
        ),
        ("", "oltp_insert --protocol simple", 1),
        (
            "load oltp_insert --scale 2 -o auto_inc=off",
            "oltp_insert -o auto_inc=off",
            1,
        ),
        ("load ycsb --scale 1", "ycsb -o workload=d", 1),
        ("", "ycsb -o workload=e", 1),
        ("load tpcc --scale 1", "tpcc", 2),
        ("", "tpcc -o profile=hammerdb", 2),
        ("", "tpcc -o profile=hammerdb-4.6 -o mode=procedures", 2),
    ];
    let accounts = [
        ("load tpcb --scale 4", "tpcb", 1),
        ("", "simple-update --protocol extended", 1),
        (
            "",
            "script -b tpcb-like@2 -b simple-update -b select-only",
            1,
        ),
        ("", "select-only", 0),
    ];
    let cases = accounts.iter().chain(&common).map(|case| (true, case));
    for (is_postgres, (load, workload, readings)) in
        cases.chain(common.iter().map(|case| (false, case)))
    {
        let prony = |arguments: &str| {
            if is_postgres { postgres.prony(arguments) } else { maria.prony(arguments) }
        };
        if !load.is_empty() {
            ok_stdout(&prony(load));
        }
        let run = parse_run(&prony(&format!("run {workload} {RUN} --json")));
        match readings {
            0 => assert_eq!(run.growth, [], "{workload}"),
            readings => assert_balanced(&run, *readings),
        }
    }
    // Replaced rows cannot be counted: that is named.
    let run = postgres.run("run oltp_read_write --transactions 5");
    let reason = run.growth[0].not_read.as_deref();
    assert_eq!(reason, Some("it changes, deletes and replaces rows"));
    assert_eq!(finding(&run), None);
}

/// Starts a run of tpcb, calls `disturb` while transactions commit, and returns the run.
pub fn disturbed_run(bench: &TestBench, url: &str, options: &str, disturb: impl FnOnce()) -> Run {
    let mut command = bench.command(&format!("run tpcb --clients 4 --json {options}"));
    command.args(["--url", url]);
    disturbed(command, &bench.home, &bench.password, disturb)
}

/// Starts a run, calls `disturb` while transactions commit, and returns the run.
pub fn disturbed(command: Command, home: &Path, password: &str, disturb: impl FnOnce()) -> Run {
    let (child, lines) = start_run(command);
    // Shown if the test fails.
    eprintln!("{lines}");
    wait_until(home, any_committed);
    disturb();
    let output = child.wait_with_output().expect("it ends");
    assert_hidden(password, &output, home);
    let run = parse_run(&output);
    let mut checks = run.checks.iter();
    let is_invalid = checks.any(|check| check.severity == Severity::Invalid);
    assert_eq!(output.status.code(), Some(if is_invalid { 7 } else { 0 }));
    run
}

#[test]
fn rows_that_disappear_or_never_appeared_are_found_and_rows_of_others_refused() {
    let bench = TestBench::loaded("liar", 4);
    let mut control = bench.control();
    let run_with = |sql: &str| {
        let sql = sql.to_owned();
        disturbed_run(&bench, &bench.url, "--duration 3s", || {
            bench.control().run(sql);
        })
    };
    let run = run_with(
        "delete from pgbench_history where ctid = any (array(select ctid from pgbench_history limit 7))",
    );
    assert_eq!(assert_lost(&run), 7);

    let run = run_with(
        "insert into pgbench_history (tid, bid, aid, delta) select 1, 1, 1, 0 from generate_series(1, 9)",
    );
    let check = finding(&run).expect("others wrote");
    assert_eq!(check.severity, Severity::Caveat);
    check.finding.assert_contains("9 too many. Others wrote");

    let drop_inserts = "create function forget() returns trigger language plpgsql as \
         $$ begin if new.delta % 10 = 0 then return null; end if; return new; end $$; \
         create trigger forget before insert on pgbench_history for each row execute function forget()";
    control.run(drop_inserts);
    let run = bench.run("run tpcb --clients 2 --transactions 100");
    assert_lost(&run);
}

/// Ends the processes of a server with SIGKILL: the postmaster, then its children.
pub fn kill_at_once(server: &EmbeddedPostgres) {
    // First all are stopped, so that none commits while the others end.
    let postmaster = server.pid().expect("it runs");
    let _frozen = FrozenServer::new(postmaster);
    kill_children(postmaster);
    server.kill();
}

/// Ends the processes that a postmaster, which is stopped, has started.
pub fn kill_children(postmaster: u32) {
    let children = children(postmaster);
    assert!(children.len() > 3, "{children:?}");
    for child in children {
        signal(child, libc::SIGKILL);
    }
}

/// Starts a standby of a server, with the server's databases and password.
pub fn start_standby(primary: &EmbeddedPostgres) -> EmbeddedPostgres {
    // Replay never cancels a statement, which could be the one that promotes.
    let options = EmbeddedOptions::default().set("max_standby_streaming_delay", "-1");
    primary.start_standby(&options).expect("it starts")
}

const OWN_SQL: &str = r#"
[workload]
name = "sql"

[[workload.transactions]]
name = "one"
sql = """
\\set n random(1, 9)
INSERT INTO own_notes (n) VALUES (:n);
"""

[[workload.transactions]]
name = "two"
sql = """
BEGIN;
INSERT INTO own_notes (n) VALUES (10);
DELETE FROM own_notes WHERE n = 10;
COMMIT;
"""

[[workload.transactions]]
name = "rolled back"
sql = """
BEGIN;
INSERT INTO own_notes (n) VALUES (11);
ROLLBACK;
"""

[[workload.transactions]]
name = "in the second block"
sql = """
BEGIN;
INSERT INTO own_notes (n) VALUES (12);
ROLLBACK;
BEGIN;
INSERT INTO own_notes (n) VALUES (13);
COMMIT;
"""
"#;

/// What only PostgreSQL takes: a statement that looks as if it had more parameters, whose row is used, and an error after a
/// commit.
const OWN_SQL_POSTGRES: &str = r#"
[workload]
name = "sql"

[[workload.transactions]]
name = "returning"
sql = """
\\set m random(1, 9)
INSERT INTO own_notes (n) VALUES (:m::int + length($$costs $7$$)) RETURNING n AS found \\gset
UPDATE own_notes SET n = n WHERE n = :found + 1000;
"""

[[workload.transactions]]
name = "failing"
sql = """
\\set zero random(0, 1)
INSERT INTO own_notes (n) VALUES (14);
SELECT 1 / :zero::int;
"""
"#;

#[test]
fn a_ledger_accounts_for_each_commit() {
    let (postgres, maria) = (TestBench::new("ledger"), TestBench::maria("ledger"));
    postgres.ok("load tpcb --scale 4");
    postgres.ok("load tpcc --scale 1");
    for load in [
        "load oltp_read_write --scale 2 -o table_size=1000",
        "load ycsb --scale 1",
    ] {
        postgres.ok(load);
        maria.ok(load);
    }
    let own = postgres.home.write("own.toml", OWN_SQL);
    for control in [&mut postgres.control(), &mut connect(&maria.url)] {
        control.run("create table own_notes (n bigint)");
    }
    let of_postgres = postgres.home.write("postgres.toml", OWN_SQL_POSTGRES);
    let of_postgres = of_postgres.display().to_string();
    const RUN: &str = "--clients 4 --warmup 200ms --duration 500ms --grace 30s --ledger --json";
    let on_postgres = [
        "tpcb",
        "tpcb --protocol simple",
        "simple-update",
        "tpcc",
        "tpcc -o mode=statements",
        &of_postgres,
    ];
    let own = own.display();
    let [own, simple] = [own.to_string(), format!("{own} --protocol simple")];
    // Of one statement but for the first and own SQL.
    let on_both = [
        "oltp_read_write -o table_size=1000",
        "oltp_update_index -o table_size=1000",
        "oltp_insert",
        "ycsb -o workload=a",
        "ycsb -o workload=a --protocol simple",
        &own,
        &simple,
    ];
    let arguments = |workload: &str| format!("run {workload} {RUN}");
    let on_postgres = on_postgres.iter().chain(&on_both);
    let runs = on_postgres.map(|workload| (*workload, postgres.prony(&arguments(workload))));
    let on_maria = on_both.map(|workload| (workload, maria.prony(&arguments(workload))));
    for (workload, output) in runs.chain(on_maria) {
        let run = parse_run(&output);
        let account = run.ledger.as_ref().expect("kept");
        assert_eq!(
            (account.lost, account.duplicated, account.phantom),
            (0, 0, 0),
            "{workload}: {account:?}"
        );
        assert_eq!(
            (&account.not_read, account.unrecorded),
            (&None, 0),
            "{workload}"
        );
        assert!(account.acknowledged > 10, "{workload}: {account:?}");
        if ["tpcb", "oltp_insert"].contains(&workload) {
            let committed = run.growth[0].committed;
            assert_eq!(account.acknowledged, committed, "{workload}");
        }
    }
    let tables = "select count(*) from pg_class where relname like 'prony\\_ledger\\_%'";
    assert_eq!(
        query_number(&mut postgres.control(), tables),
        0,
        "they are dropped"
    );
    let refused = postgres.prony("run select-only --clients 1 --duration 1s --ledger");
    assert_eq!(refused.status.code(), Some(2));
    String::from_utf8_lossy(&refused.stderr).assert_contains("no ledger");
}

#[test]
fn a_failover_to_a_standby_that_lags_loses_commits() {
    (0..rounds()).for_each(|_| fail_over_to_a_standby_that_lags());
}

fn fail_over_to_a_standby_that_lags() {
    let primary = own_postgres();
    let bench = TestBench::loaded_on(&primary, "failover", 4);
    let standby = start_standby(&primary);
    let mut on_standby = connect(&standby.url_for("failover"));
    let receiver =
        "select coalesce((select pid from pg_stat_wal_receiver where status = 'streaming'), 0)";
    let started = Instant::now();
    let receiver = loop {
        match query_number(&mut on_standby, receiver) {
            0 => assert!(
                started.elapsed() < WAIT_TIMEOUT,
                "the standby does not stream"
            ),
            pid => break u32::try_from(pid).expect("a process id"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{},127.0.0.1:{}/failover?target_session_attrs=read-write",
        bench.password,
        primary.port(),
        standby.port()
    );
    let run = disturbed_run(
        &bench,
        &url,
        "--duration 10s --expect-outage --check-after --ledger",
        || {
            signal(receiver, libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(1_500));
            kill_at_once(&primary);
            signal(receiver, libc::SIGCONT);
            on_standby.run("select pg_promote(wait => false)");
        },
    );
    assert!(lost_of_ledger(&run) > 0);
    let account = run.ledger.as_ref().expect("kept");
    assert_eq!(
        account.clients_scattered, 0,
        "a replica that lags loses the last commits: {account:?}"
    );
    // The conditions of the data hold nevertheless: each transaction is there, or is not.
    let findings = run.consistency.expect("checked").findings;
    assert!(
        findings
            .iter()
            .all(|finding| finding.state != FindingState::Wrong),
        "{findings:?}"
    );
}

#[test]
fn a_crash_loses_commits_only_if_they_are_not_durable() {
    let options = EmbeddedOptions::default()
        .set("wal_writer_delay", "10s")
        .set("wal_writer_flush_after", "1GB")
        .set("wal_buffers", "64MB");
    let server = own_postgres_with(&options);
    let bench = TestBench::loaded_on(&server, "crash", 4);
    let crash = |durability: &str| {
        let mut control = connect(&server.url());
        let set = format!("alter database crash set synchronous_commit = {durability}");
        control.run(set);
        drop(control);
        disturbed_run(
            &bench,
            &bench.url,
            "--duration 6s --expect-outage --ledger",
            || {
                kill_at_once(&server);
                server.restart().expect("it starts again");
            },
        )
    };
    let mut run = None;
    for _ in 0..rounds() {
        assert!(lost_of_ledger(&crash("off")) > 0);
        run = Some(crash("on"));
        assert_eq!(run.as_ref().map(lost_of_ledger), Some(0));
    }
    let run = run.expect("there is a round");
    let reading = &run.growth[0];
    let maximum = reading.committed + reading.ambiguous;
    assert!(
        (reading.committed..=maximum).contains(&growth_of(reading)),
        "{reading:?}"
    );
    assert_eq!(finding(&run), None);
}
