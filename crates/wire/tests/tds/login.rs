//! Logins: encryption, routing, packet sizes, refusals.

use crate::support::*;
use prony_assertions::TextAssertions;
use prony_tds_server::{Config, Connection, Encryption, TestCertificate};
use prony_wire::login::{LoginProgress, TlsUse};
use prony_wire::tds::{Connector, Login, Route};
use prony_wire::{ConnectError, ErrorClass, PendingLogin, Secret};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use std::sync::Arc;

const STEPS: [usize; 6] = [1, 2, 7, 64, 1000, 100_000];

/// Logs in with this use of TLS. Returns whether the login was encrypted, and whether everything after it
/// was.
fn outcome(tls_use: TlsUse, encryption: Encryption, step: usize) -> Result<(bool, bool), String> {
    let config = config(encryption);
    let received = received(&config);
    let link = log_in(config, account(), tls_use, step).map_err(|error| error.to_string())?;
    let login_over_tls = received.lock().unwrap().logins[0].is_over_tls;
    assert_eq!(link.session.password_in_clear, !login_over_tls);
    Ok((login_over_tls, !link.channel.is_plain()))
}

#[test]
fn every_mode_of_encryption_works_at_every_split() {
    use Encryption::{Available, NotSupported, Required};
    let none = Err("server does not support SSL, but SSL was required".to_owned());
    let required = Err("the server requires TLS, which is turned off".to_owned());
    for (tls_use, encryption, wanted) in [
        (TlsUse::No, NotSupported, Ok((false, false))),
        (TlsUse::No, Available, Ok((false, false))),
        (TlsUse::No, Required, required),
        (TlsUse::IfOffered, NotSupported, Ok((false, false))),
        (TlsUse::IfOffered, Available, Ok((true, false))),
        (TlsUse::IfOffered, Required, Ok((true, true))),
        (TlsUse::Must, NotSupported, none),
        (TlsUse::Must, Available, Ok((true, true))),
        (TlsUse::Must, Required, Ok((true, true))),
        (TlsUse::Direct, Encryption::Strict, Ok((true, true))),
    ] {
        for step in STEPS {
            let actual = outcome(tls_use, encryption, step);
            assert_eq!(actual, wanted, "{tls_use:?} {encryption:?} {step}");
        }
    }
}

#[test]
fn the_server_reads_every_field_of_the_login() {
    let config = config(Encryption::Available);
    let received = received(&config);
    let login = Login {
        password: Secret::new("Sesame1"),
        read_only: true,
        packet_size: 16_000,
        ..account()
    };
    let link = log_in(config, login, TlsUse::Must, 100_000).unwrap();
    let record = received.lock().unwrap().logins[0].clone();
    assert_eq!((record.version, record.packet_size), (0x7400_0004, 16_000));
    assert_eq!(
        (record.flags, record.client_pid),
        ([0xe0, 3, 0x20, 0x10], 4711)
    );
    assert_eq!(
        [
            &record.host,
            &record.user,
            &record.password,
            &record.application,
            &record.server,
            &record.library,
            &record.language,
            &record.database,
        ],
        [
            "client", "sa", "Sesame1", "prony", HOST, "Prony", "", "tpcc"
        ]
    );
    assert_eq!(record.features, [(10, Vec::new())]);
    let session = link.session;
    let parameters = &session.parameters;
    assert_eq!(parameters.get("server_version"), Some("16.0.4135"));
    assert_eq!(
        parameters.get("server_program"),
        Some("Microsoft SQL Server")
    );
    assert_eq!(parameters.get("database"), Some("tpcc"));
    assert_eq!(session.cancel.backend_pid, 51);
    assert!(session.notices.is_empty() && session.trailing_bytes.is_empty());
}

#[test]
fn packets_under_tls_are_limited() {
    for (tls_use, wanted) in [
        (TlsUse::No, 32_767),
        (TlsUse::IfOffered, 32_767),
        (TlsUse::Must, 16_383),
    ] {
        let config = config(Encryption::Available);
        let received = received(&config);
        let login = Login {
            packet_size: 32_767,
            ..account()
        };
        log_in(config, login, tls_use, 100_000).unwrap();
        assert_eq!(received.lock().unwrap().logins[0].packet_size, wanted);
    }
}

#[test]
fn a_wrong_password_is_the_servers_error() {
    for (tls_use, encryption) in [
        (TlsUse::No, Encryption::NotSupported),
        (TlsUse::IfOffered, Encryption::Available),
        (TlsUse::Must, Encryption::Available),
        (TlsUse::Direct, Encryption::Strict),
    ] {
        let login = Login {
            password: Secret::new("wrong"),
            ..account()
        };
        let error = log_in(config(encryption), login, tls_use, 3).err().unwrap();
        let server = error.server_error().unwrap();
        assert_eq!((server.number, server.code()), (18456, "28000"));
        assert_eq!((server.level, server.state), (14, 1));
        assert_eq!(server.classification.class, ErrorClass::Other);
        assert_eq!(server.message, "Login failed for user 'sa'.");
    }
}

#[test]
fn a_route_is_reported_and_the_number_of_routes_is_limited() {
    let mut route = None::<Route>;
    for hops in 1..=6 {
        let config = Config {
            route: Some((format!("node{hops}\\inst"), 11_000 + hops)),
            ..config(Encryption::Available)
        };
        let mut connector =
            Connector::new(Arc::new(account()), TlsUse::Must, tls_parts(TlsUse::Must));
        if let Some(route) = &route {
            connector = connector.after_route(route);
        }
        let error = run_login(config, connector, 5).err().unwrap();
        match error {
            ConnectError::Routed(next) if hops <= 5 => {
                assert_eq!(next.host, format!("node{hops}\\inst"));
                assert_eq!((next.port, u16::from(next.hops)), (11_000 + hops, hops));
                route = Some(*next);
            }
            ConnectError::RoutedTooOften(5) if hops == 6 => {}
            other => panic!("hop {hops}: {other}"),
        }
    }
}

