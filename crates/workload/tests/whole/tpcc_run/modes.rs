//! The three modes of each profile have the same effect.

use super::support::*;
use crate::common::rare_cases::seed_with_rare_cases;
use prony_workload::tpcc::execution::Mode;
use prony_workload::tpcc::input::TpccTransaction;
use prony_workload::tpcc::profile::{PROFILES, Profile};

const TRANSACTIONS: u64 = 400;

/// All tables, without the values of timestamp columns, which differ from run to run.
const COMPARED_TABLES: &[&str] = &[
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

/// A checksum of each of the `COMPARED_TABLES`.
fn table_checksums(database: &TestDatabase) -> Vec<Option<String>> {
    let mut control = database.control();
    let tables = COMPARED_TABLES.iter().map(|table| {
        // A sum of hashes does not depend on the order of the rows, and counts equal rows separately.
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
        // The functions of `hammerdb-4.6` draw random numbers on the server, so their data differs from run
        // to run.
        let is_drawn_by_client =
            |mode: &Mode| !profile.calls_hammerdb_routines || *mode != Mode::Procedures;
        for mode in Mode::ALL.into_iter().filter(is_drawn_by_client) {
            let database = loaded_copy(&format!("modes_{profile_index}_{}", mode.name()));
            let options = [
                ("profile", profile.name),
                ("mode", mode.name()),
                ("home", "all"),
            ];
            let outcome = run_tpcc(&database, &options, &single_client_plan(TRANSACTIONS), seed);
            let label = format!("{} {} seed {seed}", profile.name, mode.name());
            assert_eq!(outcome.failed, [0; 5], "{label}: {:?}", outcome.error_codes);
            let completed: u64 = outcome.committed.iter().chain(&outcome.rolled_back).sum();
            assert_eq!(completed, TRANSACTIONS, "{label}");
            for kind in TpccTransaction::ALL {
                let kind_outcomes = outcome.counts.outcomes_by_kind[kind as usize];
                assert!(kind_outcomes.committed > 0, "{label}: no {kind:?}");
                assert_eq!(
                    kind_outcomes.committed, outcome.committed[kind as usize],
                    "{label}"
                );
                assert_eq!(
                    kind_outcomes.rolled_back, outcome.rolled_back[kind as usize],
                    "{label}"
                );
            }
            assert_eq!(
                outcome.rolled_back[NEW_ORDER] > 0,
                profile.rolls_back,
                "{label}"
            );
            assert_eq!(outcome.counts.ordered_cents > 0, profile.outputs, "{label}");
            let actual = (table_checksums(&database), outcome.counts);
            let (expected_checksums, expected_counts) =
                expected.get_or_insert_with(|| actual.clone());
            for (index, table) in COMPARED_TABLES.iter().enumerate() {
                assert_eq!(
                    actual.0[index], expected_checksums[index],
                    "{label}: {table}"
                );
            }
            assert_eq!(actual.1, *expected_counts, "{label}");
            assert_data_after_run(
                &database,
                profile,
                &outcome
                    .counts
                    .outcomes_by_kind
                    .map(|kind_outcomes| kind_outcomes.committed),
                &label,
            );
        }
    }
}

/// Asserts the properties that the data has after a run in any mode.
fn assert_data_after_run(
    database: &TestDatabase,
    profile: &Profile,
    committed: &[u64; 5],
    label: &str,
) {
    let warehouses = i64::from(WAREHOUSES);
    let orders = database.query_number("select count(*) from orders") - 30_000 * warehouses;
    assert_eq!(
        orders, committed[NEW_ORDER] as i64,
        "{label}: rolled-back orders leave no rows"
    );
    let payments = database.query_number("select count(*) from history") - 30_000 * warehouses;
    assert_eq!(payments, committed[PAYMENT] as i64, "{label}");
    let stock_order_count = database.query_number("select sum(s_order_cnt) from stock");
    assert_eq!(stock_order_count > 0, profile.counters, "{label}");
    let count_unpriced_lines =
        "select count(*) from order_line where ol_amount is null and ol_i_id = 100001";
    assert_eq!(
        database.query_number(count_unpriced_lines) > 0,
        !profile.rolls_back,
        "{label}"
    );
    let count_bad_credit =
        "select count(*) from customer where c_credit = 'BC' and c_data like '%|%'";
    assert!(
        database.query_number(count_bad_credit) > 0,
        "{label}: bad credit is recorded"
    );
    if profile.counters {
        assert_eq!(database.problems("tpcc"), [""; 0], "{label}");
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
            let mut drive_plan = single_client_plan(60);
            drive_plan.protocol = protocol;
            let outcome = run_tpcc(&database, &[("mode", mode.name())], &drive_plan, 3);
            assert_eq!(
                outcome.failed, [0; 5],
                "{protocol:?} {mode:?}: {:?}",
                outcome.error_codes
            );
            let actual = (table_checksums(&database), outcome.counts);
            assert_eq!(
                &actual,
                expected.get_or_insert_with(|| actual.clone()),
                "{protocol:?} {mode:?}"
            );
        }
    }
}
