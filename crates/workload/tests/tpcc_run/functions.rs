//! The functions of the mode `procedures`: installed once per profile, with a clear message if the role may
//! not create them.

use crate::support::{loaded_copy, number, plan, run_workload, transactions};
use prony_workload::tpcc::OrderEntryProgram;

const COUNT_OWN_FUNCTIONS: &str =
    "select count(*) from pg_proc where starts_with(proname::text, 'prony_tpcc_')";
const SUM_OIDS: &str =
    "select sum(oid::bigint) from pg_proc where starts_with(proname::text, 'prony_')";

#[test]
fn functions_are_installed_only_if_needed() {
    let database = loaded_copy("functions");
    let prepare = |options: &[(&str, &str)]| {
        OrderEntryProgram::prepare(&mut database.control(), &plan(options)).map(drop)
    };
    prepare(&[("mode", "statements")]).expect("needs no functions");
    assert_eq!(number(&database, COUNT_OWN_FUNCTIONS), 0);

    database.execute("create role reader; grant select on all tables in schema public to reader");
    let mut control = database.control();
    control.execute("set role reader").expect("a role");
    let result = OrderEntryProgram::prepare(&mut control, &plan(&[])).map(drop);
    let message = result.expect_err("the role may only read").to_string();
    let lacks = "the role reader lacks privileges: update on warehouse; update on district";
    assert!(message.contains(lacks), "{message}");
    let grants = message.split("as their owner: ").nth(1).expect("grants");
    database.execute(grants);
    let result = OrderEntryProgram::prepare(&mut control, &plan(&[])).map(drop);
    let message = result.expect_err("no right to create").to_string();
    assert!(
        message.contains("as the owner") && message.contains("statements"),
        "{message}"
    );

    prepare(&[]).expect("installs");
    prepare(&[("profile", "hammerdb")]).expect("installs");
    assert_eq!(number(&database, COUNT_OWN_FUNCTIONS), 10);
    let before = number(&database, SUM_OIDS);
    prepare(&[]).expect("they exist");
    assert_eq!(
        number(&database, SUM_OIDS),
        before,
        "up-to-date functions are not replaced"
    );

    // A role that may not create functions may call them.
    let mut control = database.control();
    control.execute("set role reader").expect("a role");
    OrderEntryProgram::prepare(&mut control, &plan(&[]))
        .map(drop)
        .expect("they exist");

    database.execute(
        "drop function prony_tpcc_standard_delivery; \
         create function prony_tpcc_standard_delivery(int) returns text language sql \
         as $$ select 'of an older version' $$; \
         create function delivery() returns int language sql as $$ select 1 $$",
    );
    let outcome = run_workload(&database, &plan(&[]), &transactions(46), 1);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.codes);
    assert_eq!(number(&database, COUNT_OWN_FUNCTIONS), 10);
    assert_eq!(number(&database, "select delivery()"), 1);

    let workload = prony_workload::find("tpcc").expect("listed");
    workload.clean(&mut database.control()).expect("cleans");
    assert_eq!(number(&database, COUNT_OWN_FUNCTIONS), 0);
    assert_eq!(number(&database, "select delivery()"), 1);
}

#[test]
fn missing_functions_fail_transactions() {
    let database = loaded_copy("missing");
    let mut control = database.control();
    let program = OrderEntryProgram::prepare(&mut control, &plan(&[])).expect("installs");
    database.execute("drop function prony_tpcc_standard_payment");
    let outcome = crate::support::run_program(&database, &program, &transactions(23), 1);
    assert_eq!(outcome.codes, ["42883"]);
    assert_eq!((outcome.failed[1], outcome.committed[1]), (10, 0));
    assert!(outcome.committed[0] > 8);
}
