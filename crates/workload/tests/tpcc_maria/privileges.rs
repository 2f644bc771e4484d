//! Runs of a user that lacks some of the required privileges.

use crate::support::{TestDatabase, drive_plan, run_workload, workload_plan};
use prony_plan::Stop;
use prony_server::Control;
use prony_workload::tpcc::OrderEntryProgram;
use std::sync::atomic::AtomicBool;

#[test]
fn a_load_without_the_right_to_create_tables_leaves_nothing() {
    let database = TestDatabase::new("tpcc_no_create");
    database.execute(
        "create user looker@localhost; create user looker@'127.0.0.1'; \
         grant select on tpcc_no_create.* to looker@localhost; \
         grant select on tpcc_no_create.* to looker@'127.0.0.1'",
    );
    let target = database.target_for(prony_test_servers::shared_mariadb(), "looker");
    let restricted = TestDatabase::from_target(target);
    let result = restricted.load_with(1, 1, &[], &(), &AtomicBool::new(false));
    let message = result.expect_err("it may only read").to_string();
    assert!(message.contains("creating the tables"), "{message}");
    assert!(
        message.contains("left behind: nothing (the database is unchanged)"),
        "{message}"
    );
    assert!(message.contains("load again"), "{message}");
}

#[test]
fn missing_privileges_are_reported_with_the_grants() {
    let database = TestDatabase::new("tpcc_rights");
    database.load(1, 1, &[]);
    database.execute(
        "create user reader@localhost; create user reader@'127.0.0.1'; \
         grant select on tpcc_rights.* to reader@localhost; \
         grant select on tpcc_rights.* to reader@'127.0.0.1'",
    );
    let target = database.target_for(prony_test_servers::shared_mariadb(), "reader");
    let prepare = |options: &[(&str, &str)]| {
        let mut control = Control::connect(&target).expect("connects");
        let prepared = OrderEntryProgram::prepare(&mut control, &workload_plan(options));
        prepared.map(drop).map_err(|error| error.to_string())
    };
    let message = prepare(&[]).expect_err("it may only read");
    let missing_privileges = "lacks privileges: update on warehouse; update on district";
    assert!(message.contains(missing_privileges), "{message}");
    assert!(message.contains("insert, delete on new_order"), "{message}");
    let grants = message.split("as their owner: ").nth(1).expect("grants");
    database.execute(grants.trim_end_matches(';'));
    let message = prepare(&[]).expect_err("no right to create");
    assert!(
        message.contains("as the owner") && message.contains("statements"),
        "{message}"
    );
    prepare(&[("mode", "statements")]).expect("needs no procedures");
    // Once the procedures exist, the privilege to call them is enough.
    run_workload(&database, &[], &drive_plan(1, Stop::Transactions(10)), 1);
    database.execute(
        "grant execute on tpcc_rights.* to reader@localhost; \
         grant execute on tpcc_rights.* to reader@'127.0.0.1'",
    );
    prepare(&[]).expect("the procedures exist");
    let restricted = TestDatabase::from_target(target.clone());
    let outcome = run_workload(&restricted, &[], &drive_plan(1, Stop::Transactions(46)), 1);
    assert_eq!(outcome.failed, 0, "{:?}", outcome.error_codes);
}
