//! Data that is missing, half-loaded or somebody else's; loads that are broken off.

use crate::common::{self, Base, KillAt, StopAt, problem};
use prony_workload::{Phase, find};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn missing_and_half_loaded_data_are_refused_in_words() {
    let base = Base::new("half");
    let mut control = base.control();
    let tpcb = find("tpcb").expect("listed");
    let plan = base.plan("tpcb", Some(4));
    let message = problem(tpcb.program(&mut control, &plan));
    assert!(
        message.contains("table pgbench_branches is missing"),
        "{message}"
    );
    assert!(
        message.contains("hint: prony load tpcb --scale 4"),
        "{message}"
    );
    assert!(!tpcb.check(&mut control).expect("checks").is_ok());

    base.load("tpcb", 2, 1).expect("loads");
    let message = problem(tpcb.program(&mut control, &plan));
    assert!(message.contains("scale 2, and scale 4"), "{message}");
    assert!(
        tpcb.program(&mut control, &base.plan("tpcb", Some(2)))
            .is_ok()
    );

    for (damage, said) in [
        (
            "delete from pgbench_accounts where aid > 150000",
            "has numbers 1 to 150000",
        ),
        ("truncate pgbench_accounts", "pgbench_accounts is empty"),
        (
            "delete from pgbench_tellers where tid = 3",
            "pgbench_tellers has 19 rows",
        ),
        (
            "alter table pgbench_accounts drop constraint pgbench_accounts_pkey",
            "no primary key",
        ),
        ("delete from pgbench_branches", "pgbench_branches is empty"),
    ] {
        control.execute(damage).expect(damage);
        let message = problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
        assert!(message.contains(said), "after {damage}: {message}");
        assert!(message.contains("hint: prony load tpcb"), "{message}");
        assert!(
            !tpcb.check(&mut control).expect("checks").is_ok(),
            "after {damage}"
        );
    }
    // A load over the ruins makes all good again.
    base.load("tpcb", 2, 1).expect("loads");
    assert!(tpcb.check(&mut control).expect("checks").is_ok());
}

#[test]
fn a_table_of_somebody_else_is_never_dropped() {
    let base = Base::new("somebody");
    let mut control = base.control();
    control
        .execute("create table pgbench_history (precious text)")
        .expect("creates");
    let tpcb = find("tpcb").expect("listed");
    for message in [
        problem(base.load("tpcb", 1, 1)),
        problem(tpcb.clean(&mut control)),
    ] {
        assert!(
            message.contains("pgbench_history exists and is not"),
            "{message}"
        );
        assert!(message.contains("(precious)"), "{message}");
    }
    assert!(!tpcb.check(&mut control).expect("checks").is_ok());
    control
        .execute("select precious from pgbench_history")
        .expect("is still there");
}

#[test]
fn a_stopped_load_says_what_is_left_and_can_be_repeated() {
    let base = Base::new("stopped");
    let tpcb = find("tpcb").expect("listed");
    base.load("tpcb", 1, 1).expect("loads");
    for (phase, jobs, left) in [
        (Phase::Rows, 1, "nothing: the database is as it was"),
        (Phase::Keys, 1, "nothing: the database is as it was"),
        (Phase::Rows, 2, "tables without all their rows or keys"),
        (Phase::Keys, 2, "tables without all their rows or keys"),
    ] {
        let stop = AtomicBool::new(false);
        let progress = StopAt(phase, 33, &stop);
        let error = base
            .load_with("tpcb", 3, jobs, &progress, &stop)
            .expect_err("stopped");
        assert!(error.is_stop(), "{error}");
        assert!(
            error.to_string().contains(left),
            "{phase:?} {jobs}: {error}"
        );
        let mut control = base.control();
        if jobs == 1 {
            // One transaction: the old tables are whole.
            let report = tpcb.check(&mut control).expect("checks");
            assert!(report.is_ok() && report.scale == Some(1), "{report:?}");
            assert!(tpcb.program(&mut control, &base.plan("tpcb", None)).is_ok());
            continue;
        }
        let refused = problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
        assert!(refused.contains("hint: prony load tpcb"), "{refused}");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
    }
    base.load("tpcb", 3, 2).expect("loads");
    let mut control = base.control();
    let report = tpcb.check(&mut control).expect("checks");
    assert!(report.is_ok() && report.scale == Some(3), "{report:?}");
}

