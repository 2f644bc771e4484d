//! Loads: any number of loaders, stops and continuations, refusals.

use crate::common::{self, KillAt, StopAt, TestDatabase, expect_error};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_workload::tpcc::schema::{Index, Table};
use prony_workload::{CheckReport, FindingState, LoadPhase, find};
use std::sync::atomic::{AtomicBool, Ordering};

/// A checksum of each table over all values except timestamps, which depend on the load.
fn checksums(control: &mut Control) -> Vec<String> {
    let checksums = Table::ALL.iter().map(|table| {
        let columns: Vec<String> = table
            .columns(SqlDialect::PostgreSql)
            .iter()
            .map(|(name, kind)| match *kind {
                "timestamptz" => format!("{name} is null"),
                _ => (*name).to_owned(),
            })
            .collect();
        let sql = format!(
            "select count(*) || ' ' || sum(hashtextextended(row({})::text, 0)::numeric) from {}",
            columns.join(", "),
            table.name()
        );
        control.query_value(&sql).expect(&sql).expect("some rows")
    });
    checksums.collect()
}

/// Names of the tables and indexes of the database, and whether an index is a primary key.
fn relations(control: &mut Control) -> Vec<String> {
    let sql = "select c.relname || case when i.indisprimary then ' primary' else '' end \
         from pg_class c left join pg_index i on i.indexrelid = c.oid \
         where c.relnamespace = 'public'::regnamespace order by 1";
    let rows = control.query(sql).expect(sql);
    rows.into_iter().flatten().flatten().collect()
}

fn check(control: &mut Control) -> CheckReport {
    let tpcc = find("tpcc").expect("listed");
    tpcc.check(control).expect("checks")
}

/// The ids of the findings that are wrong.
fn wrong_ids(report: &CheckReport) -> Vec<&'static str> {
    let wrong = report
        .findings
        .iter()
        .filter(|finding| finding.state == FindingState::Wrong);
    wrong.map(|finding| finding.id).collect()
}

#[test]
fn every_number_of_loaders_produces_the_same_data_even_after_stops() {
    let single = TestDatabase::new("tpcc_one");
    let report = single.load("tpcc", 2, 1).expect("loads");
    assert!(report.method.contains("FREEZE"), "{}", report.method);
    let mut control = single.control();
    let (expected, relation_names) = (checksums(&mut control), relations(&mut control));
    let mut expected_relation_names: Vec<String> =
        Table::ALL.map(|table| table.name().to_owned()).to_vec();
    expected_relation_names.extend(Index::all().iter().map(|index| {
        let primary = if index.primary { " primary" } else { "" };
        format!("{}{primary}", index.name)
    }));
    expected_relation_names.sort();
    assert_eq!(
        relation_names, expected_relation_names,
        "no auxiliary table remains"
    );
    let checked = check(&mut control);
    assert!(checked.is_ok() && checked.scale == Some(2), "{checked:?}");
    let rows = |tables: &[prony_workload::TableFacts]| -> Vec<u64> {
        tables.iter().map(|table| table.rows).collect()
    };
    assert_eq!(rows(&report.tables), rows(&checked.tables));
    assert_eq!(report.rows, rows(&report.tables).iter().sum::<u64>());
    for table in &checked.tables {
        assert_eq!(table.all_visible_share, Some(1.0), "{table:?}");
        assert_eq!(table.dead_rows, 0, "{table:?}");
    }

    let parallel = TestDatabase::new("tpcc_three");
    parallel.load("tpcc", 2, 3).expect("loads");
    let mut control = parallel.control();
    assert_eq!(checksums(&mut control), expected);
    assert_eq!(relations(&mut control), relation_names);
    assert!(check(&mut control).is_ok());

    // A second load, which replaces the tables, is stopped in each phase and continued. Progress is reported
    // four times per second, so the stop comes well before the end.
    for (phase, rows) in [(LoadPhase::Rows, 500_000), (LoadPhase::Keys, 0)] {
        let stop = AtomicBool::new(false);
        let error = parallel
            .load_with("tpcc", 2, 2, &StopAt(phase, rows, &stop), &stop)
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        let message = error.to_string();
        assert!(
            message.contains("with the same options continues it"),
            "{message}"
        );
        assert_only_continuation_is_accepted(&parallel, &mut control);
        let report = parallel.load("tpcc", 2, 1).expect("continues");
        assert!(report.method.contains("continued: "), "{}", report.method);
        assert!(report.rows < 1_000_000, "{phase:?}: {} sent", report.rows);
        assert_eq!(checksums(&mut control), expected, "{phase:?}");
        assert_eq!(relations(&mut control), relation_names, "{phase:?}");
        assert!(check(&mut control).is_ok());
    }
}

