//! In steady state the loop allocates nothing for a transaction.

#[path = "sim/support.rs"]
#[allow(dead_code)]
mod support;

use prony_allocations::allocations;
use prony_drive::io::sim::Machine;
use prony_session::{Db, Outcome, User};
use prony_wire::{Statements, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{With, after, plan, simulate};

const WARM: u64 = 1_000;
const COUNTED: u64 = 20_000;

#[test]
fn no_transaction_allocates() {
    let allocated = Arc::new(AtomicU64::new(u64::MAX));
    let told = allocated.clone();
    let program = With(move |_, mut db: Db| -> User {
        let told = told.clone();
        let mut set = Statements::new();
        let (begin, update, end) = (
            set.add("BEGIN"),
            set.add("UPDATE accounts SET balance = balance + $1 WHERE id = $2"),
            set.add("END"),
        );
        Box::pin(async move {
            let mut before = 0;
            for number in 0.. {
                if number == WARM {
                    before = allocations();
                }
                if number == WARM + COUNTED {
                    told.fetch_min(allocations() - before, Ordering::Relaxed);
                }
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let transaction = async {
                    db.exec(&begin, &[]).await?;
                    let values = [Value::Int(-4711), Value::Int(number as i64)];
                    let rows = db.exec(&update, &values).await?;
                    assert_eq!(rows.affected(), 1);
                    drop(rows);
                    db.exec(&end, &[]).await?;
                    Ok(Outcome::Committed)
                };
                let result = transaction.await;
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
            unreachable!("the count is endless")
        })
    });
    let machine = Machine {
        stamps: true,
        ..Machine::default()
    };
    // All within the first second of simulated time: an interval handed in once a second is made
    // anew, and is no transaction's.
    let (driven, _) = simulate(&program, &plan(4, 0.9), machine, after(10_000)).unwrap();
    assert!(driven.collected.measured.all().committed > 4 * (WARM + COUNTED));
    assert_eq!(
        allocated.load(Ordering::Relaxed),
        0,
        "allocations in {COUNTED} transactions"
    );
}
