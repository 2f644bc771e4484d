//! Tests YCSB on MariaDB.

use super::support::*;
use prony_assertions::TextAssertions;
use prony_plan::QueryMode;
use prony_test_servers::{MariaDb, MariaDbOptions};

/// Returns a digest of all records.
fn digest(database: &TestDatabase) -> String {
    database.query_text(
        "select concat(count(*), ' ', sum(crc32(concat_ws('|', ycsb_key, field0, field1, field2, \
         field3, field4, field5, field6, field7, field8, field9)))) from usertable",
    )
}

#[test]
fn every_workload_runs_in_every_protocol() {
    let database = TestDatabase::maria("ycsb_runs");
    let report = load(&database, 2, 2);
    assert_eq!((report.scale, report.rows), (2, 2_000));
    report.method.assert_contains("LOAD DATA");
    for protocol in PROTOCOLS {
        run_all_workloads(&database, protocol);
    }
    assert_mismatches_are_refused(&database);
    let run = run_workload(
        &database,
        "ycsb",
        &[("writeallfields", "on"), ("readallfields", "off")],
        QueryMode::Prepared,
        (2, 40),
    );
    assert_all_committed(&run, 80, "all fields");
    assert_eq!(database.problems("ycsb"), [""; 0]);
    let dropped = database.clean("ycsb");
    assert_eq!(dropped.expect("cleans"), ["usertable"]);
    let message = database.program_error("ycsb", &[]);
    message.assert_contains("table usertable is missing");
}

#[test]
fn concurrent_runs_insert_different_keys() {
    let database = TestDatabase::maria("ycsb_side_by_side");
    load(&database, 2, 1);
    for protocol in PROTOCOLS {
        assert_concurrent_runs_succeed(&database, protocol);
    }
}

#[test]
fn records_are_the_same_as_on_postgresql_with_any_load_method() {
    let arguments = ["--local-infile=0", "--max-allowed-packet=64K"];
    let server = MariaDb::start(MariaDbOptions {
        arguments: arguments.map(str::to_owned).to_vec(),
        ..MariaDbOptions::default()
    });
    let server = server.expect("a server");
    let restricted = TestDatabase::on_maria(&server, "small");
    let (unrestricted, postgres) = (
        TestDatabase::maria("ycsb_usual"),
        TestDatabase::postgres("ycsb_alike"),
    );
    load(&restricted, 1, 2).method.assert_contains("INSERTs");
    load(&unrestricted, 1, 1);
    load(&postgres, 1, 1);
    assert_eq!(digest(&restricted), digest(&unrestricted));
    let rows = |database: &TestDatabase| {
        let select = "select ycsb_key, field0, field9 from usertable order by ycsb_key";
        database.control().query(select).expect("rows")
    };
    assert!(rows(&unrestricted) == rows(&postgres), "the rows differ");
    assert_eq!(restricted.problems("ycsb"), [""; 0]);
}

#[test]
fn stopped_load_is_continued() {
    let (database, uninterrupted) = (
        TestDatabase::maria("ycsb_broken"),
        TestDatabase::maria("ycsb_whole"),
    );
    assert_stopped_load_continues(&database, &uninterrupted, &digest);
}

#[test]
fn damaged_records_are_detected() {
    assert_damage_is_detected(&TestDatabase::maria("ycsb_damage"));
}

/// Creates the table as in YCSB's instructions, with upper-case names.
#[test]
fn tables_loaded_by_ycsb_require_a_scale() {
    let (database, prony_database) = (
        TestDatabase::maria("ycsb_theirs"),
        TestDatabase::maria("ycsb_ours"),
    );
    let fields: String = (0..10)
        .map(|field| format!(", FIELD{field} TEXT"))
        .collect();
    database.execute(&format!(
        "create table usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY{fields})"
    ));
    load(&prony_database, 1, 1);
    database.execute("insert into usertable select * from ycsb_ours.usertable");
    let loaded = database.program("ycsb", &[("scale", "1")]);
    assert_eq!(loaded.expect("the table exists").scale, 1);
    let message = database.program_error("ycsb", &[]);
    message.assert_contains("was not loaded by Prony");
    let report = database.check("ycsb");
    assert!(report.is_ok() && report.scale.is_none(), "{report:?}");
}
