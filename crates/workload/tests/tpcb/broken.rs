//! Tests data that is missing, half-loaded or foreign, and interrupted loads.

use crate::common::{self, KillAt, StopAt, TestDatabase, expect_error};
use prony_workload::{LoadPhase, find};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn missing_and_half_loaded_data_is_refused_with_a_hint() {
    let database = TestDatabase::new("half");
    let mut control = database.control();
    let tpcb = find("tpcb").expect("listed");
    let plan = database.plan("tpcb", Some(4));
    let message = expect_error(tpcb.program(&mut control, &plan));
    assert!(
        message.contains("table pgbench_branches is missing"),
        "{message}"
    );
    assert!(
        message.contains("hint: prony load tpcb --scale 4"),
        "{message}"
    );
    assert!(!tpcb.check(&mut control).expect("checks").is_ok());

    database.load("tpcb", 2, 1).expect("loads");
    let message = expect_error(tpcb.program(&mut control, &plan));
    assert!(message.contains("scale 2, but scale 4"), "{message}");
    assert!(
        tpcb.program(&mut control, &database.plan("tpcb", Some(2)))
            .is_ok()
    );

    for (damage, expected_message) in [
        (
            "delete from pgbench_accounts where aid > 150000",
            "has numbers 1 to 150000",
        ),
        ("truncate pgbench_accounts", "pgbench_accounts is empty"),
        (
            "delete from pgbench_tellers where tid = 3",
            "pgbench_tellers has 19 rows",
        ),
        ("delete from pgbench_branches", "pgbench_branches is empty"),
        (
            "alter table pgbench_accounts drop constraint pgbench_accounts_pkey",
            "no primary key",
        ),
    ] {
        control.execute(damage).expect(damage);
        let message = expect_error(tpcb.program(&mut control, &database.plan("tpcb", None)));
        assert!(
            message.contains(expected_message),
            "after {damage}: {message}"
        );
        assert!(message.contains("hint: prony load tpcb"), "{message}");
        assert!(
            !tpcb.check(&mut control).expect("checks").is_ok(),
            "after {damage}"
        );
    }
    // A new load replaces damaged data.
    database.load("tpcb", 2, 1).expect("loads");
    assert!(tpcb.check(&mut control).expect("checks").is_ok());
}

#[test]
fn foreign_tables_are_never_dropped() {
    let database = TestDatabase::new("somebody");
    let mut control = database.control();
    control
        .execute("create table pgbench_history (precious text)")
        .expect("creates");
    let tpcb = find("tpcb").expect("listed");
    for message in [
        expect_error(database.load("tpcb", 1, 1)),
        expect_error(tpcb.clean(&mut control)),
    ] {
        assert!(
            message.contains("pgbench_history exists and is not"),
            "{message}"
        );
        assert!(message.contains("it has no column tid"), "{message}");
    }
    assert!(!tpcb.check(&mut control).expect("checks").is_ok());
    control
        .execute("select precious from pgbench_history")
        .expect("the table still exists");
}

#[test]
fn stopped_load_reports_its_state_and_can_be_continued() {
    // Progress is reported every 250 ms at most: sending the rows must take longer.
    const SCALE: u32 = 15;
    let database = TestDatabase::new("stopped");
    let tpcb = find("tpcb").expect("listed");
    database.load("tpcb", 1, 1).expect("loads");
    for (phase, jobs, remaining_state) in [
        (LoadPhase::Rows, 1, "nothing (the database is unchanged)"),
        (LoadPhase::Keys, 1, "nothing (the database is unchanged)"),
        (LoadPhase::Rows, 2, "incomplete tables"),
        (LoadPhase::Keys, 2, "incomplete tables"),
    ] {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, 33, &stop);
        let error = database
            .load_with("tpcb", SCALE, jobs, &progress, &stop)
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        assert!(
            error.to_string().contains(remaining_state),
            "{phase:?} {jobs}: {error}"
        );
        let mut control = database.control();
        if jobs == 1 {
            // The load was one transaction, so the old tables are complete.
            let report = tpcb.check(&mut control).expect("checks");
            assert!(report.is_ok() && report.scale == Some(1), "{report:?}");
            assert!(
                tpcb.program(&mut control, &database.plan("tpcb", None))
                    .is_ok()
            );
            continue;
        }
        let message = expect_error(tpcb.program(&mut control, &database.plan("tpcb", None)));
        let remedy =
            format!("`prony load tpcb --scale {SCALE}` with the options of that load continues it");
        assert!(message.contains(&remedy), "{message}");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
    }
    let report = database.load("tpcb", SCALE, 2).expect("loads");
    assert!(
        report.method.starts_with("continued: "),
        "{}",
        report.method
    );
    let mut control = database.control();
    let report = tpcb.check(&mut control).expect("checks");
    assert!(report.is_ok() && report.scale == Some(SCALE), "{report:?}");
}