fn assert_only_continuation_is_accepted(database: &TestDatabase, control: &mut Control) {
    let tpcc = find("tpcc").expect("listed");
    let remedy_text = "`prony load tpcc --scale 2 --seed 1` continues it";
    let message = expect_error(tpcc.program(control, &database.plan("tpcc", None)));
    assert!(message.contains(remedy_text), "{message}");
    let message = expect_error(database.load("tpcc", 3, 2));
    assert!(message.contains(remedy_text), "{message}");
    assert!(
        message.contains("the requested load has 3 warehouses (seed 1)"),
        "{message}"
    );
    let report = check(control);
    let remedy = report.findings[0].remedy.as_ref().map(ToString::to_string);
    let remedy = remedy.expect("a remedy");
    assert!(remedy.contains(remedy_text), "{remedy}");
    // The existing tables are complete.
    assert_eq!(wrong_ids(&report), ["load-unfinished"], "{report:?}");
}

#[test]
fn stopping_a_single_loader_leaves_the_old_tables() {
    let database = TestDatabase::new("tpcc_stopped");
    database.load("tpcc", 1, 1).expect("loads");
    let stop = AtomicBool::new(false);
    let progress = StopAt(LoadPhase::Rows, 200_000, &stop);
    let result = database.load_with("tpcc", 2, 1, &progress, &stop);
    let message = result.expect_err("stopped").to_string();
    assert!(message.contains("the database is unchanged"), "{message}");
    let mut control = database.control();
    let report = check(&mut control);
    assert!(report.is_ok() && report.scale == Some(1), "{report:?}");
    let cleaned = find("tpcc").expect("listed").clean(&mut control);
    assert_eq!(cleaned.expect("drops").len(), 9);
    assert!(relations(&mut control).is_empty());
}

#[test]
fn a_server_killed_during_a_load_loses_only_unfinished_parts() {
    let server = common::private_server();
    let database = TestDatabase::on(&server, "postgres");
    let is_killed = AtomicBool::new(false);
    let progress = KillAt {
        rows: 800_000,
        server: &server,
        is_killed: &is_killed,
    };
    let message =
        expect_error(database.load_with("tpcc", 3, 2, &progress, &AtomicBool::new(false)));
    assert!(
        message.contains("then the same load continues"),
        "{message}"
    );
    server.restart().expect("restarts");
    let mut control = database.control();
    let ids = wrong_ids(&check(&mut control));
    assert!(ids.contains(&"load-unfinished"), "{ids:?}");
    assert!(!ids.iter().any(|id| id.starts_with("condition")));
    let report = database.load("tpcc", 3, 2).expect("continues");
    assert!(report.rows < 1_500_000, "{} sent again", report.rows);
    let report = check(&mut control);
    assert!(report.is_ok() && report.scale == Some(3), "{report:?}");
}

