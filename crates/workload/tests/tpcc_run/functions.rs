//! The functions of the mode `procedures`: installed once, kept apart, and refused in words.

use crate::support::{loaded, number, plan, ran, transactions};
use prony_workload::tpcc::OrderEntryProgram;

const OURS: &str = "select count(*) from pg_proc where starts_with(proname::text, 'prony_tpcc_')";
const OIDS: &str =
    "select sum(oid::bigint) from pg_proc where starts_with(proname::text, 'prony_')";

#[test]
fn functions_are_installed_where_they_are_needed() {
    let base = loaded("functions");
    let ready = |options: &[(&str, &str)]| {
        OrderEntryProgram::ready(&mut base.control(), &plan(options)).map(drop)
    };
    ready(&[("mode", "statements")]).expect("needs none");
    assert_eq!(number(&base, OURS), 0);

    base.execute("create role reader; grant select on all tables in schema public to reader");
    let mut control = base.control();
    control.execute("set role reader").expect("a role");
    let refused = OrderEntryProgram::ready(&mut control, &plan(&[])).map(drop);
    let said = refused.expect_err("it may only read").to_string();
    let lacks = "the role reader lacks the right to update on warehouse; update on district";
    assert!(said.contains(lacks), "{said}");
    let grants = said.split("as their owner: ").nth(1).expect("what to do");
    base.execute(grants);
    let refused = OrderEntryProgram::ready(&mut control, &plan(&[])).map(drop);
    let said = refused.expect_err("no right to create").to_string();
    assert!(
        said.contains("as the owner") && said.contains("statements"),
        "{said}"
    );

    ready(&[]).expect("installs");
    ready(&[("profile", "hammerdb")]).expect("installs");
    assert_eq!(number(&base, OURS), 10);
    let before = number(&base, OIDS);
    ready(&[]).expect("they are there");
    assert_eq!(number(&base, OIDS), before, "what is right is left alone");

    // Who may not create them may call them.
    let mut control = base.control();
    control.execute("set role reader").expect("a role");
    OrderEntryProgram::ready(&mut control, &plan(&[]))
        .map(drop)
        .expect("they are there");

    base.execute(
        "drop function prony_tpcc_standard_delivery; \
         create function prony_tpcc_standard_delivery(int) returns text language sql \
         as $$ select 'of an older version' $$; \
         create function delivery() returns int language sql as $$ select 1 $$",
    );
    let ran = ran(&base, &plan(&[]), &transactions(46), 1);
    assert_eq!(ran.failed, [0; 5], "{:?}", ran.codes);
    assert_eq!(number(&base, OURS), 10);
    assert_eq!(number(&base, "select delivery()"), 1);

    let workload = prony_workload::find("tpcc").expect("listed");
    workload.clean(&mut base.control()).expect("cleans");
    assert_eq!(number(&base, OURS), 0);
    assert_eq!(number(&base, "select delivery()"), 1);
}

#[test]
fn functions_that_go_missing_make_failed_transactions() {
    let base = loaded("missing");
    let mut control = base.control();
    let program = OrderEntryProgram::ready(&mut control, &plan(&[])).expect("installs");
    base.execute("drop function prony_tpcc_standard_payment");
    let ran = crate::support::ran_program(&base, &program, &transactions(23), 1);
    assert_eq!(ran.codes, ["42883"]);
    assert_eq!((ran.failed[1], ran.committed[1]), (10, 0));
    assert!(ran.committed[0] > 8);
}
