//! Runs that end early, and transactions in flight at the end.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_drive::DriveJob;
use prony_measure::InFlight;
use prony_session::{Db, Outcome, User};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn at_the_end_a_sleeping_transaction_is_finished_and_a_thinking_user_is_dropped() {
    let program = ClosureProgram(|id: prony_session::UserId, mut db: Db| -> User {
        user(async move {
            loop {
                db.start(0).await?;
                if id.client == 0 {
                    db.sleep(Duration::from_millis(300)).await;
                }
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                db.end(result).await?;
                db.sleep(Duration::from_secs(3600)).await;
            }
        })
    });
    let driven = drive(&program, &plan(2, 0.1), replies_after(MS));
    let collected = &driven.collected;
    assert_eq!(collected.measured.all_kinds().committed, 1);
    // The transaction of client 0 ended in the drain, so it counts as unfinished.
    assert_eq!(collected.measured.excluded.unfinished, 1);
    let committed = InFlight {
        committed: 1,
        ..InFlight::default()
    };
    assert_eq!(collected.measured.excluded.in_flight, committed);
    assert_eq!(collected.measured.kinds[0].committed_after_window, 1);
    assert!(collected.drain_s < 0.5, "{}", collected.drain_s);
}

/// Four clients whose last request gets no reply.
#[test]
fn a_transaction_cut_off_after_its_commit_was_sent_may_have_committed() {
    let program = ClosureProgram(|id: prony_session::UserId, mut db: Db| -> User {
        user(async move {
            let mut statements = prony_wire::StatementIds::new();
            let statement = statements.add(match id.client {
                0 => "COMMIT",
                1 => "UPDATE t SET n = 1",
                _ => "SELECT 1",
            });
            db.start(0).await?;
            if id.client == 3 {
                db.sleep(Duration::from_secs(3600)).await;
            }
            let result = db.exec(&statement, &[]).await.map(|_| Outcome::Committed);
            db.end(result).await
        })
    });
    let no_reply = replies_after(1_000_000 * MS);
    let driven = drive(&program, &plan(4, 0.1), no_reply);
    let excluded = driven.collected.measured.excluded;
    // A commit was sent, and an update outside a block, which commits by itself.
    let expected = InFlight {
        ambiguous: 2,
        cut_off: 2,
        ..InFlight::default()
    };
    assert_eq!((excluded.unfinished, excluded.in_flight), (4, expected));
    // All four started with the load and were in progress for nearly the whole window of 0.1 s.
    let in_window_ms = excluded.in_flight_ns / MS;
    assert!((380..=400).contains(&in_window_ms), "{in_window_ms}");
}

/// Each client is in a transaction when the run is cut off: client 0 waits for a `SELECT`, the others sleep.
/// Before that, client 1 wrote on a second connection, client 2 in a block, client 3 in an attempt that was
/// rolled back, and client 4 only read.
#[test]
fn a_transaction_cut_off_after_a_write_outside_a_block_may_have_committed() {
    let program = ClosureProgram(|id: prony_session::UserId, db: Db| -> User {
        user(writes_and_waits(id.client, db))
    });
    let server = admit_all(|slot, bytes, _, answers| {
        let contains = |word: &str| {
            bytes
                .windows(word.len())
                .any(|window| window == word.as_bytes())
        };
        if contains("pg_sleep") {
            return;
        }
        let in_block = matches!(slot, 2 | 3) && !contains("ROLLBACK");
        answers.push(send(MS, if in_block { IN_BLOCK } else { DONE }));
    });
    let driven = drive(&program, &plan(5, 0.1), server);
    assert!(driven.events.is_empty(), "{:?}", driven.events);
    let excluded = driven.collected.measured.excluded;
    let expected = InFlight {
        ambiguous: 2,
        cut_off: 3,
        ..InFlight::default()
    };
    assert_eq!((excluded.unfinished, excluded.in_flight), (5, expected));
}

async fn writes_and_waits(client: u32, mut db: Db) -> Result<(), prony_session::UserExit> {
    let mut statements = prony_wire::StatementIds::new();
    let insert = statements.add("INSERT INTO t VALUES (1)");
    let select = statements.add("SELECT 1");
    let sleep = statements.add("SELECT pg_sleep(5)");
    db.start(0).await?;
    match client {
        1 => {
            let mut other = db.add_connection().await.map_err(user_failure)?;
            other.open_connection().await.map_err(user_failure)?;
            other.exec(&insert, &[]).await.map_err(user_failure)?;
        }
        4 => drop(db.exec(&select, &[]).await.map_err(user_failure)?),
        _ => drop(db.exec(&insert, &[]).await.map_err(user_failure)?),
    }
    if client == 0 {
        db.exec(&sleep, &[]).await.map_err(user_failure)?;
    }
    if client == 3 {
        db.retry().await?;
    }
    db.sleep(Duration::from_secs(3600)).await;
    db.end(Ok(Outcome::Committed)).await
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut observer = TestObserver {
        rows: Vec::new(),
        interrupt_after: Some((2, interrupt.clone())),
    };
    let (program, plan, target) = (selects(), plan(2, 1e6), target());
    let job = DriveJob {
        interrupt: &interrupt,
        ..job(&program, &plan, &target)
    };
    let driven =
        prony_drive::run_simulated(&job, with_timestamps(), replies_after(MS), &mut observer)
            .unwrap();
    assert!(driven.interrupted);
    let tally = driven.collected.measured.all_kinds();
    assert!(tally.committed >= 3_990, "{}", tally.committed);
    let rows: u64 = observer.rows.iter().map(|row| row.0).sum();
    assert_eq!(rows, tally.committed);
}

#[test]
fn a_panic_in_a_worker_keeps_the_figures_so_far() {
    // The 21st transaction has a kind that the program does not have, so that recording it panics.
    let program = ClosureProgram(|_, mut db: Db| -> User {
        user(async move {
            for number in 0.. {
                db.start(u16::from(number == 20)).await?;
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                db.end(result).await?;
            }
            unreachable!("the count is endless")
        })
    });
    let (driven, observer) = simulate(
        &program,
        &plan(1, 5.0),
        with_timestamps(),
        replies_after(100 * MS),
    )
    .unwrap();
    driven.failure.unwrap().assert_contains("a worker panicked");
    let committed: u64 = observer.rows.iter().map(|row| row.0).sum();
    assert!(committed >= 19, "{committed}");
}