/// Servers announce it and accept passwords, as Microsoft's mock server does.
#[test]
fn a_server_that_announces_entra_decides_about_passwords_itself() {
    let entra = || Config {
        announces_entra: true,
        ..config(Encryption::Available)
    };
    log_in(entra(), account(), TlsUse::Must, 1).unwrap();
    let login = Login {
        password: Secret::new("wrong"),
        ..account()
    };
    let error = log_in(entra(), login, TlsUse::Must, 1).err().unwrap();
    let text = error.to_string();
    for part in ["Login failed for user 'sa'", "Microsoft Entra"] {
        text.assert_contains(part);
    }
}

#[test]
fn a_server_older_than_2012_is_refused_with_its_version() {
    let log_in = |program_version| {
        let config = Config {
            program_version,
            ..config(Encryption::Available)
        };
        log_in(config, account(), TlsUse::Must, 100_000)
    };
    log_in([11, 0]).unwrap();
    // SQL Server 2008 R2.
    let error = log_in([10, 50]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "the server is SQL Server 10.50.4135: Prony needs SQL Server 2012 (version 11.0) or later"
    );
}

#[test]
fn mars_is_refused() {
    let config = Config {
        mars: 1,
        ..config(Encryption::Available)
    };
    let error = log_in(config, account(), TlsUse::Must, 1).err().unwrap();
    error.to_string().assert_contains("MARS");
}

#[test]
fn names_that_are_too_long_are_refused_before_anything_is_sent() {
    let login = Login {
        database: "x".repeat(129),
        ..account()
    };
    let mut connector = Connector::new(Arc::new(login), TlsUse::No, None);
    let mut out = Vec::new();
    let error = connector.start(&mut out).unwrap_err();
    assert!(matches!(error, ConnectError::NameTooLong("database name")));
    assert!(out.is_empty());
    let longest = Login {
        database: "x".repeat(128),
        application: "y".repeat(128),
        host: "z".repeat(128),
        ..account()
    };
    log_in(
        config(Encryption::Available),
        longest,
        TlsUse::IfOffered,
        50,
    )
    .unwrap();
}

#[test]
fn an_untrusted_certificate_and_tls_1_3_inside_packets_are_refused() {
    let untrusted = TestCertificate::new(HOST);
    let name = || ServerName::try_from(HOST).unwrap();
    for (trusted, versions, wanted) in [
        (&untrusted, &TLS12, "certificate verify failed"),
        (&*CERTIFICATE, &TLS13, "TLS 1.3 needs TDS 8.0"),
    ] {
        let config = Config {
            tls: Some(CERTIFICATE.server_config(&[&TLS12, &TLS13], false)),
            ..config(Encryption::Available)
        };
        let received = received(&config);
        let client = prony_tds_server::client_config(Some(trusted), &[versions], false);
        let tls = Some((client, name()));
        let connector = Connector::new(Arc::new(account()), TlsUse::Must, tls);
        let error = run_login(config, connector, 100_000).err().unwrap();
        error.to_string().assert_contains(wanted);
        assert!(
            received.lock().unwrap().logins.is_empty(),
            "a password was sent"
        );
    }
}

/// Feeds bytes after the client has sent PRELOGIN; returns the error.
fn refusal(bytes: &[u8]) -> String {
    let connector = Connector::new(Arc::new(account()), TlsUse::No, None);
    let mut pending = PendingLogin::Tds(Box::new(connector));
    let mut out = Vec::new();
    pending.start(&mut out).unwrap();
    match pending.receive(bytes, &mut out) {
        Err(error) => error.to_string(),
        Ok(LoginProgress::More | LoginProgress::Computing) => "waits".to_owned(),
        Ok(LoginProgress::Done(..)) => "done".to_owned(),
    }
}

#[test]
fn a_server_of_another_protocol_is_reported() {
    let refused = "the server at this address does not speak the TDS protocol: ";
    for (bytes, wanted) in [
        (&b"HTTP/1.1 400"[..], "its first byte is 0x48"),
        (b"SSH-2.0", "its first byte is 0x53"),
        (b"\x04\x01\0\x09\0\0\x01\0\x00", "invalid PRELOGIN"),
        (b"\x04\x01\0\x09\0\0\x01\0\xff", "invalid PRELOGIN"),
    ] {
        assert_eq!(refusal(bytes), format!("{refused}{wanted}"));
    }
}

#[test]
fn a_login_without_an_end_is_refused() {
    let mut server = Connection::new(Arc::new(config(Encryption::NotSupported)));
    let connector = Connector::new(Arc::new(account()), TlsUse::No, None);
    let mut pending = PendingLogin::Tds(Box::new(connector));
    let mut out = Vec::new();
    pending.start(&mut out).unwrap();
    let answer = server.receive(&out);
    pending.receive(&answer, &mut out).unwrap();
    let endless = prony_tds_server::encode_message(4, &[0xab; 4000], 4096);
    let endless = [&[4, 0], &endless[2..]].concat();
    let mut fed = 0;
    loop {
        fed += endless.len();
        if let Err(error) = pending.receive(&endless, &mut out) {
            error.to_string().assert_contains("does not end");
            break;
        }
        assert!(fed < 2 << 20, "the client accepts bytes without a limit");
    }
}
