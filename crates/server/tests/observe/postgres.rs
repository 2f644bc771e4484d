//! Tests of observing PostgreSQL.

use super::{check_common_counters, connect, eventually, serving_process};
use prony_assertions::TextAssertions;
use prony_document::{DurabilityClass, ObservedTopic, Replication};
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, find};
use prony_server::observe::counters::{Activity, Checkpoint};
use prony_server::observe::machine::ServingTask;
use prony_server::observe::{
    ActivityKind, CounterReader, measure_round_trip, read_account_limits, read_server_facts,
    read_server_state,
};
use prony_server::{Control, resolve};
use prony_test_servers::{KillOnDrop, TestControl, shared_postgres};

fn database(name: &str) -> Control {
    connect(&shared_postgres().url()).run(format!("create database {name}"));
    connect(&shared_postgres().url_for(name))
}

#[test]
fn settings_tables_and_durability_are_read() {
    let mut control = database("observe_state");
    control.run(
        "create table kept(n int); insert into kept select generate_series(1, 1000); \
             create unlogged table lost(n int); analyze kept; \
             create schema other; create table other.t(n int)",
    );
    let facts = read_server_facts(&mut control).unwrap();
    assert!(facts.settings.len() > 300, "{}", facts.settings.len());
    assert_eq!(facts.setting("shared_buffers"), Some("64MB"));
    let (state, not_read) = read_server_state(&mut control, &facts).unwrap();
    assert_eq!(not_read, []);
    assert_eq!(state.cache_bytes, Some(64 << 20));
    assert!(state.database_bytes > Some(1 << 20));
    assert_eq!(
        (state.replication, state.is_replica),
        (Some(Replication::NotVisible), Some(false))
    );
    let table = |name: &str| {
        state
            .tables
            .iter()
            .find(|table| table.name == name)
            .unwrap()
    };
    assert_eq!(table("kept").rows, Some(1000));
    assert!(
        table("kept")
            .statistics_age_s
            .is_some_and(|age| age < 3600.0)
    );
    assert!(table("kept").bytes > Some(8192));
    assert_eq!(table("lost").statistics_age_s, None);
    assert!(table("lost").unlogged && !table("other.t").unlogged);
    let durability = state.durability.unwrap();
    assert_eq!(durability.class, DurabilityClass::D0);
    assert_eq!(durability.because, ["tables without a log: lost"]);
    let analyses = |name: &str, control: &mut Control| {
        let (state, _) = read_server_state(control, &facts).unwrap();
        let mut tables = state.tables.into_iter();
        tables.find(|table| table.name == name).unwrap().analyses
    };
    assert_eq!(analyses("kept", &mut control), Some(1));
    // As a crash does it.
    control.run("select pg_stat_reset()");
    assert_eq!(analyses("kept", &mut control), None, "it has statistics");
    assert_eq!(analyses("lost", &mut control), Some(0));
    control.run("drop table lost");
    let durability = read_server_state(&mut control, &facts)
        .unwrap()
        .0
        .durability
        .unwrap();
    assert_eq!(
        (durability.class, durability.because.len()),
        (DurabilityClass::D3, 0)
    );
}

#[test]
fn replicas_and_their_durability_are_observed() {
    let installation = find().expect("PostgreSQL's programs");
    let server =
        EmbeddedPostgres::start(&installation, &EmbeddedOptions::default()).expect("it starts");
    let mut control = connect(&server.url());
    let facts = read_server_facts(&mut control).unwrap();
    // The server lists a client that receives the log as a replica.
    let folder = server.directory().join("received");
    std::fs::create_dir(&folder).unwrap();
    let receiver = std::process::Command::new(installation.bin_dir.join("pg_receivewal"))
        .args([
            "--synchronous",
            "--no-password",
            "--username=postgres",
            "--directory",
        ])
        .arg(&folder)
        .arg("--host")
        .arg(server.socket_dir())
        .arg(format!("--port={}", server.port()))
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    let _receiver = KillOnDrop(receiver);
    eventually("a replica", || {
        let (state, _) = read_server_state(&mut control, &facts).unwrap();
        state.replication == Some(Replication::Asynchronous)
            && state.durability.unwrap().class == DurabilityClass::D3
    });
    control.run("alter system set synchronous_standby_names = 'pg_receivewal'");
    control.run("select pg_reload_conf()");
    eventually("a replica that commits wait for", || {
        let (state, _) = read_server_state(&mut control, &facts).unwrap();
        state.replication == Some(Replication::Synchronous)
            && state.durability.unwrap().class == DurabilityClass::D4
    });
    let (state, _) = read_server_state(&mut control, &facts).unwrap();
    assert_eq!(state.replicas[0].name, "pg_receivewal");
    assert_eq!(
        (state.replicas[0].mode.as_str(), state.is_replica),
        ("sync", Some(false))
    );
    let mut reader = CounterReader::new(&mut control).unwrap();
    eventually("the replica's lag", || {
        reader
            .read(&mut control)
            .unwrap()
            .replication_lag_bytes
            .is_some()
    });
}

