//! The tpcc workload on the SQL Server that `PRONY_TEST_SQLSERVER` names.

use crate::common::rare_cases::seed_with_rare_cases;
use crate::tpcc_maria::support::*;
use prony_assertions::TextAssertions;
use prony_document::SqlDialect;
use prony_plan::{QueryMode, Stop};
use prony_workload::LoadPhase;
use prony_workload::tpcc::counts::TpccCounts;
use prony_workload::tpcc::profile::Profile;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const MODES: [&str; 3] = ["procedures", "statements", "pipelined"];
const TRANSACTIONS: u64 = 150;

/// The tests share a database.
static DATABASE: Mutex<()> = Mutex::new(());

/// The database in the environment, which the test has for itself; `None`, with a message, without one.
fn database() -> Option<(TestDatabase, MutexGuard<'static, ()>)> {
    let database = sql_server()?;
    let guard = DATABASE.lock().unwrap_or_else(PoisonError::into_inner);
    let cleaned = database.clean("tpcc");
    cleaned.expect("drops the tables of an earlier test");
    Some((database, guard))
}

/// The counts that depend on the input and the loaded data only, not on earlier runs.
fn independent(counts: TpccCounts) -> TpccCounts {
    TpccCounts {
        delivered: 0,
        skipped_districts: 0,
        shown_lines: 0,
        low_items: 0,
        retries: 0,
        ..counts
    }
}

#[test]
fn every_mode_of_both_profiles_has_the_effect_that_it_has_on_postgresql() {
    let Some((database, _guard)) = database() else {
        return;
    };
    for profile in ["standard", "hammerdb"] {
        let report = database.load("tpcc", &[("scale", "2"), ("profile", profile)], 2);
        report.method.assert_contains("bulk streams");
        assert_eq!(database.problems("tpcc"), [""; 0], "{profile}");
        if profile == "hammerdb" {
            assert_layout_is_hammerdbs(&database);
        }
        let seed_profile = Profile::find(profile)
            .expect("listed")
            .on(SqlDialect::TransactSql);
        let seed = seed_with_rare_cases(seed_profile, 2, TRANSACTIONS);
        let postgres = TestDatabase::postgres(&format!("tpcc_sql_server_{profile}"));
        postgres.load("tpcc", &[("scale", "2"), ("profile", profile)], 1);
        let one_user = drive_plan(1, Stop::Transactions(TRANSACTIONS));
        let options = [("profile", profile), ("home", "all")];
        let expected = run_tpcc(&postgres, &options, &one_user, seed);
        for (mode, protocol) in [
            ("procedures", QueryMode::Prepared),
            ("statements", QueryMode::Prepared),
            ("pipelined", QueryMode::Prepared),
            ("statements", QueryMode::Simple),
            ("procedures", QueryMode::Simple),
        ] {
            let label = format!("{profile} {mode} {protocol:?}");
            let options = [("profile", profile), ("home", "all"), ("mode", mode)];
            let mut one_user = one_user.clone();
            one_user.protocol = protocol;
            let run = run_tpcc(&database, &options, &one_user, seed);
            let failures = (run.failed, run.retries);
            assert_eq!(failures, (vec![0; 5], 0), "{label}: {:?}", run.error_codes);
            assert_eq!(
                independent(run.counts),
                independent(expected.counts),
                "{label}"
            );
            assert_eq!(run.counts.delivered, expected.counts.delivered, "{label}");
            let rolled_back = run.counts.outcomes_by_kind[0].rolled_back;
            assert!(rolled_back > 0, "{label}");
        }
        assert_eq!(database.problems("tpcc"), [""; 0], "{profile}");
    }
    let own_procedures = "select count(*) from sys.procedures where name like 'prony%'";
    assert_eq!(database.query_number(own_procedures), 10);
    call_as_hammerdb_does(&database);
    let cleaned = database.clean("tpcc");
    assert_eq!(cleaned.expect("drops").len(), 9);
    assert_eq!(database.query_number(own_procedures), 0);
    assert_eq!(
        database
            .query_number("select count(*) from sys.procedures where name in ('neword', 'slev')"),
        0
    );
    database
        .program_error("tpcc", &[("scale", "4")])
        .assert_contains("prony load tpcc --scale 4");
}

/// Asserts the names of the indexes, and the locks that the server may take on them.
fn assert_layout_is_hammerdbs(database: &TestDatabase) {
    let mut control = database.control();
    let mut query = |sql: &str| control.query(sql).expect(sql);
    let version = query("select @@version")[0][0].clone();
    // It appends hashes to the names, and has no locks on pages.
    let is_babelfish = version.expect("a version").contains("Babelfish");
    let sql = "select lower(i.name), i.type_desc, cast(i.allow_row_locks as int), cast(i.allow_page_locks as int) \
         from sys.indexes i join sys.objects o on o.object_id = i.object_id \
         where o.schema_id = schema_id() and i.name is not null and o.name in ('warehouse', 'district', \
         'customer', 'history', 'new_order', 'orders', 'order_line', 'item', 'stock')";
    let indexes = query(sql);
    const INDEXES: [(&str, &str, &str, &str); 12] = [
        ("pk_warehouse", "CLUSTERED", "1", "0"),
        ("pk_district", "CLUSTERED", "1", "0"),
        ("district_d_id", "NONCLUSTERED", "1", "0"),
        ("pk_item", "CLUSTERED", "1", "0"),
        ("pk_stock", "CLUSTERED", "1", "0"),
        ("customer_i1", "CLUSTERED", "1", "0"),
        ("customer_c_last", "NONCLUSTERED", "1", "0"),
        ("history_i1", "CLUSTERED", "1", "1"),
        ("new_order_i1", "CLUSTERED", "0", "1"),
        ("orders_i1", "CLUSTERED", "0", "1"),
        ("orders_i2", "NONCLUSTERED", "0", "1"),
        ("order_line_i1", "CLUSTERED", "0", "1"),
    ];
    assert_eq!(indexes.len(), INDEXES.len(), "{indexes:?}");
    for (name, kind, rows, pages) in INDEXES {
        let is_it = |row: &&Vec<Option<String>>| match row[0].as_deref() {
            Some(existing) if is_babelfish => existing.starts_with(name),
            existing => existing == Some(name),
        };
        let index = indexes.iter().find(is_it).expect(name);
        if !is_babelfish {
            let expected = [kind, rows, pages].map(|text| Some(text.to_owned()));
            assert_eq!(index[1..], expected, "{name}");
        }
    }
    let padding = "select count(*) from sys.columns where name = 'padding' \
                   and object_id in (object_id('warehouse'), object_id('district'))";
    assert_eq!(database.query_number(padding), 2);
}

