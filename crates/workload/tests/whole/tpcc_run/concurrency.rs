//! Eight concurrent users: the data stays consistent despite failures and retries.

use super::support::*;
use crate::tpcc_maria::support::large_database;
use prony_plan::Stop;
use prony_workload::tpcc::execution::Mode;
use prony_workload::tpcc::input::TpccTransaction;
use std::time::Duration;

const SEED: u64 = 5;

#[test]
fn consistency_conditions_hold_after_eight_concurrent_users() {
    let maria = large_database("tpcc_concurrent");
    maria.load("tpcc", &[("scale", "2")], 2);
    for (engine, database, more_options) in [
        ("PostgreSQL", loaded_copy("concurrent"), &[][..]),
        ("MariaDB", maria, &[("max_tries", "100")]),
    ] {
        let (mut new_orders, mut delivered) = (0, 0);
        for mode in Mode::ALL {
            let label = format!("{engine} {mode:?}");
            let options = [&[("mode", mode.name()), ("home", "all")], more_options].concat();
            let outcome = run_tpcc(&database, &options, &eight_client_plan(3), SEED);
            assert_eq!(outcome.failed, [0; 5], "{label}: {:?}", outcome.error_codes);
            assert_eq!(database.problems("tpcc"), [""; 0], "{label}");
            let counts = outcome.counts;
            let committed = counts.outcomes_by_kind[NEW_ORDER].committed as i64;
            assert!(committed > 0, "{label}");
            new_orders += committed;
            delivered += counts.delivered as i64;
            let orders = database.query_number("select count(*) from orders");
            let inserted = orders - 30_000 * i64::from(WAREHOUSES);
            assert_eq!(inserted, new_orders, "{label}");
            let removed = 9_000 * i64::from(WAREHOUSES) + inserted
                - database.query_number("select count(*) from new_order");
            assert_eq!(removed, delivered, "{label}: no order is delivered twice");
            let payments = counts.ended_as_intended(TpccTransaction::Payment) as f64;
            // Allow five standard deviations of the share. The number of draws depends on the machine.
            let draws: u64 = outcome.committed.iter().chain(&outcome.rolled_back).sum();
            let payment_share = payments / draws.max(1) as f64;
            let tolerance = 5.0 * (10.0 / 23.0 * 13.0 / 23.0 / draws.max(1) as f64).sqrt();
            assert!(
                (payment_share - 10.0 / 23.0).abs() < tolerance,
                "{label}: {payment_share} of {draws}"
            );
        }
    }
}

#[test]
fn serialization_failures_are_retried_and_never_counted_as_successes() {
    for (mode, tries) in [
        (Mode::Procedures, "50"),
        (Mode::Statements, "50"),
        (Mode::Pipelined, "1"),
    ] {
        let database = loaded_copy(&format!("serial_{}", mode.name()));
        database.execute(&format!(
            "alter database serial_{} set default_transaction_isolation = 'serializable'",
            mode.name()
        ));
        let options = [("mode", mode.name()), ("max_tries", tries)];
        let outcome = run_tpcc(&database, &options, &eight_client_plan(3), SEED);
        let failed: u64 = outcome.failed.iter().sum();
        if tries == "1" {
            assert!(failed > 0, "{mode:?}");
            assert_eq!(outcome.retries, 0, "{mode:?}");
        } else {
            assert!(outcome.retries > 0, "{mode:?}");
            assert!(failed < outcome.retries, "{mode:?}: {failed}");
            // The program also counts the retries of transactions that were cut off at the end, which have no
            // sample.
            assert!(outcome.counts.retries >= outcome.retries, "{mode:?}");
        }
        assert!(
            outcome
                .error_codes
                .iter()
                .all(|code| code == "40001" || code == "40P01"),
            "{:?}",
            outcome.error_codes
        );
        assert_eq!(database.problems("tpcc"), [""; 0], "{mode:?}");
        let orders =
            database.query_number("select count(*) from orders") - 30_000 * i64::from(WAREHOUSES);
        assert_eq!(
            orders, outcome.counts.outcomes_by_kind[NEW_ORDER].committed as i64,
            "{mode:?}"
        );
    }
}

#[test]
fn a_failed_transaction_changes_nothing_and_its_user_continues() {
    for mode in Mode::ALL {
        let database = loaded_copy(&format!("fails_{}", mode.name()));
        database
            .execute("alter table history add constraint small check (h_amount < 2500) not valid");
        // A fixed number of transactions, so that the seed makes the same payments on every machine.
        let drive_plan = drive_plan(8, Stop::Transactions(40));
        let outcome = run_tpcc(&database, &[("mode", mode.name())], &drive_plan, SEED);
        let (failed, committed) = (outcome.failed[PAYMENT], outcome.committed[PAYMENT]);
        let failed_share = failed as f64 / (failed + committed) as f64;
        assert!(
            (0.3..0.7).contains(&failed_share),
            "{mode:?}: {failed_share}"
        );
        assert_eq!(outcome.error_codes, ["23514"], "{mode:?}");
        assert_eq!(
            (outcome.failed[NEW_ORDER], outcome.retries),
            (0, 0),
            "{mode:?}"
        );
        let payments =
            database.query_number("select count(*) from history") - 30_000 * i64::from(WAREHOUSES);
        assert_eq!(
            payments, outcome.counts.outcomes_by_kind[PAYMENT].committed as i64,
            "{mode:?}"
        );
        assert_eq!(database.problems("tpcc"), [""; 0], "{mode:?}");
    }
}

/// A new order has a keying time of 18 seconds, the other transactions 2 or 3.
#[test]
fn users_have_keying_and_think_times() {
    let database = loaded_copy("paced");
    let drive_plan = drive_plan(40, Stop::After(Duration::from_secs(6)));
    let outcome = run_tpcc(&database, &[("pacing", "spec")], &drive_plan, SEED);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.error_codes);
    assert_eq!(outcome.counts.outcomes_by_kind[NEW_ORDER].committed, 0);
    let payments = outcome.counts.outcomes_by_kind[PAYMENT].committed;
    // In six seconds, no user has time for a third payment.
    assert!((1..=80).contains(&payments), "{payments}");
}
