//! Tests of observing a server: one for tests in this process, and those listed in `PRONY_TEST_SQLSERVER`.

use super::target;
use crate::Control;
use crate::observe::{CounterReader, read_server_facts, read_server_state};
use prony_assertions::TextAssertions;
use prony_document::{DurabilityClass, MissingObservation, ObservedTopic, Product, Replication};
use prony_tds_server::{Column, Config, Datum, Listener, Outcome, Type};

fn rows(names: &[&str], rows: &[&[&str]]) -> Vec<Outcome> {
    let columns = names
        .iter()
        .map(|name| Column::new(name, Type::NVarChar(800)))
        .collect();
    let row = |cells: &&[&str]| cells.iter().map(|cell| Datum::from(*cell)).collect();
    vec![Outcome::Rows(columns, rows.iter().map(row).collect())]
}

/// The row of a query that casts columns or properties; NULL for those without a value here.
fn wide_row(sql: &str, values: &[(&str, &str)]) -> Vec<Outcome> {
    let casts: Vec<&str> = sql.split("cast(").skip(1).collect();
    let columns = casts.iter().map(|_| Column::new("", Type::NVarChar(800)));
    let cells = casts.iter().map(|cast| {
        let named = |name: &str| cast.starts_with(name) || cast.contains(&format!("'{name}'"));
        let value = values.iter().find(|(name, _)| named(name));
        value.map_or(Datum::Null, |(_, value)| Datum::from(*value))
    });
    vec![Outcome::Rows(columns.collect(), vec![cells.collect()])]
}

/// A server that answers some views, and refuses all others for a missing permission.
fn control(has_permission: &'static str) -> Control {
    control_of_edition(has_permission, "3")
}

/// `edition`: 5 is Azure SQL Database, which has no waits of the server and refuses the view.
fn control_of_edition(has_permission: &'static str, edition: &'static str) -> Control {
    let config = Config::new(move |sql, _| match sql {
        "SET XACT_ABORT ON" => vec![Outcome::Done],
        _ if sql.contains("serverproperty('ProductVersion')") => wide_row(
            sql,
            &[
                ("ProductVersion", "16.0.4135.4"),
                ("Edition", "Developer"),
                ("IsHadrEnabled", "0"),
            ],
        ),
        // Among Azure's counters the database has its physical name, for which older versions have no column.
        _ if sql.contains("physical_database_name") && edition == "5" => {
            rows(&["name", "value"], &[&["Log Bytes Flushed/sec", "640"]])
        }
        _ if sql.contains("physical_database_name") => vec![Outcome::Error(
            207,
            1,
            16,
            "Invalid column name 'physical_database_name'.".to_owned(),
        )],
        // The columns have different collations.
        _ if sql.contains("from sys.databases") && sql.contains("union") => vec![Outcome::Error(
            451,
            1,
            16,
            "Cannot resolve collation conflict".to_owned(),
        )],
        _ if sql.contains("from sys.databases") => wide_row(
            sql,
            &[
                ("page_verify_option_desc", "CHECKSUM"),
                ("delayed_durability_desc", "FORCED"),
                ("is_accelerated_database_recovery_on", "1"),
            ],
        ),
        _ if sql.contains("as int") && sql.contains("EngineEdition") => {
            rows(&["edition"], &[&[edition]])
        }
        _ if edition == "5" && sql.contains("from sys.dm_db_resource_stats") => {
            rows(&["cpu", "io", "log"], &[&["50.0", "7.5", "100.0"]])
        }
        _ if edition == "5" && sql.contains("from sys.dm_db_wait_stats") => {
            rows(&["w"; 8], &[&["80", "0", "0", "0", "0", "0", "900", "0"]])
        }
        _ if edition == "3" && sql.contains("from sys.dm_os_wait_stats") => {
            rows(&["w"; 8], &[&["70", "0", "0", "0", "5", "0", "0", "0"]])
        }
        _ if edition == "3" && sql.contains("process_kernel_time_ms") => {
            rows(&["s"], &[&["12.345"]])
        }
        _ if sql.contains("has_perms_by_name") => rows(&["right"], &[&[has_permission]]),
        _ if sql.contains("sysutcdatetime") && !sql.contains("sys.dm") => {
            rows(&["s"], &[&["1.5e9"]])
        }
        _ if sql.contains("Batch Requests/sec") => rows(
            &["requests", "clock", "begun"],
            &[&["7000", "1.25", "9000"]],
        ),
        _ if sql.contains("sys.dm_os_performance_counters") => {
            rows(&["name", "value"], &[&["Log Bytes Flushed/sec", "512"]])
        }
        _ => vec![Outcome::Error(
            300,
            1,
            14,
            "VIEW SERVER STATE permission was denied".to_owned(),
        )],
    });
    let port = Listener::start(config).address().port();
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?encrypt=disable");
    Control::connect(&target(&url)).expect("connects")
}