#[test]
fn a_stop_reaches_a_statement_that_waits() {
    let base = Base::new("waits");
    base.load("tpcb", 1, 1).expect("loads");
    let mut holder = base.control();
    holder
        .execute("begin; lock table pgbench_tellers in access share mode")
        .expect("locks");
    let stop = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        let loading = scope.spawn(|| base.load_with("tpcb", 1, 1, &(), &stop));
        let mut watcher = base.control();
        let waiting = "select count(*) from pg_locks where not granted and \
             database = (select oid from pg_database where datname = current_database())";
        common::until(|| watcher.query(waiting).expect("locks")[0][0].as_deref() == Some("1"));
        stop.store(true, Ordering::Relaxed);
        loading.join().expect("comes back").expect_err("stopped")
    });
    assert!(error.is_stop(), "{error}");
    assert!(error.to_string().contains("as it was before"), "{error}");
    holder.execute("rollback").expect("ends");
    assert!(
        find("tpcb")
            .expect("listed")
            .check(&mut holder)
            .expect("checks")
            .is_ok()
    );
}

#[test]
fn a_server_killed_in_mid_load_leaves_nothing_half() {
    let server = common::own_server();
    let base = Base::on(&server, "postgres");
    for jobs in [1, 2] {
        let stop = AtomicBool::new(false);
        let killed = AtomicBool::new(false);
        let progress = KillAt {
            rows: 1000,
            server: &server,
            killed: &killed,
        };
        let error = base
            .load_with("tpcb", 20, jobs, &progress, &stop)
            .expect_err("killed");
        let message = error.to_string();
        assert!(
            message.contains("sending rows of pgbench_accounts"),
            "{message}"
        );
        assert!(
            message.contains("left behind: ") && message.contains("server's log"),
            "{message}"
        );
        server.restart().expect("restarts");
        let tpcb = find("tpcb").expect("listed");
        let mut control = base.control();
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
        problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
        drop(control);
        base.load("tpcb", 1, jobs).expect("loads after all");
        assert!(tpcb.check(&mut base.control()).expect("checks").is_ok());
    }
}

/// The server's own error for a full disk, raised while a key is built.
const FULL_DISK: &str = "\
create function full_disk() returns event_trigger language plpgsql as $$ begin \
 raise exception 'could not extend file \"base/1/2\": No space left on device' \
 using errcode = '53100'; end $$; \
create event trigger full_disk on ddl_command_end when tag in ('ALTER TABLE') \
 execute function full_disk()";

#[test]
fn a_full_disk_is_named_and_leaves_nothing_half() {
    let base = Base::new("full_disk");
    let mut control = base.control();
    control.execute(FULL_DISK).expect("a trigger");
    for (jobs, left) in [
        (1, "the database is as it was"),
        (3, "without all their rows or keys"),
    ] {
        let message = problem(base.load("tpcb", 2, jobs));
        assert!(message.contains("building the primary keys: "), "{message}");
        assert!(message.contains("No space left on device"), "{message}");
        assert!(message.contains(left), "{message}");
        assert!(
            message.contains("free space on the server's disk: scale 2 takes"),
            "{message}"
        );
        let tpcb = find("tpcb").expect("listed");
        assert!(!tpcb.check(&mut control).expect("checks").is_ok());
        problem(tpcb.program(&mut control, &base.plan("tpcb", None)));
    }
    control
        .execute("drop event trigger full_disk")
        .expect("drops");
    base.load("tpcb", 2, 3).expect("loads after all");
    assert!(
        find("tpcb")
            .expect("listed")
            .check(&mut control)
            .expect("checks")
            .is_ok()
    );
}
