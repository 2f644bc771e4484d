//! The three modes of each profile do the same.

use crate::rich::rich_seed;
use crate::support::{Base, WAREHOUSES, findings, loaded, number, plan, ran, transactions};
use prony_workload::tpcc::input::Kind;
use prony_workload::tpcc::profile::{PROFILES, Profile};
use prony_workload::tpcc::way::Mode;

const TRANSACTIONS: u64 = 400;

/// All rows of all tables without the times at which they were made.
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

fn state(base: &Base) -> Vec<Option<String>> {
    let mut control = base.control();
    let tables = STATE.iter().map(|table| {
        // Independent of the rows' order; two rows that are the same count twice.
        let sum = format!(
            "select count(*) || ' ' || sum(hashtextextended(t::text, 0)::numeric) from {table} t"
        );
        control.query_value(&sum).expect("a good query")
    });
    tables.collect()
}

#[test]
fn each_mode_leaves_the_same_data_and_tells_the_same() {
    for (number_of, profile) in PROFILES.iter().enumerate() {
        let seed = rich_seed(profile, WAREHOUSES, TRANSACTIONS);
        let mut before = None;
        for mode in Mode::ALL {
            let base = loaded(&format!("modes_{number_of}_{}", mode.name()));
            let options = [
                ("profile", profile.name),
                ("mode", mode.name()),
                ("home", "all"),
            ];
            let ran = ran(&base, &plan(&options), &transactions(TRANSACTIONS), seed);
            let what = format!("{} {} seed {seed}", profile.name, mode.name());
            assert_eq!(ran.failed, [0; 5], "{what}: {:?}", ran.codes);
            let ended: u64 = ran.committed.iter().chain(&ran.rolled_back).sum();
            assert_eq!(ended, TRANSACTIONS, "{what}");
            for kind in Kind::ALL {
                let ends = ran.observed.ends[kind as usize];
                assert!(ends.committed > 0, "{what}: no {kind:?}");
                assert_eq!(ends.committed, ran.committed[kind as usize], "{what}");
                assert_eq!(ends.rolled_back, ran.rolled_back[kind as usize], "{what}");
            }
            assert_eq!(ran.rolled_back[0] > 0, profile.rolls_back, "{what}");
            assert_eq!(ran.observed.ordered_cents > 0, profile.outputs, "{what}");
            let now = (state(&base), ran.observed);
            let (state, observed) = before.get_or_insert_with(|| now.clone());
            for (place, table) in STATE.iter().enumerate() {
                assert_eq!(now.0[place], state[place], "{what}: {table}");
            }
            assert_eq!(now.1, *observed, "{what}");
            left(
                &base,
                profile,
                &ran.observed.ends.map(|ends| ends.committed),
                &what,
            );
        }
    }
}

/// What a run must have left, as far as that is known without another mode.
fn left(base: &Base, profile: &Profile, committed: &[u64; 5], what: &str) {
    let warehouses = i64::from(WAREHOUSES);
    let orders = number(base, "select count(*) from orders") - 30_000 * warehouses;
    assert_eq!(
        orders, committed[0] as i64,
        "{what}: nothing of a rolled back order"
    );
    let paid = number(base, "select count(*) from history") - 30_000 * warehouses;
    assert_eq!(paid, committed[1] as i64, "{what}");
    let counted = number(base, "select sum(s_order_cnt) from stock");
    assert_eq!(counted > 0, profile.counters, "{what}");
    let unpriced = "select count(*) from order_line where ol_amount is null and ol_i_id = 100001";
    assert_eq!(number(base, unpriced) > 0, !profile.rolls_back, "{what}");
    let bad = "select count(*) from customer where c_credit = 'BC' and c_data like '%|%'";
    assert!(number(base, bad) > 0, "{what}: bad credit is noted");
    if profile.counters {
        assert_eq!(findings(base), [""; 0], "{what}");
    }
}

#[test]
fn the_simple_protocol_does_the_same() {
    let mut before = None;
    for protocol in [
        prony_plan::QueryMode::Simple,
        prony_plan::QueryMode::Extended,
    ] {
        for mode in [Mode::Procedures, Mode::Statements] {
            let base = loaded(&format!("protocol_{protocol:?}_{}", mode.name()).to_lowercase());
            let mut drive = transactions(60);
            drive.protocol = protocol;
            let ran = ran(&base, &plan(&[("mode", mode.name())]), &drive, 3);
            assert_eq!(ran.failed, [0; 5], "{protocol:?} {mode:?}: {:?}", ran.codes);
            let now = (state(&base), ran.observed);
            assert_eq!(
                &now,
                before.get_or_insert_with(|| now.clone()),
                "{protocol:?} {mode:?}"
            );
        }
    }
}