#[test]
fn facts_and_durability_are_read_and_what_is_refused_is_listed() {
    let mut control = control("1");
    assert_eq!(
        (control.product(), control.server_version()),
        (Product::SQL_SERVER, 16_004_135)
    );
    let facts = read_server_facts(&mut control).unwrap();
    assert_eq!(facts.version, "16.0.4135.4 (Developer)");
    let accelerated = facts.setting("database.is_accelerated_database_recovery_on");
    assert_eq!(accelerated, Some("1"));
    let refused = facts.setting("sys.configurations").expect("a reason");
    refused.assert_contains("permission was denied");
    let (state, not_read) = read_server_state(&mut control, &facts).unwrap();
    let durability = state.durability.expect("a class");
    assert_eq!(
        (durability.class, durability.tables_unknown),
        (DurabilityClass::D1, true)
    );
    assert_eq!(state.replication, Some(Replication::NotVisible));
    let denied = |missing: &MissingObservation| missing.why.contains("permission was denied");
    assert!(
        !not_read.is_empty() && not_read.iter().all(denied),
        "{:?}",
        not_read
    );
}

#[test]
fn a_login_without_the_permission_reads_no_counters_and_says_so() {
    for (permission, log_bytes) in [("1", Some(512)), ("0", None)] {
        let mut control = control(permission);
        let mut reader = CounterReader::new(&mut control).unwrap();
        let counters = reader.read(&mut control).unwrap();
        assert_eq!(counters.log_bytes, log_bytes);
        assert_eq!(counters.clock_unix_s, Some(1.5e9));
        assert_eq!(counters.connections, None);
        let missing = reader.take_missing();
        let says_grant = missing
            .iter()
            .any(|value| value.why.contains("GRANT VIEW SERVER STATE"));
        assert_eq!(says_grant, permission == "0", "{missing:?}");
    }
}

#[test]
fn times_of_waits_and_cpu_are_read_and_azures_views_in_their_place() {
    let read = |edition| {
        let mut control = control_of_edition("1", edition);
        let mut reader = CounterReader::new(&mut control).unwrap();
        let counters = reader.read(&mut control).unwrap();
        (counters, reader.take_missing())
    };
    let is_missing =
        |missing: &[MissingObservation], topic| missing.iter().any(|value| value.what == topic);
    let (counters, missing) = read("3");
    assert_eq!(counters.log_bytes, Some(512));
    let waits = counters.wait_ms.expect("waits");
    assert_eq!((waits["WRITELOG"], waits["LCK_M"]), (70, 5));
    assert_eq!(
        (counters.server_cpu_s, counters.limit_use),
        (Some(12.345), None)
    );
    assert!(
        !is_missing(&missing, ObservedTopic::WaitTimes),
        "{missing:?}"
    );
    let (counters, missing) = read("5");
    assert_eq!(counters.log_bytes, Some(640));
    let waits = counters.wait_ms.expect("waits");
    assert_eq!((waits["WRITELOG"], waits["LOG_RATE_GOVERNOR"]), (80, 900));
    let limit_use = counters.limit_use.expect("limits");
    assert_eq!(
        (limit_use.cpu_share, limit_use.log_write_share),
        (Some(0.5), Some(1.0))
    );
    // The CPU time of the server is that of other databases too.
    assert_eq!(counters.server_cpu_s, None);
    assert!(
        !is_missing(&missing, ObservedTopic::ServiceLimits),
        "{missing:?}"
    );
    // A server that refuses the views is listed with its reason, and nothing is zero.
    let (counters, missing) = read("2");
    assert_eq!((counters.wait_ms, counters.server_cpu_s), (None, None));
    for topic in [ObservedTopic::WaitTimes, ObservedTopic::ServerCpu] {
        let value = missing.iter().find(|value| value.what == topic);
        let reason = &value.expect("listed").why;
        reason.assert_contains("permission was denied");
    }
}

#[test]
fn batch_requests_and_transactions_are_counted() {
    let readings = crate::read_txn_counts(&mut control("1"), 2, |_| true);
    let readings = readings.expect("reads").expect("both counters");
    let expected = crate::TxnCount {
        transactions: 7_000,
        begun: Some(9_000),
        at_s: 1.25,
    };
    assert_eq!(readings, [expected; 2]);
}

/// Whatever views a server has: observing it never fails.
#[test]
fn servers_listed_in_prony_test_sqlserver_are_observed() {
    let urls = std::env::var("PRONY_TEST_SQLSERVER").unwrap_or_default();
    if urls.is_empty() {
        eprintln!("skipped: PRONY_TEST_SQLSERVER is not set");
    }
    for url in urls.split_whitespace() {
        let mut control = Control::connect(&target(url)).unwrap();
        assert_eq!(control.product(), Product::SQL_SERVER);
        assert!(control.server_version() > 0);
        let facts = read_server_facts(&mut control).unwrap();
        assert!(!facts.version.is_empty());
        let (state, _) = read_server_state(&mut control, &facts).unwrap();
        let mut reader = CounterReader::new(&mut control).unwrap();
        let counters = reader.read(&mut control).unwrap();
        assert!(
            counters.clock_unix_s.is_some_and(|seconds| seconds > 1.7e9),
            "{counters:?}"
        );
        eprintln!("{} {} settings", facts.version, facts.settings.len());
        eprintln!("{state:?}\n{counters:?}\n{:?}", reader.take_missing());
        let rows = control.query_with("select $1", &["it's"]).unwrap();
        assert_eq!(rows[0][0].as_deref(), Some("it's"));
        assert!(
            control
                .execute("select * from prony_no_such_table")
                .is_err()
        );
        assert_eq!(
            control.query_value("select 7").unwrap().as_deref(),
            Some("7")
        );
    }
}
