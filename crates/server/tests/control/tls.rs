//! Tests of TLS: when it is used, which certificates are trusted, and fallbacks.

use crate::support::{Server, connect_error, create_certificate, postgres_options, with_password};
use prony_assertions::TextAssertions;
use prony_server::control::Control;
use prony_server::{ChannelBinding, SslMode};

#[test]
fn login_with_scram_plus_over_tls_with_a_verified_name() {
    let server = Server::shared();
    let mut target = with_password(
        server.tcp("scram_user", "localhost", "verify-full"),
        "sesame",
    );
    postgres_options(&mut target).channel_binding = ChannelBinding::Require;
    let mut control = Control::connect(&target).unwrap();
    control.tls().unwrap().assert_starts_with("TLSv1.3 TLS_");
    let reported = control
        .query("SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        .unwrap();
    let reported: Vec<&str> = reported[0]
        .iter()
        .map(|value| value.as_deref().unwrap())
        .collect();
    assert_eq!(control.tls().unwrap(), reported.join(" "));

    let error = connect_error(Control::connect(&with_password(target.clone(), "open")));
    error.assert_contains("password authentication failed");
    target.tls.mode = SslMode::Disable;
    target.tls.config = None;
    let error = connect_error(Control::connect(&target));
    error.assert_contains("channel binding is required, but SSL is not in use");
}

#[test]
fn wrong_name_and_unknown_authority_are_refused() {
    let server = Server::shared();
    let error = connect_error(Control::connect(&server.tcp(
        "postgres",
        "example.org",
        "verify-full",
    )));
    error.assert_contains("The certificate is for another host name");
    error.assert_starts_with("connection to server at \"example.org\" (127.0.0.1), port");

    let other_authority = server.embedded.directory().join("other.pem");
    std::fs::write(&other_authority, create_certificate("Somebody else").0).unwrap();
    let mut target = server.tcp_trusting("postgres", "localhost", "verify-ca", &other_authority);
    let error = connect_error(Control::connect(&target));
    error.assert_contains("sslrootcert=FILE");
    let any_name = server.tcp("postgres", "example.org", "verify-ca");
    assert!(Control::connect(&any_name).unwrap().tls().is_some());
    // With `prefer`, a failed TLS handshake leads to a connection without TLS.
    target.tls.mode = SslMode::Prefer;
    let control = Control::connect(&target).unwrap();
    assert_eq!(control.tls(), None);
}

#[test]
fn allow_falls_back_to_tls_and_prefer_to_no_tls() {
    let server = Server::shared();
    let tls = |user, mode| {
        let control = Control::connect(&server.tcp(user, "localhost", mode)).unwrap();
        control.tls().is_some()
    };
    assert!(tls("tls_only", "allow"));
    assert!(tls("tls_only", "prefer"));
    assert!(!tls("plain_only", "allow"));
    assert!(!tls("plain_only", "prefer"));
    assert!(!tls("postgres", "allow"));
    assert!(tls("postgres", "prefer"));
    assert!(!tls("postgres", "disable"));
    let error = connect_error(Control::connect(&server.tcp(
        "tls_only",
        "localhost",
        "disable",
    )));
    error.assert_contains("no encryption");
    error.assert_contains("\n\tThe server's pg_hba.conf");
}

#[test]
fn a_server_without_tls_is_refused_by_require_and_accepted_by_prefer() {
    let server = Server::start(&[("ssl", "off")]);
    let target = server.tcp("postgres", "localhost", "require");
    let error = connect_error(Control::connect(&target));
    error.assert_contains("server does not support SSL, but SSL was required");
    let prefer = server.tcp("postgres", "localhost", "prefer");
    assert_eq!(Control::connect(&prefer).unwrap().tls(), None);
}
