//! Tests of observing MariaDB.

use super::{check_common_counters, connect, eventually, serving_process};
use prony_document::{DurabilityClass, ObservedTopic, Replication};
use prony_server::observe::counters::Checkpoint;
use prony_server::observe::{CounterReader, read_server_facts, read_server_state};
use prony_test_servers::{TestControl, shared_mariadb};

fn database(name: &str) -> String {
    let server = shared_mariadb();
    let mut control = connect(&server.url());
    control.run(format!("CREATE DATABASE {name}"));
    server.url_for("root", name)
}

#[test]
fn settings_tables_and_durability_are_read() {
    let mut control = connect(&database("observe_state"));
    for sql in [
        "CREATE TABLE kept(n INT PRIMARY KEY)",
        "INSERT INTO kept SELECT seq FROM seq_1_to_1000",
        "ANALYZE TABLE kept",
        "CREATE TABLE lost(n INT) ENGINE = MEMORY",
    ] {
        control.run(sql);
    }
    let facts = read_server_facts(&mut control).unwrap();
    assert!(facts.settings.len() > 300, "{}", facts.settings.len());
    let (state, not_read) = read_server_state(&mut control, &facts).unwrap();
    assert_eq!(not_read, []);
    // The start time in the counters is the same within two seconds.
    let mut reader = CounterReader::new(&mut control).unwrap();
    let started = reader.read(&mut control).unwrap().started_unix_s;
    let difference_s = started.unwrap() - state.started_unix_s.unwrap();
    assert!(difference_s.abs() <= 2.0, "{difference_s}");
    assert!(state.cache_bytes > Some(1 << 20));
    assert!(state.database_bytes > Some(0));
    assert_eq!(
        (state.replication, state.is_replica),
        (Some(Replication::NotVisible), Some(false))
    );
    let table = state
        .tables
        .iter()
        .find(|table| table.name == "kept")
        .unwrap();
    assert!(
        table.rows.is_some_and(|rows| rows > 500 && rows < 2000),
        "{table:?}"
    );
    assert!(
        table.statistics_age_s.is_some_and(|age| age.abs() < 3600.0),
        "{table:?}"
    );
    let durability = state.durability.unwrap();
    assert_eq!(durability.class, DurabilityClass::D0);
    assert!(
        durability
            .because
            .contains(&"tables without a log: lost (MEMORY)".to_owned())
    );
}

#[test]
fn an_unlisted_table_without_a_log_determines_the_durability_class() {
    let mut control = connect(&database("observe_small"));
    // Only the largest 100 tables are listed: these empty InnoDB tables take 16 KB each, more than `z` below.
    for number in 0..100 {
        let sql = format!("CREATE TABLE t{number}(n INT)");
        control.run(sql);
    }
    let facts = read_server_facts(&mut control).unwrap();
    let durability = read_server_state(&mut control, &facts)
        .unwrap()
        .0
        .durability
        .unwrap();
    assert_eq!(
        (durability.class, durability.tables_unknown),
        (DurabilityClass::D3, false)
    );
    control.run("CREATE TABLE z(n INT) ENGINE = MyISAM");
    let (state, not_read) = read_server_state(&mut control, &facts).unwrap();
    assert_eq!((not_read.len(), state.tables.len()), (0, 100));
    assert!(!state.tables.iter().any(|table| table.unlogged));
    let durability = state.durability.unwrap();
    assert_eq!(
        (durability.class, durability.tables_unknown),
        (DurabilityClass::D0, false)
    );
    assert_eq!(
        durability.because,
        ["tables without a log: z (MyISAM)".to_owned()]
    );
}

