//! Tests of PostgreSQL's login: conversations recorded from PostgreSQL 15, split in two at every byte, and
//! misbehaving servers.

mod common;

use common::cuts;
use prony_assertions::TextAssertions;
use prony_wire::Secret;
use prony_wire::postgres::{
    AuthMethod, ChannelBinding, ConnectError, Handshake, HandshakeStep, Login, RequireAuth,
    Session, TlsUse, parse_error,
};
use proptest::prelude::*;
use std::sync::Arc;

const TRUST: &[u8] = include_bytes!("recorded/trust.bin");
const NOTICE: &[u8] = include_bytes!("recorded/notice.bin");
const CLEARTEXT: &[u8] = include_bytes!("recorded/cleartext.bin");
const MD5: &[u8] = include_bytes!("recorded/md5.bin");
const UNKNOWN_DATABASE: &[u8] = include_bytes!("recorded/unknown_database.bin");
const REJECTED: &[u8] = include_bytes!("recorded/rejected.bin");
const LATE_ERROR: &[u8] = include_bytes!("recorded/late_error.bin");

fn login(user: &str) -> Login {
    let mut login = Login::new(user, "postgres");
    login
        .parameters
        .push(("application_name".into(), "prony".into()));
    login.password = Some(Secret::new("secret"));
    login
}

/// Feeds `pieces`; returns what was sent after the startup message, and the outcome.
fn replay(login: Login, pieces: &[&[u8]]) -> (Vec<u8>, Result<Option<Session>, ConnectError>) {
    let mut handshake = Handshake::new(Arc::new(login), TlsUse::No);
    let mut out = Vec::new();
    assert!(matches!(
        handshake.start(&mut out),
        Ok(HandshakeStep::NeedBytes)
    ));
    out.clear();
    for (index, piece) in pieces.iter().enumerate() {
        match handshake.receive(piece, &mut out) {
            Ok(HandshakeStep::NeedBytes | HandshakeStep::Computing) => {}
            Ok(HandshakeStep::StartTls) => panic!("TLS was not requested"),
            Ok(HandshakeStep::Done(session)) => {
                assert_eq!(index, pieces.len() - 1, "done before the last piece");
                return (out, Ok(Some(session)));
            }
            Err(error) => return (out, Err(error)),
        }
    }
    (out, Ok(None))
}

#[test]
fn the_startup_message_is_exact() {
    let mut out = Vec::new();
    Handshake::new(Arc::new(login("ann")), TlsUse::No)
        .start(&mut out)
        .unwrap();
    assert_eq!(
        out,
        b"\0\0\0\x3b\0\x03\0\0user\0ann\0database\0postgres\0application_name\0prony\0\0"
    );
    assert_eq!(out.len(), 0x3b);
}

#[test]
fn recorded_logins_succeed_at_every_split() {
    for (user, recording, answer) in [
        ("postgres", TRUST, &b""[..]),
        ("notice_user", NOTICE, b""),
        ("clear_user", CLEARTEXT, b"p\0\0\0\x0bsecret\0"),
    ] {
        for pieces in cuts(recording) {
            let (sent, result) = replay(login(user), &pieces);
            let session = result.unwrap().expect("a session");
            assert_eq!(sent, answer);
            assert_eq!(session.parameters.get("in_hot_standby"), Some("off"));
            session
                .parameters
                .get("server_version")
                .unwrap()
                .assert_starts_with("15.");
            assert_eq!(session.parameters.get("session_authorization"), Some(user));
            assert!(session.cancel.backend_pid > 0);
            assert_eq!(session.cancel.secret.len(), 4);
            assert!(session.trailing_bytes.is_empty());
            assert_eq!(session.notices.len(), usize::from(user == "notice_user"));
        }
    }
}

#[test]
fn a_recorded_md5_login_succeeds_at_every_split() {
    let salt: [u8; 4] = MD5[9..13].try_into().unwrap();
    let hash = postgres_protocol::authentication::md5_hash(b"md5_user", b"secret", salt);
    for pieces in cuts(MD5) {
        let (sent, result) = replay(login("md5_user"), &pieces);
        assert!(result.unwrap().is_some());
        assert_eq!(&sent[5..sent.len() - 1], hash.as_bytes());
    }
}

#[test]
fn recorded_refusals_are_reported_at_every_split() {
    for (recording, code, expected) in [
        (
            UNKNOWN_DATABASE,
            "3D000",
            "database \"nowhere\" does not exist",
        ),
        (REJECTED, "28000", "pg_hba.conf rejects connection"),
        (LATE_ERROR, "58P01", "nonexistent"),
    ] {
        for pieces in cuts(recording) {
            let (_, result) = replay(login("postgres"), &pieces);
            let error = result.unwrap_err();
            let error = error.server_error().expect("the server's error");
            assert_eq!(error.code(), code);
            assert_eq!(error.severity, "FATAL");
            error.message.assert_contains(expected);
        }
    }
}

#[test]
fn bytes_after_the_login_are_in_the_session() {
    let mut bytes = TRUST.to_vec();
    bytes.extend_from_slice(b"N\0\0\0\x04more");
    let (_, result) = replay(login("postgres"), &[&bytes]);
    assert_eq!(result.unwrap().unwrap().trailing_bytes, b"N\0\0\0\x04more");
}

#[test]
fn a_missing_password_is_reported() {
    for password in [None, Some(Secret::new(""))] {
        let mut login = login("md5_user");
        login.password = password;
        let (sent, result) = replay(login, &[MD5]);
        assert!(matches!(result, Err(ConnectError::PasswordNeeded)));
        assert!(sent.is_empty());
    }
}