#[test]
fn a_recreated_table_has_a_new_id() {
    let mut control = database("observe_ids");
    control.run("create table t(n int primary key)");
    let facts = read_server_facts(&mut control).unwrap();
    let mut id_after = |sql: &str| {
        control.run(sql);
        let ids = read_server_state(&mut control, &facts)
            .unwrap()
            .0
            .table_ids
            .unwrap();
        let (table, file) = ids["t"].split_once('/').expect("two numbers");
        (table.to_owned(), file.to_owned())
    };
    let old_id = id_after("insert into t values (1)");
    assert_eq!(id_after("update t set n = 2"), old_id);
    let truncated = id_after("truncate t");
    assert_eq!(truncated.0, old_id.0);
    assert_ne!(truncated.1, old_id.1);
    assert_ne!(id_after("drop table t; create table t(n int)").0, old_id.0);
}

#[test]
fn a_locked_table_does_not_block_observation() {
    let mut control = database("observe_locked");
    control.run("create table t(n int)");
    let mut holder = connect(&shared_postgres().url_for("observe_locked"));
    holder.run("begin; lock table t in access exclusive mode");
    let facts = read_server_facts(&mut control).unwrap();
    let (state, not_read) = read_server_state(&mut control, &facts).unwrap();
    let topics: Vec<ObservedTopic> = not_read.iter().map(|value| value.what).collect();
    assert_eq!(
        (topics, state.tables.len()),
        (vec![ObservedTopic::Tables], 0)
    );
    assert!(state.table_ids.is_some_and(|ids| ids.contains_key("t")));
    assert!(state.database_bytes.is_some() && state.replication.is_some());
    holder.run("commit");
    assert_eq!(
        read_server_state(&mut control, &facts)
            .unwrap()
            .0
            .tables
            .len(),
        1
    );
    let lock_timeout = control.query_value("show lock_timeout").unwrap();
    assert_eq!(lock_timeout.as_deref(), Some("0"));
}

#[test]
fn counters_grow_under_load() {
    let mut control = database("observe_counters");
    let mut reader = CounterReader::new(&mut control).unwrap();
    let before = reader.read(&mut control).unwrap();
    check_common_counters(&before);
    assert_eq!(reader.take_missing(), []);
    assert_eq!(reader.statements_sent, 7);
    assert!(reader.statement_time_s > 0.0);
    let mut worker = connect(&shared_postgres().url_for("observe_counters"));
    worker.run("create table t(n int)");
    for _ in 0..20 {
        worker.run("insert into t select generate_series(1, 100)");
    }
    worker.run("checkpoint");
    drop(worker);
    eventually("20 more commits", || {
        let counters = reader.read(&mut control).unwrap();
        counters.commits >= before.commits.map(|count| count + 20)
    });
    let after = reader.read(&mut control).unwrap();
    assert!(after.log_bytes > before.log_bytes);
    assert!(after.cache_hits > before.cache_hits);
    let redo_lsn = |counters: &prony_server::observe::Counters| match counters.checkpoint {
        Some(Checkpoint::Complete {
            redo_lsn,
            began_unix_s,
        }) => {
            assert!(began_unix_s > 1e9);
            redo_lsn
        }
        ref other => panic!("{other:?}"),
    };
    assert!(redo_lsn(&after) > redo_lsn(&before));
}

#[test]
fn lock_waits_and_index_builds_are_observed() {
    let mut control = database("observe_waits");
    control.run("create table t(n int); insert into t select generate_series(1, 100000)");
    let url = shared_postgres().url_for("observe_waits");
    let mut holder = connect(&url);
    holder.run("begin; lock table t in share row exclusive mode");
    let waiting = std::thread::spawn({
        let url = url.clone();
        move || connect(&url).execute("insert into t values (0)").unwrap()
    });
    let mut reader = CounterReader::new(&mut control).unwrap();
    eventually("a wait for a lock", || {
        let counters = reader.read(&mut control).unwrap();
        counters.lock_waits >= Some(1) && counters.waits.contains_key("Lock/relation")
    });
    holder.run("commit");
    waiting.join().unwrap();
    // An index build waits for earlier writers.
    holder.run("begin; insert into t values (0)");
    let building = std::thread::spawn(move || {
        connect(&url).run("create index concurrently on t(n)");
    });
    let build = Activity {
        kind: ActivityKind::IndexBuild,
        detail: "t".to_owned(),
    };
    eventually("an index build", || {
        let counters = reader.read(&mut control).unwrap();
        counters.activities.unwrap().contains(&build)
    });
    holder.run("commit");
    building.join().unwrap();
}

