//! Loads: any number of loaders, stops and continuations, refusals.

use crate::common::*;
use prony_assertions::{TextAssertions, cases};
use prony_document::SqlDialect;
use prony_server::Control;
use prony_test_servers::TestControl;
use prony_workload::tpcc::schema::{Index, Table};
use prony_workload::{CheckReport, FindingState, LoadPhase};
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

fn wrong_ids(report: &CheckReport) -> Vec<String> {
    let wrong = report
        .findings
        .iter()
        .filter(|finding| finding.state == FindingState::Wrong);
    wrong.map(|finding| finding.id.clone()).collect()
}

#[test]
fn every_number_of_loaders_produces_the_same_data_even_after_stops() {
    let single = TestDatabase::postgres("tpcc_one");
    let report = single.load("tpcc", &[("scale", "2")], 1);
    report.method.assert_contains("FREEZE");
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
    let checked = single.check("tpcc");
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

    let parallel = TestDatabase::postgres("tpcc_three");
    parallel.load("tpcc", &[("scale", "2")], 3);
    let mut control = parallel.control();
    assert_eq!(checksums(&mut control), expected);
    assert_eq!(relations(&mut control), relation_names);
    assert!(parallel.check("tpcc").is_ok());

    // A second load, which replaces the tables, is stopped in each phase and continued. Progress is reported
    // four times per second, so the stop comes well before the end.
    for (phase, rows) in [(LoadPhase::Rows, 500_000), (LoadPhase::Keys, 0)] {
        let stop = AtomicBool::new(false);
        let error = parallel
            .load_with(
                "tpcc",
                &[("scale", "2")],
                2,
                &StopAt(phase, rows, &stop),
                &stop,
            )
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        let message = error.to_string();
        message.assert_contains("with the same options continues it");
        assert_only_continuation_is_accepted(&parallel);
        let report = parallel.load("tpcc", &[("scale", "2")], 1);
        report.method.assert_contains("continued: ");
        assert!(report.rows < 1_000_000, "{phase:?}: {} sent", report.rows);
        assert_eq!(checksums(&mut control), expected, "{phase:?}");
        assert_eq!(relations(&mut control), relation_names, "{phase:?}");
        assert!(parallel.check("tpcc").is_ok());
    }
}

fn assert_only_continuation_is_accepted(database: &TestDatabase) {
    let remedy_text = "`prony load tpcc --scale 2 --seed 1` continues it";
    let message = database.program_error("tpcc", &[]);
    message.assert_contains(remedy_text);
    let message = database.load_error("tpcc", &[("scale", "3")], 2);
    message.assert_contains(remedy_text);
    message.assert_contains("the requested load has 3 warehouses (seed 1)");
    let report = database.check("tpcc");
    let remedy = report.findings[0].remedy.as_ref().map(ToString::to_string);
    let remedy = remedy.expect("a remedy");
    remedy.assert_contains(remedy_text);
    // The existing tables are complete.
    assert_eq!(wrong_ids(&report), ["load-unfinished"], "{report:?}");
}

#[test]
fn stopping_a_single_loader_leaves_the_old_tables() {
    let database = TestDatabase::postgres("tpcc_stopped");
    database.load("tpcc", &[("scale", "1")], 1);
    let stop = AtomicBool::new(false);
    let progress = StopAt(LoadPhase::Rows, 200_000, &stop);
    let result = database.load_with("tpcc", &[("scale", "2")], 1, &progress, &stop);
    let message = result.expect_err("stopped").to_string();
    message.assert_contains("the database is unchanged");
    let mut control = database.control();
    let report = database.check("tpcc");
    assert!(report.is_ok() && report.scale == Some(1), "{report:?}");
    assert_eq!(database.clean("tpcc").expect("drops").len(), 9);
    assert!(relations(&mut control).is_empty());
}

#[test]
fn a_server_killed_during_a_load_loses_only_unfinished_parts() {
    let server = private_postgres();
    let restart = || server.restart().expect("restarts");
    let database = TestDatabase::on_postgres(&server, "postgres");
    assert_continued_after_kill(&database, &|| server.kill(), &restart);
    let server = private_maria(&[]);
    let restart = || server.restart().expect("restarts");
    let database = TestDatabase::on_maria(&server, "killed");
    assert_continued_after_kill(&database, &|| server.kill(), &restart);
}

