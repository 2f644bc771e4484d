//! Loads: the same data by any method, interrupted and continued, refused if necessary.

use crate::common::{self, KillAt, StopAt, TestDatabase, problem};
use prony_server::Control;
use prony_workload::tpcc::schema::{Index, Table};
use prony_workload::{CheckReport, FindingState, LoadPhase, SqlDialect, find};
use std::sync::atomic::{AtomicBool, Ordering};

/// A sum over all values of all rows of each table, except times, which depend on the load.
fn sums(control: &mut Control) -> Vec<String> {
    let sums = Table::ALL.iter().map(|table| {
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
    sums.collect()
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

fn wrong(report: &CheckReport) -> Vec<&'static str> {
    let wrong = report
        .findings
        .iter()
        .filter(|f| f.state == FindingState::Wrong);
    wrong.map(|finding| finding.id).collect()
}

#[test]
fn every_number_of_loaders_produces_the_same_data_even_after_stops() {
    let one = TestDatabase::new("tpcc_one");
    let report = one.load("tpcc", 2, 1).expect("loads");
    assert!(report.method.contains("FREEZE"), "{}", report.method);
    let mut control = one.control();
    let (expected, names) = (sums(&mut control), relations(&mut control));
    let mut all: Vec<String> = Table::ALL.map(|table| table.name().to_owned()).to_vec();
    all.extend(Index::all().iter().map(|index| {
        let primary = if index.primary { " primary" } else { "" };
        format!("{}{primary}", index.name)
    }));
    all.sort();
    assert_eq!(names, all, "nothing of Prony's own stays");
    let checked = check(&mut control);
    assert!(checked.is_ok() && checked.scale == Some(2), "{checked:?}");
    let rows = |tables: &[prony_workload::TableFacts]| -> Vec<u64> {
        tables.iter().map(|table| table.rows).collect()
    };
    assert_eq!(rows(&report.tables), rows(&checked.tables));
    assert_eq!(report.rows, rows(&report.tables).iter().sum::<u64>());
    for table in &checked.tables {
        assert_eq!(table.all_visible, Some(1.0), "{table:?}");
        assert_eq!(table.dead_rows, 0, "{table:?}");
    }

    let three = TestDatabase::new("tpcc_three");
    three.load("tpcc", 2, 3).expect("loads");
    let mut control = three.control();
    assert_eq!(sums(&mut control), expected);
    assert_eq!(relations(&mut control), names);
    assert!(check(&mut control).is_ok());

    // A second load replaces the tables; stopped in each phase, it is continued. Progress is reported
    // four times a second, so the stop comes well before the end.
    for (phase, rows) in [(LoadPhase::Rows, 500_000), (LoadPhase::Keys, 0)] {
        let stop = AtomicBool::new(false);
        let error = three
            .load_with("tpcc", 2, 2, &StopAt(phase, rows, &stop), &stop)
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        let message = error.to_string();
        assert!(
            message.contains("with the same options continues it"),
            "{message}"
        );
        assert_only_continuation_is_accepted(&three, &mut control);
        let report = three.load("tpcc", 2, 1).expect("goes on");
        assert!(report.method.contains("continued: "), "{}", report.method);
        assert!(report.rows < 1_000_000, "{phase:?}: {} sent", report.rows);
        assert_eq!(sums(&mut control), expected, "{phase:?}");
        assert_eq!(relations(&mut control), names, "{phase:?}");
        assert!(check(&mut control).is_ok());
    }
}

fn assert_only_continuation_is_accepted(database: &TestDatabase, control: &mut Control) {
    let tpcc = find("tpcc").expect("listed");
    let continues = "`prony load tpcc --scale 2 --seed 1` continues it";
    let refused = problem(tpcc.program(control, &database.plan("tpcc", None)));
    assert!(refused.contains(continues), "{refused}");
    let refused = problem(database.load("tpcc", 3, 2));
    assert!(refused.contains(continues), "{refused}");
    assert!(
        refused.contains("the requested load has 3 warehouses (seed 1)"),
        "{refused}"
    );
    let report = check(control);
    let remedy = report.findings[0].remedy.as_ref().map(ToString::to_string);
    let remedy = remedy.expect("what to do about it");
    assert!(remedy.contains(continues), "{remedy}");
    // What exists is complete.
    assert_eq!(wrong(&report), ["load-unfinished"], "{report:?}");
}

#[test]
fn stopping_a_single_loader_leaves_the_old_tables() {
    let database = TestDatabase::new("tpcc_stopped");
    database.load("tpcc", 1, 1).expect("loads");
    let stop = AtomicBool::new(false);
    let progress = StopAt(LoadPhase::Rows, 200_000, &stop);
    let stopped = database.load_with("tpcc", 2, 1, &progress, &stop);
    let message = stopped.expect_err("stopped").to_string();
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
    let killed = AtomicBool::new(false);
    let progress = KillAt {
        rows: 800_000,
        server: &server,
        killed: &killed,
    };
    let message = problem(database.load_with("tpcc", 3, 2, &progress, &AtomicBool::new(false)));
    assert!(
        message.contains("with the same options continues it"),
        "{message}"
    );
    server.restart().expect("restarts");
    let mut control = database.control();
    let found = wrong(&check(&mut control));
    assert!(found.contains(&"load-unfinished"), "{found:?}");
    assert!(!found.iter().any(|id| id.starts_with("condition")));
    let report = database.load("tpcc", 3, 2).expect("goes on");
    assert!(report.rows < 1_500_000, "{} sent again", report.rows);
    let report = check(&mut control);
    assert!(report.is_ok() && report.scale == Some(3), "{report:?}");
}

#[test]
fn a_check_during_a_load_finds_the_loaded_rows_consistent() {
    let database = TestDatabase::new("tpcc_meanwhile");
    let over = AtomicBool::new(false);
    let unfinished = std::thread::scope(|scope| {
        let checking = scope.spawn(|| {
            let mut control = database.control();
            let mut unfinished = 0;
            while !over.load(Ordering::Relaxed) {
                let found = wrong(&check(&mut control));
                let known = ["load-unfinished", "table-missing"];
                assert!(found.iter().all(|id| known.contains(id)), "{found:?}");
                unfinished += usize::from(found.contains(&"load-unfinished"));
            }
            unfinished
        });
        let loaded = database.load("tpcc", 3, 2);
        over.store(true, Ordering::Relaxed);
        loaded.expect("loads beside it");
        checking.join().expect("checks")
    });
    assert!(unfinished > 0, "no check came while rows were sent");
    assert!(check(&mut database.control()).is_ok());
}

#[test]
fn missing_foreign_and_damaged_tables_are_refused_with_a_reason() {
    let database = TestDatabase::new("tpcc_refused");
    let mut control = database.control();
    let tpcc = find("tpcc").expect("listed");
    let refused = problem(tpcc.program(&mut control, &database.plan("tpcc", Some(4))));
    assert!(refused.contains("table item is missing"), "{refused}");
    assert!(refused.contains("prony load tpcc --scale 4"), "{refused}");
    control
        .execute("create table orders (precious text)")
        .expect("creates");
    for message in [
        problem(database.load("tpcc", 1, 1)),
        problem(tpcc.clean(&mut control)),
    ] {
        assert!(message.contains("orders exists and is not"), "{message}");
    }
    control.execute("drop table orders").expect("drops");
    database.load("tpcc", 1, 2).expect("loads");
    let refused = problem(tpcc.program(&mut control, &database.plan("tpcc", Some(2))));
    assert!(refused.contains("has scale 1, but scale 2"), "{refused}");
    for (damage, message, id) in [
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
        let refused = problem(tpcc.program(&mut control, &database.plan("tpcc", None)));
        assert!(refused.contains(message), "after {damage}: {refused}");
        let found = wrong(&check(&mut control));
        assert!(found.contains(&id), "after {damage}: {found:?}");
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
