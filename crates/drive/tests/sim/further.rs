//! Users that open their connections themselves, and more than one.

use crate::support::*;
use prony_drive::io::sim::{Answer, Machine, Script};
use prony_drive::{Driven, Error, Incident, Job, run_simulated};
use prony_session::{Db, Ended, Outcome, Program, User, UserId};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Runs them against a server that takes 2 ms for a statement. Gives how often the loop told of a refusal,
/// too.
fn run(users: u32, refuse: fn(u64) -> bool) -> (Result<Driven, Error>, usize) {
    let told = AtomicUsize::new(0);
    let hear = |failures: &[prony_server::control::Failure]| {
        assert_eq!(failures.len(), 1);
        told.fetch_add(1, Ordering::Relaxed);
    };
    let (plan, target) = (plan(users, 1.0), target());
    let job = Job {
        refused: Some(&hear),
        ..job(&Several, &plan, &target)
    };
    let server = Server {
        refuse,
        statement: |_, _: &[u8], _, answers: &mut Vec<Answer>| answers.push(send(2 * MS, DONE)),
    };
    let driven = run_simulated(&job, stamped(), server, &mut Watch::default());
    (driven, told.load(Ordering::Relaxed))
}

#[test]
fn a_user_speaks_on_several_connections_in_one_transaction() {
    let (driven, told) = run(40, |_| false);
    let driven = driven.expect("it starts");
    assert_eq!((driven.events.len(), told), (0, 0), "{:?}", driven.events);
    let all = driven.collected.measured.all();
    // Two statements of 2 ms, for one second; one of a user's has a new connection in it.
    assert!(all.committed.abs_diff(40 * 250) <= 80, "{}", all.committed);
    assert_eq!(all.response.min_ns, 4 * MS);
    // Both are in the split.
    let parts = all.parts.as_ref().expect("stamps").server.mean_ns();
    assert!((parts - 4e6).abs() < 1e4, "{parts}");
}

#[test]
fn a_refusal_is_heard_before_the_user_gives_up() {
    let (driven, told) = run(3, |_| true);
    let error = driven.expect_err("nobody is let in");
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(told >= 1);
}

/// A program whose users open their connections themselves.
struct Opens<F>(F);

impl<F: Fn(UserId, Db) -> User + Send + Sync> Program for Opens<F> {
    fn kinds(&self) -> &[&'static str] {
        &["event"]
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn user(&self, id: UserId, db: Db) -> User {
        (self.0)(id, db)
    }
}

/// Runs them on a machine, with a time-out of two seconds for each connection.
fn run_on(
    program: &dyn Program,
    clients: u32,
    seconds: f64,
    machine: Machine,
    script: impl Script + Send,
) -> Driven {
    let target = prony_server::Target {
        connect_timeout: Some(Duration::from_secs(2)),
        ..target()
    };
    let plan = plan(clients, seconds);
    let job = job(program, &plan, &target);
    run_simulated(&job, machine, script, &mut Watch::default()).expect("it starts")
}

/// One event of one statement on a user's own connection.
async fn event(db: &mut Db) -> Result<(), Ended> {
    db.start(0).await?;
    let done = db.query("SELECT 1").await.map(|_| Outcome::Committed);
    db.end(done).await
}

/// The other one is lost twice while nothing is asked on it, and its user closes it each time.
async fn loses(mut db: Db) -> Result<(), Ended> {
    let mut other = db.another().await.map_err(failed)?;
    db.renew().await.map_err(failed)?;
    db.gate().await;
    for _ in 0..2 {
        other.renew().await.map_err(failed)?;
        other.query("SELECT 1").await.map_err(failed)?;
        db.sleep(Duration::from_millis(20)).await;
        assert!(!other.is_up());
        other.hang_up().await;
        db.sleep(Duration::from_millis(200)).await;
    }
    loop {
        event(&mut db).await?;
    }
}

#[test]
fn who_closes_a_lost_connection_ends_its_outage() {
    let program = Opens(|_, db| -> User {
        Box::pin(async move { loses(db).await.err().unwrap_or(Ended::Stopped) })
    });
    let server = Server {
        refuse: |_| false,
        statement: |slot, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.push(send(2 * MS, DONE));
            if slot == 1 {
                answers.push(close(3 * MS));
            }
        },
    };
    let driven = run_on(&program, 1, 1.0, stamped(), server);
    let seen: Vec<_> = driven
        .events
        .iter()
        .map(|event| (event.what, event.count, event.until_ns.is_some()))
        .collect();
    assert_eq!(
        seen,
        [(Incident::Outage, 1, true); 2],
        "{:?}",
        driven.events
    );
    for outage in &driven.events {
        let lasted_ns = outage.until_ns.expect("its end") - outage.from_ns;
        assert!(lasted_ns < 20 * MS, "{lasted_ns}");
    }
}

/// A machine with fewer sockets than are asked for.
fn few_sockets(most: usize) -> Machine {
    Machine {
        // Without it a turn of users that wait for nothing would take a nanosecond.
        stall_ns: MS / 10,
        sockets_max: Some(most),
        ..stamped()
    }
}

/// User 1 has the last socket for ten events; user 0 tries until it gets it.
async fn insists(id: UserId, mut db: Db) -> Result<(), Ended> {
    db.renew().await.map_err(failed)?;
    let mut other = db.another().await.map_err(failed)?;
    if id.client == 1 {
        other.renew().await.map_err(failed)?;
    }
    db.gate().await;
    if id.client == 1 {
        for _ in 0..10 {
            event(&mut db).await?;
        }
        other.hang_up().await;
    } else {
        let mut tries = 0;
        while let Err(error) = other.renew().await {
            assert!(error.message.contains("Too many open files"), "{error}");
            tries += 1;
            assert!(tries < 10_000, "the other user has no turn");
        }
        assert!(tries > 10, "{tries}");
        other.query("SELECT 1").await.map_err(failed)?;
    }
    loop {
        event(&mut db).await?;
    }
}

#[test]
fn who_gets_no_socket_and_insists_leaves_the_others_their_turns() {
    let program = Opens(|id, db| -> User {
        Box::pin(async move { insists(id, db).await.err().unwrap_or(Ended::Stopped) })
    });
    let driven = run_on(&program, 2, 1.0, few_sockets(3), after(2 * MS));
    assert!(driven.events.is_empty(), "{:?}", driven.events);
    assert_eq!(driven.collected.measured.health.connections, 3);
}

/// User 1 has the last socket for an event; user 0 asks for it once meanwhile, and never again.
async fn tries_once(id: UserId, mut db: Db) -> Result<(), Ended> {
    db.renew().await.map_err(failed)?;
    let mut other = db.another().await.map_err(failed)?;
    if id.client == 1 {
        other.renew().await.map_err(failed)?;
    }
    db.gate().await;
    if id.client == 0 {
        assert!(other.renew().await.is_err());
    }
    event(&mut db).await?;
    if id.client == 1 {
        other.hang_up().await;
    }
    loop {
        event(&mut db).await?;
    }
}

#[test]
fn what_got_no_socket_is_not_opened_when_its_time_is_over() {
    let program = Opens(|id, db| -> User {
        Box::pin(async move { tries_once(id, db).await.err().unwrap_or(Ended::Stopped) })
    });
    let driven = run_on(&program, 2, 4.0, few_sockets(3), after(2 * MS));
    assert!(driven.events.is_empty(), "{:?}", driven.events);
    assert_eq!(driven.collected.measured.health.connections, 2);
}