#[test]
fn no_password_is_sent_by_an_excluded_method() {
    let scram_only = RequireAuth::OneOf(vec![AuthMethod::ScramSha256]);
    for recording in [MD5, CLEARTEXT, TRUST] {
        let mut login = self::login("x");
        login.require_auth = scram_only.clone();
        let (sent, result) = replay(login, &[recording]);
        assert!(
            matches!(result, Err(ConnectError::AuthExcluded { .. })),
            "{result:?}"
        );
        assert!(sent.is_empty());

        let mut login = self::login("x");
        login.channel_binding = ChannelBinding::Require;
        let (sent, result) = replay(login, &[recording]);
        assert!(
            matches!(result, Err(ConnectError::ChannelBinding(_))),
            "{result:?}"
        );
        assert!(sent.is_empty());
    }
}

fn tls_replay(tls: TlsUse, input: &[u8]) -> Result<HandshakeStep, ConnectError> {
    let mut handshake = Handshake::new(Arc::new(login("x")), tls);
    let mut out = Vec::new();
    handshake.start(&mut out)?;
    assert_eq!(out, b"\0\0\0\x08\x04\xd2\x16\x2f");
    handshake.receive(input, &mut out)
}

#[test]
fn replies_to_an_ssl_request_are_handled() {
    assert!(matches!(
        tls_replay(TlsUse::Must, b"S"),
        Ok(HandshakeStep::StartTls)
    ));
    assert!(matches!(
        tls_replay(TlsUse::Must, b""),
        Ok(HandshakeStep::NeedBytes)
    ));
    assert!(matches!(
        tls_replay(TlsUse::IfOffered, b"N"),
        Ok(HandshakeStep::NeedBytes)
    ));
    assert!(matches!(
        tls_replay(TlsUse::Must, b"N"),
        Err(ConnectError::TlsUnsupported)
    ));
    assert!(matches!(
        tls_replay(TlsUse::Must, b"SR"),
        Err(ConnectError::BytesBeforeTls)
    ));
    assert!(matches!(
        tls_replay(TlsUse::IfOffered, REJECTED),
        Err(ConnectError::TlsRequestFailed)
    ));
    assert!(matches!(
        tls_replay(TlsUse::Must, b"H"),
        Err(ConnectError::Protocol(_))
    ));
}

#[test]
fn malformed_messages_are_errors() {
    let cases: [(&[u8], &str); 9] = [
        (b"HTTP/1.1 400 Bad Request", "got 'H'"),
        (b"R\xff\xff\xff\xff", "4294967295 bytes"),
        (b"R\0\0\0\x03", "3 bytes"),
        (b"R\0\0\0\x06\0\0", "malformed"),
        (b"R\0\0\0\x08\0\0\0\x07", "gss"),
        (b"R\0\0\0\x08\0\0\0\x63", "unknown"),
        (b"R\0\0\0\x0c\0\0\0\x0cv=AA", "out of sequence"),
        (b"S\0\0\0\x08a\0b\0", "unexpected"),
        (b"R\0\0\0\x08\0\0\0\0S\0\0\0\x06ab", "ParameterStatus"),
    ];
    for (bytes, expected) in cases {
        let (_, result) = replay(login("x"), &[bytes]);
        let text = result.expect_err(expected).to_string();
        text.assert_contains(expected);
    }
}

#[test]
fn an_endless_startup_is_an_error() {
    let mut handshake = Handshake::new(Arc::new(login("x")), TlsUse::No);
    let mut out = Vec::new();
    handshake.start(&mut out).unwrap();
    handshake.receive(b"R\0\0\0\x08\0\0\0\0", &mut out).unwrap();
    let batch = b"S\0\0\0\x0caaa\0bbb\0".repeat(1000);
    let result = (0..1000).find_map(|_| handshake.receive(&batch, &mut out).err());
    result
        .expect("an end")
        .to_string()
        .assert_contains("does not end");
}

#[test]
fn a_name_with_a_zero_byte_is_refused() {
    let mut out = Vec::new();
    let mut handshake = Handshake::new(Arc::new(login("x\0database\0y")), TlsUse::No);
    assert!(matches!(
        handshake.start(&mut out),
        Err(ConnectError::ZeroByte(_))
    ));
}

#[test]
fn a_password_is_never_shown() {
    let text = format!("{:?}", login("x"));
    text.assert_lacks("secret");
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = replay(login("x"), &[&bytes]);
        let _ = parse_error(&bytes);
        let _ = tls_replay(TlsUse::IfOffered, &bytes);
    }

    #[test]
    fn damaged_recordings_never_panic(
        which in 0..6_usize, at in 0..500_usize, byte in any::<u8>(), cut in 0..500_usize,
    ) {
        let all = [TRUST, NOTICE, CLEARTEXT, MD5, UNKNOWN_DATABASE, REJECTED];
        let mut bytes = all[which].to_vec();
        let at = at % bytes.len();
        bytes[at] = byte;
        let (first, second) = bytes.split_at(cut % bytes.len());
        let mut handshake = Handshake::new(Arc::new(login("x")), TlsUse::No);
        let mut out = Vec::new();
        handshake.start(&mut out).unwrap();
        if handshake.receive(first, &mut out).is_ok() {
            let _ = handshake.receive(second, &mut out);
        }
    }
}
