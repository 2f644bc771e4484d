//! Users on the real loop against a real MariaDB: both I/O engines, all protocol modes, transactions, errors, lost
//! connections.

#[path = "../sim/support.rs"]
#[allow(dead_code)]
mod support;

use prony_assertions::TextAssertions;
use prony_drive::{DriveJob, DriveResult, RunEventKind, run};
use prony_measure::ErrorClass;
use prony_plan::{DrivePlan, IoEngine, QueryMode, Stop};
use prony_server::{Control, Environment, Target, resolve};
use prony_session::{Db, DbError, Outcome, Program};
use prony_test_servers::{MariaDb, MariaDbOptions, TestControl, shared_mariadb};
use prony_wire::{Statement, StatementIds, Value};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{TestObserver, engines, job, plan, repeat_with};

const CLIENTS: u32 = 8;

fn target(url: &str) -> Target {
    let environment = Environment::without_home("tester");
    resolve(url, &environment).expect("a good URL")
}

fn drive(program: &dyn Program, plan: &DrivePlan, target: &Target) -> DriveResult {
    drive_until(program, plan, target, &AtomicBool::new(false))
}

/// Ends at once when `interrupt` is set.
fn drive_until(
    program: &dyn Program,
    plan: &DrivePlan,
    target: &Target,
    interrupt: &AtomicBool,
) -> DriveResult {
    let job = DriveJob {
        interrupt,
        ..job(program, plan, target)
    };
    run(&job, &mut TestObserver::default()).expect("the run starts")
}

/// One statement of each kind, with numbered placeholders as in all programs.
struct CountingStatements {
    echo: Statement,
    begin: Statement,
    add: Statement,
    read: Statement,
    commit: Statement,
    read_two: Statement,
}

/// A transaction that increments a counter in its client's row.
fn counter_program() -> impl Program {
    let mut set = StatementIds::new();
    let statements = CountingStatements {
        echo: set.add("select $2, $1 + 0, $3, $1, '$1?' -- $9"),
        begin: set.add("begin"),
        add: set.add("update counts set n = n + $1, note = $3 where id = $2;"),
        read: set.add("select id, n, note from counts where id = $1"),
        commit: set.add("commit"),
        read_two: set.add("select id, n from counts where id in ($1, $2) order by id"),
    };
    repeat_with(statements, |db, id, statements| {
        Box::pin(count(db, statements, i64::from(id.client)))
    })
}

