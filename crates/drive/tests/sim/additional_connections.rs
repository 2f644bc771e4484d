//! Users that open their connections themselves, or have several.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_drive::io::sim::{Answer, Machine, SimServer};
use prony_drive::{DriveJob, DriveResult, Error, RunEventKind, run_simulated};
use prony_session::{Db, Program, User, UserExit, UserId};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Runs the users against a server that takes 2 ms for a statement. Also returns the number of refusals
/// that were reported.
fn run(users: u32, refuse: fn(u64) -> bool) -> (Result<DriveResult, Error>, usize) {
    let refusals = AtomicUsize::new(0);
    let on_refused = |failures: &[prony_server::control::ConnectFailure]| {
        assert_eq!(failures.len(), 1);
        refusals.fetch_add(1, Ordering::Relaxed);
    };
    let (plan, target) = (plan(users, 1.0), target());
    let job = DriveJob {
        service: None,
        on_connect_refused: Some(&on_refused),
        ..job(&TwoConnections, &plan, &target)
    };
    let server = PgServer {
        accept: |now_ns| accept_unless(refuse(now_ns)),
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| answers.push(send(2 * MS, DONE)),
    };
    let driven = run_simulated(
        &job,
        with_timestamps(),
        server,
        &mut TestObserver::default(),
    );
    (driven, refusals.load(Ordering::Relaxed))
}

#[test]
fn a_transaction_can_use_several_connections() {
    let (driven, refusals) = run(40, |_| false);
    let driven = driven.expect("it starts");
    assert_eq!(
        (driven.events.len(), refusals),
        (0, 0),
        "{:?}",
        driven.events
    );
    let tally = driven.collected.measured.all_kinds();
    // A transaction has two statements of 2 ms. One transaction of each user also opens a new connection.
    assert!(
        tally.committed.abs_diff(40 * 250) <= 80,
        "{}",
        tally.committed
    );
    assert_eq!(tally.response.min_ns, 4 * MS);
    // The server time includes both round trips.
    let parts = tally.parts.as_ref().expect("timestamps").server.mean_ns();
    assert!((parts - 4e6).abs() < 1e4, "{parts}");
}

#[test]
fn a_refused_connection_is_reported() {
    let (driven, refusals) = run(3, |_| true);
    let error = driven.expect_err("the server refuses all");
    error.to_string().assert_contains("refused");
    assert!(refusals >= 1);
}

/// A program whose users open their connections themselves.
struct OpensConnections<F>(F);

impl<F: Fn(UserId, Db) -> User + Send + Sync> Program for OpensConnections<F> {
    fn kinds(&self) -> &[&'static str] {
        &["event"]
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        (self.0)(id, db)
    }
}

/// Runs the program on a machine, with a time-out of two seconds for each connection.
fn run_on(
    program: &dyn Program,
    clients: u32,
    seconds: f64,
    machine: Machine,
    server: impl SimServer + Send,
) -> DriveResult {
    let target = prony_server::Target {
        connect_timeout: Some(Duration::from_secs(2)),
        ..target()
    };
    let plan = plan(clients, seconds);
    let job = job(program, &plan, &target);
    run_simulated(&job, machine, server, &mut TestObserver::default()).expect("it starts")
}

/// The second connection is lost twice while idle, and its user closes it each time.
async fn loses_idle_connection(mut db: Db) -> Result<(), UserExit> {
    let mut other = db.add_connection().await.map_err(user_failure)?;
    db.open_connection().await.map_err(user_failure)?;
    db.wait_for_common_start().await;
    for _ in 0..2 {
        other.open_connection().await.map_err(user_failure)?;
        other.query("SELECT 1").await.map_err(user_failure)?;
        db.sleep(Duration::from_millis(20)).await;
        assert!(!other.is_up());
        other.close_connection().await;
        db.sleep(Duration::from_millis(200)).await;
    }
    loop {
        event(&mut db).await?;
    }
}

#[test]
fn closing_a_lost_connection_ends_its_outage() {
    let program = OpensConnections(|_, db| user(loses_idle_connection(db)));
    let server = admit_all(|slot, _, _, answers| {
        answers.push(send(2 * MS, DONE));
        if slot == 1 {
            answers.push(close(3 * MS));
        }
    });
    let driven = run_on(&program, 1, 1.0, with_timestamps(), server);
    let outages: Vec<_> = driven
        .events
        .iter()
        .map(|event| (event.kind, event.count, event.until_ns.is_some()))
        .collect();
    assert_eq!(
        outages,
        [(RunEventKind::Outage, 1, true); 2],
        "{:?}",
        driven.events
    );
    for outage in &driven.events {
        let lasted_ns = outage.until_ns.expect("its end") - outage.from_ns;
        assert!(lasted_ns < 20 * MS, "{lasted_ns}");
    }
}

