//! Tests data that is missing, half-loaded or foreign, and interrupted loads.

use crate::common::*;
use prony_assertions::{TextAssertions, cases};
use prony_test_servers::TestControl;
use prony_workload::LoadPhase;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn missing_and_half_loaded_data_is_refused_with_a_hint() {
    let database = TestDatabase::postgres("half");
    let mut control = database.control();
    let message = database.program_error("tpcb", &[("scale", "4")]);
    message.assert_contains("table pgbench_branches is missing");
    message.assert_contains("hint: prony load tpcb --scale 4");
    assert!(!database.check("tpcb").is_ok());

    database.load("tpcb", &[("scale", "2")], 1);
    let message = database.program_error("tpcb", &[("scale", "4")]);
    message.assert_contains("scale 2, but scale 4");
    assert!(database.program("tpcb", &[("scale", "2")]).is_ok());

    for [damage, expected_message] in cases(
        r#"
            delete from pgbench_accounts where aid > 150000 => has numbers 1 to 150000
            truncate pgbench_accounts => pgbench_accounts is empty
            delete from pgbench_tellers where tid = 3 => pgbench_tellers has 19 rows
            delete from pgbench_branches => pgbench_branches is empty
            alter table pgbench_accounts drop constraint pgbench_accounts_pkey => no primary key
        "#,
    ) {
        control.execute(damage).expect(damage);
        let message = database.program_error("tpcb", &[]);
        assert!(
            message.contains(expected_message),
            "after {damage}: {message}"
        );
        message.assert_contains("hint: prony load tpcb");
        assert!(!database.check("tpcb").is_ok(), "after {damage}");
    }
    // A new load replaces damaged data.
    database.load("tpcb", &[("scale", "2")], 1);
    assert!(database.check("tpcb").is_ok());
}

#[test]
fn foreign_tables_are_never_dropped() {
    let database = TestDatabase::postgres("somebody");
    let mut control = database.control();
    control.run("create table pgbench_history (precious text)");
    for message in [
        database.load_error("tpcb", &[("scale", "1")], 1),
        expect_error(database.clean("tpcb")),
    ] {
        message.assert_contains("pgbench_history exists and is not");
        message.assert_contains("it has no column tid");
    }
    assert!(!database.check("tpcb").is_ok());
    control.run("select precious from pgbench_history");
}

#[test]
fn stopped_load_reports_its_state_and_can_be_continued() {
    // Progress is reported every 250 ms at most: sending the rows must take longer.
    const SCALE: u32 = 15;
    let database = TestDatabase::postgres("stopped");
    database.load("tpcb", &[("scale", "1")], 1);
    for (phase, jobs, remaining_state) in [
        (LoadPhase::Rows, 1, "nothing (the database is unchanged)"),
        (LoadPhase::Keys, 1, "nothing (the database is unchanged)"),
        (LoadPhase::Rows, 2, "incomplete tables"),
        (LoadPhase::Keys, 2, "incomplete tables"),
    ] {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, 33, &stop);
        let error = database
            .load_with(
                "tpcb",
                &[("scale", &SCALE.to_string())],
                jobs,
                &progress,
                &stop,
            )
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        assert!(
            error.to_string().contains(remaining_state),
            "{phase:?} {jobs}: {error}"
        );
        if jobs == 1 {
            // The load was one transaction, so the old tables are complete.
            let report = database.check("tpcb");
            assert!(report.is_ok() && report.scale == Some(1), "{report:?}");
            assert!(database.program("tpcb", &[]).is_ok());
            continue;
        }
        let message = database.program_error("tpcb", &[]);
        let remedy =
            format!("`prony load tpcb --scale {SCALE}` with the options of that load continues it");
        message.assert_contains(&remedy);
        assert!(!database.check("tpcb").is_ok());
    }
    let report = database.load("tpcb", &[("scale", &SCALE.to_string())], 2);
    report.method.assert_starts_with("continued: ");
    let report = database.check("tpcb");
    assert!(report.is_ok() && report.scale == Some(SCALE), "{report:?}");
}

#[test]
fn stop_cancels_a_waiting_statement() {
    let database = TestDatabase::postgres("waits");
    database.load("tpcb", &[("scale", "1")], 1);
    let mut lock_holder = database.control();
    lock_holder.run("begin; lock table pgbench_tellers in access share mode");
    let stop = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        let load = scope.spawn(|| database.load_with("tpcb", &[("scale", "1")], 1, &(), &stop));
        let mut watcher = database.control();
        let count_waiting_locks = "select count(*) from pg_locks where not granted and \
             database = (select oid from pg_database where datname = current_database())";
        wait_until(|| {
            watcher.query(count_waiting_locks).expect("locks")[0][0].as_deref() == Some("1")
        });
        stop.store(true, Ordering::Relaxed);
        load.join().expect("returns").expect_err("stopped")
    });
    assert!(error.is_stop(), "{error}");
    error
        .to_string()
        .assert_contains("the database is unchanged");
    lock_holder.run("rollback");
    assert!(database.check("tpcb").is_ok());
}

#[test]
fn server_killed_during_a_load_leaves_no_usable_partial_data() {
    let server = private_postgres();
    let database = TestDatabase::on_postgres(&server, "postgres");
    for jobs in [1, 2] {
        let stop = AtomicBool::new(false);
        let is_killed = AtomicBool::new(false);
        let progress = KillAt {
            rows: 1000,
            kill: &|| server.kill(),
            is_killed: &is_killed,
        };
        let error = database
            .load_with("tpcb", &[("scale", "20")], jobs, &progress, &stop)
            .expect_err("killed");
        let message = error.to_string();
        message.assert_contains("sending rows of pgbench_");
        message.assert_contains("left behind: ");
        message.assert_contains("server's log");
        server.restart().expect("restarts");
        assert!(!database.check("tpcb").is_ok());
        database.program_error("tpcb", &[]);
        database.load("tpcb", &[("scale", "1")], jobs);
        assert!(database.check("tpcb").is_ok());
    }
}

/// Makes the server raise its error for a full disk while an index is built.
const FULL_DISK: &str = "\
create function full_disk() returns event_trigger language plpgsql as $$ begin \
 raise exception 'could not extend file \"base/1/2\": No space left on device' \
 using errcode = '53100'; end $$; \
create event trigger full_disk on ddl_command_end when tag in ('ALTER TABLE') \
 execute function full_disk()";

#[test]
fn full_disk_is_reported_and_leaves_no_usable_partial_data() {
    let database = TestDatabase::postgres("full_disk");
    let mut control = database.control();
    control.run(FULL_DISK);
    for (jobs, action, remaining_state) in [
        (
            1,
            "building the keys and indexes: ",
            "the database is unchanged",
        ),
        (3, "making the primary keys: ", "incomplete tables"),
    ] {
        let message = database.load_error("tpcb", &[("scale", "2")], jobs);
        message.assert_contains(action);
        message.assert_contains("No space left on device");
        message.assert_contains(remaining_state);
        message.assert_contains(" MB on the server's disk (scale 2 with its log)");
        assert!(!database.check("tpcb").is_ok());
        database.program_error("tpcb", &[]);
    }
    control.run("drop event trigger full_disk");
    database.load("tpcb", &[("scale", "2")], 3);
    assert!(database.check("tpcb").is_ok());
}