async fn count(
    db: &mut Db,
    statements: &CountingStatements,
    client: i64,
) -> Result<Outcome, DbError> {
    let note = format!("client {client}: it's \\ \"so\" é");
    let values = [Value::Int(-client - 1), Value::Text(&note), Value::Null];
    {
        let rows = db.exec(&statements.echo, &values).await?;
        let row = rows.first().expect("a row");
        let echoed = (row.text(0), row.int(1));
        assert_eq!(echoed, (Some(note.as_str()), Some(-client - 1)));
        assert_eq!((row.text(2), row.text(4)), (None, Some("$1?")));
        assert_eq!(row.text(3), Some((-client - 1).to_string().as_str()));
    }
    db.exec(&statements.begin, &[]).await?;
    assert!(db.is_in_block());
    let changes = [Value::Int(1), Value::Int(client), Value::Text(&note)];
    assert_eq!(db.exec(&statements.add, &changes).await?.affected_rows(), 1);
    let id = [Value::Int(client)];
    let before = {
        let rows = db.exec(&statements.read, &id).await?;
        let row = rows.first().expect("its row");
        let id_and_note = (row.int(0), row.text(2));
        assert_eq!(id_and_note, (Some(client), Some(note.as_str())));
        row.int(1).expect("a count")
    };
    // The following reads and the commit as one request.
    let ids = [Value::Int(client), Value::Int(-1)];
    let batch: [(&Statement, &[Value]); 3] = [
        (&statements.read_two, &ids),
        (&statements.read, &id),
        (&statements.commit, &[]),
    ];
    {
        let rows = db.batch(&batch).await?;
        assert_eq!(rows.result_count(), 3);
        let int = |(result, row): (usize, prony_wire::WireRow<'_>)| (result, row.int(1));
        let ints: Vec<_> = rows.iter().map(int).collect();
        assert_eq!(ints, [(0, Some(before)), (1, Some(before))]);
    }
    assert!(!db.is_in_block());
    Ok(Outcome::Committed)
}

/// Creates the counters in this database, one row per client.
fn prepare(url: &str, name: &str) -> (Control, Target) {
    let mut control = Control::connect(&target(url)).expect("connects");
    for statement in ["drop database if exists", "create database"] {
        control.run(format!("{statement} {name}"));
    }
    control.run(format!("use {name}"));
    control
        .execute("create table counts (id int primary key, n bigint not null, note varchar(100))")
        .unwrap();
    let rows: Vec<String> = (0..CLIENTS).map(|id| format!("({id}, 0, '')")).collect();
    control
        .execute(&format!("insert into counts values {}", rows.join(", ")))
        .unwrap();
    let url = url.replace("/test", &format!("/{name}"));
    (control, target(&url))
}

fn sum_of_counts(control: &mut Control) -> u64 {
    let sum = control.query_value("select sum(n) from counts").unwrap();
    sum.and_then(|sum| sum.parse().ok()).expect("a sum")
}

fn plan_with(mode: QueryMode, io: IoEngine, seconds: f64) -> DrivePlan {
    let mut plan = plan(CLIENTS, seconds);
    plan.protocol = mode;
    plan.io = io;
    plan.threads = 2;
    plan
}

fn check_every_mode(url: &str) {
    let modes = [QueryMode::Prepared, QueryMode::Simple, QueryMode::Extended];
    for mode in modes {
        for io in engines() {
            let (mut control, target) = prepare(url, "drive_modes");
            let mut plan = plan_with(mode, io, 1.0);
            plan.stop = Stop::Transactions(15);
            let driven = drive(&counter_program(), &plan, &target);
            let tally = driven.collected.measured.all_kinds();
            let errors = driven.collected.measured.errors.entries();
            assert_eq!(tally.failed, 0, "{mode:?} {io:?}: {errors:?}");
            assert!(
                driven.events.is_empty(),
                "{mode:?} {io:?}: {:?}",
                driven.events
            );
            let expected = 15 * u64::from(CLIENTS);
            let counts = (tally.committed, sum_of_counts(&mut control));
            assert_eq!(counts, (expected, expected), "{mode:?} {io:?}");
            assert_eq!(
                tally.parts.is_some(),
                url.contains("127.0.0.1"),
                "{mode:?} {io:?}"
            );
        }
    }
}

#[test]
fn every_mode_on_both_engines_and_transports() {
    let server = shared_mariadb();
    check_every_mode(&server.url());
    check_every_mode(server.tcp_url_with_password().reveal());
}

/// `PRONY_TEST_MYSQL` holds URLs of accounts that may create databases, separated by spaces.
#[test]
fn every_mode_on_servers_listed_in_prony_test_mysql() {
    let urls = std::env::var("PRONY_TEST_MYSQL").unwrap_or_default();
    if urls.is_empty() {
        eprintln!("skipped: PRONY_TEST_MYSQL is not set");
    }
    for url in urls.split_whitespace() {
        let mut control = Control::connect(&target(url)).unwrap();
        control.run("create database if not exists test");
        // The URL names only the account and the port; it uses TLS if the server supports it.
        let url = format!("{}/test", url.trim_end_matches('/'));
        check_every_mode(&url);
        check_every_mode(&format!("{url}?ssl-mode=DISABLED"));
        control.run("drop database drive_modes");
    }
}

/// Waits until each client has incremented its counter this many times.
fn wait_until_each_counts(control: &mut Control, increments: u64) {
    control.run("drop table if exists counts_before");
    let copy = "create table counts_before select id, n from counts";
    control.run(copy);
    let sql = format!(
        "select count(*) from counts join counts_before b using (id) where counts.n >= b.n + {increments}"
    );
    let begun = Instant::now();
    while control.query_value(&sql).unwrap() != Some(CLIENTS.to_string()) {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the clients make no progress"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Kills every connection to a database except that of `control`; returns their number.
fn kill_connections(control: &mut Control, database: &str) -> usize {
    let sql =
        "select id from information_schema.processlist where db = $1 and id <> connection_id()";
    let rows = control.query_with(sql, &[database]).unwrap();
    for row in &rows {
        let id = row[0].as_deref().expect("a number");
        // The statement fails if that connection has ended in the meantime.
        let _ = control.execute(&format!("kill {id}"));
    }
    rows.len()
}

#[test]
fn killed_connections_are_reopened_and_no_transaction_is_counted_twice() {
    let server = shared_mariadb();
    for io in engines() {
        for mode in [QueryMode::Prepared, QueryMode::Simple] {
            let (mut control, target) = prepare(&server.url(), "drive_killed");
            let program = counter_program();
            let interrupt = AtomicBool::new(false);
            let plan = plan_with(mode, io, 120.0);
            let driven = std::thread::scope(|scope| {
                let run = scope.spawn(|| drive_until(&program, &plan, &target, &interrupt));
                // Each client counts before and after the kill. Of two counts that are committed after the
                // kill, at least the second also began after it.
                wait_until_each_counts(&mut control, 1);
                assert!(kill_connections(&mut control, "drive_killed") > 0);
                wait_until_each_counts(&mut control, 2);
                interrupt.store(true, Ordering::Relaxed);
                run.join().expect("the run ends")
            });
            let measured = &driven.collected.measured;
            let tally = measured.all_kinds();
            assert!(tally.failed > 0, "{mode:?} {io:?}");
            for entry in measured.errors.entries() {
                let lost = [ErrorClass::LostConnection, ErrorClass::AmbiguousCommit];
                assert!(lost.contains(&entry.class), "{mode:?} {io:?}: {entry:?}");
            }
            let outages = driven
                .events
                .iter()
                .filter(|event| event.kind == RunEventKind::Outage);
            let outages: Vec<_> = outages.collect();
            assert!(!outages.is_empty() && outages.iter().all(|event| event.until_ns.is_some()));
            let is_user_failure =
                |event: &&prony_drive::RunEvent| event.kind == RunEventKind::UserFailed;
            assert_eq!(
                driven.events.iter().filter(is_user_failure).count(),
                0,
                "{:?}",
                driven.events
            );
            let sum = sum_of_counts(&mut control);
            // A commit whose reply was lost may have taken effect.
            let max = tally.committed + tally.failed + u64::from(CLIENTS);
            assert!(
                (tally.committed..=max).contains(&sum),
                "{mode:?} {io:?}: {sum}"
            );
        }
    }
}

#[test]
fn a_server_crash_and_restart_is_an_outage() {
    let server = MariaDb::start(MariaDbOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let tcp = server.tcp_url_with_password();
    let (mut control, target) = prepare(tcp.reveal(), "drive_crash");
    let program = counter_program();
    let plan = plan_with(QueryMode::Prepared, IoEngine::Auto, 12.0);
    let driven = std::thread::scope(|scope| {
        let run = scope.spawn(|| drive(&program, &plan, &target));
        wait_until_each_counts(&mut control, 1);
        server.kill();
        std::thread::sleep(Duration::from_millis(300));
        server.restart().unwrap_or_else(|e| panic!("{e}"));
        run.join().expect("the run ends")
    });
    // Each worker reports the outages of its own connections.
    let events = driven.events.iter();
    let outages = events.filter(|event| event.kind == RunEventKind::Outage);
    let lost: u64 = outages.map(|event| event.count).sum();
    // A server that has just come back may close early connections.
    assert!(lost >= u64::from(CLIENTS), "{:?}", driven.events);
    let tally = driven.collected.measured.all_kinds();
    let mut control = Control::connect(&target).expect("it is back");
    let sum = sum_of_counts(&mut control);
    assert!(tally.failed > 0);
    let max = tally.committed + tally.failed + u64::from(CLIENTS);
    assert!((tally.committed..=max).contains(&sum), "{sum} of {max}");
}

/// Updates two rows, in an order that depends on the client.
async fn update_in_order(
    db: &mut Db,
    client: u32,
    [begin, add, commit]: &[Statement; 3],
) -> Result<Outcome, DbError> {
    let first = i64::from(client % 2);
    db.exec(begin, &[]).await?;
    for id in [first, 1 - first] {
        db.exec(add, &[Value::Int(id)]).await?;
    }
    db.exec(commit, &[]).await?;
    Ok(Outcome::Committed)
}

#[test]
fn deadlocks_are_counted_in_their_error_class() {
    let (mut control, target) = prepare(&shared_mariadb().url(), "drive_deadlock");
    let mut set = StatementIds::new();
    let statements = [
        set.add("begin"),
        set.add_with_question_marks("update counts set n = n + 1 where id = ?"),
        set.add("commit"),
    ];
    let program = repeat_with(statements, |db, id, statements| {
        Box::pin(update_in_order(db, id.client, statements))
    });
    let plan = plan_with(QueryMode::Prepared, IoEngine::Auto, 2.0);
    let driven = drive(&program, &plan, &target);
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    assert!(
        tally.committed > 0 && tally.failed > 0,
        "{} {}",
        tally.committed,
        tally.failed
    );
    for entry in measured.errors.entries() {
        assert_eq!(
            (entry.class, &entry.code),
            (ErrorClass::Deadlock, b"40001"),
            "{entry:?}"
        );
        entry.example.assert_contains("Deadlock");
    }
    // The server rolled back the failed transactions.
    let sum = sum_of_counts(&mut control);
    let max = 2 * (tally.committed + u64::from(CLIENTS));
    assert!(
        sum.is_multiple_of(2) && (2 * tally.committed..=max).contains(&sum),
        "{sum}"
    );
}
