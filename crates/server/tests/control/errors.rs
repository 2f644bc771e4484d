//! Tests of cancelled statements, terminated sessions and crashing servers.

use crate::support::{Server, connect_error};
use prony_assertions::TextAssertions;
use prony_server::control::{Control, Error};
use prony_test_servers::TestControl;
use std::time::Duration;

#[test]
fn a_statement_can_be_cancelled_from_a_second_thread() {
    let server = Server::shared();
    for mode in ["disable", "require"] {
        let mut control = Control::connect(&server.tcp("postgres", "localhost", mode)).unwrap();
        let canceller = control.canceller();
        let canceller_thread = std::thread::spawn({
            let canceller = canceller.clone();
            let observer = server.unix("postgres");
            let pid = control.backend_pid();
            move || {
                let mut observer = Control::connect(&observer).unwrap();
                let sql = format!(
                    "SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'"
                );
                while observer.query_value(&sql).unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                canceller.cancel().unwrap();
            }
        });
        let error = control.execute("SELECT pg_sleep(600)").unwrap_err();
        assert_eq!(error.sqlstate(), Some("57014"));
        canceller_thread.join().unwrap();
        assert_eq!(
            control.query_value("SELECT 1").unwrap().as_deref(),
            Some("1")
        );
    }
}

#[test]
fn a_session_that_the_server_terminates_is_lost() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let mut session = Control::connect(&server.unix("postgres")).unwrap();
    let terminate_sql = format!(
        "SELECT pg_terminate_backend({}, 60000)",
        session.backend_pid()
    );
    control.run(terminate_sql);
    let error = session.execute("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
    assert!(error.is_lost());
    assert!(matches!(session.execute("SELECT 1"), Err(Error::Dead)));

    let mut session = Control::connect(&server.unix("postgres")).unwrap();
    session.run("CREATE TEMP TABLE t (n int)");
    let terminate_sql = format!(
        "SELECT pg_terminate_backend({}, 60000)",
        session.backend_pid()
    );
    let mut copy = session.copy_in("COPY t FROM STDIN").unwrap();
    control.run(terminate_sql);
    let rows = b"3\n".repeat(100_000);
    let error = (0..1000)
        .find_map(|_| copy.write(&rows).err())
        .expect("an error");
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
}

#[test]
fn a_statement_fails_when_the_server_crashes() {
    let server = Server::start(&[]);
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let pid = control.backend_pid();
    let waiting_thread = std::thread::spawn(move || control.execute("SELECT pg_sleep(600)"));
    let mut observer = Control::connect(&server.unix("postgres")).unwrap();
    let sql =
        format!("SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'");
    while observer.query_value(&sql).unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.embedded.kill();
    let error = waiting_thread.join().unwrap().unwrap_err();
    assert!(error.is_lost(), "{error}");
    let error = connect_error(Control::connect(&server.unix("postgres")));
    error.assert_contains("Is the server running locally");
}
