//! Closed loops, rates, counts and think time: the number of transactions, and their duration.

use crate::support::*;
use prony_drive::io::sim::{Answer, SimServer};
use prony_plan::{Arrival, Pace, Stop};
use prony_session::{Db, User};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn response_times_are_exact_to_the_nanosecond() {
    for delay_ns in [1, 17, 999_999] {
        let plan = plan(1, 20.0 * delay_ns as f64 / 1e9);
        let driven = drive_selects(&plan, delay_ns);
        let tally = driven.collected.measured.all_kinds();
        assert!(tally.committed >= 10, "{}", tally.committed);
        assert_eq!(tally.response.min_ns, delay_ns);
        assert_eq!(tally.response.max_ns, delay_ns);
        assert_eq!(tally.response.mean_ns(), delay_ns as f64);
    }
}

#[test]
fn a_closed_loop_obeys_littles_law_and_counts_exactly() {
    let mut plan = plan(8, 3.0);
    plan.warmup = Duration::from_secs(2);
    let (driven, observer) =
        simulate(&selects(), &plan, with_timestamps(), replies_after(2 * MS)).unwrap();
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    // 8 clients with 2 ms per transaction make 4,000 per second. The edges of the window cut one transaction
    // per client.
    assert!(
        tally.committed.abs_diff(12_000) <= 16,
        "{}",
        tally.committed
    );
    let busy_clients = tally.busy_ns as f64 / 1e9 / measured.seconds();
    assert!((busy_clients - 8.0).abs() < 0.02 * 8.0, "{busy_clients}");
    assert_eq!(observer.rows.len(), 5);
    let warmup = driven.collected.warmup.as_ref().unwrap().all_kinds();
    let rows: u64 = observer.rows.iter().map(|row| row.0).sum();
    assert_eq!(rows, tally.committed + warmup.committed);
    assert!(measured.excluded.unfinished <= 8);
    assert_eq!(measured.excluded.counted_in_later_interval, 0);
}

#[test]
fn an_even_rate_is_maintained_exactly() {
    let mut plan = plan(4, 2.0);
    plan.pace = evenly(1000.0);
    let driven = drive_selects(&plan, MS / 2);
    let tally = driven.collected.measured.all_kinds();
    assert!(tally.committed.abs_diff(2000) <= 1, "{}", tally.committed);
    assert_eq!(tally.response.max_ns, MS / 2);
    assert_eq!(driven.collected.measured.excluded.never_started, 0);
}

#[test]
fn a_poisson_rate_is_maintained_on_average() {
    let mut plan = plan(64, 20.0);
    plan.pace = Pace::Rate {
        rate_tps: 1000.0,
        arrival: Arrival::Poisson,
        queue_max: None,
    };
    let driven = drive_selects(&plan, MS);
    let tally = driven.collected.measured.all_kinds();
    // The tolerance is four standard deviations of a Poisson count of 20,000.
    assert!(
        tally.committed.abs_diff(20_000) < 4 * 142,
        "{}",
        tally.committed
    );
}

#[test]
fn late_starts_are_not_skipped_and_are_timed_from_the_schedule() {
    let mut plan = plan(1, 1.0);
    plan.pace = evenly(1000.0);
    let driven = drive_selects(&plan, 2 * MS);
    let measured = &driven.collected.measured;
    let tally = measured.all_kinds();
    // One client manages 500 of the 1,000 per second; each start is 1 ms later than the one before.
    assert!(tally.committed.abs_diff(500) <= 1, "{}", tally.committed);
    let service = tally
        .service
        .as_ref()
        .expect("an open loop has service times");
    assert_eq!((service.min_ns, service.max_ns), (2 * MS, 2 * MS));
    assert_eq!(tally.response.min_ns, 2 * MS);
    assert!(
        tally.response.max_ns > 490 * MS,
        "{}",
        tally.response.max_ns
    );
    let starts = tally.committed + measured.excluded.unfinished + measured.excluded.never_started;
    assert_eq!(starts, 1000);
}

#[test]
fn a_number_of_transactions_applies_to_each_client() {
    let mut plan = plan(4, 0.0);
    plan.stop = Stop::Transactions(100);
    plan.warmup = Duration::from_millis(10);
    let driven = drive_selects(&plan, MS);
    let tally = driven.collected.measured.all_kinds();
    // The count includes the transaction in flight at the end of the warm-up, which is measured.
    assert_eq!(tally.committed, 400);
    assert!(driven.collected.warmup.unwrap().all_kinds().committed >= 36);
}

#[test]
fn no_start_is_missed_once_every_client_has_completed_its_count() {
    let mut plan = plan(4, 0.0);
    plan.stop = Stop::Transactions(10);
    plan.pace = evenly(100_000.0);
    let driven = drive_selects(&plan, MS);
    assert_eq!(driven.collected.measured.all_kinds().committed, 40);
    assert_eq!(driven.collected.measured.excluded.never_started, 0);
}

#[test]
fn with_a_connection_per_transaction_the_response_time_includes_connecting() {
    let mut plan = plan(2, 1.0);
    plan.connect_per_transaction = true;
    let driven = drive_selects(&plan, MS);
    let tally = driven.collected.measured.all_kinds();
    let connect = tally.connect.as_ref().unwrap();
    // The server takes 10 µs to accept the connection, and 20 µs for the login.
    assert_eq!((connect.min_ns, connect.max_ns), (30_000, 30_000));
    assert_eq!(tally.response.mean_ns(), MS as f64 + 30_000.0);
    assert_eq!(tally.failed, 0);
    assert!(driven.events.is_empty(), "{:?}", driven.events);
}

struct CountingServer {
    open: usize,
    max_open: Arc<AtomicUsize>,
}

impl SimServer for CountingServer {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        self.open += 1;
        self.max_open.fetch_max(self.open, Ordering::Relaxed);
        Ok(10_000)
    }

    fn request(&mut self, _: u32, bytes: &[u8], _: u64, answers: &mut Vec<Answer>) {
        match bytes.first() {
            Some(0) => answers.push(send(20_000, WELCOME)),
            _ => answers.push(send(MS, DONE)),
        }
    }

    fn closed(&mut self, _: u32) {
        self.open -= 1;
    }
}

/// There may be more clients than the server accepts as long as few of them are busy at a time.
#[test]
fn with_a_connection_per_transaction_idle_clients_have_no_connection() {
    let mut plan = plan(150, 2.0);
    plan.connect_per_transaction = true;
    plan.pace = evenly(50.0);
    let max_open = Arc::new(AtomicUsize::new(0));
    let server = CountingServer {
        open: 0,
        max_open: Arc::clone(&max_open),
    };
    let driven = drive(&selects(), &plan, server);
    let tally = driven.collected.measured.all_kinds();
    assert!(tally.committed.abs_diff(100) <= 1, "{}", tally.committed);
    assert_eq!((tally.failed, max_open.load(Ordering::Relaxed)), (0, 1));
}

#[test]
fn think_time_lowers_the_throughput() {
    let program = ClosureProgram(|_, mut db: Db| -> User {
        user(async move {
            loop {
                event(&mut db).await?;
                db.sleep(Duration::from_millis(9)).await;
            }
        })
    });
    let driven = drive(&program, &plan(3, 1.0), replies_after(MS));
    let tally = driven.collected.measured.all_kinds();
    assert!(tally.committed.abs_diff(300) <= 3, "{}", tally.committed);
    assert_eq!(tally.response.mean_ns(), MS as f64);
}