#[test]
fn a_check_during_a_load_finds_the_loaded_rows_consistent() {
    let database = TestDatabase::new("tpcc_meanwhile");
    let is_loaded = AtomicBool::new(false);
    let unfinished_checks = std::thread::scope(|scope| {
        let checker = scope.spawn(|| {
            let mut control = database.control();
            let mut unfinished_checks = 0;
            while !is_loaded.load(Ordering::Relaxed) {
                let ids = wrong_ids(&check(&mut control));
                let allowed = ["load-unfinished", "table-missing"];
                assert!(ids.iter().all(|id| allowed.contains(id)), "{ids:?}");
                unfinished_checks += usize::from(ids.contains(&"load-unfinished"));
            }
            unfinished_checks
        });
        let loaded = database.load("tpcc", 3, 2);
        is_loaded.store(true, Ordering::Relaxed);
        loaded.expect("loads during the checks");
        checker.join().expect("checks")
    });
    assert!(unfinished_checks > 0, "no check ran while rows were sent");
    assert!(check(&mut database.control()).is_ok());
}

#[test]
fn missing_foreign_and_damaged_tables_are_refused_with_a_reason() {
    let database = TestDatabase::new("tpcc_refused");
    let mut control = database.control();
    let tpcc = find("tpcc").expect("listed");
    let message = expect_error(tpcc.program(&mut control, &database.plan("tpcc", Some(4))));
    assert!(message.contains("table item is missing"), "{message}");
    assert!(message.contains("prony load tpcc --scale 4"), "{message}");
    control
        .execute("create table orders (precious text)")
        .expect("creates");
    for message in [
        expect_error(database.load("tpcc", 1, 1)),
        expect_error(tpcc.clean(&mut control)),
    ] {
        assert!(message.contains("orders exists and is not"), "{message}");
    }
    control.execute("drop table orders").expect("drops");
    database.load("tpcc", 1, 2).expect("loads");
    let message = expect_error(tpcc.program(&mut control, &database.plan("tpcc", Some(2))));
    assert!(message.contains("has scale 1, but scale 2"), "{message}");
    for (damage, expected, id) in [
        (
            "delete from orders where o_id = 1 and o_d_id = 10",
            "orders has 1 of 2",
            "rows-orders",
        ),
        (
            "delete from stock where s_i_id = 100000",
            "stock has 1 of 2",
            "rows-stock",
        ),
        (
            "delete from customer where c_d_id = 10 and c_id > 2990",
            "customer has 2990 of 3000",
            "rows-customer",
        ),
        (
            "delete from item where i_id > 99990",
            "item does not reach",
            "rows-item",
        ),
        (
            "alter table new_order drop constraint new_order_i1",
            "no primary key",
            "key",
        ),
        ("drop index customer_i2", "no primary key", "index"),
        (
            "update district set d_id = 11 where d_id = 10",
            "no primary key",
            "rows-district",
        ),
        (
            "delete from history where h_d_id = 1 and h_c_id = 1",
            "no primary key",
            "rows-history",
        ),
    ] {
        control.execute(damage).expect(damage);
        let message = expect_error(tpcc.program(&mut control, &database.plan("tpcc", None)));
        assert!(message.contains(expected), "after {damage}: {message}");
        let ids = wrong_ids(&check(&mut control));
        assert!(ids.contains(&id), "after {damage}: {ids:?}");
    }
}

#[test]
fn tables_are_loaded_even_if_the_server_refuses_routines() {
    let database = TestDatabase::new("tpcc_no_routines");
    database
        .control()
        .execute(
            "create function refuse() returns event_trigger language plpgsql as \
             $$ begin raise exception 'no routines in this database'; end $$; \
             create event trigger refuse on ddl_command_end \
             when tag in ('CREATE FUNCTION', 'CREATE PROCEDURE') execute function refuse()",
        )
        .expect("a trigger");
    let report = database.load("tpcc", 1, 1).expect("loads");
    assert!(
        report
            .method
            .contains("without routines for HammerDB's driver")
            && report.method.contains("no routines in this database"),
        "{}",
        report.method
    );
    assert!(check(&mut database.control()).is_ok());
}
