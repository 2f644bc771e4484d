//! Tests each workload on a real PostgreSQL and a real MariaDB, in each protocol mode.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;

#[test]
fn transactions_preserve_the_number_of_rows() {
    for database in on_each_engine("oltp_transactions") {
        let options = [("tables", "2"), ("table_size", "2000")];
        for protocol in PROTOCOLS {
            // Load the tables again for each mode: with the same seed, runs write the same texts, and MySQL does
            // not count a row as changed if its value stays the same.
            database.load("oltp_read_write", &options, 2);
            run_workloads_that_preserve_rows(&database, protocol);
            for table in 1..=2 {
                let count =
                    format!("select count(*) from sbtest{table} where id between 1 and 2000");
                assert_eq!(database.query_number(&count), 2_000);
            }
            let problems = database.problems("oltp_read_write");
            assert_eq!(problems, [""; 0], "{protocol:?}");
        }
    }
}

#[test]
fn deadlocks_and_duplicate_keys_are_retried() {
    let [postgres, maria] = on_each_engine("oltp_few_rows");
    // Outside a block, a concurrent insert may use the key of a deleted row before the row is inserted
    // again.
    for (database, option, transactions) in [
        (postgres, ("skip_trx", "on"), 200),
        (maria, ("index_updates", "3"), 100),
    ] {
        database.load("oltp_read_write", &[("table_size", "4")], 1);
        let options = [option, ("rand_type", "uniform")];
        let outcome = run_committed(&database, "oltp_write_only", &options, (8, transactions));
        assert!(outcome.retries > 0, "eight users on four rows");
        let [reads, writes, others] = query_counts(&outcome);
        assert_eq!((reads, writes + others), (0, 6_400));
        run_committed(&database, "oltp_read_write", &[], (8, 20));
        assert_eq!(database.problems("oltp_read_write"), [""; 0]);
    }
}

#[test]
fn inserts_and_deletes_change_the_number_of_rows() {
    for database in on_each_engine("oltp_come_and_go") {
        database.load("oltp_insert", &[("tables", "2"), ("table_size", "300")], 2);
        let count = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
        for protocol in PROTOCOLS {
            let rows_before = database.query_number(count);
            let outcome = run_workload(&database, "oltp_insert", &[], protocol, (3, 20));
            assert_all_committed(&outcome, 60, "oltp_insert");
            assert_eq!(query_counts(&outcome), [0, 60, 0]);
            assert_eq!(outcome.retries, 0, "ids continue after the loaded ones");
            assert_eq!(database.query_number(count), rows_before + 60);
        }
        let report = database.check("oltp_insert");
        assert!(report.is_ok(), "{report:?}");
        let mut findings = report.findings.iter();
        let added = findings.find(|finding| finding.id == "rows-added");
        added
            .expect("a finding")
            .text
            .assert_starts_with("180 rows");

        let rows_before = database.query_number(count);
        let outcome = run_committed(&database, "oltp_delete", &[], (3, 100));
        let [reads, deleted, not_found] = query_counts(&outcome);
        assert_eq!((reads, deleted + not_found), (0, 300));
        assert!(not_found > 0, "the middle of the tables is soon empty");
        assert_eq!(database.query_number(count), rows_before - deleted as i64);
        let problems = database.problems("oltp_read_write");
        problems[0].assert_contains("has lost");
        problems[0].assert_contains("oltp_delete");
        // With rows missing, a read-write transaction makes fewer than four writes.
        let (name, protocol) = ("oltp_read_write", QueryMode::Prepared);
        let outcome = run_workload(&database, name, &[], protocol, (1, 50));
        let [reads, writes, _] = query_counts(&outcome);
        assert_eq!(reads, 700);
        assert!(writes < 200, "{writes}");
    }
}

#[test]
fn rows_numbered_by_the_client_are_inserted_once() {
    for database in on_each_engine("oltp_numbered") {
        database.load("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], 1);
        let options = [("auto_inc", "off")];
        let outcome = run_committed(&database, "oltp_insert", &options, (4, 100));
        assert_eq!(outcome.retries, 0);
        let count = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
        assert_eq!(database.query_number(count), 400);
        assert!(database.query_number("select min(id) from sbtest1") < 0);
        assert_eq!(database.problems("oltp_insert"), [""; 0]);
    }
}

#[test]
fn each_run_appends_packets_of_rows() {
    for database in on_each_engine("oltp_bulk") {
        database.load("bulk_insert", &[("tables", "2")], 2);
        for round in 1..=2 {
            let outcome = run_committed(&database, "bulk_insert", &[], (3, 2));
            assert_eq!(query_counts(&outcome), [0, 6, 0]);
            let rows = database.query_number("select count(*) from sbtest1 where id = k");
            // Two users of the first table send two packets each, with about 30,000 rows per packet.
            let expected = round * 4 * 25_000..round * 4 * 60_000;
            assert!(expected.contains(&rows), "{rows}");
        }
        let report = database.check("bulk_insert");
        assert!(report.is_ok() && report.scale == Some(2), "{report:?}");
    }
}

#[test]
fn all_users_update_one_row() {
    for database in on_each_engine("oltp_hot") {
        database.load("hot-row", &[], 1);
        let select_k = "select k from sbtest1 where id = 100";
        let k_before = database.query_number(select_k);
        for (hint, protocol) in [
            ("off", QueryMode::Prepared),
            ("on", QueryMode::Prepared),
            ("on", QueryMode::Simple),
        ] {
            let options = [("hint", hint)];
            let outcome = run_workload(&database, "hot-row", &options, protocol, (8, 25));
            assert_all_committed(&outcome, 200, "hot-row");
            assert_eq!(query_counts(&outcome), [0, 200, 400]);
        }
        assert_eq!(database.query_number(select_k), k_before + 600);
        let other_changes =
            "select count(*) from sbtest1 where k not between 1 and 100 and id <> 100";
        assert_eq!(database.query_number(other_changes), 0);
    }
}
