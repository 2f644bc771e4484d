//! Breaks each of the twelve consistency conditions by damage to the data that breaks as few others as
//! possible.

use crate::common::*;
use prony_assertions::TextAssertions;
use prony_workload::{Finding, FindingState};

fn condition_findings(database: &TestDatabase, state: FindingState) -> Vec<Finding> {
    let mut findings = database.check("tpcc").findings;
    findings.retain(|finding| finding.id.starts_with("condition-") && finding.state == state);
    findings
}

/// The statement that does the damage, the statement that undoes it, the conditions that it breaks, and a
/// part of the first condition's message.
///
/// Conditions 1, 8 and 9 depend on each other, so that 1 cannot fail without 8; a missing line breaks both
/// 4 and 6.
const DAMAGES: &[(&str, &str, &[&str], &str)] = &[
    (
        "update warehouse set w_ytd = w_ytd + 1",
        "update warehouse set w_ytd = w_ytd - 1",
        &["condition-1", "condition-8"],
        "violated by 1 of 1 warehouses; the first is warehouse 1: 300001.00 and 300000.00",
    ),
    (
        "update district set d_next_o_id = 3002 where d_id = 4",
        "update district set d_next_o_id = 3001 where d_id = 4",
        &["condition-2"],
        "1 of 10 districts; the first is district 4 of warehouse 1: 3001, 3000 and 3000",
    ),
    (
        // The order looks delivered, although an older one is not: new_order has a gap.
        "delete from new_order where no_d_id = 3 and no_o_id = 2500; \
         update orders set o_carrier_id = 1 where o_d_id = 3 and o_id = 2500; \
         update customer set c_balance = c_balance + (select sum(ol_amount) from order_line \
          where ol_d_id = 3 and ol_o_id = 2500) where c_d_id = 3 and c_id = \
          (select o_c_id from orders where o_d_id = 3 and o_id = 2500); \
         update order_line set ol_delivery_d = now() where ol_d_id = 3 and ol_o_id = 2500",
        "insert into new_order (no_w_id, no_d_id, no_o_id) values (1, 3, 2500); \
         update orders set o_carrier_id = null where o_d_id = 3 and o_id = 2500; \
         update customer set c_balance = -10 where c_d_id = 3; \
         update order_line set ol_delivery_d = null where ol_d_id = 3 and ol_o_id = 2500",
        &["condition-3"],
        "district 3 of warehouse 1: 899 rows from 2101 to 3000",
    ),
    (
        "create table saved_lines as select * from order_line where ol_d_id = 2 and ol_o_id = 2900 \
          and ol_number = 5; \
         delete from order_line where ol_d_id = 2 and ol_o_id = 2900 and ol_number = 5",
        "insert into order_line select * from saved_lines; drop table saved_lines",
        &["condition-4", "condition-6"],
        "1 of 10 districts; the first is district 2 of warehouse 1: ",
    ),
    (
        // The order looks undelivered, but has no row in new_order.
        "update orders set o_carrier_id = null where o_d_id = 1 and o_id = 7; \
         update order_line set ol_delivery_d = null where ol_d_id = 1 and ol_o_id = 7",
        "update orders set o_carrier_id = 3 where o_d_id = 1 and o_id = 7; \
         update order_line set ol_delivery_d = now() where ol_d_id = 1 and ol_o_id = 7",
        &["condition-5"],
        "1 of 30,000 orders; the first is order 7 of district 1 of warehouse 1",
    ),
    (
        // The numbers of lines change in opposite directions, so that the sum, and with it condition 4, is
        // unchanged.
        "update orders set o_ol_cnt = o_ol_cnt + case o_id when 11 then 1 else -1 end \
          where o_d_id = 5 and o_id in (11, 12)",
        "update orders set o_ol_cnt = o_ol_cnt - case o_id when 11 then 1 else -1 end \
          where o_d_id = 5 and o_id in (11, 12)",
        &["condition-6"],
        "2 of 30,000 orders; the first is order 11 of district 5 of warehouse 1",
    ),
    (
        "update order_line set ol_delivery_d = null where ol_d_id = 6 and ol_o_id = 1 \
          and ol_number = 1",
        "update order_line set ol_delivery_d = now() where ol_d_id = 6 and ol_o_id = 1 \
          and ol_number = 1",
        &["condition-7"],
        "1 of 30,000 orders; the first is order 1 of district 6 of warehouse 1",
    ),
    (
        // The counters include a payment that has no row in history.
        "update warehouse set w_ytd = w_ytd + 1; update district set d_ytd = d_ytd + 1 where d_id = 8",
        "update warehouse set w_ytd = w_ytd - 1; update district set d_ytd = d_ytd - 1 where d_id = 8",
        &["condition-8", "condition-9"],
        "warehouse 1: 300001.00 and 300000.00",
    ),
    (
        "update district set d_ytd = d_ytd + case d_id when 1 then 5 else -5 end where d_id < 3",
        "update district set d_ytd = d_ytd - case d_id when 1 then 5 else -5 end where d_id < 3",
        &["condition-9"],
        "2 of 10 districts; the first is district 1 of warehouse 1: 30005.00 and 30000.00",
    ),
    (
        "update customer set c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 \
          where c_d_id = 9 and c_id = 77",
        "update customer set c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 \
          where c_d_id = 9 and c_id = 77",
        &["condition-10"],
        "1 of 30,000 customers; the first is customer 77 of district 9 of warehouse 1: -9.00",
    ),
    (
        "create table saved_lines as select * from order_line where ol_d_id = 7 and ol_o_id = 1; \
         create table saved_orders as select * from orders where o_d_id = 7 and o_id = 1; \
         delete from order_line where ol_d_id = 7 and ol_o_id = 1; \
         delete from orders where o_d_id = 7 and o_id = 1",
        "insert into order_line select * from saved_lines; drop table saved_lines; \
         insert into orders select * from saved_orders; drop table saved_orders",
        &["condition-11"],
        "district 7 of warehouse 1: 2099, and 0 delivered since",
    ),
    (
        "update customer set c_ytd_payment = 11 where c_d_id = 9 and c_id = 77",
        "update customer set c_ytd_payment = 10 where c_d_id = 9 and c_id = 77",
        &["condition-12"],
        "customer 77 of district 9 of warehouse 1: 1.00 and 0.00",
    ),
];

