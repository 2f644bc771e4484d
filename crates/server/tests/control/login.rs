//! Tests of logins with every method, over a unix socket, and with `require_auth`.

use crate::support::{Server, connect_error, postgres_options, target, with_password};
use prony_assertions::TextAssertions;
use prony_server::Address;
use prony_server::control::Control;
use prony_test_servers::TestControl;

#[test]
fn login_with_trust_over_a_unix_socket() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    assert!(control.server_version() >= 130_000);
    assert_eq!(control.tls(), None);
    assert!(matches!(control.endpoint().address, Address::Unix(_)));
    let pid = control
        .query_value("SELECT pg_backend_pid()")
        .unwrap()
        .unwrap();
    assert_eq!(pid, control.backend_pid().to_string());
    assert_eq!(control.parameter("application_name"), Some("prony"));
    control.run("SET application_name = 'other'");
    assert_eq!(control.parameter("application_name"), Some("other"));
}

#[test]
fn login_with_every_password_method() {
    let server = Server::shared();
    for user in ["clear_user", "md5_user", "scram_user"] {
        let target = server.unix(user);
        let mut control = Control::connect(&with_password(target.clone(), "sesame")).unwrap();
        let current_user = control.query_value("SELECT current_user").unwrap();
        assert_eq!(current_user.as_deref(), Some(user));

        let error = connect_error(Control::connect(&with_password(target.clone(), "open")));
        let expected =
            format!("failed: FATAL:  password authentication failed for user \"{user}\"");
        error.assert_contains(&expected);
        error.assert_contains("PGPASSWORD");
        error.assert_lacks("open");
        let error = Control::connect(&with_password(target.clone(), "open"))
            .err()
            .unwrap();
        assert_eq!(error.sqlstate(), Some("28P01"));

        let error = connect_error(Control::connect(&target));
        error.assert_contains("fe_sendauth: no password supplied");
    }
}

/// A role or the user may have set them. The sessions of a replaced tool stay as they are.
#[test]
fn sessions_for_own_statements_have_no_time_limits() {
    let server = Server::shared();
    let mut target = server.unix("postgres");
    let limits = [
        ("statement_timeout", "50s"),
        ("idle_in_transaction_session_timeout", "51s"),
    ];
    let options = limits.map(|(name, value)| format!("-c {name}={value}"));
    postgres_options(&mut target)
        .parameters
        .push(("options".to_owned(), options.join(" ")));
    for has_own_statements in [false, true] {
        target.has_own_statements = has_own_statements;
        let mut control = Control::connect(&target).unwrap();
        let facts = prony_server::read_server_facts(&mut control).unwrap();
        for (name, limit) in limits {
            let value = control.query_value(&format!("SHOW {name}")).unwrap();
            let expected = if has_own_statements { "0" } else { limit };
            assert_eq!(value.as_deref(), Some(expected), "{name}");
            // The clients' sessions have it.
            let stored = facts.setting(name).unwrap();
            assert!(stored.starts_with(&limit[..2]), "{name}: {stored}");
        }
    }
}

#[test]
fn a_hint_is_shown_once() {
    let server = Server::shared();
    let target = with_password(server.tcp("scram_user", "localhost", "prefer"), "open");
    // The server refuses the password over TLS and then without TLS, as with libpq.
    let error = connect_error(Control::connect(&target));
    assert_eq!(
        error.matches("password authentication failed").count(),
        2,
        "{error}"
    );
    assert_eq!(error.matches("Check the password").count(), 1, "{error}");
}

#[test]
fn require_auth_prevents_sending_the_password() {
    let server = Server::shared();
    let socket = server.embedded.socket_dir();
    let connect = |user: &str, methods: &str| {
        let (host, port) = (socket.display(), server.embedded.port());
        let conninfo =
            format!("host='{host}' port={port} user={user} dbname=postgres require_auth={methods}");
        Control::connect(&with_password(target(&conninfo), "sesame"))
    };
    connect("scram_user", "scram-sha-256").unwrap();
    connect("md5_user", "!password").unwrap();
    for (user, methods, reason) in [
        (
            "clear_user",
            "scram-sha-256,md5",
            "server requested a cleartext password",
        ),
        ("md5_user", "!md5", "server requested a hashed password"),
        ("scram_user", "md5", "server requested SASL authentication"),
        (
            "postgres",
            "scram-sha-256",
            "server did not complete authentication",
        ),
        (
            "postgres",
            "!none",
            "server did not complete authentication",
        ),
    ] {
        let error = connect_error(connect(user, methods));
        let expected = format!("authentication method requirement \"{methods}\" failed: {reason}");
        error.assert_contains(&expected);
    }
}

#[test]
fn too_many_connections_are_an_error_with_a_hint() {
    let server = Server::start(&[
        ("max_connections", "5"),
        ("superuser_reserved_connections", "1"),
    ]);
    let target = server.tcp("tls_only", "localhost", "require");
    let mut connections = Vec::new();
    let error = loop {
        match Control::connect(&target) {
            Ok(control) => connections.push(control),
            Err(error) => break error,
        }
        assert!(connections.len() < 10);
    };
    assert_eq!(error.sqlstate(), Some("53300"));
    error.to_string().assert_contains("max_connections");
}
