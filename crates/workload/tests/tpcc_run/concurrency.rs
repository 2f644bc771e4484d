//! Eight concurrent users: the data stays consistent despite failures and retries.

use crate::support::{
    WAREHOUSES, drive_plan, eight_clients, findings, loaded_copy, number, plan, run_workload,
};
use prony_plan::Stop;
use prony_workload::tpcc::execution::Mode;
use prony_workload::tpcc::input::TpccTransaction;

#[test]
fn consistency_conditions_hold_after_eight_concurrent_users() {
    for mode in Mode::ALL {
        let database = loaded_copy(&format!("concurrent_{}", mode.name()));
        let options = [("mode", mode.name()), ("home", "all")];
        let outcome = run_workload(&database, &plan(&options), &eight_clients(3), 5);
        assert_eq!(outcome.failed, [0; 5], "{mode:?}: {:?}", outcome.codes);
        assert_eq!(findings(&database), [""; 0], "{mode:?}");
        let orders = number(&database, "select count(*) from orders");
        let inserted = orders - 30_000 * i64::from(WAREHOUSES);
        let counts = outcome.counts;
        assert_eq!(
            inserted, counts.outcomes_by_kind[0].committed as i64,
            "{mode:?}"
        );
        assert!(inserted > 0, "{mode:?}: {inserted} orders");
        let delivered = 9_000 * i64::from(WAREHOUSES) + inserted
            - number(&database, "select count(*) from new_order");
        assert_eq!(
            delivered, counts.delivered as i64,
            "{mode:?}: no order is delivered twice"
        );
        let mix = counts.mix(TpccTransaction::Payment).expect("payments");
        // Five standard deviations; the number of draws depends on the machine.
        let draws: u64 = outcome.committed.iter().chain(&outcome.rolled_back).sum();
        let tolerance = 5.0 * (10.0 / 23.0 * 13.0 / 23.0 / draws.max(1) as f64).sqrt();
        assert!(
            (mix - 10.0 / 23.0).abs() < tolerance,
            "{mode:?}: {mix} of {draws}"
        );
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
        let outcome = run_workload(&database, &plan(&options), &eight_clients(3), 5);
        let failed: u64 = outcome.failed.iter().sum();
        if tries == "1" {
            assert!(failed > 0, "{mode:?}");
            assert_eq!(outcome.retries, 0, "{mode:?}");
        } else {
            assert!(outcome.retries > 0, "{mode:?}");
            assert!(failed < outcome.retries, "{mode:?}: {failed}");
            // No sample includes the retries of transactions that were cut off at the end.
            assert!(outcome.counts.retries >= outcome.retries, "{mode:?}");
        }
        assert!(
            outcome
                .codes
                .iter()
                .all(|code| code == "40001" || code == "40P01"),
            "{:?}",
            outcome.codes
        );
        assert_eq!(findings(&database), [""; 0], "{mode:?}");
        let orders =
            number(&database, "select count(*) from orders") - 30_000 * i64::from(WAREHOUSES);
        assert_eq!(
            orders, outcome.counts.outcomes_by_kind[0].committed as i64,
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
        // A fixed number of transactions, so that a seed makes the same payments on every machine.
        let drive_plan = drive_plan(8, Stop::Transactions(40));
        let outcome = run_workload(&database, &plan(&[("mode", mode.name())]), &drive_plan, 5);
        let share = outcome.failed[1] as f64 / (outcome.failed[1] + outcome.committed[1]) as f64;
        assert!((0.3..0.7).contains(&share), "{mode:?}: {share}");
        assert_eq!(outcome.codes, ["23514"], "{mode:?}");
        assert_eq!((outcome.failed[0], outcome.retries), (0, 0), "{mode:?}");
        let paid =
            number(&database, "select count(*) from history") - 30_000 * i64::from(WAREHOUSES);
        assert_eq!(
            paid, outcome.counts.outcomes_by_kind[1].committed as i64,
            "{mode:?}"
        );
        assert_eq!(findings(&database), [""; 0], "{mode:?}");
    }
}

/// A new order has a keying time of 18 seconds, the other transactions 2 or 3.
#[test]
fn users_have_keying_and_think_times() {
    let database = loaded_copy("paced");
    let mut drive_plan = eight_clients(6);
    drive_plan.clients = 40;
    let outcome = run_workload(&database, &plan(&[("pacing", "spec")]), &drive_plan, 5);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.codes);
    assert_eq!(outcome.counts.outcomes_by_kind[0].committed, 0);
    let payments = outcome.counts.outcomes_by_kind[1].committed;
    // In six seconds, no user has time for a third payment.
    assert!((1..=80).contains(&payments), "{payments}");
}
