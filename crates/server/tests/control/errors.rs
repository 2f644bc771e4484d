//! Cancelled statements, terminated sessions and crashing servers.

use crate::support::{Server, text};
use prony_server::control::{Control, Error};
use std::time::Duration;

#[test]
fn cancel_from_another_thread() {
    let server = Server::shared();
    for mode in ["disable", "require"] {
        let mut control = Control::connect(&server.tcp("postgres", "localhost", mode)).unwrap();
        let canceller = control.canceller();
        let other = std::thread::spawn({
            let canceller = canceller.clone();
            let watch = server.unix("postgres");
            let pid = control.backend_pid();
            move || {
                let mut watch = Control::connect(&watch).unwrap();
                let sql = format!(
                    "SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'"
                );
                while watch.query_value(&sql).unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(10));
                }
                canceller.cancel().unwrap();
            }
        });
        let error = control.execute("SELECT pg_sleep(600)").unwrap_err();
        assert_eq!(error.sqlstate(), Some("57014"));
        other.join().unwrap();
        assert_eq!(
            control.query_value("SELECT 1").unwrap().as_deref(),
            Some("1")
        );
    }
}

#[test]
fn a_session_ended_by_the_server() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let mut other = Control::connect(&server.unix("postgres")).unwrap();
    let end = format!(
        "SELECT pg_terminate_backend({}, 60000)",
        other.backend_pid()
    );
    control.execute(&end).unwrap();
    let error = other.execute("SELECT 1").unwrap_err();
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
    assert!(error.is_lost());
    assert!(matches!(other.execute("SELECT 1"), Err(Error::Dead)));

    let mut other = Control::connect(&server.unix("postgres")).unwrap();
    other.execute("CREATE TEMP TABLE t (n int)").unwrap();
    let end = format!(
        "SELECT pg_terminate_backend({}, 60000)",
        other.backend_pid()
    );
    let mut copy = other.copy_in("COPY t FROM STDIN").unwrap();
    control.execute(&end).unwrap();
    let more = b"3\n".repeat(100_000);
    let error = (0..1000)
        .find_map(|_| copy.write(&more).err())
        .expect("an error");
    assert_eq!(error.sqlstate(), Some("57P01"), "{error}");
}

#[test]
fn a_server_that_crashes_under_a_statement() {
    let server = Server::start(&[]);
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let pid = control.backend_pid();
    let waiting = std::thread::spawn(move || control.execute("SELECT pg_sleep(600)"));
    let mut watch = Control::connect(&server.unix("postgres")).unwrap();
    let sql =
        format!("SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'PgSleep'");
    while watch.query_value(&sql).unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.embedded.kill();
    let error = waiting.join().unwrap().unwrap_err();
    assert!(error.is_lost(), "{error}");
    let refused = text(Control::connect(&server.unix("postgres")));
    assert!(
        refused.contains("Is the server running locally"),
        "{refused}"
    );
}
