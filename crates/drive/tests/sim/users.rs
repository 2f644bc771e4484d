//! Users that misbehave end alone.

use crate::support::*;
use prony_drive::Incident;
use prony_session::{Db, Outcome, User};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_user_that_panics_or_awaits_nothing_ends_alone() {
    let calls = Arc::new(AtomicBool::new(false));
    let first = calls.clone();
    let program = With(move |id: prony_session::UserId, mut db: Db| -> User {
        let first = first.clone();
        Box::pin(async move {
            if id.client == 0 {
                first.store(true, Ordering::Relaxed);
                std::future::pending::<()>().await;
            }
            if id.client == 1 {
                panic!("on purpose");
            }
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
    });
    let (driven, _) = simulate(&program, &plan(3, 0.1), stamped(), after(MS)).unwrap();
    assert!(calls.load(Ordering::Relaxed));
    let failed: Vec<_> = driven.events.iter().map(|event| event.what).collect();
    assert_eq!(failed, [Incident::UserFailed, Incident::UserFailed]);
    let said = &driven.events[1].detail;
    assert_eq!(said, "its program panicked: on purpose");
    assert!(driven.collected.measured.all().committed >= 99);
}

#[test]
fn a_user_that_asks_nothing_leaves_the_others_their_turns() {
    let program = With(|id: prony_session::UserId, mut db: Db| -> User {
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = match id.client {
                    0 => Ok(Outcome::Committed),
                    _ => db.query("SELECT 1").await.map(|_| Outcome::Committed),
                };
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
        })
    });
    let (driven, _) = simulate(&program, &plan(2, 0.0001), stamped(), after(10_000)).unwrap();
    let all = driven.collected.measured.all();
    // One a nanosecond of the simulated time by the idle one, one every 10 µs by the other.
    assert!(
        (100_000..=100_012).contains(&all.committed),
        "{}",
        all.committed
    );
    assert_eq!(all.response.max_ns, 10_000);
}
