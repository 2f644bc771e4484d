//! Users that open their connections themselves, and more than one.

use super::*;
use prony_drive::{Error, Job, run_simulated};
use prony_session::{DbError, Ended, Program, User, UserId};
use std::sync::atomic::AtomicUsize;

/// Each user speaks on a connection of its own and on a further one in turn, and closes that once.
struct Several;

/// An error as the end of a user.
fn failed(error: DbError) -> Ended {
    Ended::Failed(error.to_string())
}

async fn speak(mut db: Db) -> Result<(), Ended> {
    // Nothing was opened for it.
    let down = db.query("SELECT 1").await.map(drop);
    assert!(down.is_err() && !db.is_up());
    let mut other = db.another().await.map_err(failed)?;
    other.renew().await.map_err(failed)?;
    // Its own one is not needed for it.
    other.query("SELECT 1").await.map_err(failed)?;
    db.renew().await.map_err(failed)?;
    db.gate().await;
    let mut events = 0;
    loop {
        db.start(0).await?;
        db.query("SELECT 1").await.map_err(failed)?;
        if events == 3 {
            other.hang_up().await;
            assert!(other.query("SELECT 1").await.is_err());
            other.renew().await.map_err(failed)?;
        }
        other.query("SELECT 1").await.map_err(failed)?;
        events += 1;
        db.end(Ok(Outcome::Committed)).await?;
    }
}

impl Program for Several {
    fn kinds(&self) -> &[&'static str] {
        &["both"]
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn user(&self, _: UserId, db: Db) -> User {
        Box::pin(async move { speak(db).await.err().unwrap_or(Ended::Stopped) })
    }
}

/// Runs them against a server that takes 2 ms for a statement. Gives the slots in the order in which
/// they connected, and how often the loop told of a refusal.
fn run(users: u32, refuse: fn(u64) -> bool) -> (Result<Driven, Error>, usize) {
    let told = AtomicUsize::new(0);
    let hear = |failures: &[prony_server::control::Failure]| {
        assert_eq!(failures.len(), 1);
        told.fetch_add(1, Ordering::Relaxed);
    };
    let interrupt = AtomicBool::new(false);
    let job = Job {
        program: &Several,
        target: &target(),
        tcp_target: None,
        plan: &plan(users, 1.0),
        seed: 1,
        interrupt: &interrupt,
        tap: None,
        refused: Some(&hear),
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