/// Calls the procedures for HammerDB's driver by the names of their parameters.
fn call_as_hammerdb_does(database: &TestDatabase) {
    const NOW: &str = "'2026-11-22 19:30:00'";
    let mut control = database.control();
    let mut call = |text: String| control.query(&text).expect(&text);
    let next =
        database.query_number("select d_next_o_id from district where d_w_id = 1 and d_id = 3");
    let new_order = "exec neword @no_w_id = 1, @no_max_w_id = 1, @no_d_id = 3, @no_c_id = 7, \
                     @no_o_ol_cnt = 9, @TIMESTAMP = ";
    let (mut inserted, mut last_name) = (0, String::new());
    // One order in a hundred is rolled back, and returns no number.
    for _ in 0..30 {
        let rows = call(format!("{new_order}{NOW}"));
        if let Some(number) = &rows[0][5] {
            assert_eq!(number, &(next + inserted).to_string());
            inserted += 1;
        }
        last_name = rows[0][1].clone().expect("a name");
    }
    assert!(inserted > 15, "{inserted}");
    for (number, by_name) in [(7, 0), (0, 1)] {
        let rows = call(format!(
            "exec payment @p_w_id = 1, @p_d_id = 3, @p_c_w_id = 1, @p_c_d_id = 3, @p_c_id = {number}, \
             @byname = {by_name}, @p_h_amount = 25.00, @p_c_last = '{last_name}', @TIMESTAMP = {NOW}"
        ));
        assert_eq!(rows[0].len(), 26);
        assert_eq!(
            rows[0][1].as_deref().map(str::trim_end),
            Some(last_name.trim_end())
        );
    }
    let queued = || database.query_number("select count(*) from new_order");
    let before = queued();
    let rows = call(format!(
        "exec delivery @d_w_id = 1, @d_o_carrier_id = 4, @timestamp = {NOW}"
    ));
    assert_eq!(rows[0][2].as_deref(), Some("10"));
    assert_eq!(before - queued(), 10);
    let rows = call("exec slev @st_w_id = 1, @st_d_id = 3, @threshold = 20".to_owned());
    let low: i64 = rows[0][0]
        .as_deref()
        .expect("a count")
        .parse()
        .expect("a count");
    assert!((1..300).contains(&low), "{low}");
    let rows = call(format!(
        "exec ostat @os_w_id = 1, @os_d_id = 3, @os_c_id = 7, @byname = 0, @os_c_last = '{last_name}'"
    ));
    let header = rows.last().expect("the order");
    assert_eq!(
        header[7].as_deref(),
        Some((next + inserted - 1).to_string().as_str())
    );
    assert_eq!(database.problems("tpcc"), [""; 0]);
}

#[test]
fn a_stopped_load_is_continued_and_users_at_once_keep_the_conditions() {
    let Some((database, _guard)) = database() else {
        return;
    };
    let stop = AtomicBool::new(false);
    let progress = StopAt(LoadPhase::Keys, 0, &stop);
    let result = database.load_with("tpcc", &[("scale", "1")], 2, &progress, &stop);
    let message = result.expect_err("stopped").to_string();
    message.assert_contains("with the same options continues it");
    let continues = "`prony load tpcc --scale 1 --seed 1` continues it";
    database
        .program_error("tpcc", &[])
        .assert_contains(continues);
    let report = database.load("tpcc", &[("scale", "1")], 2);
    report.method.assert_contains("continued: ");
    assert_eq!(database.problems("tpcc"), [""; 0]);
    // Babelfish ignores UPDLOCK, with which the statements of a delivery depend on each other.
    for mode in &MODES[..1] {
        let options = [("mode", *mode), ("home", "all"), ("max_tries", "100")];
        let plan = drive_plan(4, Stop::After(Duration::from_secs(3)));
        let run = run_tpcc(&database, &options, &plan, 5);
        assert_eq!(run.failed, [0; 5], "{mode}: {:?}", run.error_codes);
        assert!(run.counts.outcomes_by_kind[0].committed > 0);
        assert_eq!(database.problems("tpcc"), [""; 0], "{mode}");
        println!("{mode}: {} retries", run.retries);
    }
    let result = database.load_with(
        "tpcc",
        &[("scale", "1"), ("partitions", "2")],
        1,
        &(),
        &AtomicBool::new(false),
    );
    let message = result.expect_err("no hash partitions").to_string();
    message.assert_contains("no hash partitions");
    let cleaned = database.clean("tpcc");
    assert_eq!(cleaned.expect("drops").len(), 9);
}
