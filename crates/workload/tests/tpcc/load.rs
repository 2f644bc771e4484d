//! Loads: the same data by any way, broken off and continued, refused where they must be.

use crate::common::{self, Base, KillAt, StopAt, problem};
use prony_server::Control;
use prony_workload::tpcc::schema::{Index, Table};
use prony_workload::{CheckReport, Phase, State, find};
use std::sync::atomic::{AtomicBool, Ordering};

/// A sum over all values of all rows of each table, but times: those are of the load.
fn sums(control: &mut Control) -> Vec<String> {
    let sums = Table::ALL.iter().map(|table| {
        let columns: Vec<String> = table
            .columns()
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

/// Names of the tables and indexes of the database, with whether an index is a primary key.
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
    let wrong = report.findings.iter().filter(|f| f.state == State::Wrong);
    wrong.map(|finding| finding.id).collect()
}

#[test]
fn any_number_of_loaders_makes_the_same_data_also_after_a_stop() {
    let one = Base::new("tpcc_one");
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

    let three = Base::new("tpcc_three");
    three.load("tpcc", 2, 3).expect("loads");
    let mut control = three.control();
    assert_eq!(sums(&mut control), expected);
    assert_eq!(relations(&mut control), names);
    assert!(check(&mut control).is_ok());

    // A second load replaces the tables; stopped in each phase, it is continued. Progress is told four
    // times a second, so the stop comes well before the end.
    for (phase, rows) in [(Phase::Rows, 500_000), (Phase::Keys, 0)] {
        let stop = AtomicBool::new(false);
        let error = three
            .load_with("tpcc", 2, 2, &StopAt(phase, rows, &stop), &stop)
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        let said = error.to_string();
        assert!(
            said.contains("with the same scale and seed continues"),
            "{said}"
        );
        refuses_all_but_its_continuation(&three, &mut control);
        let report = three.load("tpcc", 2, 1).expect("goes on");
        assert!(report.method.contains("continued: "), "{}", report.method);
        assert!(report.rows < 1_000_000, "{phase:?}: {} sent", report.rows);
        assert_eq!(sums(&mut control), expected, "{phase:?}");
        assert_eq!(relations(&mut control), names, "{phase:?}");
        assert!(check(&mut control).is_ok());
    }
}

fn refuses_all_but_its_continuation(base: &Base, control: &mut Control) {
    let tpcc = find("tpcc").expect("listed");
    let continues = "`prony load tpcc --scale 2 --seed 1` continues it";
    let refused = problem(tpcc.program(control, &base.plan("tpcc", None)));
    assert!(refused.contains(continues), "{refused}");
    let refused = problem(base.load("tpcc", 3, 2));
    assert!(refused.contains(continues), "{refused}");
    assert!(
        refused.contains("3 warehouses (seed 1) are asked"),
        "{refused}"
    );
    let report = check(control);
    let text = &report.findings[0].text;
    assert!(text.contains(continues), "{text}");
    // What is there is whole.
    assert_eq!(wrong(&report), ["load-unfinished"], "{report:?}");
}

#[test]
fn one_loader_stopped_leaves_the_old_tables() {
    let base = Base::new("tpcc_stopped");
    base.load("tpcc", 1, 1).expect("loads");
    let stop = AtomicBool::new(false);
    let progress = StopAt(Phase::Rows, 200_000, &stop);
    let stopped = base.load_with("tpcc", 2, 1, &progress, &stop);
    let said = stopped.expect_err("stopped").to_string();
    assert!(said.contains("as it was before"), "{said}");
    let mut control = base.control();
    let report = check(&mut control);
    assert!(report.is_ok() && report.scale == Some(1), "{report:?}");
    let cleaned = find("tpcc").expect("listed").clean(&mut control);
    assert_eq!(cleaned.expect("drops").len(), 9);
    assert!(relations(&mut control).is_empty());
}

#[test]
fn a_server_killed_in_mid_load_loses_only_what_was_under_way() {
    let server = common::own_server();
    let base = Base::on(&server, "postgres");
    let killed = AtomicBool::new(false);
    let progress = KillAt {
        rows: 800_000,
        server: &server,
        killed: &killed,
    };
    let message = problem(base.load_with("tpcc", 3, 2, &progress, &AtomicBool::new(false)));
    assert!(
        message.contains("it goes on with what is missing"),
        "{message}"
    );
    server.restart().expect("restarts");
    let mut control = base.control();
    let found = wrong(&check(&mut control));
    assert!(found.contains(&"load-unfinished"), "{found:?}");
    assert!(!found.iter().any(|id| id.starts_with("condition")));
    let report = base.load("tpcc", 3, 2).expect("goes on");
    assert!(report.rows < 1_500_000, "{} sent again", report.rows);
    let report = check(&mut control);
    assert!(report.is_ok() && report.scale == Some(3), "{report:?}");
}

#[test]
fn a_check_made_while_a_load_goes_on_finds_what_is_there_consistent() {
    let base = Base::new("tpcc_meanwhile");
    let over = AtomicBool::new(false);
    let unfinished = std::thread::scope(|scope| {
        let checking = scope.spawn(|| {
            let mut control = base.control();
            let mut unfinished = 0;
            while !over.load(Ordering::Relaxed) {
                let found = wrong(&check(&mut control));
                let known = ["load-unfinished", "table-missing"];
                assert!(found.iter().all(|id| known.contains(id)), "{found:?}");
                unfinished += usize::from(found.contains(&"load-unfinished"));
            }
            unfinished
        });
        let loaded = base.load("tpcc", 3, 2);
        over.store(true, Ordering::Relaxed);
        loaded.expect("loads beside it");
        checking.join().expect("checks")
    });
    assert!(unfinished > 0, "no check came while rows were sent");
    assert!(check(&mut base.control()).is_ok());
}

#[test]
fn missing_foreign_and_damaged_tables_are_refused_in_words() {
    let base = Base::new("tpcc_refused");
    let mut control = base.control();
    let tpcc = find("tpcc").expect("listed");
    let refused = problem(tpcc.program(&mut control, &base.plan("tpcc", Some(4))));
    assert!(refused.contains("table item is missing"), "{refused}");
    assert!(refused.contains("prony load tpcc --scale 4"), "{refused}");
    control
        .execute("create table orders (precious text)")
        .expect("creates");
    for message in [
        problem(base.load("tpcc", 1, 1)),
        problem(tpcc.clean(&mut control)),
    ] {
        assert!(message.contains("orders exists and is not"), "{message}");
    }
    control.execute("drop table orders").expect("drops");
    base.load("tpcc", 1, 2).expect("loads");
    let refused = problem(tpcc.program(&mut control, &base.plan("tpcc", Some(2))));
    assert!(refused.contains("has scale 1, and scale 2"), "{refused}");
    for (damage, said, id) in [
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
        let refused = problem(tpcc.program(&mut control, &base.plan("tpcc", None)));
        assert!(refused.contains(said), "after {damage}: {refused}");
        let found = wrong(&check(&mut control));
        assert!(found.contains(&id), "after {damage}: {found:?}");
    }
}