fn assert_continued_after_kill(
    database: &TestDatabase,
    kill: &(dyn Fn() + Sync),
    restart: &dyn Fn(),
) {
    let never = AtomicBool::new(false);
    let progress = KillAt {
        rows: 800_000,
        kill,
        is_killed: &AtomicBool::new(false),
    };
    let scale = [("scale", "3")];
    let message = expect_error(database.load_with("tpcc", &scale, 2, &progress, &never));
    message.assert_contains("then the same load continues");
    restart();
    let ids = wrong_ids(&database.check("tpcc"));
    assert_eq!(ids[0], "load-unfinished", "{ids:?}");
    assert!(!ids.iter().any(|id| id.starts_with("condition")), "{ids:?}");
    let report = database.load("tpcc", &scale, 2);
    report.method.assert_contains("continued: ");
    // A whole load sends about 1,597,000 rows.
    assert!(report.rows < 1_500_000, "{} sent again", report.rows);
    let report = database.check("tpcc");
    assert!(report.is_ok() && report.scale == Some(3), "{report:?}");
}

#[test]
fn a_check_during_a_load_finds_the_loaded_rows_consistent() {
    let database = TestDatabase::postgres("tpcc_meanwhile");
    let is_loaded = AtomicBool::new(false);
    let unfinished_checks = std::thread::scope(|scope| {
        let checker = scope.spawn(|| {
            let mut unfinished_checks = 0;
            while !is_loaded.load(Ordering::Relaxed) {
                let ids = wrong_ids(&database.check("tpcc"));
                let allowed = ["load-unfinished", "table-missing"];
                assert!(
                    ids.iter().all(|id| allowed.contains(&id.as_str())),
                    "{ids:?}"
                );
                unfinished_checks += usize::from(ids.iter().any(|id| id == "load-unfinished"));
            }
            unfinished_checks
        });
        let loaded = database.load_with("tpcc", &[("scale", "3")], 2, &(), &AtomicBool::new(false));
        is_loaded.store(true, Ordering::Relaxed);
        loaded.expect("loads during the checks");
        checker.join().expect("checks")
    });
    assert!(unfinished_checks > 0, "no check ran while rows were sent");
    assert!(database.check("tpcc").is_ok());
}

#[test]
fn missing_foreign_and_damaged_tables_are_refused_with_a_reason() {
    let database = TestDatabase::postgres("tpcc_refused");
    let mut control = database.control();
    let message = database.program_error("tpcc", &[("scale", "4")]);
    message.assert_contains("table item is missing");
    message.assert_contains("prony load tpcc --scale 4");
    control.run("create table orders (precious text)");
    for message in [
        database.load_error("tpcc", &[("scale", "1")], 1),
        expect_error(database.clean("tpcc")),
    ] {
        message.assert_contains("orders exists and is not");
    }
    control.run("drop table orders");
    database.load("tpcc", &[("scale", "1")], 2);
    let message = database.program_error("tpcc", &[("scale", "2")]);
    message.assert_contains("has scale 1, but scale 2");
    for [damage, expected, id] in cases(
        r#"
            delete from orders where o_id = 1 and o_d_id = 10 => orders has 1 of 2 => rows-orders
            delete from stock where s_i_id = 100000 => stock has 1 of 2 => rows-stock
            delete from customer where c_d_id = 10 and c_id > 2990 => customer has 2990 of 3000 => rows-customer
            delete from item where i_id > 99990 => item does not reach => rows-item
            alter table new_order drop constraint new_order_i1 => no primary key => key
            drop index customer_i2 => no primary key => index
            update district set d_id = 11 where d_id = 10 => no primary key => rows-district
            delete from history where h_d_id = 1 and h_c_id = 1 => no primary key => rows-history
        "#,
    ) {
        control.execute(damage).expect(damage);
        let message = database.program_error("tpcc", &[]);
        assert!(message.contains(expected), "after {damage}: {message}");
        let ids = wrong_ids(&database.check("tpcc"));
        assert!(
            ids.iter().any(|wrong| wrong == id),
            "after {damage}: {ids:?}"
        );
    }
}

#[test]
fn tables_are_loaded_even_if_the_server_refuses_routines() {
    let database = TestDatabase::postgres("tpcc_no_routines");
    database
        .control()
        .execute(
            "create function refuse() returns event_trigger language plpgsql as \
             $$ begin raise exception 'no routines in this database'; end $$; \
             create event trigger refuse on ddl_command_end \
             when tag in ('CREATE FUNCTION', 'CREATE PROCEDURE') execute function refuse()",
        )
        .expect("a trigger");
    let report = database.load("tpcc", &[("scale", "1")], 1);
    report
        .method
        .assert_contains("without routines for HammerDB's driver");
    report
        .method
        .assert_contains("no routines in this database");
    assert!(database.check("tpcc").is_ok());
}