#[test]
fn values_that_the_role_may_not_read_are_listed_as_missing() {
    let mut control = database("observe_rights");
    control.run(
        "create role observe_poor login; \
             revoke execute on function pg_control_checkpoint() from public",
    );
    let environment = prony_server::Environment::without_home("tester");
    let conninfo = format!(
        "host='{}' port={} user=observe_poor dbname=observe_rights",
        shared_postgres().socket_dir().display(),
        shared_postgres().port()
    );
    let mut restricted = Control::connect(&resolve(&conninfo, &environment).unwrap()).unwrap();
    let facts = read_server_facts(&mut restricted).unwrap();
    let (state, _) = read_server_state(&mut restricted, &facts).unwrap();
    assert_eq!(state.durability.unwrap().class, DurabilityClass::D3);
    let mut reader = CounterReader::new(&mut restricted).unwrap();
    let counters = reader.read(&mut restricted).unwrap();
    assert_eq!(counters.checkpoint, None);
    assert!(counters.commits.is_some() && counters.log_bytes.is_some());
    let missing = reader.take_missing();
    let topics: Vec<ObservedTopic> = missing.iter().map(|value| value.what).collect();
    assert_eq!(
        topics,
        [ObservedTopic::OtherRolesWaits, ObservedTopic::Checkpoints]
    );
    missing[0].why.assert_contains("pg_monitor");
    missing[1].why.assert_contains("permission denied");
    let before = reader.statements_sent;
    reader.read(&mut restricted).unwrap();
    assert_eq!(reader.take_missing(), []);
    assert_eq!(
        reader.statements_sent,
        before + 6,
        "a refused query is not repeated"
    );
}

#[test]
fn unlogged_tables_are_read_without_statistics_or_reported_as_unknown() {
    let mut control = database("observe_unlogged");
    control.run(
        "create role observe_unseeing login; create unlogged table lost(n int); \
             revoke select on pg_stat_user_tables from public",
    );
    let environment = prony_server::Environment::without_home("tester");
    let conninfo = format!(
        "host='{}' port={} user=observe_unseeing dbname=observe_unlogged",
        shared_postgres().socket_dir().display(),
        shared_postgres().port()
    );
    let mut restricted = Control::connect(&resolve(&conninfo, &environment).unwrap()).unwrap();
    let facts = read_server_facts(&mut restricted).unwrap();
    let (state, not_read) = read_server_state(&mut restricted, &facts).unwrap();
    let topics: Vec<ObservedTopic> = not_read.iter().map(|value| value.what).collect();
    assert_eq!(
        (topics, state.tables.len()),
        (vec![ObservedTopic::Tables], 0)
    );
    let durability = state.durability.unwrap();
    assert_eq!(
        (durability.class, durability.tables_unknown),
        (DurabilityClass::D0, false)
    );
    assert_eq!(durability.because, ["tables without a log: lost"]);
    control.run("revoke select on pg_class from public");
    let (state, not_read) = read_server_state(&mut restricted, &facts).unwrap();
    let topics: Vec<ObservedTopic> = not_read.iter().map(|value| value.what).collect();
    assert!(
        topics.contains(&ObservedTopic::UnloggedTables),
        "{topics:?}"
    );
    let durability = state.durability.unwrap();
    assert_eq!(
        (durability.class, durability.tables_unknown),
        (DurabilityClass::D3, true)
    );
}

#[test]
fn settings_are_read_without_rights_on_pg_settings() {
    let mut control = database("observe_unviewed");
    control
        .run("create role observe_blind login; revoke select on pg_settings, pg_roles from public");
    let environment = prony_server::Environment::without_home("tester");
    let conninfo = format!(
        "host='{}' port={} user=observe_blind dbname=observe_unviewed",
        shared_postgres().socket_dir().display(),
        shared_postgres().port()
    );
    let target = resolve(&conninfo, &environment).unwrap();
    let mut restricted = Control::connect(&target).unwrap();
    let error = restricted
        .query("select name from pg_settings")
        .unwrap_err();
    error.to_string().assert_contains("permission denied");
    let limits = read_account_limits(&mut restricted).unwrap();
    let reason = limits.not_read.expect("a reason");
    reason.assert_contains("permission denied");
    let facts = read_server_facts(&mut restricted).unwrap();
    let custom = facts.setting("custom settings").unwrap_or_default();
    custom.assert_contains("permission denied");
    control.run("grant select on pg_settings to public");
    // SHOW ALL returns the same names and values as the view.
    let from_view = read_server_facts(&mut Control::connect(&target).unwrap()).unwrap();
    assert!(facts.settings.len() > 300, "{}", facts.settings.len());
    assert_eq!(facts, from_view);
    let (state, _) = read_server_state(&mut restricted, &facts).unwrap();
    assert_eq!(state.durability.unwrap().class, DurabilityClass::D3);
}

#[test]
fn a_server_on_this_machine_is_found_by_its_process() {
    let server = shared_postgres();
    for url in [
        server.url(),
        server.tcp_url_with_password().reveal().to_owned(),
    ] {
        let mut control = connect(&url);
        let task = serving_process(&mut control, server.pid());
        let expected = ServingTask {
            process: control.backend_pid(),
            thread: None,
        };
        assert_eq!(task, expected);
        assert!(task.cpu_s().unwrap() > 0.0);
        let times = measure_round_trip(&mut control).unwrap().unwrap();
        assert!(
            times.samples > 0 && times.min_ns <= times.p50_ns,
            "{times:?}"
        );
    }
}
