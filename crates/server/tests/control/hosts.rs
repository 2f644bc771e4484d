//! Which server it is: addresses where nobody is, and what a session must be like.

use crate::support::{Server, text};
use prony_server::control::Control;
use prony_server::{Address, SessionAttrs};

#[test]
fn unknown_database_and_no_server() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    target.database = "nowhere".into();
    let error = text(Control::connect(&target));
    assert!(
        error.contains("FATAL:  database \"nowhere\" does not exist\n\tCreate it"),
        "{error}"
    );

    let mut target = server.tcp("postgres", "127.0.0.1", "prefer");
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    target.endpoints[0].address = Address::Tcp(free);
    target.endpoints[0].port = free.port();
    let error = text(Control::connect(&target));
    let expected = format!(
        "connection to server at \"127.0.0.1\", port {} failed: Connection refused\n\tIs the \
         server running on that host and accepting TCP/IP connections?",
        free.port()
    );
    assert_eq!(error, expected);

    // A second address is tried when the first is dead.
    let alive = server
        .tcp("postgres", "localhost", "prefer")
        .endpoints
        .remove(0);
    target.endpoints.push(alive);
    assert_eq!(
        Control::connect(&target).unwrap().endpoint().host,
        "localhost"
    );

    target.endpoints[0].address = Address::Unix("/nonexistent/.s.PGSQL.1".into());
    target.endpoints.truncate(1);
    let error = text(Control::connect(&target));
    assert_eq!(
        error,
        "connection to server on socket \"/nonexistent/.s.PGSQL.1\" failed: No such file or \
         directory\n\tIs the server running locally and accepting connections on that socket?"
    );
}

#[test]
fn session_attributes_choose_the_server() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    for session in [
        SessionAttrs::ReadWrite,
        SessionAttrs::Primary,
        SessionAttrs::PreferStandby,
    ] {
        target.session = session;
        Control::connect(&target).unwrap();
    }
    target.session = SessionAttrs::Standby;
    let error = text(Control::connect(&target));
    assert!(
        error.contains("server is not in hot standby mode"),
        "{error}"
    );
    target.session = SessionAttrs::ReadOnly;
    assert!(text(Control::connect(&target)).contains("session is not read-only"));
    target
        .parameters
        .push(("default_transaction_read_only".into(), "on".into()));
    Control::connect(&target).unwrap();
    target.session = SessionAttrs::ReadWrite;
    assert!(text(Control::connect(&target)).contains("session is read-only"));
}
