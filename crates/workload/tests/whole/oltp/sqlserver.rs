//! Tests loads, checks and the removal of the oltp tables on the SQL Server that the environment names.

use super::support::*;
use prony_assertions::TextAssertions;

#[test]
fn tables_are_loaded_by_bulk_streams_on_sql_server() {
    let Some(database) = sql_server() else {
        return;
    };
    let options = [("tables", "2"), ("table_size", "2000")];
    for jobs in [1, 3] {
        let report = database.load("oltp_read_write", &options, jobs);
        assert_eq!((report.scale, report.rows), (2, 4_000));
        report.method.assert_contains("bulk streams");
        assert_eq!(database.problems("oltp_read_write"), [""; 0]);
        let describe_rows = "select cast(count(*) as varchar) + ' ' + cast(max(len(c)) as varchar) + ' ' \
                   + cast(min(len(pad)) as varchar) from sbtest2";
        assert_eq!(database.query_text(describe_rows), "2000 119 59");
        let insert_and_select_id = "insert into sbtest2 (k, c, pad) values (1, '', ''); \
                                    select max(id) from sbtest2";
        assert_eq!(
            database.query_number(insert_and_select_id),
            2_001,
            "the sequence continues after the rows"
        );
    }
    let clean = || database.clean("oltp_delete");
    assert_eq!(clean().expect("cleans"), ["sbtest1", "sbtest2"]);
    // A sequence from which the table takes no ids is not the table's.
    let by_client = [("table_size", "10"), ("auto_inc", "off")];
    database.load("oltp_read_write", &by_client, 1);
    database.execute("create sequence sbtest1_id as integer start with 5");
    assert_eq!(clean().expect("cleans"), ["sbtest1"]);
    let next = database.query_number("select next value for sbtest1_id");
    assert_eq!(next, 5, "the sequence exists");
    database.execute("drop sequence sbtest1_id");
    assert!(
        !database.problems("oltp_delete").is_empty(),
        "no tables exist"
    );
}
