//! Each workload on a real server, in each protocol.

use crate::support::{Base, PROTOCOLS, is_whole, parts, ran, run_what_keeps_rows};
use prony_plan::QueryMode;

#[test]
fn transactions_leave_as_many_rows_as_they_found() {
    let base = Base::new("oltp_transactions");
    base.load(
        "oltp_read_write",
        &[("tables", "2"), ("table_size", "2000")],
        2,
    );
    for protocol in PROTOCOLS {
        run_what_keeps_rows(&base, protocol);
        for table in 1..=2 {
            let count = format!("select count(*) from sbtest{table} where id between 1 and 2000");
            assert_eq!(base.number(&count), 2_000);
        }
        assert_eq!(base.wrong("oltp_read_write"), [""; 0], "{protocol:?}");
    }
}

#[test]
fn deadlocks_and_duplicates_on_few_rows_are_tried_again() {
    let base = Base::new("oltp_few_rows");
    base.load("oltp_read_write", &[("table_size", "4")], 1);
    // Outside a block a deleted row is open to another insert: a key that is there already.
    let options = [("skip_trx", "on"), ("rand_type", "uniform")];
    let ran = ran(
        &base,
        "oltp_write_only",
        &options,
        QueryMode::Prepared,
        (8, 200),
    );
    is_whole(&ran, 1_600, "skip_trx");
    assert!(ran.retries > 0, "eight users on four rows");
    let [reads, writes, others] = parts(&ran);
    assert_eq!((reads, writes + others), (0, 6_400));
    let found = crate::support::ran(&base, "oltp_read_write", &[], QueryMode::Prepared, (8, 20));
    is_whole(&found, 160, "in blocks");
}

#[test]
fn rows_come_and_go_where_that_is_the_workload() {
    let base = Base::new("oltp_come_and_go");
    base.load("oltp_insert", &[("tables", "2"), ("table_size", "300")], 2);
    let count = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
    for protocol in PROTOCOLS {
        let before = base.number(count);
        let run = ran(&base, "oltp_insert", &[], protocol, (3, 20));
        is_whole(&run, 60, "oltp_insert");
        assert_eq!(parts(&run), [0, 60, 0]);
        assert_eq!(run.retries, 0, "numbers go on after those that were loaded");
        assert_eq!(base.number(count), before + 60);
    }
    let report = base.check("oltp_insert");
    assert!(report.is_ok(), "{report:?}");
    let added = report.findings.iter().find(|one| one.id == "rows-added");
    assert!(
        added.expect("noted").text.starts_with("180 rows"),
        "{added:?}"
    );

    let before = base.number(count);
    let run = ran(&base, "oltp_delete", &[], QueryMode::Prepared, (3, 100));
    is_whole(&run, 300, "oltp_delete");
    let [reads, deleted, missed] = parts(&run);
    assert_eq!((reads, deleted + missed), (0, 300));
    assert!(missed > 0, "the middle of the tables is soon empty");
    assert_eq!(base.number(count), before - deleted as i64);
    let wrong = base.wrong("oltp_read_write");
    assert!(
        wrong[0].contains("has lost") && wrong[0].contains("oltp_delete"),
        "{wrong:?}"
    );
    // On what is left, a read-write transaction no longer makes its four writes.
    let run = ran(&base, "oltp_read_write", &[], QueryMode::Prepared, (1, 50));
    let [reads, writes, _] = parts(&run);
    assert_eq!(reads, 700);
    assert!(writes < 200, "{writes}");
}

#[test]
fn rows_that_the_client_numbers_are_inserted_once() {
    let base = Base::new("oltp_numbered");
    base.load("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], 1);
    let options = [("auto_inc", "off")];
    let run = ran(
        &base,
        "oltp_insert",
        &options,
        QueryMode::Prepared,
        (4, 100),
    );
    is_whole(&run, 400, "oltp_insert");
    assert_eq!(run.retries, 0);
    let count = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
    assert_eq!(base.number(count), 400);
    assert!(base.number("select min(id) from sbtest1") < 0);
    assert_eq!(base.wrong("oltp_insert"), [""; 0]);
}

#[test]
fn packets_of_rows_are_appended_run_after_run() {
    let base = Base::new("oltp_bulk");
    base.load("bulk_insert", &[("tables", "2")], 2);
    for round in 1..=2 {
        let run = ran(&base, "bulk_insert", &[], QueryMode::Prepared, (3, 2));
        is_whole(&run, 6, "bulk_insert");
        assert_eq!(parts(&run), [0, 6, 0]);
        let rows = base.number("select count(*) from sbtest1 where id = k");
        // Two users of the first table, two packets each, of some 30,000 rows.
        assert!(
            rows > round * 4 * 25_000 && rows < round * 4 * 60_000,
            "{rows}"
        );
    }
    let report = base.check("bulk_insert");
    assert!(report.is_ok() && report.scale == Some(2), "{report:?}");
}

#[test]
fn one_row_takes_the_updates_of_all() {
    let base = Base::new("oltp_hot");
    base.load("hot-row", &[], 1);
    let before = base.number("select k from sbtest1 where id = 100");
    for hint in ["off", "on"] {
        let run = ran(
            &base,
            "hot-row",
            &[("hint", hint)],
            QueryMode::Prepared,
            (8, 25),
        );
        is_whole(&run, 200, "hot-row");
        assert_eq!(parts(&run), [0, 200, 400]);
    }
    assert_eq!(
        base.number("select k from sbtest1 where id = 100"),
        before + 400
    );
    let others = "select count(*) from sbtest1 where k not between 1 and 100 and id <> 100";
    assert_eq!(base.number(others), 0);
}
