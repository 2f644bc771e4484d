//! HammerDB's routines on a schema that Prony has created: the calls of HammerDB's driver, and the
//! statements that the profile `hammerdb-4.6` executes.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_server::Control;
use prony_test_servers::TestControl;
use prony_workload::tpcc::OrderEntryProgram;

/// The calls that HammerDB's driver prepares, with the types that it declares. The quotes around `$8` and
/// `$5` are HammerDB's; because of them, it finds no customer by name.
const PREPARE_STATEMENTS: &[&str] = &[
    "prepare neword (integer, integer, integer, integer, integer) as \
     select neword($1, $2, $3, $4, $5, 0)",
    "prepare payment (integer, integer, integer, integer, integer, integer, numeric, varchar) as \
     select payment($1, $2, $3, $4, $5, $6, $7, '$8', '0', 0)",
    "prepare ostat (integer, integer, integer, integer, varchar) as \
     select * from ostat($1, $2, $3, $4, '$5') as (item integer, supply integer, \
     quantity smallint, amount numeric, delivered timestamp with time zone, customer integer, \
     last character varying, first character varying, middle character varying, \
     balance numeric, number integer, entered timestamp, carrier integer)",
    "prepare delivery (integer, integer) as select delivery($1, $2)",
    "prepare slev (integer, integer, integer) as select slev($1, $2, $3)",
];

/// The timestamp argument of the driver's procedure calls (`pg_storedprocs`).
const CALL_TIMESTAMP: &str = "to_timestamp('20261122193000', 'YYYYMMDDHH24MISS')::timestamp";

/// Counts the new lines whose amount differs from the item's price times the quantity.
const COUNT_MISPRICED_LINES: &str = "select count(*) from order_line \
     left join item on i_id = ol_i_id where ol_o_id > 3000 and ol_amount is not null \
     and ol_amount is distinct from ol_quantity * i_price";

fn query_text(control: &mut Control, sql: &str) -> String {
    let value = control.query_value(sql).expect(sql);
    value.unwrap_or_default()
}

/// The value of an SQL expression for customer 7 of district 3 of warehouse 1 and its orders.
fn customer_value(database: &TestDatabase, expression: &str) -> i64 {
    database.query_number(&format!(
        "select {expression} from customer join orders on o_w_id = c_w_id and o_d_id = c_d_id \
             and o_c_id = c_id where (c_w_id, c_d_id, c_id) = (1, 3, 7) group by c_balance"
    ))
}

#[test]
fn hammerdbs_driver_finds_its_functions() {
    let database = loaded_copy("hammerdb_functions");
    let mut control = database.control();
    for statement in PREPARE_STATEMENTS {
        control.execute(statement).expect(statement);
    }
    let balance = customer_value(&database, "(c_balance * 100)::bigint");
    let total = query_text(&mut control, "execute neword(1, 2, 3, 7, 9)");
    assert!(total.parse::<f64>().expect("a sum") > 0.0, "{total}");
    assert_eq!(customer_value(&database, "max(o_id)"), 3001);
    let lines = "select count(*) from order_line where (ol_w_id, ol_d_id, ol_o_id) = (1, 3, 3001)";
    assert_eq!(database.query_number(lines), 9);
    // Pay by number, and by a name. The name is never found, so the result is the number that was passed.
    for by_name in [0, 1] {
        let sql = format!("execute payment(1, 3, 1, 3, 7, {by_name}, 25, 'BARBARBAR')");
        assert_eq!(query_text(&mut control, &sql), "7");
    }
    assert_eq!(
        customer_value(&database, "(c_balance * 100)::bigint"),
        balance - 5_000
    );
    assert_eq!(query_text(&mut control, "execute delivery(1, 4)"), "10");
    let delivered = "select 9000 * 2 + 1 - count(*) from new_order";
    assert_eq!(database.query_number(delivered), 10);
    let low_stock: i64 = query_text(&mut control, "execute slev(1, 3, 20)")
        .parse()
        .expect("a count");
    assert!((1..300).contains(&low_stock), "{low_stock}");
    let lines = control
        .query("execute ostat(1, 3, 7, 0, '')")
        .expect("lines");
    assert_eq!(lines.len(), 9);
    assert_eq!(
        control
            .query("execute ostat(1, 3, 7, 1, '')")
            .expect("none")
            .len(),
        0
    );
    // HammerDB does not count payments, so condition 12 is only a note.
    assert_eq!(database.problems("tpcc"), [""; 0]);
}

