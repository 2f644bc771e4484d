//! A user of a run that may not do all that it needs.

use crate::support::{Base, drive, plan, ran};
use prony_plan::Stop;
use prony_server::{Control, embedded};
use prony_workload::tpcc::OrderEntryProgram;

#[test]
fn a_user_without_rights_is_told_which_and_what_grants_them() {
    let base = Base::new("tpcc_rights");
    base.load(1, 1, &[]);
    base.execute(
        "create user reader@localhost; create user reader@'127.0.0.1'; \
         grant select on tpcc_rights.* to reader@localhost; \
         grant select on tpcc_rights.* to reader@'127.0.0.1'",
    );
    let by = base.by(embedded::shared_mariadb(), "reader");
    let ready = |options: &[(&str, &str)]| {
        let mut control = Control::connect(&by).expect("connects");
        let ready = OrderEntryProgram::ready(&mut control, &plan(options));
        ready.map(drop).map_err(|error| error.to_string())
    };
    let said = ready(&[]).expect_err("it may only read");
    let lacks = "lacks the right to update on warehouse; update on district";
    assert!(said.contains(lacks), "{said}");
    assert!(said.contains("insert, delete on new_order"), "{said}");
    let grants = said.split("as their owner: ").nth(1).expect("what to do");
    base.execute(grants.trim_end_matches(';'));
    let said = ready(&[]).expect_err("no right to create");
    assert!(
        said.contains("as the owner") && said.contains("statements"),
        "{said}"
    );
    ready(&[("mode", "statements")]).expect("needs no procedures");
    // Once they are there, the right to call them is enough.
    ran(&base, &[], &drive(1, Stop::Transactions(10)), 1);
    base.execute(
        "grant execute on tpcc_rights.* to reader@localhost; \
         grant execute on tpcc_rights.* to reader@'127.0.0.1'",
    );
    ready(&[]).expect("they are there");
    let own = Base::with(by.clone());
    let ran = ran(&own, &[], &drive(1, Stop::Transactions(46)), 1);
    assert_eq!(ran.failed, 0, "{:?}", ran.codes);
}
