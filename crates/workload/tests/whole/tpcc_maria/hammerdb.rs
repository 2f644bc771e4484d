//! HammerDB's procedures on a schema that Prony has created, called as HammerDB's driver calls them.

use super::support::*;
use prony_server::Control;

const CALL_TIMESTAMP: &str = "str_to_date('20261122193000', '%Y%m%d%H%i%s')";

fn query_text(control: &mut Control, sql: &str) -> String {
    control.query_value(sql).expect(sql).unwrap_or_default()
}

fn execute(control: &mut Control, sql: &str) {
    let sql = sql.replace("CALL_TIMESTAMP", CALL_TIMESTAMP);
    control.execute(&sql).expect(&sql);
}

/// The output parameters of PAYMENT after `@p_c_last`.
const PAYMENT_OUTPUTS: &str = "@p_w_street_1, @p_w_street_2, @p_w_city, @p_w_state, @p_w_zip, \
     @p_d_street_1, @p_d_street_2, @p_d_city, @p_d_state, @p_d_zip, @p_c_first, @p_c_middle, \
     @p_c_street_1, @p_c_street_2, @p_c_city, @p_c_state, @p_c_zip, @p_c_phone, @p_c_since";

#[test]
fn hammerdbs_driver_finds_its_procedures() {
    let database = large_database("tpcc_hammerdb");
    database.load("tpcc", &[("scale", "2")], 1);
    let mut control = database.control();
    let control = &mut control;
    let next_order_number = "select d_next_o_id from district where d_w_id = 1 and d_id = 3";
    let mut inserted = 0;
    // One order in a hundred is rolled back, and returns no number.
    for _ in 0..30 {
        execute(control, "set @next_o_id = 0");
        execute(
            control,
            "call NEWORD(1, 2, 3, 7, 9, @disc, @last, @credit, @dtax, @wtax, @next_o_id, CALL_TIMESTAMP)",
        );
        let number = query_text(control, "select @next_o_id");
        if !number.is_empty() {
            assert_eq!(number, (3001 + inserted).to_string());
            inserted += 1;
        }
    }
    assert!(inserted > 15, "{inserted}");
    assert_eq!(database.query_number(next_order_number), 3001 + inserted);
    let name = query_text(control, "select @last");
    let balance_cents = "select sum(c_balance) * 100 div 1 from customer";
    let cents_before = database.query_number(balance_cents);
    for (number, by_name) in [("7", 0), ("7", 1)] {
        execute(
            control,
            &format!(
                "set @p_c_id = {number}, @p_c_last = '{name}', @p_c_credit = 0, @p_c_balance = 0"
            ),
        );
        execute(
            control,
            &format!(
                "call PAYMENT(1, 3, 1, 3, @p_c_id, {by_name}, 25, @p_c_last, {PAYMENT_OUTPUTS}, \
                 @p_c_credit, @p_c_credit_lim, @p_c_discount, @p_c_balance, @p_c_data, CALL_TIMESTAMP)"
            ),
        );
        let last_name = query_text(control, "select @p_c_last");
        assert_eq!(last_name, name);
    }
    assert_eq!(database.query_number(balance_cents), cents_before - 5_000);
    execute(control, "call DELIVERY(1, 4, CALL_TIMESTAMP)");
    assert_eq!(
        database.query_number("select 18000 - count(*) from new_order"),
        10 - inserted
    );
    execute(
        control,
        "prepare slev_st from 'CALL SLEV(?, ?, ?, @stock_count)'; \
         set @st_w_id = 1, @st_d_id = 3, @threshold = 20; \
         execute slev_st using @st_w_id, @st_d_id, @threshold",
    );
    let low_stock: i64 = query_text(control, "select @stock_count")
        .parse()
        .expect("a count");
    assert!((1..300).contains(&low_stock), "{low_stock}");
    execute(control, &format!("set @os_c_id = 7, @os_c_last = '{name}'"));
    execute(
        control,
        "call OSTAT(1, 3, @os_c_id, 0, @os_c_last, @os_c_first, @os_c_middle, @os_c_balance, \
         @os_o_id, @os_entdate, @os_o_carrier_id)",
    );
    let expected = (3000 + inserted).to_string();
    assert_eq!(query_text(control, "select @os_o_id"), expected);
    assert_eq!(query_text(control, "select @os_c_last"), name);
    assert_eq!(database.problems("tpcc"), [""; 0]);
}
