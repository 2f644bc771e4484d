//! Recorded logins, and the bytes that are sent before TLS.

use crate::common::cuts;
use crate::support::*;
use prony_assertions::TextAssertions;
use prony_wire::ConnectError;
use prony_wire::login::TlsUse;
use prony_wire::mysql::Connector;
use std::sync::Arc;

const REFUSED: &[u8] = recorded!("refused");

fn hex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

#[test]
fn recorded_logins_succeed_at_every_split() {
    // The responses were computed separately from the recordings, by Python or by MariaDB's own
    // client.
    let native = "896ca77962e1887bb28a6d1553582ff46049dd65";
    let sha2 = "d476a8a259d9650373219241468560f11fb5ac16f5477141fbdf7c1e5b6bb4f7";
    let ed25519 = "7380bbafea0ee43579b9aff3540b99083216dc418ea81d6c4b4f81cd4f1923a8\
                   1e555a7e76b6102cb3af560571a4f1df376b783fb85fd2f0676a79bd18118000";
    for (user, recording, answer, version, sent_packets) in [
        ("native", NATIVE, native, "10.11.19-MariaDB", 1),
        ("rec", SHA2_FAST, sha2, "8.0.31", 1),
        ("edward", ED25519, ed25519, "10.11.19-MariaDB", 2),
    ] {
        for pieces in cuts(recording) {
            let (sent, result) = replay(login(user), &pieces);
            let session = result.unwrap().expect("a session");
            let reported = session.parameters.get("server_version").unwrap();
            reported.assert_starts_with(version);
            assert!(session.cancel.backend_pid > 0 && session.trailing_bytes.is_empty());
            let sent = packets(&sent);
            assert_eq!(sent.len(), sent_packets);
            assert_eq!(sent[0].0, 1);
            let last = sent.last().unwrap();
            assert!(contains(last.1, &hex(answer)), "{user}");
            assert!(contains(sent[0].1, format!("{user}\0").as_bytes()));
        }
    }
}

#[test]
fn a_recorded_rsa_login_succeeds_at_every_split() {
    for pieces in cuts(SHA2_RSA) {
        let (sent, result) = replay(login("rec"), &pieces);
        assert!(result.unwrap().is_some());
        let sent = packets(&sent);
        // The client sends the login, the request for the key, and the password encrypted with the key, whose
        // bytes differ each time.
        assert_eq!(sent.len(), 3);
        assert_eq!((sent[1].0, sent[1].1), (3, &[2][..]));
        assert_eq!((sent[2].0, sent[2].1.len()), (5, 256));
    }
    let mut without_key_request = login("rec");
    without_key_request.options.get_server_public_key = false;
    let (sent, result) = replay(without_key_request, &[SHA2_RSA]);
    let error = result.unwrap_err();
    assert!(
        matches!(error, ConnectError::SecureTransportNeeded(_)),
        "{error}"
    );
    assert!(sent.is_empty() || packets(&sent).len() == 1);
    assert!(!contains(&sent, b"sesame"));
}

#[test]
fn a_recorded_refusal_is_reported_at_every_split() {
    for pieces in cuts(REFUSED) {
        let error = replay(login("native"), &pieces).1.unwrap_err();
        let error = error.server_error().expect("the server's");
        assert_eq!((error.number, error.code()), (1045, "28000"));
        error.message.assert_starts_with("Access denied");
    }
    // Before the login an error has no SQLSTATE.
    let full = b"\x17\0\0\0\xff\x10\x04Too many connections";
    let error = replay(login("native"), &[full]).1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "ERROR 1040 (HY000): Too many connections"
    );
}

#[test]
fn tls_is_requested_before_credentials_are_sent() {
    let greeting = &NATIVE[..4 + usize::from(NATIVE[0])];
    let receive = |tls_use, bytes: &[u8]| {
        let mut connector = Connector::new(Arc::new(login("native")), tls_use, None);
        let mut out = Vec::new();
        let result = connector.receive(bytes, &mut out);
        (out, result.map(drop).unwrap_err())
    };
    // The first server does not support TLS.
    let (out, error) = receive(TlsUse::Must, greeting);
    assert!(matches!(error, ConnectError::TlsUnsupported) && out.is_empty());
    // The second server supports TLS, so the user name is not sent in clear text.
    let greeting = &SHA2_FAST[..4 + usize::from(SHA2_FAST[0])];
    let (out, error) = receive(TlsUse::IfOffered, greeting);
    assert!(matches!(error, ConnectError::TlsNotConfigured));
    assert_eq!(packets(&out)[0].1.len(), 32);
    let (out, error) = receive(TlsUse::IfOffered, SHA2_FAST);
    assert!(matches!(error, ConnectError::BytesBeforeTls) && out.is_empty());
}
