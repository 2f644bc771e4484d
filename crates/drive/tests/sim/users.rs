//! A user that misbehaves does not affect the other users.

use crate::support::*;
use prony_drive::RunEventKind;
use prony_session::{Db, Outcome, User};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_user_that_panics_or_awaits_a_foreign_future_ends_and_the_others_continue() {
    let user_0_ran = Arc::new(AtomicBool::new(false));
    let ran = user_0_ran.clone();
    let program = ClosureProgram(move |id: prony_session::UserId, mut db: Db| -> User {
        let ran = ran.clone();
        user(async move {
            if id.client == 0 {
                ran.store(true, Ordering::Relaxed);
                std::future::pending::<()>().await;
            }
            if id.client == 1 {
                panic!("on purpose");
            }
            loop {
                event(&mut db).await?;
            }
        })
    });
    let driven = drive(&program, &plan(3, 0.1), replies_after(MS));
    assert!(user_0_ran.load(Ordering::Relaxed));
    let failed: Vec<_> = driven.events.iter().map(|event| event.kind).collect();
    assert_eq!(failed, [RunEventKind::UserFailed, RunEventKind::UserFailed]);
    let detail = &driven.events[1].detail;
    assert_eq!(detail, "its program panicked: on purpose");
    assert!(driven.collected.measured.all_kinds().committed >= 99);
}

#[test]
fn a_user_without_requests_does_not_starve_the_others() {
    let program = ClosureProgram(|id: prony_session::UserId, mut db: Db| -> User {
        user(async move {
            loop {
                db.start(0).await?;
                let result = match id.client {
                    0 => Ok(Outcome::Committed),
                    _ => db.query("SELECT 1").await.map(|_| Outcome::Committed),
                };
                db.end(result).await?;
            }
        })
    });
    let driven = drive(&program, &plan(2, 0.0001), replies_after(10_000));
    let tally = driven.collected.measured.all_kinds();
    // The user without requests makes one transaction per nanosecond of simulated time, the other user one
    // per 10 µs.
    assert!(
        (100_000..=100_012).contains(&tally.committed),
        "{}",
        tally.committed
    );
    assert_eq!(tally.response.max_ns, 10_000);
}
