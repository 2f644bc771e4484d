//! What users do before the common start.

use crate::support::*;
use prony_drive::{Driven, Error, run_simulated};
use prony_session::{Db, Ended, Outcome, Program, User, UserId};
use std::sync::{Arc, Mutex};

/// Users that ask `client` times 10 statements before the gate, and then one after the other.
struct Preparing {
    /// When each got past the gate, nanoseconds of the simulated clock.
    passed: Arc<Mutex<Vec<u64>>>,
    fails: bool,
}

impl Program for Preparing {
    fn kinds(&self) -> &[&'static str] {
        &["select"]
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn user(&self, id: UserId, mut db: Db) -> User {
        let (passed, fails) = (self.passed.clone(), self.fails);
        Box::pin(async move {
            for _ in 0..10 * id.client {
                if db.query("SELECT 1").await.is_err() {
                    return Ended::Failed("refused".to_owned());
                }
                db.count(prony_measure::Query::Read);
            }
            if fails && id.client == 2 {
                return Ended::Failed("not today".to_owned());
            }
            db.gate().await;
            passed.lock().expect("one thread").push(db.noticed_ns());
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
        })
    }
}

fn simulated(fails: bool, delay_ns: u64) -> (Result<Driven, Error>, Vec<u64>) {
    let program = Preparing {
        passed: Arc::default(),
        fails,
    };
    let (plan, target) = (plan(4, 2.0), target());
    let job = job(&program, &plan, &target);
    let driven = run_simulated(&job, stamped(), after(delay_ns), &mut Watch::default());
    let passed = program.passed.lock().expect("one thread").clone();
    (driven, passed)
}

#[test]
fn users_get_ready_before_the_load_starts_and_outside_of_its_times() {
    let (driven, passed) = simulated(false, 10 * MS);
    let driven = driven.expect("it starts");
    let start_ns = driven.start.schedule.start_ns;
    // The last user needs 30 statements of 10 ms; then all begin.
    assert!(start_ns >= 300 * MS, "{start_ns}");
    assert_eq!(passed.len(), 4);
    assert!(passed.iter().all(|at_ns| *at_ns >= start_ns), "{passed:?}");
    let measured = &driven.collected.measured;
    // What they count meanwhile is in the first second, as sysbench has it.
    let queries = prony_measure::Queries {
        reads: 60,
        ..Default::default()
    };
    assert_eq!(measured.queries, queries);
    let committed = measured.kinds[0].committed;
    assert!(committed.abs_diff(800) <= 4, "{committed}");
}

/// Seconds that pass before the load are no seconds of it: nothing is handed in at their ends.
#[test]
fn what_users_count_before_the_load_is_kept_however_long_they_take() {
    let (driven, _) = simulated(false, 100 * MS);
    let driven = driven.expect("it starts");
    assert!(driven.start.schedule.start_ns >= 3_000 * MS);
    assert_eq!(driven.collected.measured.queries.reads, 60);
}

#[test]
fn a_user_that_cannot_get_ready_keeps_the_load_from_starting() {
    let (driven, passed) = simulated(true, 10 * MS);
    let error = driven.expect_err("it does not start");
    assert!(
        matches!(&error, Error::Unready(reason) if reason == "not today"),
        "{error}"
    );
    assert!(passed.is_empty());
}