#[test]
fn counters_grow_under_load() {
    let url = database("observe_counters");
    let mut control = connect(&url);
    let mut reader = CounterReader::new(&mut control).unwrap();
    let before = reader.read(&mut control).unwrap();
    check_common_counters(&before);
    assert_eq!(reader.take_missing(), []);
    assert!(before.history_length.is_some() && before.lock_waits.is_some());
    let mut worker = connect(&url);
    worker.run("CREATE TABLE t(n INT)");
    for _ in 0..20 {
        worker.run("INSERT INTO t SELECT seq FROM seq_1_to_100");
    }
    let after = reader.read(&mut control).unwrap();
    assert!(after.commits >= before.commits.map(|count| count + 20));
    assert!(after.log_bytes > before.log_bytes);
    let Some(Checkpoint::Fuzzy {
        checkpoint_lsn,
        end_lsn,
    }) = after.checkpoint
    else {
        panic!("{after:?}");
    };
    assert!(checkpoint_lsn <= end_lsn);
}

#[test]
fn waits_for_row_locks_are_counted() {
    let url = database("observe_waits");
    let mut control = connect(&url);
    control.run("CREATE TABLE t(n INT PRIMARY KEY, v INT)");
    control.run("INSERT INTO t VALUES (1, 1)");
    let mut holder = connect(&url);
    holder.run("BEGIN");
    holder.run("UPDATE t SET v = 2 WHERE n = 1");
    let waiting = std::thread::spawn(move || {
        connect(&url).run("UPDATE t SET v = 3 WHERE n = 1");
    });
    let mut reader = CounterReader::new(&mut control).unwrap();
    eventually("a wait for a row", || {
        let counters = reader.read(&mut control).unwrap();
        counters.lock_waits >= Some(1) && counters.waits.contains_key("Lock/row")
    });
    holder.run("COMMIT");
    waiting.join().unwrap();
}

#[test]
fn a_recreated_table_has_a_new_id() {
    let mut control = connect(&database("observe_ids"));
    control.run("CREATE TABLE t(n INT PRIMARY KEY)");
    let facts = read_server_facts(&mut control).unwrap();
    let mut id_after = |sql: &str| {
        control.run(sql);
        let ids = read_server_state(&mut control, &facts)
            .unwrap()
            .0
            .table_ids
            .unwrap();
        ids["t"].clone()
    };
    let old_id = id_after("INSERT INTO t VALUES (1)");
    // Creation times are in whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    assert_eq!(id_after("UPDATE t SET n = 2"), old_id);
    assert_eq!(id_after("ANALYZE TABLE t"), old_id);
    // On MariaDB, truncating keeps the creation time; the checks of a run notice that the table
    // shrank.
    assert_ne!(
        id_after("CREATE OR REPLACE TABLE t(n INT PRIMARY KEY)"),
        old_id
    );
}

#[test]
fn values_that_the_user_may_not_read_are_listed_as_missing() {
    let url = database("observe_rights");
    let mut control = connect(&url);
    for sql in [
        "CREATE USER observe_poor@localhost",
        "GRANT SELECT ON observe_rights.* TO observe_poor@localhost",
    ] {
        control.run(sql);
    }
    let mut restricted = connect(&shared_mariadb().url_for("observe_poor", "observe_rights"));
    let facts = read_server_facts(&mut restricted).unwrap();
    let (state, not_read) = read_server_state(&mut restricted, &facts).unwrap();
    let topics: Vec<ObservedTopic> = not_read.iter().map(|value| value.what).collect();
    let expected = [
        ObservedTopic::StatisticsAge,
        ObservedTopic::OtherUsersThreads,
        ObservedTopic::IsReplica,
    ];
    assert_eq!(topics, expected, "{:?}", not_read);
    assert_eq!(
        (state.replication, state.is_replica),
        (None, None),
        "not known"
    );
    let mut reader = CounterReader::new(&mut restricted).unwrap();
    let counters = reader.read(&mut restricted).unwrap();
    assert!(counters.commits.is_some() && counters.connections.is_some());
    assert_eq!(counters.is_replica, None);
    let missing = reader.take_missing();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0].what, ObservedTopic::ReplicationLag);
}

#[test]
fn a_server_on_this_machine_is_found_by_its_process() {
    let server = shared_mariadb();
    for url in [
        server.url(),
        server.tcp_url_with_password().reveal().to_owned(),
    ] {
        let task = serving_process(&mut connect(&url), server.pid());
        assert!(task.cpu_s().is_some());
    }
}
