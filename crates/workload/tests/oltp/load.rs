//! What a load leaves.

use crate::stop::StopAt;
use crate::support::{Base, broken_load_goes_on, problem, workload};
use prony_workload::Phase;
use std::sync::atomic::AtomicBool;

/// All rows of a table.
fn digest(base: &Base, table: u32) -> String {
    base.text(&format!(
        "select md5(string_agg(t::text, E'\\n' order by id)) from sbtest{table} t"
    ))
}

/// Columns with types, defaults and indexes of a table.
fn shape(base: &Base, table: u32) -> String {
    base.text(&format!(
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
fn any_number_of_jobs_makes_the_same_tables() {
    let options = [("tables", "3"), ("table_size", "5000")];
    let mut first = None;
    // In one transaction; whole tables; tables shared by ranges.
    for jobs in [1, 2, 4] {
        let base = Base::new(&format!("oltp_jobs_{jobs}"));
        let report = base.load("oltp_read_write", &options, jobs);
        assert_eq!((report.scale, report.jobs, report.rows), (3, jobs, 15_000));
        assert!(report.rows_per_s().is_some(), "{report:?}");
        assert_eq!(report.tables.len(), 3);
        for table in &report.tables {
            assert_eq!(table.rows, 5_000);
            // Frozen rows are visible at once. Others become so by VACUUM, which a session that
            // another test has just begun may keep from it. From PostgreSQL 16 on each loader may
            // leave a few empty pages, which no map marks.
            let visible = table.all_visible.expect("pages");
            assert!(jobs == 4 || visible > 0.9, "{jobs}: {table:?}");
            assert!(table.statistics_age_s.is_some() && table.index_bytes > 100_000);
        }
        assert_eq!(base.wrong("oltp_read_write"), [""; 0]);
        let now: Vec<_> = (1..=3)
            .map(|table| (shape(&base, table), digest(&base, table)))
            .collect();
        let first = first.get_or_insert_with(|| now.clone());
        assert_eq!(*first, now, "{jobs} jobs");
        assert_ne!(now[0].1, now[1].1, "each table has rows of its own");
    }
    let (shape, _) = &first.expect("three of them")[1];
    assert_eq!(
        shape,
        "id integer t nextval('sbtest2_id_seq'::regclass), k integer t 0, \
         c character(120) t ''::bpchar, pad character(60) t ''::bpchar; \
         CREATE INDEX k_2 ON public.sbtest2 USING btree (k); \
         CREATE UNIQUE INDEX sbtest2_pkey ON public.sbtest2 USING btree (id)"
    );
}

#[test]
fn options_decide_keys_indexes_and_rows() {
    let base = Base::new("oltp_options");
    let options = [
        ("table_size", "1000"),
        ("secondary", "on"),
        ("create_secondary", "off"),
        ("auto_inc", "off"),
        ("create_table_options", "with (fillfactor=70)"),
        ("rand_type", "uniform"),
    ];
    for jobs in [1, 2] {
        base.load("oltp_read_only", &options, jobs);
        assert_eq!(
            shape(&base, 1),
            "id integer t, k integer t 0, c character(120) t ''::bpchar, \
             pad character(60) t ''::bpchar; \
             CREATE INDEX sbtest1_xid ON public.sbtest1 USING btree (id)"
        );
        assert_eq!(base.wrong("oltp_read_only"), [""; 0]);
        let kept = base.text(
            "select array_to_string(reloptions, ',') from pg_class where relname = 'sbtest1'",
        );
        assert_eq!(kept, "fillfactor=70");
    }
    let different = base.number("select count(distinct k) from sbtest1");
    assert!(different > 500, "uniform: {different}");
    base.load("hot-row", &[], 1);
    assert_eq!(base.number("select count(*) from sbtest1"), 100);
    base.load("oltp_insert", &[("auto_inc", "off"), ("tables", "2")], 2);
    assert_eq!(base.number("select count(*) from sbtest2"), 0);
    let dropped = workload("oltp_delete")
        .clean(&mut base.control())
        .expect("cleans");
    assert_eq!(dropped, ["sbtest1", "sbtest2"]);
    let left = "select count(*) from pg_class where relname ~ 'sbtest'";
    assert_eq!(base.number(left), 0, "sequences too");
    assert!(!base.wrong("oltp_delete").is_empty(), "there is nothing");
}

#[test]
fn a_broken_load_goes_on_with_the_tables_that_are_missing() {
    let (base, whole) = (Base::new("oltp_broken"), Base::new("oltp_unbroken"));
    broken_load_goes_on((&base, &whole), 50_000, &digest, &shape, || {
        let kept = "select count(*) from pg_class where relname ~ '^sbtest[0-9]+$'";
        let kept = base.number(kept);
        assert!(kept < 6, "{kept}");
    });
}

#[test]
fn one_job_leaves_the_old_tables_when_it_is_stopped() {
    let base = Base::new("oltp_one_job");
    base.load(
        "oltp_read_write",
        &[("tables", "2"), ("table_size", "500")],
        1,
    );
    let before = digest(&base, 2);
    let stop = AtomicBool::new(false);
    let progress = StopAt(Phase::Statistics, 0, &stop);
    let options = [("tables", "3"), ("table_size", "900")];
    let said = problem(base.load_with("oltp_read_write", &options, 1, &progress, &stop));
    assert!(
        said.contains("nothing: the database is as it was before"),
        "{said}"
    );
    assert_eq!(digest(&base, 2), before);
    assert_eq!(base.wrong("oltp_read_write"), [""; 0]);
}

#[test]
fn a_note_in_the_way_of_other_options_is_replaced() {
    let base = Base::new("oltp_other");
    let stop = AtomicBool::new(false);
    let progress = StopAt(Phase::Statistics, 0, &stop);
    let options = [("tables", "2"), ("table_size", "500")];
    problem(base.load_with("oltp_read_write", &options, 2, &progress, &stop));
    let report = base.load("oltp_read_write", &[("table_size", "600")], 1);
    assert_eq!(report.rows, 600);
    let there = "select count(*) from pg_class where relname ~ '^sbtest[0-9]+$'";
    assert_eq!(base.number(there), 1);
}
