//! Concurrent users: the data stays consistent despite retries and lost connections.

use super::support::*;
use prony_drive::{RunEvent, RunEventKind};
use prony_plan::Stop;
use prony_test_servers::TestControl;
use std::time::{Duration, Instant};

/// The seed of each run; no test depends on its value.
const SEED: u64 = 5;

const MODES: [&str; 3] = ["procedures", "statements", "pipelined"];

#[test]
fn lock_wait_timeouts_are_retried_and_counted() {
    // A separate server, because the loads of the other tests need a longer timeout.
    let server = private_maria(&["--innodb-lock-wait-timeout=1"]);
    for mode in MODES {
        let database = TestDatabase::on_maria(&server, &format!("waits_{mode}"));
        database.load("tpcc", &[("scale", "1")], 1);
        let mut blocker = database.control();
        blocker.run("begin; update warehouse set w_ytd = w_ytd");
        // Lock the rows explicitly: the update changes no value, and the test must not depend on its locks.
        blocker
            .query("select w_id from warehouse for update")
            .expect("locks");
        let options = [("mode", mode), ("max_tries", "2")];
        let outcome = run_tpcc(
            &database,
            &options,
            // Some of these transactions are payments, each of which waits in both tries.
            &drive_plan(2, Stop::Transactions(4)),
            SEED,
        );
        assert!(
            outcome.failed.iter().sum::<u64>() > 0 && outcome.retries > 0,
            "{mode}"
        );
        assert_eq!(outcome.error_codes, ["01205"], "{mode}");
        drop(blocker);
        assert_eq!(database.problems("tpcc"), [""; 0], "{mode}");
        let payments = database.query_number("select count(*) from history") - 30_000;
        assert_eq!(payments, 0, "{mode}: no payment succeeded");
    }
}

#[test]
fn a_server_killed_during_a_run_keeps_committed_transactions() {
    let server = private_maria(&["--innodb-flush-log-at-trx-commit=1"]);
    let database = TestDatabase::on_maria(&server, "killed");
    database.load("tpcc", &[("scale", "2")], 2);
    for mode in MODES {
        let orders_before = database.query_number("select count(*) from orders");
        let outcome = std::thread::scope(|scope| {
            let drive_plan = drive_plan(8, Stop::After(Duration::from_secs(10)));
            let program = prepare(&database, &[("mode", mode), ("home", "all")]);
            let database = &database;
            let workload_run =
                scope.spawn(move || run_despite_outages(database, &program, &drive_plan, SEED));
            let begun = Instant::now();
            while database.query_number("select count(*) from orders") == orders_before {
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "no order was inserted"
                );
                std::thread::sleep(Duration::from_millis(20));
            }
            server.kill();
            server.restart().expect("restarts");
            workload_run.join().expect("the run continues")
        });
        let events = &outcome.events;
        let is_outage = |event: &RunEvent| event.kind == RunEventKind::Outage;
        assert!(events.iter().any(is_outage), "{mode}: {events:?}");
        assert_eq!(database.problems("tpcc"), [""; 0], "{mode}");
        // Commits that a user has seen are durable; transactions in flight may have committed too.
        let new_orders = outcome.counts.outcomes_by_kind[NEW_ORDER];
        let inserted =
            (database.query_number("select count(*) from orders") - orders_before) as u64;
        assert!(
            inserted >= new_orders.committed,
            "{mode}: {inserted} of {new_orders:?}"
        );
        assert!(
            inserted <= new_orders.committed + new_orders.failed,
            "{mode}: {inserted} {new_orders:?}"
        );
    }
}