#[test]
fn hammerdbs_driver_finds_its_procedures() {
    let database = loaded_copy("hammerdb_procedures");
    let mut control = database.control();
    let name = query_text(
        &mut control,
        "select c_last from customer where (c_w_id, c_d_id, c_id) = (1, 3, 7)",
    );
    let call = |control: &mut Control, sql: &str, column: usize| {
        let sql = sql.replace("CALL_TIMESTAMP", CALL_TIMESTAMP);
        let reply = control.query(&sql).expect(&sql);
        reply[0][column].clone().unwrap_or_default()
    };
    let order = "call neword(1, 2, 3, 7, 9, 0.0, '', '', 0.0, 0.0, 0, CALL_TIMESTAMP)";
    assert_eq!(call(&mut control, order, 1), name);
    assert_eq!(call(&mut control, order, 5), "3002");
    let blanks = "'', ".repeat(18);
    let payment = format!(
        "call payment(1, 3, 1, 3, 1, 25, '0', '{name}', 7, {blanks}CALL_TIMESTAMP, 0.0, 0.0, 0.0, '', \
         CALL_TIMESTAMP)"
    );
    // The middle customer of that name, in the order of first names.
    let select_middle_customer = format!(
        "select c_id from customer where (c_w_id, c_d_id, c_last) = (1, 3, '{name}') \
         order by c_first offset (select (count(*) - 1) / 2 from customer \
         where (c_w_id, c_d_id, c_last) = (1, 3, '{name}')) limit 1"
    );
    let middle_customer = query_text(&mut control, &select_middle_customer);
    assert_eq!(call(&mut control, &payment, 2), middle_customer);
    control
        .execute(&format!("call delivery(1, 4, {CALL_TIMESTAMP})"))
        .expect("delivers");
    let low_stock = call(&mut control, "call slev(1, 3, 20, 0)", 0);
    assert!(
        low_stock.parse::<i64>().expect("a count") > 0,
        "{low_stock}"
    );
    let status = "call ostat(1, 3, 7, 0, '', '', '', 0.0, 0, CALL_TIMESTAMP, 0, '')";
    assert_eq!(call(&mut control, status, 1), name);
    assert_eq!(call(&mut control, status, 5), "3002");
    let lines = call(&mut control, status, 8);
    assert!(lines.matches(',').count() >= 4 * 9 - 1, "{lines}");
    assert_eq!(database.problems("tpcc"), [""; 0]);
}

#[test]
fn routines_created_by_hammerdb_are_preserved() {
    let database = loaded_copy("hammerdb_foreign");
    database.execute(
        "drop function neword; create function neword(int, int, int, int, int, int) \
         returns numeric language sql as $$ select 46::numeric $$",
    );
    run_tpcc(
        &database,
        &[("profile", "hammerdb-4.6")],
        &single_client_plan(23),
        1,
    );
    let hammerdb_function = "select neword(1, 1, 1, 1, 1, 0)::int";
    assert_eq!(
        database.query_number(hammerdb_function),
        46,
        "a run does not replace the function"
    );
    let workload = prony_workload::find("tpcc").expect("listed");
    workload.clean(&mut database.control()).expect("cleans");
    let remaining = "select count(*) from pg_proc where pronamespace = 'public'::regnamespace";
    assert_eq!(
        database.query_number(remaining),
        1,
        "Prony's routines were dropped"
    );
    assert_eq!(database.query_number(hammerdb_function), 46);
}

#[test]
fn the_server_generates_order_lines_as_in_hammerdb_4_6() {
    let database = loaded_copy("hammerdb_work");
    database.execute("alter database hammerdb_work set track_functions = 'all'");
    let options = [("profile", "hammerdb-4.6"), ("home", "all")];
    let outcome = run_tpcc(&database, &options, &single_client_plan(460), 1);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.error_codes);
    assert_eq!(
        outcome.counts.lines, 0,
        "the client generates no order lines"
    );
    let calls = |name: &str| {
        database.query_number(&format!(
            "select coalesce(sum(calls), 0) from pg_stat_user_functions \
                 where funcname = 'prony_tpcc_hammerdb_46_{name}'"
        ))
    };
    let orders = outcome.committed[NEW_ORDER] as i64;
    assert!(orders > 100, "{orders}");
    // The server reports the statistics of a closed session with a delay.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while calls("neword") < orders && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    for (kind, name) in ["neword", "payment", "ostat", "delivery", "slev"]
        .iter()
        .enumerate()
    {
        assert_eq!(calls(name), outcome.committed[kind] as i64, "{name}");
    }
    // The server draws one number for the order, and three for each of 5 to 15 lines: 31 on average.
    let draws_per_order = calls("dbms_random") as f64 / orders as f64;
    assert!(
        (28.0..34.0).contains(&draws_per_order),
        "{draws_per_order} random numbers per order"
    );
    let inserted = "select count(*) from orders where o_id > 3000";
    assert_eq!(database.query_number(inserted), orders);
    let unpriced =
        "select count(*) from order_line where ol_i_id = 100001 and ol_amount is not null";
    assert_eq!(database.query_number(unpriced), 0);
    let mismatched = "select count(*) from order_line join item on i_id = ol_i_id where ol_o_id > 3000 \
         and ol_amount is distinct from ol_quantity * i_price";
    // For an item that an order repeats, the server updates only one line; among 100,000 items that is rare.
    assert!(
        database.query_number(mismatched) <= 2,
        "a line's amount is its quantity times the item's price"
    );
    assert_eq!(database.problems("tpcc"), [""; 0]);
}

