//! The functions of the mode `procedures`: installed once per profile, with a clear message if the role may
//! not create them.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_test_servers::TestControl;
use prony_workload::tpcc::OrderEntryProgram;

/// Counts Prony's functions, without those that HammerDB's driver calls.
const COUNT_OWN_FUNCTIONS: &str =
    "select count(*) from pg_proc where starts_with(proname::text, 'prony_tpcc_')";
/// A sum that changes if a function is replaced.
const SUM_OIDS: &str =
    "select sum(oid::bigint) from pg_proc where starts_with(proname::text, 'prony_')";

#[test]
fn functions_are_installed_only_if_needed() {
    let database = loaded_copy("functions");
    let prepare = |options: &[(&str, &str)]| {
        OrderEntryProgram::prepare(&mut database.control(), &workload_plan("tpcc", options))
            .map(drop)
    };
    prepare(&[("mode", "statements")]).expect("needs no functions");
    assert_eq!(database.query_number(COUNT_OWN_FUNCTIONS), 0);

    database.execute("create role reader; grant select on all tables in schema public to reader");
    let mut control = database.control();
    control.run("set role reader");
    let result = OrderEntryProgram::prepare(&mut control, &workload_plan("tpcc", &[])).map(drop);
    let message = result.expect_err("the role may only read").to_string();
    let missing_privileges =
        "the role reader lacks privileges: update on warehouse; update on district";
    message.assert_contains(missing_privileges);
    let grants = message.split("as their owner: ").nth(1).expect("grants");
    database.execute(grants);
    let result = OrderEntryProgram::prepare(&mut control, &workload_plan("tpcc", &[])).map(drop);
    let message = result.expect_err("no right to create").to_string();
    message.assert_contains("as the owner");
    message.assert_contains("statements");

    prepare(&[]).expect("installs");
    prepare(&[("profile", "hammerdb")]).expect("installs");
    assert_eq!(database.query_number(COUNT_OWN_FUNCTIONS), 10);
    let oids_before = database.query_number(SUM_OIDS);
    prepare(&[]).expect("they exist");
    assert_eq!(
        database.query_number(SUM_OIDS),
        oids_before,
        "up-to-date functions are not replaced"
    );

    // A role that may not create functions may call them.
    let mut control = database.control();
    control.run("set role reader");
    OrderEntryProgram::prepare(&mut control, &workload_plan("tpcc", &[]))
        .map(drop)
        .expect("they exist");

    database.execute(
        "drop function prony_tpcc_standard_delivery; \
         create function prony_tpcc_standard_delivery(int) returns text language sql \
         as $$ select 'of an older version' $$; \
         create function delivery() returns int language sql as $$ select 1 $$",
    );
    let outcome = run_tpcc(&database, &[], &single_client_plan(46), 1);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.error_codes);
    assert_eq!(database.query_number(COUNT_OWN_FUNCTIONS), 10);
    assert_eq!(database.query_number("select delivery()"), 1);

    let workload = prony_workload::find("tpcc").expect("listed");
    workload.clean(&mut database.control()).expect("cleans");
    assert_eq!(database.query_number(COUNT_OWN_FUNCTIONS), 0);
    assert_eq!(database.query_number("select delivery()"), 1);
}

#[test]
fn a_missing_function_makes_its_transactions_fail() {
    let database = loaded_copy("missing");
    let mut control = database.control();
    let program =
        OrderEntryProgram::prepare(&mut control, &workload_plan("tpcc", &[])).expect("installs");
    database.execute("drop function prony_tpcc_standard_payment");
    let outcome = run_program(&database, &program, &single_client_plan(23), 1);
    assert_eq!(outcome.error_codes, ["42883"]);
    assert_eq!(
        (outcome.failed[PAYMENT], outcome.committed[PAYMENT]),
        (10, 0)
    );
    assert!(outcome.committed[NEW_ORDER] > 8);
}
