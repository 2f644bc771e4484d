//! Tests YCSB on PostgreSQL: the table after a load, and errors.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;

pub fn digest(database: &TestDatabase) -> String {
    database.query_text(
        "select count(*) || ' ' || md5(string_agg(u::text, ',' order by ycsb_key collate \"C\")) \
         from usertable u",
    )
}

/// Returns the columns with types, and the key.
fn shape(database: &TestDatabase) -> String {
    database.query_text(
        "select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' \
           order by a.attnum) || '; ' || (select indexdef from pg_indexes \
           where tablename = 'usertable') \
         from pg_attribute a where a.attrelid = 'usertable'::regclass and a.attnum > 0",
    )
}

#[test]
fn options_select_the_fields_read_and_written() {
    let database = TestDatabase::postgres("ycsb_options");
    let fields = [("scale", "1"), ("fieldcount", "3"), ("fieldlength", "40")];
    database.load("ycsb", &fields, 2);
    shape(&database).assert_contains("field2 text; ");
    assert_eq!(
        database.query_number("select max(length(field2)) from usertable"),
        40
    );
    for options in [
        &[("writeallfields", "on")][..],
        &[
            ("workload", "e"),
            ("readallfields", "off"),
            ("maxscanlength", "3"),
        ],
        &[("workload", "f"), ("readallfields", "off")],
        &[("workload", "D"), ("requestdistribution", "uniform")],
        &[("workload", "b"), ("requestdistribution", "latest")],
    ] {
        let run = run_workload(&database, "ycsb", options, QueryMode::Prepared, (3, 40));
        assert_all_committed(&run, 120, &format!("{options:?}"));
        let hits = run.shares.last().expect("shares");
        assert_eq!(hits.count, hits.total, "{options:?}");
    }
    assert_eq!(database.problems("ycsb"), [""; 0]);
}

#[test]
fn records_do_not_depend_on_the_number_of_loaders() {
    let (one_loader, three_loaders) = (
        TestDatabase::postgres("ycsb_one"),
        TestDatabase::postgres("ycsb_several"),
    );
    let report = load(&one_loader, 20, 1);
    assert_eq!(report.method, "one transaction, COPY with FREEZE");
    assert_eq!(report.tables[0].all_visible_share, Some(1.0));
    let report = load(&three_loaders, 20, 3);
    assert!(
        report
            .method
            .starts_with("3 connections, COPY in one transaction per part"),
        "{}",
        report.method
    );
    assert_eq!(digest(&one_loader), digest(&three_loaders));
    assert_eq!(shape(&one_loader), shape(&three_loaders));
    shape(&one_loader)
        .assert_starts_with("ycsb_key character varying(64), field0 text, field1 text");
    shape(&one_loader).assert_contains("UNIQUE INDEX usertable_pkey");
    assert_eq!(three_loaders.problems("ycsb"), [""; 0]);
    assert!(three_loaders.check("ycsb").is_ok());
}

#[test]
fn tables_loaded_by_ycsb_require_a_scale() {
    let database = TestDatabase::postgres("ycsb_theirs");
    load(&database, 1, 1);
    database.execute("comment on table usertable is null");
    let message = database.program_error("ycsb", &[]);
    message.assert_contains("was not loaded by Prony");
    let message = database.program_error("ycsb", &[("scale", "2")]);
    message.assert_contains("has no record user");
    let loaded = database.program("ycsb", &[("scale", "1")]);
    assert_eq!(loaded.expect("the table exists").scale, 1);
    let report = database.check("ycsb");
    assert!(report.is_ok() && report.scale.is_none(), "{report:?}");
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.id == "records-unknown")
    );
}

#[test]
fn foreign_tables_are_never_changed() {
    let database = TestDatabase::postgres("ycsb_foreign");
    database.execute("create table usertable (id int, name text)");
    for message in [
        database.load_error("ycsb", &[("scale", "1")], 1),
        expect_error(database.clean("ycsb")),
        database.program_error("ycsb", &[]),
    ] {
        message.assert_contains("usertable exists and is not a table of this workload");
    }
    database.problems("ycsb")[0].assert_starts_with("table-foreign");
    assert_eq!(count_records(&database), 0);
}
