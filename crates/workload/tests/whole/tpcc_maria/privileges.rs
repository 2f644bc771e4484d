//! Runs of a user that lacks some of the required privileges.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_plan::Stop;
use std::sync::atomic::AtomicBool;

/// The database as a new user sees it, who may only read it.
fn readable(database: &TestDatabase, name: &str, user: &str) -> TestDatabase {
    for host in ["localhost", "'127.0.0.1'"] {
        database.execute(&format!(
            "create user {user}@{host}; grant select on {name}.* to {user}@{host}"
        ));
    }
    TestDatabase::at(&prony_test_servers::shared_mariadb().url_for(user, name))
}

#[test]
fn a_load_without_the_right_to_create_tables_leaves_nothing() {
    let database = large_database("tpcc_no_create");
    let restricted = readable(&database, "tpcc_no_create", "looker");
    let result = restricted.load_with("tpcc", &[("scale", "1")], 1, &(), &AtomicBool::new(false));
    let message = result.expect_err("it may only read").to_string();
    message.assert_contains("creating the tables");
    message.assert_contains("left behind: nothing (the database is unchanged)");
    message.assert_contains("load again");
}

#[test]
fn missing_privileges_are_reported_with_the_grants() {
    let database = large_database("tpcc_rights");
    database.load("tpcc", &[("scale", "1")], 1);
    let restricted = readable(&database, "tpcc_rights", "reader");
    let prepare = |options: &[(&str, &str)]| {
        let prepared = restricted.program("tpcc", options);
        prepared.map(drop).map_err(|error| error.to_string())
    };
    let message = prepare(&[]).expect_err("it may only read");
    let missing_privileges = "lacks privileges: update on warehouse; update on district";
    message.assert_contains(missing_privileges);
    message.assert_contains("insert, delete on new_order");
    let grants = message.split("as their owner: ").nth(1).expect("grants");
    database.execute(grants.trim_end_matches(';'));
    let message = prepare(&[]).expect_err("no right to create");
    message.assert_contains("as the owner");
    message.assert_contains("statements");
    prepare(&[("mode", "statements")]).expect("needs no procedures");
    // Once the procedures exist, the privilege to call them is enough.
    run_tpcc(&database, &[], &drive_plan(1, Stop::Transactions(10)), 1);
    database.execute(
        "grant execute on tpcc_rights.* to reader@localhost; \
         grant execute on tpcc_rights.* to reader@'127.0.0.1'",
    );
    prepare(&[]).expect("the procedures exist");
    let outcome = run_tpcc(&restricted, &[], &drive_plan(1, Stop::Transactions(46)), 1);
    assert_eq!(outcome.failed, [0; 5], "{:?}", outcome.error_codes);
}