/// The server may join the lines of an order to items and stock in any order.
#[test]
fn hammerdb_4_6_order_lines_have_their_items_price_under_any_query_plan() {
    let database = loaded_copy("hammerdb_prices");
    let mut control = database.control();
    control.run("set enable_nestloop = off");
    for customer in 1..=5 {
        let call = format!("select neword(1, 1, 3, {customer}, 15, 0)");
        control.run(call);
    }
    let lines = "select count(*) from order_line where ol_o_id > 3000 and ol_amount is not null";
    assert!(database.query_number(lines) >= 70);
    assert_eq!(database.query_number(COUNT_MISPRICED_LINES), 0);
}

#[test]
fn a_repeated_item_does_not_change_the_other_lines() {
    let database = loaded_copy("hammerdb_twice");
    // All lines order one of three items, so that most of an order's lines share a row of stock.
    database.execute(
        "create or replace function dbms_random(p_low int, p_high int) returns int language sql as \
         $$ select p_low + floor(random() * least(p_high - p_low + 1, 3))::int $$",
    );
    let mut control = database.control();
    for customer in 1..=20 {
        let call = format!("select neword(1, 1, 3, {customer}, 15, 0)");
        control.run(call);
    }
    let lines = "select count(*) from order_line where ol_o_id > 3000";
    assert_eq!(database.query_number(lines), 300);
    assert_eq!(database.query_number(COUNT_MISPRICED_LINES), 0);
    let count_items_without_amount = "select count(distinct (ol_o_id, ol_i_id)) - count(ol_amount) \
                   from order_line where ol_o_id > 3000 and ol_i_id <= 100000";
    assert_eq!(
        database.query_number(count_items_without_amount),
        0,
        "each item of an order has its amount on exactly one line"
    );
    let count_half_filled_lines = "select count(*) from order_line where ol_o_id > 3000 \
                 and (ol_amount is null) <> (ol_dist_info is null)";
    assert_eq!(database.query_number(count_half_filled_lines), 0);
    assert_eq!(database.problems("tpcc"), [""; 0]);
}

#[test]
fn order_numbers_taken_by_hammerdb_are_detected_and_repaired() {
    let database = loaded_copy("hammerdb_numbers");
    // HammerDB before 4.11 increments d_next_o_id before it numbers the order, so the next number is always
    // taken. Insert one such order in a district of warehouse 2.
    database.execute(
        "update district set d_next_o_id = 3002 where (d_w_id, d_id) = (2, 4); \
         insert into orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
         values (3002, 4, 2, 7, now(), 0, 1)",
    );
    for profile in ["standard", "hammerdb-4.6"] {
        let result = OrderEntryProgram::prepare(
            &mut database.control(),
            &workload_plan("tpcc", &[("profile", profile)]),
        )
        .map(drop);
        let message = result.expect_err("new orders would fail").to_string();
        message.assert_contains("in 1 district (in warehouse 2) the next");
        message.assert_contains("prony check tpcc --repair-sequences");
    }
    let problem_text = database.problems("tpcc").join("\n");
    problem_text.assert_contains("prony check tpcc --repair-sequences");
    let workload = prony_workload::find("tpcc").expect("listed");
    let mut control = database.control();
    assert_eq!(
        workload
            .repair_order_numbers(&mut control)
            .expect("repairs"),
        1
    );
    assert_eq!(
        workload
            .repair_order_numbers(&mut control)
            .expect("changes nothing"),
        0
    );
    let next_order_number = "select d_next_o_id from district where (d_w_id, d_id) = (2, 4)";
    assert_eq!(database.query_number(next_order_number), 3003);
    let outcome = run_tpcc(&database, &[("home", "all")], &single_client_plan(230), 1);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.error_codes);
    let tpcb = prony_workload::find("tpcb").expect("listed");
    assert!(tpcb.repair_order_numbers(&mut control).is_err());
}