#[test]
fn stop_cancels_a_waiting_statement() {
    let database = TestDatabase::new("waits");
    database.load("tpcb", 1, 1).expect("loads");
    let mut lock_holder = database.control();
    lock_holder
        .execute("begin; lock table pgbench_tellers in access share mode")
        .expect("locks");
    let stop = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        let load = scope.spawn(|| database.load_with("tpcb", 1, 1, &(), &stop));
        let mut watcher = database.control();
        let count_waiting_locks = "select count(*) from pg_locks where not granted and \
             database = (select oid from pg_database where datname = current_database())";
        common::wait_until(|| {
            watcher.query(count_waiting_locks).expect("locks")[0][0].as_deref() == Some("1")
        });
        stop.store(true, Ordering::Relaxed);
        load.join().expect("returns").expect_err("stopped")
    });
    assert!(error.is_stop(), "{error}");
    assert!(
        error.to_string().contains("the database is unchanged"),
        "{error}"
    );
    lock_holder.execute("rollback").expect("ends");
    assert!(
        find("tpcb")
            .expect("listed")
            .check(&mut lock_holder)
            .expect("checks")
            .is_ok()
    );
}

#[test]
fn server_killed_during_a_load_leaves_no_usable_partial_data() {
    let server = common::private_server();
    let database = TestDatabase::on(&server, "postgres");
    for jobs in [1, 2] {
        let stop = AtomicBool::new(false);
        let is_killed = AtomicBool::new(false);
        let progress = KillAt {
            rows: 1000,
            server: &server,
            is_killed: &is_killed,
        };
        let error = database
            .load_with("tpcb", 20, jobs, &progress, &stop)
            .expect_err("killed");
        let message = error.to_string();
        assert!(message.contains("sending rows of pgbench_"), "{message}");
        assert!(
            message.contains("left behind: ") && message.contains("server's log"),
            "{message}"
        );
        server.restart().expect("restarts");
        let tpcb = find("tpcb").expect("listed");
        let mut control = database.control();
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
        expect_error(tpcb.program(&mut control, &database.plan("tpcb", None)));
        drop(control);
        database
            .load("tpcb", 1, jobs)
            .expect("loads after the restart");
        assert!(tpcb.check(&mut database.control()).expect("checks").is_ok());
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
    let database = TestDatabase::new("full_disk");
    let mut control = database.control();
    control.execute(FULL_DISK).expect("a trigger");
    for (jobs, action, remaining_state) in [
        (
            1,
            "building the keys and indexes: ",
            "the database is unchanged",
        ),
        (3, "making the primary keys: ", "incomplete tables"),
    ] {
        let message = expect_error(database.load("tpcb", 2, jobs));
        assert!(message.contains(action), "{message}");
        assert!(message.contains("No space left on device"), "{message}");
        assert!(message.contains(remaining_state), "{message}");
        assert!(
            message.contains(" MB on the server's disk (scale 2 with its log)"),
            "{message}"
        );
        let tpcb = find("tpcb").expect("listed");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
        expect_error(tpcb.program(&mut control, &database.plan("tpcb", None)));
    }
    control
        .execute("drop event trigger full_disk")
        .expect("drops");
    database
        .load("tpcb", 2, 3)
        .expect("loads without the trigger");
    assert!(
        find("tpcb")
            .expect("listed")
            .check(&mut control)
            .expect("checks")
            .is_ok()
    );
}