#[test]
fn each_damage_breaks_the_expected_conditions() {
    let database = TestDatabase::postgres("tpcc_damaged");
    database.load("tpcc", &[("scale", "1")], 2);
    assert_eq!(condition_findings(&database, FindingState::Ok).len(), 12);
    for (damage, undo, broken_conditions, message) in DAMAGES {
        database.execute(damage);
        let wrong_findings = condition_findings(&database, FindingState::Wrong);
        let ids: Vec<&str> = wrong_findings
            .iter()
            .map(|finding| finding.id.as_str())
            .collect();
        assert_eq!(
            ids, *broken_conditions,
            "after {damage}: {wrong_findings:?}"
        );
        wrong_findings[0].text.assert_contains(message);
        database.execute(undo);
        let wrong_findings = condition_findings(&database, FindingState::Wrong);
        assert!(
            wrong_findings.is_empty(),
            "after {undo}: {wrong_findings:?}"
        );
    }
}

/// A payment and a delivery as in the specification, and a payment that does not maintain the counters.
#[test]
fn transactions_preserve_the_conditions() {
    let database = TestDatabase::postgres("tpcc_preserved");
    database.load("tpcc", &[("scale", "1")], 2);
    let payment = |customer_updates: &str| {
        format!(
            "update warehouse set w_ytd = w_ytd + 5.5; \
             update district set d_ytd = d_ytd + 5.5 where d_id = 2; \
             update customer set c_balance = c_balance - 5.5{customer_updates} \
              where c_d_id = 2 and c_id = 9; \
             insert into history values (now(), 9, 1, 1, 2, 2, 5.5, 'x')"
        )
    };
    let delivery = "delete from new_order where no_o_id = 2101; \
         update orders set o_carrier_id = 4 where o_id = 2101; \
         update order_line set ol_delivery_d = now() where ol_o_id = 2101; \
         update customer set c_delivery_cnt = 1, c_balance = c_balance + (select sum(ol_amount) \
          from order_line, orders where o_id = 2101 and o_c_id = c_id and o_d_id = c_d_id \
          and ol_o_id = 2101 and ol_d_id = o_d_id) \
         from orders where o_id = 2101 and o_d_id = c_d_id and o_c_id = c_id";
    let counted_payment =
        payment(", c_ytd_payment = c_ytd_payment + 5.5, c_payment_cnt = c_payment_cnt + 1");
    database.execute(&counted_payment);
    database.execute(delivery);
    assert_eq!(condition_findings(&database, FindingState::Ok).len(), 12);
    // An uncounted payment makes only condition 12 undecidable.
    database.execute(&payment(""));
    assert_eq!(condition_findings(&database, FindingState::Ok).len(), 11);
    let notes = condition_findings(&database, FindingState::Note);
    assert_eq!(notes[0].id, "condition-12");
    notes[0].text.assert_contains("1 of 30,000 customers");
}
