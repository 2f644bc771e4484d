//! Servers that are slow to accept a client, or refuse it.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_drive::io::sim::{Action, Answer, SimServer};
use prony_drive::{DriveResult, Error, RunEventKind};
use prony_plan::{DrivePlan, Stop};
use prony_server::Target;
use prony_session::{Outcome, Program};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A server that is slow to accept client 2, and sends data to the other clients meanwhile. Counts how often clients
/// connect.
struct SlowForClient2(Arc<AtomicU32>);

impl SimServer for SlowForClient2 {
    fn connect(&mut self, slot: u32, _: u64) -> Result<u64, i32> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(if slot == 2 { 10 * MS } else { 10_000 })
    }

    fn request(&mut self, slot: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        const NOTICE: &[u8] = b"N\0\0\0\x0eSNOTICE\0\0\0";
        if bytes[0] != 0 {
            return answers.push(send(MS, DONE));
        }
        answers.push(send(20_000, WELCOME));
        if slot == 0 {
            answers.extend([send(MS, &NOTICE[..7]), send(2 * MS, &NOTICE[7..])]);
        }
        if slot == 1 && self.0.load(Ordering::Relaxed) <= 3 {
            answers.push(close(MS));
        }
    }
}

/// Client 0 receives a notice in two pieces meanwhile, and client 1 loses its connection.
#[test]
fn events_before_all_clients_are_connected_are_handled() {
    for reconnect in [true, false] {
        let connects = Arc::new(AtomicU32::new(0));
        let mut plan = plan(3, 0.1);
        plan.reconnect = reconnect;
        let server = SlowForClient2(Arc::clone(&connects));
        let driven = drive(&selects(), &plan, server);
        let tally = driven.collected.measured.all_kinds();
        let events: Vec<_> = driven.events.iter().map(|event| event.kind).collect();
        let found = (connects.load(Ordering::Relaxed), tally.failed, &*events);
        let expected: (_, _, &[_]) =
            if reconnect { (4, 0, &[]) } else { (3, 1, &[RunEventKind::UserFailed]) };
        assert_eq!(found, expected);
        let connections = driven.collected.measured.health.connections;
        assert_eq!(connections, 2 + u32::from(reconnect));
        assert!(tally.committed > 0);
    }
}

/// A server that accepts clients as the closure says, and answers at once.
fn accepts(accept: impl FnMut(u64) -> Result<u64, i32> + Send) -> impl SimServer + Send {
    PgServer {
        accept,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| answers.push(send(MS, DONE)),
    }
}

/// A server that accepts the first connection, and never answers a later attempt to connect.
fn accepts_once() -> impl SimServer + Send {
    let mut delays = [10_000].into_iter();
    accepts(move |_| Ok(delays.next().unwrap_or(3_600_000 * MS)))
}

/// Runs with a time-out of two seconds for each connection attempt.
fn simulate_with_2s_timeout(
    hosts: &str,
    plan: &DrivePlan,
    server: impl SimServer + Send,
) -> DriveResult {
    simulate_with_timeout(2, hosts, &selects(), plan, server).unwrap()
}

/// Runs with a time-out of `timeout_s` for each connection attempt.
fn simulate_with_timeout(
    timeout_s: u32,
    hosts: &str,
    program: &dyn Program,
    plan: &DrivePlan,
    server: impl SimServer + Send,
) -> Result<DriveResult, Error> {
    let env = prony_server::Environment::without_home("tester");
    let url = format!("host={hosts} sslmode=disable user=tester dbname=bench");
    let target = Target {
        connect_timeout: Some(Duration::from_secs(timeout_s.into())),
        ..prony_server::resolve(&url, &env).unwrap()
    };
    let job = job(program, plan, &target);
    prony_drive::run_simulated(
        &job,
        with_timestamps(),
        server,
        &mut TestObserver::default(),
    )
}

/// Two servers that are slow to accept a client. The first one then resets the connection.
struct SlowAccept(u32);

impl SimServer for SlowAccept {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        self.0 += 1;
        Ok(1500 * MS)
    }

    fn request(&mut self, _: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        answers.push(match (bytes[0], self.0) {
            (0, 1) => Answer {
                after_ns: MS,
                action: Action::Close(104), // ECONNRESET
            },
            (0, _) => send(MS, WELCOME),
            _ => send(MS, DONE),
        });
    }
}

#[test]
fn each_attempt_to_connect_has_its_own_deadline() {
    let driven = simulate_with_2s_timeout("127.0.0.1,127.0.0.2", &plan(1, 0.1), SlowAccept(0));
    assert_eq!(driven.collected.measured.all_kinds().failed, 0);
}