fn few_sockets(limit: usize) -> Machine {
    Machine {
        // Without this, an iteration in which no user waits would take only a nanosecond.
        stall_ns: MS / 10,
        sockets_max: Some(limit),
        ..with_timestamps()
    }
}

/// User 1 holds the last socket for ten events. User 0 retries until it gets this socket.
async fn retries_until_connected(id: UserId, mut db: Db) -> Result<(), UserExit> {
    db.open_connection().await.map_err(user_failure)?;
    let mut other = db.add_connection().await.map_err(user_failure)?;
    if id.client == 1 {
        other.open_connection().await.map_err(user_failure)?;
    }
    db.wait_for_common_start().await;
    if id.client == 1 {
        for _ in 0..10 {
            event(&mut db).await?;
        }
        other.close_connection().await;
    } else {
        let mut tries = 0;
        while let Err(error) = other.open_connection().await {
            error.message.assert_contains("Too many open files");
            tries += 1;
            assert!(tries < 10_000, "the other user makes no progress");
        }
        assert!(tries > 10, "{tries}");
        other.query("SELECT 1").await.map_err(user_failure)?;
    }
    loop {
        event(&mut db).await?;
    }
}

#[test]
fn a_user_that_retries_without_a_free_socket_does_not_starve_others() {
    let program = OpensConnections(|id, db| user(retries_until_connected(id, db)));
    let driven = run_on(&program, 2, 1.0, few_sockets(3), replies_after(2 * MS));
    let [attempts] = &driven.events[..] else {
        panic!("{:?}", driven.events);
    };
    assert_eq!(attempts.kind, RunEventKind::FailedAttempts);
    assert!(attempts.count > 10, "{attempts:?}");
    assert_eq!(driven.collected.measured.health.connections, 3);
}

/// User 1 holds the last socket for one event; meanwhile user 0 tries to connect once, and never again.
async fn connects_once(id: UserId, mut db: Db) -> Result<(), UserExit> {
    db.open_connection().await.map_err(user_failure)?;
    let mut other = db.add_connection().await.map_err(user_failure)?;
    if id.client == 1 {
        other.open_connection().await.map_err(user_failure)?;
    }
    db.wait_for_common_start().await;
    if id.client == 0 {
        assert!(other.open_connection().await.is_err());
    }
    event(&mut db).await?;
    if id.client == 1 {
        other.close_connection().await;
    }
    loop {
        event(&mut db).await?;
    }
}

#[test]
fn an_attempt_that_got_no_socket_is_not_repeated_at_its_deadline() {
    let program = OpensConnections(|id, db| user(connects_once(id, db)));
    let driven = run_on(&program, 2, 4.0, few_sockets(3), replies_after(2 * MS));
    let attempts = driven.events.iter().map(|event| (event.kind, event.count));
    assert!(attempts.eq([(RunEventKind::FailedAttempts, 1)]));
    assert_eq!(driven.collected.measured.health.connections, 2);
}

/// The prologue reopens the connection 50 ms after its loss, which is when the loop tries to, too.
async fn reopens_when_a_retry_is_due(mut db: Db) -> Result<(), UserExit> {
    db.open_connection().await.map_err(user_failure)?;
    db.query("SELECT 1").await.map_err(user_failure)?;
    db.sleep(Duration::from_millis(51)).await;
    db.open_connection().await.map_err(user_failure)?;
    db.wait_for_common_start().await;
    db.sleep(Duration::from_secs(3600)).await;
    Ok(())
}

#[test]
fn a_connection_that_is_reopened_when_a_retry_is_due_is_opened_once() {
    let connects = Arc::new(AtomicUsize::new(0));
    let program = OpensConnections(|_, db| user(reopens_when_a_retry_is_due(db)));
    let counted = Arc::clone(&connects);
    // Closes each connection 1 ms after its first reply.
    let server = PgServer {
        accept: move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            accept_unless(false)
        },
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.extend([send(2 * MS, DONE), close(3 * MS)]);
        },
    };
    run_on(&program, 1, 1.0, with_timestamps(), server);
    assert_eq!(connects.load(Ordering::Relaxed), 2);
}
