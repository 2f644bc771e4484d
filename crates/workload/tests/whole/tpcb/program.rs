//! Tests the programs of the account workloads, statement by statement on a real server: with the same
//! seed, they must have the same effect on every row as pgbench's builtin scripts.

use super::pgbench::pgbench;
use crate::common::*;
use prony_server::Control;
use prony_session::{
    Conn, Db, Outcome, Sample, StartRules, UserExit, UserId, UserPhase, WorkerContext,
};
use prony_test_servers::TestControl;
use prony_wire::{Exchange, FeedStatus, QueryMode};
use prony_workload::find;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

struct UserOutcome {
    statements: Vec<String>,
    samples: Vec<Sample>,
    exit: UserExit,
}

/// Runs one user: sends its statements over a control connection.
fn run_user(database: &TestDatabase, name: &str, seed: u64, transactions: u64) -> UserOutcome {
    let mut control = database.control();
    let loaded = database.program(name, &[]).expect("the data is loaded");
    let conn = Rc::new(Conn::new(Exchange::postgres(QueryMode::Simple, false)));
    let worker = Rc::new(WorkerContext::new(StartRules {
        max_transactions: transactions,
        ..StartRules::default()
    }));
    conn.mark_opened();
    let id = UserId {
        client: 0,
        clients: 1,
        worker: 0,
        workers: 1,
        seed,
    };
    let mut user = loaded
        .program
        .create_user(id, Db::new(Rc::clone(&conn), Rc::clone(&worker)));
    let mut context = Context::from_waker(Waker::noop());
    let mut statements = Vec::new();
    let (mut clock_ns, mut in_block) = (0, false);
    let exit = loop {
        if let Poll::Ready(exit) = user.as_mut().poll(&mut context) {
            break exit;
        }
        assert_eq!(conn.phase(), UserPhase::Send, "a closed loop only sends");
        let sql = {
            let bytes = conn.outgoing();
            String::from_utf8(bytes[5..bytes.len() - 1].to_vec()).expect("text")
        };
        conn.mark_busy();
        let reply = execute_and_reply(&mut control, &sql, &mut in_block);
        statements.push(sql);
        assert_eq!(
            conn.feed(&reply).expect("the protocol holds"),
            FeedStatus::Complete
        );
        clock_ns += 1000;
        conn.mark_ready(clock_ns);
    };
    let mut samples = Vec::new();
    worker.drain_samples(|sample| samples.push(*sample));
    UserOutcome {
        statements,
        samples,
        exit,
    }
}

/// Runs a statement, and builds the reply for the user.
fn execute_and_reply(control: &mut Control, sql: &str, in_block: &mut bool) -> Vec<u8> {
    let message = |kind: u8, body: &[u8]| {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        [&[kind][..], &length, body].concat()
    };
    match sql {
        "BEGIN" => *in_block = true,
        "END" | "ROLLBACK" => *in_block = false,
        _ => {}
    }
    match control.execute(sql) {
        Ok(count) => {
            let tag = format!("DONE {count}\0");
            let block: &[u8] = if *in_block { b"T" } else { b"I" };
            [message(b'C', tag.as_bytes()), message(b'Z', block)].concat()
        }
        Err(error) => {
            let code = error.sqlstate().expect("an error of the server").to_owned();
            let body = format!("SERROR\0C{code}\0Mfailed\0\0");
            [message(b'E', body.as_bytes()), message(b'Z', b"E")].concat()
        }
    }
}

const SELECT_HISTORY: &str = "select tid, bid, aid, delta from pgbench_history order by ctid";

#[test]
fn transactions_of_a_seed_match_pgbench() {
    let database = TestDatabase::postgres("seed");
    database.load("tpcb", &[("scale", "3")], 1);
    let mut control = database.control();
    for (name, script, statements_per_transaction) in [
        ("tpcb", "tpcb-like", 7),
        ("simple-update", "simple-update", 5),
    ] {
        control.run("truncate pgbench_history");
        pgbench(
            &database,
            &[
                "-n",
                "-b",
                script,
                "-c",
                "1",
                "-t",
                "40",
                "--random-seed=42",
            ],
        );
        let pgbench_history = control.query(SELECT_HISTORY).expect("reads");
        control.run("truncate pgbench_history");
        let outcome = run_user(&database, name, 42, 40);
        assert_eq!(
            control.query(SELECT_HISTORY).expect("reads"),
            pgbench_history,
            "{name}"
        );
        assert_eq!(pgbench_history.len(), 40);
        assert_eq!(outcome.exit, UserExit::Finished);
        assert_eq!(outcome.statements.len(), 40 * statements_per_transaction);
        assert!(
            outcome
                .samples
                .iter()
                .all(|sample| sample.outcome == Outcome::Committed)
        );
        assert_eq!(outcome.samples.len(), 40);
    }
    let report = database.check("tpcb");
    assert!(report.is_ok(), "{report:?}");
}

#[test]
fn users_send_the_listed_statements() {
    let database = TestDatabase::postgres("statements");
    database.load("tpcb", &[("scale", "1")], 1);
    for name in ["tpcb", "simple-update", "select-only"] {
        let outcome = run_user(&database, name, 7, 2);
        let listed = find(name).expect("listed").statements();
        assert_eq!(outcome.statements.len(), 2 * listed.len());
        for (sent, expected) in outcome.statements.iter().zip(listed.iter().chain(&listed)) {
            assert_eq!(shape(sent), shape(expected), "{name}");
        }
    }
}

/// Removes placeholders, numbers, and the parentheses around negative numbers from a statement.
fn shape(sql: &str) -> String {
    let is_dropped =
        |c: char| matches!(c, '$' | '-' | '(' | ')' | '\'' | ' ') || c.is_ascii_digit();
    sql.replace(is_dropped, "")
}

#[test]
fn user_continues_after_a_failed_transaction() {
    let database = TestDatabase::postgres("fails");
    database.load("tpcb", &[("scale", "1")], 1);
    let mut control = database.control();
    control.run("alter table pgbench_history add constraint positive check (delta > 0)");
    let outcome = run_user(&database, "tpcb", 3, 30);
    assert_eq!(outcome.exit, UserExit::Finished);
    assert_eq!(outcome.samples.len(), 30);
    let failures = outcome
        .samples
        .iter()
        .filter(|s| matches!(s.outcome, Outcome::Failed(_, code) if code == *b"23514"));
    let failure_count = failures.count();
    assert!(
        failure_count > 0 && failure_count < 30,
        "{failure_count} of 30"
    );
    assert_eq!(
        outcome
            .statements
            .iter()
            .filter(|sql| *sql == "ROLLBACK")
            .count(),
        failure_count
    );
    let report = database.check("tpcb");
    assert!(
        report.is_ok(),
        "rolled-back transactions change nothing: {report:?}"
    );
    assert_eq!(report.tables[3].rows, 30 - failure_count as u64);
}