#[test]
fn a_connect_time_out_fails_the_transaction() {
    let mut plan = plan(1, 10.0);
    plan.connect_per_transaction = true;
    let driven = simulate_with_2s_timeout("127.0.0.1", &plan, accepts_once());
    let tally = driven.collected.measured.all_kinds();
    // After the failure the user waits, outside a transaction, for the server to accept its connection.
    assert_eq!((tally.committed, tally.failed), (1, 1));
    assert_eq!(driven.collected.measured.excluded.unfinished, 0);
}

/// Transactions that open a new connection between two statements.
fn reconnecting_program() -> impl Program {
    repeat(|db| {
        Box::pin(async move {
            db.query("SELECT 1").await?;
            db.open_connection().await?;
            db.query("SELECT 1").await?;
            Ok(Outcome::Committed)
        })
    })
}

/// A plan whose transactions start for a second and may take any time to end.
fn plan_without_grace_limit(clients: u32) -> DrivePlan {
    DrivePlan {
        stop: Stop::NoStartsAfter(Duration::from_secs(1)),
        grace: Duration::MAX,
        ..plan(clients, 1.0)
    }
}

#[test]
fn a_user_that_opens_a_connection_does_not_outlive_the_run() {
    let driven = simulate_with_timeout(
        1000,
        "127.0.0.1",
        &reconnecting_program(),
        &plan_without_grace_limit(1),
        accepts_once(),
    )
    .unwrap();
    let measured = &driven.collected.measured;
    assert!(measured.seconds() < 3.0, "{}", measured.seconds());
    assert_eq!(
        measured.all_kinds().committed + measured.all_kinds().failed,
        0
    );
    assert_eq!(measured.excluded.unfinished, 1);
    assert!(driven.events.is_empty(), "{:?}", driven.events);
}

#[test]
fn a_connection_opened_soon_after_the_end_is_awaited() {
    let driven = simulate_with_timeout(
        10,
        "127.0.0.1",
        &reconnecting_program(),
        &plan_without_grace_limit(2),
        accepts(|_| Ok(600 * MS)),
    )
    .unwrap();
    let measured = &driven.collected.measured;
    // Opening the first connections took 600 ms of the second already.
    assert_eq!(
        (measured.all_kinds().committed, measured.all_kinds().failed),
        (2, 0)
    );
    assert!(
        (1.1..1.3).contains(&measured.seconds()),
        "{}",
        measured.seconds()
    );
    assert_eq!(measured.excluded.unfinished, 0);
}

#[test]
fn after_the_end_a_connection_is_not_awaited_past_its_deadline() {
    let mut plan = plan(1, 1.0);
    plan.connect_per_transaction = true;
    plan.grace = Duration::from_secs(600);
    let driven = simulate_with_2s_timeout("127.0.0.1", &plan, accepts_once());
    assert!(
        driven.collected.drain_s < 3.0,
        "{}",
        driven.collected.drain_s
    );
    let in_flight = driven.collected.measured.excluded.in_flight;
    assert_eq!((in_flight.failed, in_flight.total()), (1, 1));
}

/// A unix socket whose backlog is full for a minute, except for the first client.
fn full_backlog() -> impl SimServer + Send {
    let mut is_first = true;
    accepts(move |now_ns| {
        let is_free = std::mem::take(&mut is_first) || now_ns > 60_000 * MS;
        if is_free { Ok(10_000) } else { Err(libc::EAGAIN) }
    })
}

#[test]
fn a_full_backlog_does_not_extend_the_time_to_connect() {
    let (server, program) = (full_backlog(), selects());
    let driven = simulate_with_timeout(2, "127.0.0.1", &program, &plan(2, 1.0), server);
    let error = driven.map(drop).expect_err("one client is not accepted");
    error.to_string().assert_contains("1 of 2 connections");

    // The same with the second connection of a user.
    let server = full_backlog();
    let driven = simulate_with_timeout(
        2,
        "127.0.0.1",
        &reconnecting_program(),
        &plan(1, 30.0),
        server,
    )
    .unwrap();
    let measured = &driven.collected.measured;
    assert_eq!(
        (measured.all_kinds().committed, measured.all_kinds().failed),
        (0, 1)
    );
    let waited_s = measured.all_kinds().busy_ns as f64 / 1e9;
    assert!((2.0..3.0).contains(&waited_s), "{waited_s}");
}

#[test]
fn a_server_that_refuses_all_connections_is_an_error_before_the_run() {
    let server = PgServer {
        accept: |_| accept_unless(true),
        statement: |_, _: &[u8], _, _: &mut Vec<Answer>| {},
    };
    let error = simulate(&selects(), &plan(2, 1.0), with_timestamps(), server).unwrap_err();
    let text = error.to_string();
    text.assert_contains("0 of 2 connections");
    text.assert_contains("Connection refused");
}
