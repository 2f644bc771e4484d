//! In steady state the loop allocates nothing per transaction.

#[path = "sim/support.rs"]
#[allow(dead_code)]
mod support;

use prony_allocations::allocations;
use prony_drive::io::sim::Machine;
use prony_drive::{LoadStart, Observer, run_simulated};
use prony_measure::{IntervalRow, RunSchedule};
use prony_session::{Db, Outcome, User};
use prony_wire::{StatementIds, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{
    CONFLICT, ClosureProgram, admit_all, drive, job, plan, replies_after, send, simulate, target,
    user, with_timestamps,
};

const WARMUP_TRANSACTIONS: u64 = 1_000;
const COUNTED_TRANSACTIONS: u64 = 20_000;

#[test]
fn no_transaction_allocates() {
    let allocated = Arc::new(AtomicU64::new(u64::MAX));
    let reported = allocated.clone();
    let program = ClosureProgram(move |_, mut db: Db| -> User {
        let reported = reported.clone();
        let mut set = StatementIds::new();
        let (begin, update, end) = (
            set.add("BEGIN"),
            set.add("UPDATE accounts SET balance = balance + $1 WHERE id = $2"),
            set.add("END"),
        );
        user(async move {
            let mut before = 0;
            for number in 0.. {
                if number == WARMUP_TRANSACTIONS {
                    before = allocations();
                }
                if number == WARMUP_TRANSACTIONS + COUNTED_TRANSACTIONS {
                    reported.fetch_min(allocations() - before, Ordering::Relaxed);
                }
                db.start(0).await?;
                let transaction = async {
                    db.exec(&begin, &[]).await?;
                    let values = [Value::Int(-4711), Value::Int(number as i64)];
                    let rows = db.exec(&update, &values).await?;
                    assert_eq!(rows.affected_rows(), 1);
                    drop(rows);
                    db.exec(&end, &[]).await?;
                    Ok(Outcome::Committed)
                };
                let result = transaction.await;
                db.end(result).await?;
            }
            unreachable!("the count is endless")
        })
    });
    let machine = Machine {
        has_timestamps: true,
        ..Machine::default()
    };
    // The run ends within the first second of simulated time, because delivering an interval at the end of a
    // second allocates (not per transaction).
    let (driven, _) = simulate(&program, &plan(4, 0.9), machine, replies_after(10_000)).unwrap();
    assert!(
        driven.collected.measured.all_kinds().committed
            > 4 * (WARMUP_TRANSACTIONS + COUNTED_TRANSACTIONS)
    );
    assert_eq!(
        allocated.load(Ordering::Relaxed),
        0,
        "allocations in {COUNTED_TRANSACTIONS} transactions"
    );
}

#[test]
fn a_failed_transaction_allocates_only_its_error_and_the_message() {
    let allocated = Arc::new(AtomicU64::new(u64::MAX));
    let reported = allocated.clone();
    let program = ClosureProgram(move |_, mut db: Db| -> User {
        let reported = reported.clone();
        let statement = StatementIds::new().add("SELECT 1");
        user(async move {
            let mut before = 0;
            for number in 0.. {
                if number == WARMUP_TRANSACTIONS {
                    before = allocations();
                }
                if number == WARMUP_TRANSACTIONS + COUNTED_TRANSACTIONS {
                    reported.fetch_min(allocations() - before, Ordering::Relaxed);
                }
                db.start(0).await?;
                let result = db.exec(&statement, &[]).await.map(|_| Outcome::Committed);
                db.end(result).await?;
            }
            unreachable!("the count is endless")
        })
    });
    let server = admit_all(|_, _, _, answers| {
        answers.push(send(10_000, CONFLICT));
    });
    let driven = drive(&program, &plan(1, 0.9), server);
    assert!(
        driven.collected.measured.all_kinds().failed > WARMUP_TRANSACTIONS + COUNTED_TRANSACTIONS
    );
    assert_eq!(allocated.load(Ordering::Relaxed), 2 * COUNTED_TRANSACTIONS);
}

/// Publishes the number of seconds that the collecting thread has delivered.
struct DeliveredSeconds(Arc<AtomicU64>);

impl Observer for DeliveredSeconds {
    fn started(&mut self, _: &LoadStart) {}

    fn interval_ended(&mut self, row: &IntervalRow, _: &RunSchedule) {
        let seconds = u64::from(row.interval.span.index) + 1;
        self.0.store(seconds, Ordering::Relaxed);
    }
}

#[test]
fn the_histograms_of_a_delivered_second_are_reused() {
    const SECONDS: u64 = 40;
    let seconds = Arc::new(AtomicU64::new(0));
    let collected = Arc::clone(&seconds);
    let counts = Arc::new(Mutex::new(Vec::new()));
    let counted = Arc::clone(&counts);
    let program = ClosureProgram(move |_, mut db: Db| -> User {
        let (collected, counted) = (Arc::clone(&collected), Arc::clone(&counted));
        user(async move {
            for number in 0.. {
                db.start(0).await?;
                let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
                db.end(result).await?;
                // One reply arrives per simulated second, which is short: give the collecting thread time to
                // send back the intervals that it has read.
                let begun = Instant::now();
                while collected.load(Ordering::Relaxed) + 2 < number {
                    assert!(begun.elapsed() < Duration::from_secs(60), "second {number}");
                    std::thread::yield_now();
                }
                counted.lock().unwrap().push(allocations());
            }
            unreachable!("the count is endless")
        })
    });
    let plan = plan(1, SECONDS as f64 + 0.5);
    let target = target();
    let job = job(&program, &plan, &target);
    let server = replies_after(1_000_000_000);
    run_simulated(
        &job,
        with_timestamps(),
        server,
        &mut DeliveredSeconds(seconds),
    )
    .unwrap();
    let counts = counts.lock().unwrap();
    let [.., last] = counts[..] else {
        panic!("nothing was counted");
    };
    // The first ten seconds may allocate.
    let (count_after_10_s, seconds) = (counts[9], counts.len() as u64 - 10);
    // The channels between the threads occasionally allocate a block of their queue.
    assert!(
        last - count_after_10_s < seconds,
        "{} in {seconds} seconds",
        last - count_after_10_s
    );
}
