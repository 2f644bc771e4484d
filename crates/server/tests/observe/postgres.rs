//! PostgreSQL.

use super::{connect, eventually, serving, usual};
use prony_server::embedded::{Options, Server, find, shared};
use prony_server::observe::counters::{Activity, Checkpoint};
use prony_server::observe::machine::task_cpu_s;
use prony_server::observe::{Reader, observe, round_trip, state};
use prony_server::{Control, resolve};

/// A database of the test's own.
fn database(name: &str) -> Control {
    connect(&shared().url())
        .execute(&format!("create database {name}"))
        .unwrap();
    connect(&shared().url_for(name))
}

#[test]
fn settings_tables_and_durability() {
    let mut control = database("observe_state");
    control
        .execute(
            "create table kept(n int); insert into kept select generate_series(1, 1000); \
             create unlogged table lost(n int); analyze kept; \
             create schema other; create table other.t(n int)",
        )
        .unwrap();
    let facts = observe(&mut control).unwrap();
    assert!(facts.settings.len() > 300, "{}", facts.settings.len());
    assert_eq!(facts.setting("shared_buffers"), Some("64MB"));
    let found = state(&mut control, &facts).unwrap();
    assert_eq!(found.missing, []);
    assert_eq!(found.cache_bytes, Some(64 << 20));
    assert!(found.database_bytes > Some(1 << 20));
    assert_eq!(
        (found.replication, found.is_replica),
        (Some("none"), Some(false))
    );
    let table = |name: &str| {
        found
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
    let durability = found.durability.unwrap();
    assert_eq!(durability.class, "D0");
    assert_eq!(durability.because, ["tables without a log: lost"]);
    control.execute("drop table lost").unwrap();
    let durability = state(&mut control, &facts).unwrap().durability.unwrap();
    assert_eq!((durability.class, durability.because.len()), ("D3", 0));
}

/// A program that ends with the test, however that ends.
struct Ends(std::process::Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn replicas_and_what_they_add() {
    let installation = find().expect("PostgreSQL's programs");
    let server = Server::start(&installation, &Options::default()).expect("it starts");
    let mut control = connect(&server.url());
    let facts = observe(&mut control).unwrap();
    // What receives the log is a replica to the server.
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
    let _receiver = Ends(receiver);
    eventually("a replica", || {
        let found = state(&mut control, &facts).unwrap();
        found.replication == Some("asynchronous") && found.durability.unwrap().class == "D3"
    });
    control
        .execute("alter system set synchronous_standby_names = 'pg_receivewal'")
        .unwrap();
    control.execute("select pg_reload_conf()").unwrap();
    eventually("one that commits wait for", || {
        let found = state(&mut control, &facts).unwrap();
        found.replication == Some("synchronous") && found.durability.unwrap().class == "D4"
    });
    let found = state(&mut control, &facts).unwrap();
    assert_eq!(found.replicas[0].name, "pg_receivewal");
    assert_eq!(
        (found.replicas[0].mode.as_str(), found.is_replica),
        ("sync", Some(false))
    );
    let mut reader = Reader::new(&mut control).unwrap();
    eventually("its lag", || {
        reader
            .read(&mut control)
            .unwrap()
            .replication_lag_bytes
            .is_some()
    });
}

#[test]
fn a_table_that_is_locked_holds_nothing_up() {
    let mut control = database("observe_locked");
    control.execute("create table t(n int)").unwrap();
    let mut holder = connect(&shared().url_for("observe_locked"));
    holder
        .execute("begin; lock table t in access exclusive mode")
        .unwrap();
    let facts = observe(&mut control).unwrap();
    let found = state(&mut control, &facts).unwrap();
    let what: Vec<&str> = found.missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!((what, found.tables.len()), (vec!["tables"], 0));
    assert!(found.database_bytes.is_some() && found.replication.is_some());
    holder.execute("commit").unwrap();
    assert_eq!(state(&mut control, &facts).unwrap().tables.len(), 1);
    let left = control.query_value("show lock_timeout").unwrap();
    assert_eq!(left.as_deref(), Some("0"));
}

#[test]
fn counters_grow_with_the_work() {
    let mut control = database("observe_counters");
    let mut reader = Reader::new(&mut control).unwrap();
    let before = reader.read(&mut control).unwrap();
    usual(&before);
    assert_eq!(reader.take_missing(), []);
    assert_eq!(reader.queries(), 6);
    assert!(reader.query_s() > 0.0);
    let mut worker = connect(&shared().url_for("observe_counters"));
    worker.execute("create table t(n int)").unwrap();
    for _ in 0..20 {
        worker
            .execute("insert into t select generate_series(1, 100)")
            .unwrap();
    }
    worker.execute("checkpoint").unwrap();
    drop(worker);
    eventually("20 commits more", || {
        let now = reader.read(&mut control).unwrap();
        now.commits >= before.commits.map(|count| count + 20)
    });
    let after = reader.read(&mut control).unwrap();
    assert!(after.log_bytes > before.log_bytes);
    assert!(after.cache_hits > before.cache_hits);
    let redo = |counters: &prony_server::observe::Counters| match counters.checkpoint {
        Some(Checkpoint::Whole { redo, began_unix_s }) => {
            assert!(began_unix_s > 1e9);
            redo
        }
        ref other => panic!("{other:?}"),
    };
    assert!(redo(&after) > redo(&before));
}

#[test]
fn who_waits_for_a_lock_and_what_is_built_is_seen() {
    let mut control = database("observe_waits");
    control
        .execute("create table t(n int); insert into t select generate_series(1, 100000)")
        .unwrap();
    let url = shared().url_for("observe_waits");
    let mut holder = connect(&url);
    holder
        .execute("begin; lock table t in share row exclusive mode")
        .unwrap();
    let waiting = std::thread::spawn({
        let url = url.clone();
        move || connect(&url).execute("insert into t values (0)").unwrap()
    });
    let mut reader = Reader::new(&mut control).unwrap();
    eventually("a wait for a lock", || {
        let counters = reader.read(&mut control).unwrap();
        counters.lock_waits >= Some(1) && counters.waits.contains_key("Lock/relation")
    });
    holder.execute("commit").unwrap();
    waiting.join().unwrap();
    // An index build waits for the writers that were there before it.
    holder.execute("begin; insert into t values (0)").unwrap();
    let building = std::thread::spawn(move || {
        connect(&url)
            .execute("create index concurrently on t(n)")
            .unwrap();
    });
    let build = Activity {
        what: "index build",
        detail: "t".to_owned(),
    };
    eventually("an index build", || {
        let counters = reader.read(&mut control).unwrap();
        counters.activities.unwrap().contains(&build)
    });
    holder.execute("commit").unwrap();
    building.join().unwrap();
}

#[test]
fn a_role_without_rights_goes_on_and_what_is_missing_is_named() {
    let mut control = database("observe_rights");
    control
        .execute(
            "create role observe_poor login; \
             revoke execute on function pg_control_checkpoint() from public",
        )
        .unwrap();
    let environment =
        prony_server::Environment::new("tester", std::path::Path::new("/nonexistent"));
    let conninfo = format!(
        "host='{}' port={} user=observe_poor dbname=observe_rights",
        shared().socket_dir().display(),
        shared().port()
    );
    let mut poor = Control::connect(&resolve(&conninfo, &environment).unwrap()).unwrap();
    let facts = observe(&mut poor).unwrap();
    let found = state(&mut poor, &facts).unwrap();
    assert_eq!(found.durability.unwrap().class, "D3");
    let mut reader = Reader::new(&mut poor).unwrap();
    let counters = reader.read(&mut poor).unwrap();
    assert_eq!(counters.checkpoint, None);
    assert!(counters.commits.is_some() && counters.log_bytes.is_some());
    let missing = reader.take_missing();
    let what: Vec<&str> = missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(
        what,
        ["waits of other roles, replication lag", "checkpoints"]
    );
    assert!(missing[0].why.contains("pg_monitor"), "{missing:?}");
    assert!(missing[1].why.contains("permission denied"), "{missing:?}");
    let asked = reader.queries();
    reader.read(&mut poor).unwrap();
    assert_eq!(reader.take_missing(), []);
    assert_eq!(
        reader.queries(),
        asked + 5,
        "what was refused is not asked for again"
    );
}

#[test]
fn tables_without_a_log_are_known_without_the_statistics_and_else_said_to_be_unknown() {
    let mut control = database("observe_unlogged");
    control
        .execute(
            "create role observe_unseeing login; create unlogged table lost(n int); \
             revoke select on pg_stat_user_tables from public",
        )
        .unwrap();
    let environment =
        prony_server::Environment::new("tester", std::path::Path::new("/nonexistent"));
    let conninfo = format!(
        "host='{}' port={} user=observe_unseeing dbname=observe_unlogged",
        shared().socket_dir().display(),
        shared().port()
    );
    let mut unseeing = Control::connect(&resolve(&conninfo, &environment).unwrap()).unwrap();
    let facts = observe(&mut unseeing).unwrap();
    let found = state(&mut unseeing, &facts).unwrap();
    let what: Vec<&str> = found.missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!((what, found.tables.len()), (vec!["tables"], 0));
    let durability = found.durability.unwrap();
    assert_eq!((durability.class, durability.tables_unknown), ("D0", false));
    assert_eq!(durability.because, ["tables without a log: lost"]);
    control
        .execute("revoke select on pg_class from public")
        .unwrap();
    let found = state(&mut unseeing, &facts).unwrap();
    let what: Vec<&str> = found.missing.iter().map(|one| one.what.as_str()).collect();
    assert!(what.contains(&"tables without a log"), "{what:?}");
    let durability = found.durability.unwrap();
    assert_eq!((durability.class, durability.tables_unknown), ("D3", true));
}

#[test]
fn settings_are_read_without_rights_on_their_view() {
    let mut control = database("observe_unviewed");
    control
        .execute("create role observe_blind login; revoke select on pg_settings from public")
        .unwrap();
    let environment =
        prony_server::Environment::new("tester", std::path::Path::new("/nonexistent"));
    let conninfo = format!(
        "host='{}' port={} user=observe_blind dbname=observe_unviewed",
        shared().socket_dir().display(),
        shared().port()
    );
    let target = resolve(&conninfo, &environment).unwrap();
    let mut blind = Control::connect(&target).unwrap();
    let refused = blind.query("select name from pg_settings").unwrap_err();
    assert!(
        refused.to_string().contains("permission denied"),
        "{refused}"
    );
    let facts = observe(&mut blind).unwrap();
    control
        .execute("grant select on pg_settings to public")
        .unwrap();
    // The same names and values as the view has them.
    let viewed = observe(&mut Control::connect(&target).unwrap()).unwrap();
    assert!(facts.settings.len() > 300, "{}", facts.settings.len());
    assert_eq!(facts, viewed);
    let found = state(&mut blind, &facts).unwrap();
    assert_eq!(found.durability.unwrap().class, "D3");
}

#[test]
fn a_server_on_this_machine_is_found_by_its_process() {
    let server = shared();
    for url in [
        server.url(),
        server.tcp_url_with_password().reveal().to_owned(),
    ] {
        let mut control = connect(&url);
        let (process, thread) = serving(&mut control, server.pid());
        assert_eq!((process, thread), (control.backend_pid(), None));
        assert!(task_cpu_s(process, thread).unwrap() > 0.0);
        let trip = round_trip(&mut control).unwrap().unwrap();
        assert!(trip.samples > 0 && trip.min_ns <= trip.p50_ns, "{trip:?}");
    }
}
