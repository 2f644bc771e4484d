//! Tests of selecting a server: unreachable addresses and target_session_attrs.

use crate::support::{Server, connect_error, postgres_options};
use prony_assertions::TextAssertions;
use prony_server::control::Control;
use prony_server::{Address, SessionAttrs};

#[test]
fn an_unknown_database_and_an_unreachable_server_are_reported() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    target.database = "nowhere".into();
    let error = connect_error(Control::connect(&target));
    error.assert_contains("FATAL:  database \"nowhere\" does not exist\n\tCreate it");

    let mut target = server.tcp("postgres", "127.0.0.1", "prefer");
    let unused = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    target.endpoints[0].address = Address::Tcp(unused);
    target.endpoints[0].port = unused.port();
    let error = connect_error(Control::connect(&target));
    let expected = format!(
        "connection to server at \"127.0.0.1\", port {} failed: Connection refused\n\tIs the \
         server running on that host and accepting TCP/IP connections?",
        unused.port()
    );
    assert_eq!(error, expected);

    // The second address is tried if the first is unreachable.
    let reachable = server
        .tcp("postgres", "localhost", "prefer")
        .endpoints
        .remove(0);
    target.endpoints.push(reachable);
    assert_eq!(
        Control::connect(&target).unwrap().endpoint().host,
        "localhost"
    );

    let absent = std::env::temp_dir().join(format!("prony-absent-{}", std::process::id()));
    target.endpoints[0].address = Address::Unix(absent.clone());
    target.endpoints.truncate(1);
    let error = connect_error(Control::connect(&target));
    assert_eq!(
        error,
        format!(
            "connection to server on socket \"{}\" failed: No such file or directory\n\t\
             Is the server running locally and accepting connections on that socket?",
            absent.display()
        )
    );
}

#[test]
fn session_attributes_select_the_server() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    for session_attrs in [
        SessionAttrs::ReadWrite,
        SessionAttrs::Primary,
        SessionAttrs::PreferStandby,
    ] {
        postgres_options(&mut target).session_attrs = session_attrs;
        Control::connect(&target).unwrap();
    }
    postgres_options(&mut target).session_attrs = SessionAttrs::Standby;
    let error = connect_error(Control::connect(&target));
    error.assert_contains("server is not in hot standby mode");
    postgres_options(&mut target).session_attrs = SessionAttrs::ReadOnly;
    connect_error(Control::connect(&target)).assert_contains("session is not read-only");
    postgres_options(&mut target)
        .parameters
        .push(("default_transaction_read_only".into(), "on".into()));
    Control::connect(&target).unwrap();
    postgres_options(&mut target).session_attrs = SessionAttrs::ReadWrite;
    connect_error(Control::connect(&target)).assert_contains("session is read-only");
}
