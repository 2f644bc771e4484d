//! Tests loads, and the tables that they create.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_workload::LoadPhase;
use std::sync::atomic::AtomicBool;

fn digest(database: &TestDatabase, table: u32) -> String {
    database.query_text(&format!(
        "select md5(string_agg(t::text, E'\\n' order by id)) from sbtest{table} t"
    ))
}

/// Returns the columns of a table with types and defaults, and its indexes.
fn table_definition(database: &TestDatabase, table: u32) -> String {
    database.query_text(&format!(
        "select (select string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), \
          attnotnull, (select pg_get_expr(adbin, adrelid) from pg_attrdef \
            where adrelid = attrelid and adnum = attnum)), ', ' order by attnum) \
          from pg_attribute where attrelid = c.oid and attnum > 0) \
         || '; ' || (select string_agg(indexdef, '; ' order by indexname) from pg_indexes \
          where tablename = c.relname) \
        from pg_class c where relname = 'sbtest{table}'"
    ))
}

#[test]
fn tables_do_not_depend_on_the_number_of_jobs() {
    let options = [("tables", "3"), ("table_size", "5000")];
    let mut first_tables = None;
    // One job loads in one transaction, two load whole tables, and four load ranges of rows.
    for jobs in [1, 2, 4] {
        let database = TestDatabase::postgres(&format!("oltp_jobs_{jobs}"));
        let report = database.load("oltp_read_write", &options, jobs);
        assert_eq!((report.scale, report.jobs, report.rows), (3, jobs, 15_000));
        assert!(report.rows_per_s().is_some(), "{report:?}");
        assert_eq!(report.tables.len(), 3);
        for table in &report.tables {
            assert_eq!(table.rows, 5_000);
            // Pages of frozen rows are all-visible. Other pages are marked by VACUUM, which a session
            // of a different test may prevent. From PostgreSQL 16, each loader may leave a few empty
            // pages, which the visibility map does not mark.
            let visible = table.all_visible_share.expect("pages");
            assert!(jobs == 4 || visible > 0.9, "{jobs}: {table:?}");
            assert!(table.statistics_age_s.is_some() && table.index_bytes > 100_000);
        }
        assert_eq!(database.problems("oltp_read_write"), [""; 0]);
        let tables: Vec<_> = (1..=3)
            .map(|table| (table_definition(&database, table), digest(&database, table)))
            .collect();
        let expected_tables = first_tables.get_or_insert_with(|| tables.clone());
        assert_eq!(*expected_tables, tables, "{jobs} jobs");
        assert_ne!(tables[0].1, tables[1].1, "each table has different rows");
    }
    let (definition, _) = &first_tables.expect("three loads")[1];
    definition.assert_equals(
        "id integer t nextval('sbtest2_id_seq'::regclass), k integer t 0, \
         c character(120) t ''::bpchar, pad character(60) t ''::bpchar; \
         CREATE INDEX k_2 ON public.sbtest2 USING btree (k); \
         CREATE UNIQUE INDEX sbtest2_pkey ON public.sbtest2 USING btree (id)",
    );
}

#[test]
fn options_determine_keys_indexes_and_rows() {
    let database = TestDatabase::postgres("oltp_options");
    let options = [
        ("table_size", "1000"),
        ("secondary", "on"),
        ("create_secondary", "off"),
        ("auto_inc", "off"),
        ("create_table_options", "with (fillfactor=70)"),
        ("rand_type", "uniform"),
    ];
    for jobs in [1, 2] {
        database.load("oltp_read_only", &options, jobs);
        table_definition(&database, 1).assert_equals(
            "id integer t, k integer t 0, c character(120) t ''::bpchar, \
             pad character(60) t ''::bpchar; \
             CREATE INDEX sbtest1_xid ON public.sbtest1 USING btree (id)",
        );
        assert_eq!(database.problems("oltp_read_only"), [""; 0]);
        let stored_options = database.query_text(
            "select array_to_string(reloptions, ',') from pg_class where relname = 'sbtest1'",
        );
        assert_eq!(stored_options, "fillfactor=70");
    }
    let distinct_values = database.query_number("select count(distinct k) from sbtest1");
    assert!(distinct_values > 500, "uniform: {distinct_values}");
    database.load("hot-row", &[], 1);
    assert_eq!(database.query_number("select count(*) from sbtest1"), 100);
    database.load("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], 2);
    assert_eq!(database.query_number("select count(*) from sbtest2"), 0);
    let dropped = database.clean("oltp_delete").expect("cleans");
    assert_eq!(dropped, ["sbtest1", "sbtest2"]);
    let remaining = "select count(*) from pg_class where relname ~ 'sbtest'";
    assert_eq!(
        database.query_number(remaining),
        0,
        "sequences are dropped too"
    );
    assert!(
        !database.problems("oltp_delete").is_empty(),
        "no tables exist"
    );
}

#[test]
fn interrupted_load_continues_with_the_missing_tables() {
    let [database, uninterrupted] = ["oltp_broken", "oltp_unbroken"].map(TestDatabase::postgres);
    test_interrupted_load(
        (&database, &uninterrupted),
        50_000,
        &digest,
        &table_definition,
        || {
            let filled_tables = (1..=6).filter(|table| {
                let row = format!("select count(*) from (select from sbtest{table} limit 1) t");
                database.query_number(&row) > 0
            });
            let filled_tables = filled_tables.count();
            assert!((1..6).contains(&filled_tables), "{filled_tables}");
        },
    );
}

#[test]
fn stopped_load_with_one_job_preserves_the_old_tables() {
    let database = TestDatabase::postgres("oltp_one_job");
    database.load(
        "oltp_read_write",
        &[("tables", "2"), ("table_size", "500")],
        1,
    );
    let digest_before = digest(&database, 2);
    let stop = AtomicBool::new(false);
    let progress = StopAt(LoadPhase::Statistics, 0, &stop);
    let options = [("tables", "3"), ("table_size", "900")];
    let message =
        expect_error(database.load_with("oltp_read_write", &options, 1, &progress, &stop));
    message.assert_contains("nothing (the database is unchanged)");
    assert_eq!(digest(&database, 2), digest_before);
    assert_eq!(database.problems("oltp_read_write"), [""; 0]);
}

#[test]
fn unfinished_load_with_different_options_is_replaced() {
    let database = TestDatabase::postgres("oltp_other");
    let stop = AtomicBool::new(false);
    let progress = StopAt(LoadPhase::Statistics, 0, &stop);
    let options = [("tables", "2"), ("table_size", "500")];
    expect_error(database.load_with("oltp_read_write", &options, 2, &progress, &stop));
    // That the load is unfinished explains the missing index on k.
    let findings = database.check("oltp_read_write").findings;
    let ids: Vec<_> = findings.iter().map(|finding| finding.id.as_str()).collect();
    assert!(
        ids.contains(&"load-unfinished") && !ids.contains(&"index"),
        "{ids:?}"
    );
    let report = database.load("oltp_read_write", &[("table_size", "600")], 1);
    assert_eq!(report.rows, 600);
    let tables = "select count(*) from pg_class where relname ~ '^sbtest[0-9]+$'";
    assert_eq!(database.query_number(tables), 1);
}
