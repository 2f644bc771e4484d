//! The work of users before the common start.

use crate::support::*;
use prony_drive::{DriveResult, Error, run_simulated};
use prony_session::{Db, Program, User, UserExit, UserId};
use std::sync::{Arc, Mutex};

/// User number `n` executes 10 × `n` statements before the common start, and then one per transaction.
struct PrologueProgram {
    /// When each user continued after the common start, in nanoseconds of the simulated clock.
    started_at_ns: Arc<Mutex<Vec<u64>>>,
    fails: bool,
}

impl Program for PrologueProgram {
    fn kinds(&self) -> &[&'static str] {
        &["select"]
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn create_user(&self, id: UserId, mut db: Db) -> User {
        let (started_at_ns, fails) = (self.started_at_ns.clone(), self.fails);
        Box::pin(async move {
            for _ in 0..10 * id.client {
                if db.query("SELECT 1").await.is_err() {
                    return UserExit::Failed("refused".to_owned());
                }
                db.count_query(prony_measure::QueryKind::Read);
            }
            if fails && id.client == 2 {
                return UserExit::Failed("missing table".to_owned());
            }
            db.wait_for_common_start().await;
            started_at_ns
                .lock()
                .expect("one thread")
                .push(db.noticed_ns());
            loop {
                if let Err(exit) = event(&mut db).await {
                    return exit;
                }
            }
        })
    }
}

fn simulate_prologue(fails: bool, delay_ns: u64) -> (Result<DriveResult, Error>, Vec<u64>) {
    let program = PrologueProgram {
        started_at_ns: Arc::default(),
        fails,
    };
    let (plan, target) = (plan(4, 2.0), target());
    let job = job(&program, &plan, &target);
    let driven = run_simulated(
        &job,
        with_timestamps(),
        replies_after(delay_ns),
        &mut TestObserver::default(),
    );
    let started_at_ns = program.started_at_ns.lock().expect("one thread").clone();
    (driven, started_at_ns)
}

#[test]
fn the_load_starts_after_the_prologue_which_no_figure_of_transactions_includes() {
    let (driven, started_at_ns) = simulate_prologue(false, 10 * MS);
    let driven = driven.expect("it starts");
    let start_ns = driven.start.schedule.start_ns;
    // User 3 executes 30 statements of 10 ms, and then all users begin.
    assert!(start_ns >= 300 * MS, "{start_ns}");
    assert_eq!(started_at_ns.len(), 4);
    assert!(
        started_at_ns.iter().all(|at_ns| *at_ns >= start_ns),
        "{started_at_ns:?}"
    );
    let measured = &driven.collected.measured;
    // The first second includes the queries of the prologue, as in sysbench.
    let queries = prony_measure::QueryCounts {
        reads: 60,
        ..Default::default()
    };
    assert_eq!(measured.queries, queries);
    let committed = measured.kinds[0].committed;
    assert!(committed.abs_diff(800) <= 4, "{committed}");
}

/// Seconds of the prologue are no intervals: their ends must not clear the counts of queries.
#[test]
fn queries_of_a_long_prologue_are_counted() {
    let (driven, _) = simulate_prologue(false, 100 * MS);
    let driven = driven.expect("it starts");
    assert!(driven.start.schedule.start_ns >= 3_000 * MS);
    assert_eq!(driven.collected.measured.queries.reads, 60);
}

#[test]
fn the_load_does_not_start_if_a_user_fails_in_the_prologue() {
    let (driven, started_at_ns) = simulate_prologue(true, 10 * MS);
    let error = driven.expect_err("it does not start");
    assert!(
        matches!(&error, Error::UserNotReady(reason) if reason == "missing table"),
        "{error}"
    );
    assert!(started_at_ns.is_empty());
}
