//! Limits that the clients of a run share: a number of starts, and the queue of starts.

use crate::support::*;
use prony_drive::RunEventKind;
use prony_drive::io::sim::SimServer;
use prony_plan::{Arrival, Pace, Stop};
use std::time::Duration;

fn plan_with_shared_starts(
    clients: u32,
    transactions: u64,
    within_s: f64,
) -> prony_plan::DrivePlan {
    let mut plan = plan(clients, 1.0);
    plan.stop = Stop::SharedTransactions {
        transactions,
        within: Duration::from_secs_f64(within_s),
    };
    plan
}

/// A server that takes a hundred times as long for the replies of client 0.
fn slow_for_client_0() -> impl SimServer + Send {
    admit_all(|slot, _, _, answers| {
        answers.push(send(if slot == 0 { 100 * MS } else { MS }, DONE));
    })
}

#[test]
fn any_free_client_takes_the_next_of_a_shared_number_of_starts() {
    let plan = plan_with_shared_starts(3, 1001, 3600.0);
    let program = selects();
    let driven = drive(&program, &plan, slow_for_client_0());
    let measured = &driven.collected.measured;
    assert_eq!(measured.all_kinds().committed, 1001);
    // Two fast clients make 1,000 transactions per second each: 0.5 s, in which the slow one makes
    // about five.
    let slow_ns = measured.all_kinds().response.max_ns;
    assert_eq!(slow_ns, 100 * MS);
    assert!(
        (0.49..0.62).contains(&measured.seconds()),
        "{}",
        measured.seconds()
    );
    assert_eq!(measured.excluded.unfinished, 0);
    assert!(driven.events.is_empty() && driven.failure.is_none());
}

#[test]
fn a_run_with_a_shared_number_of_starts_also_ends_by_time() {
    let plan = plan_with_shared_starts(2, u64::MAX, 0.5);
    let driven = drive_selects(&plan, 10 * MS);
    let tally = driven.collected.measured.all_kinds();
    // All transactions that started in time count.
    assert!(tally.committed.abs_diff(100) <= 2, "{}", tally.committed);
    assert_eq!(driven.collected.measured.excluded.unfinished, 0);
}

#[test]
fn starts_in_the_warm_up_do_not_count_towards_a_shared_number() {
    let mut plan = plan_with_shared_starts(2, 100, 3600.0);
    plan.warmup = Duration::from_secs(1);
    let driven = drive_selects(&plan, 10 * MS);
    let warmup = driven
        .collected
        .warmup
        .expect("a warm-up")
        .all_kinds()
        .committed;
    assert!(warmup.abs_diff(200) <= 2, "{warmup}");
    // Transactions in flight at the end of the warm-up are measured as well.
    let measured = driven.collected.measured.all_kinds().committed;
    assert!((100..=102).contains(&measured), "{measured}");
}

#[test]
fn a_shared_number_of_starts_works_with_a_rate() {
    let mut plan = plan_with_shared_starts(4, 200, 3600.0);
    plan.pace = Pace::Rate {
        rate_tps: 100.0,
        arrival: Arrival::Even,
        queue_max: Some(10),
    };
    let driven = drive_selects(&plan, MS);
    let measured = &driven.collected.measured;
    assert_eq!(measured.all_kinds().committed, 200);
    assert!((measured.seconds() - 2.0).abs() < 0.05);
    assert_eq!(measured.excluded.never_started, 0);
}

#[test]
fn transactions_in_flight_after_the_grace_are_cut_off() {
    let mut plan = plan_with_shared_starts(2, u64::MAX, 1.0);
    plan.grace = Duration::from_millis(500);
    let driven = drive_selects(&plan, 10_000 * MS);
    let measured = &driven.collected.measured;
    assert_eq!(measured.excluded.unfinished, 2);
    assert!(
        (1.5..1.6).contains(&measured.seconds()),
        "{}",
        measured.seconds()
    );
    plan.stop = Stop::NoStartsAfter(Duration::from_secs(1));
    let driven = drive_selects(&plan, 10_000 * MS);
    assert_eq!(driven.collected.measured.excluded.unfinished, 2);
}

#[test]
fn a_full_queue_ends_the_run() {
    let mut plan = plan(1, 60.0);
    let rate = |queue_max| Pace::Rate {
        rate_tps: 1000.0,
        arrival: Arrival::Even,
        queue_max,
    };
    plan.pace = rate(Some(100));
    // One client manages ten per second.
    let driven = drive_selects(&plan, 100 * MS);
    let event = &driven.events[0];
    assert_eq!(event.kind, RunEventKind::QueueFull);
    assert!(event.count > 100 && event.count <= 202, "{}", event.count);
    assert!(driven.failure.is_some());
    let measured = &driven.collected.measured;
    assert!(measured.seconds() < 0.3, "{}", measured.seconds());
    plan.pace = rate(None);
    let driven = drive_selects(&plan, 100 * MS);
    assert!(driven.events.is_empty() && driven.failure.is_none());
}

#[test]
fn waiting_starts_are_counted() {
    let mut plan = plan(1, 3.0);
    plan.pace = evenly(1000.0);
    let driven = drive_selects(&plan, 2 * MS);
    // Half of the starts are taken.
    let health = driven.collected.measured.health;
    assert!(
        health.starts_waiting.abs_diff(1500) <= 2,
        "{}",
        health.starts_waiting
    );
    assert_eq!(health.in_progress, 1);
}
