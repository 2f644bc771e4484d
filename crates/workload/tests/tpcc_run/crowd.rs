//! Eight users at once: the data stays consistent, whatever fails or is tried again.

use crate::support::{WAREHOUSES, crowd, drive, findings, loaded, number, plan, ran};
use prony_plan::Stop;
use prony_workload::tpcc::input::Kind;
use prony_workload::tpcc::way::Mode;

#[test]
fn the_conditions_hold_after_eight_users_were_at_work() {
    for mode in Mode::ALL {
        let base = loaded(&format!("crowd_{}", mode.name()));
        let options = [("mode", mode.name()), ("home", "all")];
        let ran = ran(&base, &plan(&options), &crowd(3), 5);
        assert_eq!(ran.failed, [0; 5], "{mode:?}: {:?}", ran.codes);
        assert_eq!(findings(&base), [""; 0], "{mode:?}");
        let orders = number(&base, "select count(*) from orders");
        let made = orders - 30_000 * i64::from(WAREHOUSES);
        let observed = ran.observed;
        assert_eq!(made, observed.ends[0].committed as i64, "{mode:?}");
        assert!(made > 0, "{mode:?}: {made} orders");
        let taken =
            9_000 * i64::from(WAREHOUSES) + made - number(&base, "select count(*) from new_order");
        assert_eq!(
            taken, observed.delivered as i64,
            "{mode:?}: no order is delivered twice"
        );
        let mix = observed.mix(Kind::Payment).expect("payments");
        // Five standard deviations of as many draws as the machine had time for.
        let draws: u64 = ran.committed.iter().chain(&ran.rolled_back).sum();
        let most = 5.0 * (10.0 / 23.0 * 13.0 / 23.0 / draws.max(1) as f64).sqrt();
        assert!(
            (mix - 10.0 / 23.0).abs() < most,
            "{mode:?}: {mix} of {draws}"
        );
    }
}

#[test]
fn serialization_failures_are_tried_again_and_never_taken_for_a_success() {
    for (mode, tries) in [
        (Mode::Procedures, "50"),
        (Mode::Statements, "50"),
        (Mode::Pipelined, "1"),
    ] {
        let base = loaded(&format!("serial_{}", mode.name()));
        base.execute(&format!(
            "alter database serial_{} set default_transaction_isolation = 'serializable'",
            mode.name()
        ));
        let options = [("mode", mode.name()), ("max_tries", tries)];
        let ran = ran(&base, &plan(&options), &crowd(3), 5);
        let failed: u64 = ran.failed.iter().sum();
        if tries == "1" {
            assert!(failed > 0, "{mode:?}");
            assert_eq!(ran.retries, 0, "{mode:?}");
        } else {
            assert!(ran.retries > 0, "{mode:?}");
            assert!(failed < ran.retries, "{mode:?}: {failed}");
            // Tries of transactions that were cut off at the end are in no sample.
            assert!(ran.observed.retries >= ran.retries, "{mode:?}");
        }
        assert!(
            ran.codes
                .iter()
                .all(|code| code == "40001" || code == "40P01"),
            "{:?}",
            ran.codes
        );
        assert_eq!(findings(&base), [""; 0], "{mode:?}");
        let orders = number(&base, "select count(*) from orders") - 30_000 * i64::from(WAREHOUSES);
        assert_eq!(orders, ran.observed.ends[0].committed as i64, "{mode:?}");
    }
}

#[test]
fn a_failed_transaction_leaves_nothing_and_its_user_goes_on() {
    for mode in Mode::ALL {
        let base = loaded(&format!("fails_{}", mode.name()));
        base.execute("alter table history add constraint small check (h_amount < 2500) not valid");
        // By count, so that a seed has the same payments on every machine.
        let drive = drive(8, Stop::Transactions(40));
        let ran = ran(&base, &plan(&[("mode", mode.name())]), &drive, 5);
        let share = ran.failed[1] as f64 / (ran.failed[1] + ran.committed[1]) as f64;
        assert!((0.3..0.7).contains(&share), "{mode:?}: {share}");
        assert_eq!(ran.codes, ["23514"], "{mode:?}");
        assert_eq!((ran.failed[0], ran.retries), (0, 0), "{mode:?}");
        let paid = number(&base, "select count(*) from history") - 30_000 * i64::from(WAREHOUSES);
        assert_eq!(paid, ran.observed.ends[1].committed as i64, "{mode:?}");
        assert_eq!(findings(&base), [""; 0], "{mode:?}");
    }
}

/// Keying a new order takes 18 seconds, and the other transactions 2 or 3.
#[test]
fn users_key_before_a_transaction_and_think_after_it() {
    let base = loaded("paced");
    let mut drive = crowd(6);
    drive.clients = 40;
    let ran = ran(&base, &plan(&[("pacing", "spec")]), &drive, 5);
    assert_eq!(ran.failed, [0; 5], "{:?}", ran.codes);
    assert_eq!(ran.observed.ends[0].committed, 0);
    let payments = ran.observed.ends[1].committed;
    // None has time for a third.
    assert!((1..=80).contains(&payments), "{payments}");
}
