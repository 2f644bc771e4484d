//! Tests the oltp workloads on the SQL Server that the environment names: loads, runs in each protocol mode, and
//! checks. All tables are in one database, so this is one test.

use crate::support::{
    PROTOCOLS, TestDatabase, assert_all_committed, query_counts, run_workload,
    run_workloads_that_preserve_rows, workload,
};
use prony_plan::QueryMode;

#[test]
fn oltp_workloads_run_on_sql_server() {
    let Some(database) = TestDatabase::sql_server() else {
        return;
    };
    let options = [("tables", "2"), ("table_size", "2000")];
    for jobs in [1, 3] {
        let report = database.load("oltp_read_write", &options, jobs);
        assert_eq!((report.scale, report.rows), (2, 4_000));
        assert!(report.method.contains("bulk streams"), "{}", report.method);
        assert_eq!(database.problems("oltp_read_write"), [""; 0]);
        let row = "select cast(count(*) as varchar) + ' ' + cast(max(len(c)) as varchar) + ' ' \
                   + cast(min(len(pad)) as varchar) from sbtest2";
        assert_eq!(database.text(row), "2000 119 59");
        let id = "insert into sbtest2 (k, c, pad) values (1, '', ''); select max(id) from sbtest2";
        assert_eq!(database.number(id), 2_001, "the sequence continues after the rows");
    }
    for protocol in PROTOCOLS {
        database.load("oltp_read_write", &options, 2);
        run_workloads_that_preserve_rows(&database, protocol);
        assert_eq!(database.problems("oltp_read_write"), [""; 0], "{protocol:?}");
    }
    let count = "select (select count(*) from sbtest1) + (select count(*) from sbtest2)";
    let before = database.number(count);
    let outcome = run_workload(&database, "oltp_insert", &[], QueryMode::Prepared, (3, 20));
    assert_all_committed(&outcome, 60, "oltp_insert");
    assert_eq!(query_counts(&outcome), [0, 60, 0]);
    assert_eq!(database.number(count), before + 60);
    let dropped = workload("oltp_delete").clean(&mut database.control());
    assert_eq!(dropped.expect("cleans"), ["sbtest1", "sbtest2"]);

    database.load("bulk_insert", &[("tables", "2")], 2);
    let outcome = run_workload(&database, "bulk_insert", &[], QueryMode::Prepared, (3, 2));
    assert_all_committed(&outcome, 6, "bulk_insert");
    assert_eq!(database.number(count), 6_000);
    let report = database.check("bulk_insert");
    assert!(report.is_ok() && report.scale == Some(2), "{report:?}");
    workload("bulk_insert").clean(&mut database.control()).expect("cleans");

    database.load("hot-row", &[], 1);
    let row = "select k from sbtest1 where id = 100";
    let before = database.number(row);
    let outcome = run_workload(&database, "hot-row", &[], QueryMode::Prepared, (8, 25));
    assert_all_committed(&outcome, 200, "hot-row");
    assert_eq!(database.number(row), before + 200);
    workload("hot-row").clean(&mut database.control()).expect("cleans");
}
