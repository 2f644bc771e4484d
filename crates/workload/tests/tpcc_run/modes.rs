//! The three modes of each profile have the same effect.

use crate::rare_cases::seed_with_rare_cases;
use crate::support::{
    TestDatabase, WAREHOUSES, findings, loaded_copy, number, plan, run_workload, transactions,
};
use prony_workload::tpcc::execution::Mode;
use prony_workload::tpcc::input::TpccTransaction;
use prony_workload::tpcc::profile::{PROFILES, Profile};

const TRANSACTIONS: u64 = 400;

/// All tables, without the columns of timestamps.
const STATE: &[&str] = &[
    "item",
    "warehouse",
    "district",
    "stock",
    "customer",
    "new_order",
    "(select h_c_id, h_c_w_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data from history)",
    "(select o_id, o_w_id, o_c_id, o_d_id, o_carrier_id, o_ol_cnt, o_all_local from orders)",
    "(select ol_delivery_d is null, ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number, \
      ol_quantity, ol_amount, ol_dist_info from order_line)",
];

fn state(database: &TestDatabase) -> Vec<Option<String>> {
    let mut control = database.control();
    let tables = STATE.iter().map(|table| {
        // Independent of the order of the rows; two equal rows count twice.
        let sum = format!(
            "select count(*) || ' ' || sum(hashtextextended(t::text, 0)::numeric) from {table} t"
        );
        control.query_value(&sum).expect("a good query")
    });
    tables.collect()
}

#[test]
fn every_mode_leaves_the_same_data_and_counts() {
    for (profile_index, profile) in PROFILES.iter().enumerate() {
        let seed = seed_with_rare_cases(profile, WAREHOUSES, TRANSACTIONS);
        let mut expected = None;
        // The functions of `hammerdb-4.6` make their own random draws, so that their data differs.
        let is_drawn_by_client =
            |mode: &Mode| !profile.calls_hammerdb_routines || *mode != Mode::Procedures;
        for mode in Mode::ALL.into_iter().filter(is_drawn_by_client) {
            let database = loaded_copy(&format!("modes_{profile_index}_{}", mode.name()));
            let options = [
                ("profile", profile.name),
                ("mode", mode.name()),
                ("home", "all"),
            ];
            let outcome = run_workload(
                &database,
                &plan(&options),
                &transactions(TRANSACTIONS),
                seed,
            );
            let label = format!("{} {} seed {seed}", profile.name, mode.name());
            assert_eq!(outcome.failed, [0; 5], "{label}: {:?}", outcome.codes);
            let completed: u64 = outcome.committed.iter().chain(&outcome.rolled_back).sum();
            assert_eq!(completed, TRANSACTIONS, "{label}");
            for kind in TpccTransaction::ALL {
                let ends = outcome.counts.outcomes_by_kind[kind as usize];
                assert!(ends.committed > 0, "{label}: no {kind:?}");
                assert_eq!(ends.committed, outcome.committed[kind as usize], "{label}");
                assert_eq!(
                    ends.rolled_back, outcome.rolled_back[kind as usize],
                    "{label}"
                );
            }
            assert_eq!(outcome.rolled_back[0] > 0, profile.rolls_back, "{label}");
            assert_eq!(outcome.counts.ordered_cents > 0, profile.outputs, "{label}");
            let actual = (state(&database), outcome.counts);
            let (state, counts) = expected.get_or_insert_with(|| actual.clone());
            for (index, table) in STATE.iter().enumerate() {
                assert_eq!(actual.0[index], state[index], "{label}: {table}");
            }
            assert_eq!(actual.1, *counts, "{label}");
            assert_final_state(
                &database,
                profile,
                &outcome.counts.outcomes_by_kind.map(|ends| ends.committed),
                &label,
            );
        }
    }
}

/// Asserts what is known about the state after a run without comparing modes.
fn assert_final_state(
    database: &TestDatabase,
    profile: &Profile,
    committed: &[u64; 5],
    label: &str,
) {
    let warehouses = i64::from(WAREHOUSES);
    let orders = number(database, "select count(*) from orders") - 30_000 * warehouses;
    assert_eq!(
        orders, committed[0] as i64,
        "{label}: rolled-back orders leave no rows"
    );
    let paid = number(database, "select count(*) from history") - 30_000 * warehouses;
    assert_eq!(paid, committed[1] as i64, "{label}");
    let counted = number(database, "select sum(s_order_cnt) from stock");
    assert_eq!(counted > 0, profile.counters, "{label}");
    let unpriced = "select count(*) from order_line where ol_amount is null and ol_i_id = 100001";
    assert_eq!(
        number(database, unpriced) > 0,
        !profile.rolls_back,
        "{label}"
    );
    let bad = "select count(*) from customer where c_credit = 'BC' and c_data like '%|%'";
    assert!(number(database, bad) > 0, "{label}: bad credit is recorded");
    if profile.counters {
        assert_eq!(findings(database), [""; 0], "{label}");
    }
}

#[test]
fn the_simple_protocol_has_the_same_effect() {
    let mut expected = None;
    for protocol in [
        prony_plan::QueryMode::Simple,
        prony_plan::QueryMode::Extended,
    ] {
        for mode in [Mode::Procedures, Mode::Statements] {
            let database =
                loaded_copy(&format!("protocol_{protocol:?}_{}", mode.name()).to_lowercase());
            let mut drive_plan = transactions(60);
            drive_plan.protocol = protocol;
            let outcome = run_workload(&database, &plan(&[("mode", mode.name())]), &drive_plan, 3);
            assert_eq!(
                outcome.failed, [0; 5],
                "{protocol:?} {mode:?}: {:?}",
                outcome.codes
            );
            let actual = (state(&database), outcome.counts);
            assert_eq!(
                &actual,
                expected.get_or_insert_with(|| actual.clone()),
                "{protocol:?} {mode:?}"
            );
        }
    }
}
