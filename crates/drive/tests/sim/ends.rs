//! Runs that end early, and what is under way at the end.

use crate::support::*;
use prony_drive::Job;
use prony_session::{Db, Outcome, User};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn a_transaction_that_sleeps_at_the_end_is_finished_and_a_thinking_user_is_let_go() {
    let program = With(|id: prony_session::UserId, mut db: Db| -> User {
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                if id.client == 0 {
                    db.sleep(Duration::from_millis(300)).await;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
                db.sleep(Duration::from_secs(3600)).await;
            }
        })
    });
    let (driven, _) = simulate(&program, &plan(2, 0.1), stamped(), after(MS)).unwrap();
    let collected = &driven.collected;
    assert_eq!(collected.measured.all().committed, 1);
    // Client 0 ended its transaction in the drain, where it counts as unfinished.
    assert_eq!(collected.measured.leftover.unfinished, 1);
    assert!(collected.drain_s < 0.5, "{}", collected.drain_s);
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut watch = Watch {
        rows: Vec::new(),
        interrupt_after: Some((2, interrupt.clone())),
    };
    let (program, plan, target) = (Selects::new(), plan(2, 1e6), target());
    let job = Job {
        interrupt: &interrupt,
        ..job(&program, &plan, &target)
    };
    let driven = prony_drive::run_simulated(&job, stamped(), after(MS), &mut watch).unwrap();
    assert!(driven.interrupted);
    let all = driven.collected.measured.all();
    assert!(all.committed >= 3_990, "{}", all.committed);
    let rows: u64 = watch.rows.iter().map(|row| row.0).sum();
    assert_eq!(rows, all.committed);
}

#[test]
fn a_mistake_in_a_worker_keeps_the_figures_so_far() {
    // A kind that the program does not have.
    let program = With(|_, mut db: Db| -> User {
        Box::pin(async move {
            for number in 0.. {
                if let Err(ended) = db.start(u16::from(number == 20)).await {
                    return ended;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
            unreachable!("the count is endless")
        })
    });
    let (driven, watch) = simulate(&program, &plan(1, 5.0), stamped(), after(100 * MS)).unwrap();
    assert!(driven.failure.unwrap().contains("a worker panicked"));
    let kept: u64 = watch.rows.iter().map(|row| row.0).sum();
    assert!(kept >= 19, "{kept}");
}
