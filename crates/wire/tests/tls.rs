//! Tests of TLS and SCRAM with an in-memory rustls server, whose bytes arrive in pieces of every size.

use prony_assertions::TextAssertions;
use prony_wire::login::{LoginProgress, TlsParts};
use prony_wire::postgres::connector::Connector;
use prony_wire::postgres::{ChannelBinding, ConnectError, Login, Session, TlsUse};
use prony_wire::{Channel, Secret};
use ring::{digest, hmac, pbkdf2};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::sync::Arc;

const READY: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

struct Pair {
    client: TlsParts,
    server: Arc<ServerConfig>,
    certificate: Vec<u8>,
}

fn pair(name: &str, version: &'static rustls::SupportedProtocolVersion) -> Pair {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let generated = rcgen::generate_simple_self_signed(["db.example".into()]).unwrap();
    let certificate = generated.cert.der().clone();
    let key = PrivateKeyDer::try_from(generated.signing_key.serialize_der()).unwrap();
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    Pair {
        client: (Arc::new(client), name),
        server: Arc::new(server),
        certificate: certificate.to_vec(),
    }
}

/// The server: accepts TLS, then performs the server's part of SCRAM-SHA-256(-PLUS).
struct ScramServer {
    tls: Option<ServerConnection>,
    config: Arc<ServerConfig>,
    certificate: Vec<u8>,
    password: &'static str,
    offer: &'static [u8],
    received: Vec<u8>,
    first_bare: String,
    server_first: String,
    header: String,
    /// Follows the protocol, but does not know the password.
    impostor: bool,
}

impl ScramServer {
    fn new(pair: &Pair, offer: &'static [u8]) -> ScramServer {
        ScramServer {
            tls: None,
            config: pair.server.clone(),
            certificate: pair.certificate.clone(),
            password: "secret",
            offer,
            received: Vec::new(),
            first_bare: String::new(),
            server_first: String::new(),
            header: String::new(),
            impostor: false,
        }
    }

    /// Feeds bytes from the client; returns the server's bytes.
    fn receive(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.tls.is_none() {
            assert_eq!(bytes, b"\0\0\0\x08\x04\xd2\x16\x2f");
            self.tls = Some(ServerConnection::new(self.config.clone()).unwrap());
            return b"S".to_vec();
        }
        let mut tls = self.tls.take().unwrap();
        while !bytes.is_empty() {
            tls.read_tls(&mut bytes).unwrap();
            if tls.process_new_packets().is_err() {
                break;
            }
            let _ = tls.reader().read_to_end(&mut self.received);
        }
        while let Some(reply) = self.next_reply() {
            tls.writer().write_all(&reply).unwrap();
        }
        while tls.wants_write() {
            tls.write_tls(&mut out).unwrap();
        }
        self.tls = Some(tls);
        out
    }

    /// The reply to the message that has arrived; `None` if there is none.
    fn next_reply(&mut self) -> Option<Vec<u8>> {
        if self.received.first()? == &0 {
            self.received.clear();
            let mut body = 10_u32.to_be_bytes().to_vec();
            body.extend_from_slice(self.offer);
            return Some(framed(&body));
        }
        let body = self.received.split_off(5);
        self.received.clear();
        if self.first_bare.is_empty() {
            let name = body.split(|&byte| byte == 0).next().unwrap().len();
            let first = String::from_utf8(body[name + 5..].to_vec()).unwrap();
            let bare = first.find("n=,r=").unwrap();
            self.header = first[..bare].into();
            self.first_bare = first[bare..].into();
            let nonce = &self.first_bare[5..];
            self.server_first = format!("r={nonce}serverpart,s=c2FsdHNhbHQ=,i=4096");
            return Some(framed(
                &[&11_u32.to_be_bytes(), self.server_first.as_bytes()].concat(),
            ));
        }
        Some(self.check_proof(&String::from_utf8(body).unwrap()))
    }

    fn check_proof(&self, last: &str) -> Vec<u8> {
        let mut salted = [0; 32];
        let rounds = NonZeroU32::new(4096).unwrap();
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(
            algorithm,
            rounds,
            b"saltsalt",
            self.password.as_bytes(),
            &mut salted,
        );
        let salted_key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
        let (without_proof, proof) = last.rsplit_once(",p=").unwrap();
        let mut binding = self.header.clone().into_bytes();
        if self.header.starts_with('p') {
            binding.extend(digest::digest(&digest::SHA256, &self.certificate).as_ref());
        }
        let expected = format!("c={},r=", base64(&binding));
        assert!(
            without_proof.starts_with(&expected),
            "{without_proof} against {expected}"
        );
        let auth = format!("{},{},{without_proof}", self.first_bare, self.server_first);
        let client_key = hmac::sign(&salted_key, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let signing_key = hmac::Key::new(hmac::HMAC_SHA256, stored_key.as_ref());
        let signature = hmac::sign(&signing_key, auth.as_bytes());
        let expected_proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(a, b)| a ^ b)
            .collect();
        if base64(&expected_proof) != proof && !self.impostor {
            return b"E\0\0\0\x1aSFATAL\0C28P01\0Mwrong\0\0".to_vec();
        }
        let server_key = hmac::sign(&salted_key, b"Server Key");
        let server_key = hmac::Key::new(hmac::HMAC_SHA256, server_key.as_ref());
        let proof_of_server = hmac::sign(&server_key, auth.as_bytes());
        let verifier = format!("v={}", base64(proof_of_server.as_ref()));
        let mut reply = framed(&[&12_u32.to_be_bytes(), verifier.as_bytes()].concat());
        reply.extend_from_slice(READY);
        reply
    }
}

fn base64(bytes: &[u8]) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = vec![b'R'];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

fn secret_login() -> Login {
    let mut login = Login::new("ann", "bank");
    login.password = Some(Secret::new("secret"));
    login
}

/// Runs client and server to the end, the server's bytes split into pieces of `piece` bytes.
fn run_login(
    pair: &Pair,
    server: &mut ScramServer,
    login: Login,
    piece: usize,
) -> Result<(Box<Session>, Channel), ConnectError> {
    let mut connector = Connector::new(Arc::new(login), TlsUse::Must, Some(pair.client.clone()));
    let mut to_server = Vec::new();
    connector.start(&mut to_server)?;
    for _ in 0..100 {
        let to_client = server.receive(&std::mem::take(&mut to_server));
        for part in to_client.chunks(piece) {
            match connector.receive(part, &mut to_server)? {
                LoginProgress::More | LoginProgress::Computing => {}
                LoginProgress::Done(session, channel) => return Ok((session, channel)),
            }
        }
        assert!(!to_server.is_empty(), "both wait for each other");
    }
    panic!("no end");
}

const BOTH: &[u8] = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
const PLAIN: &[u8] = b"SCRAM-SHA-256\0\0";

#[test]
fn scram_plus_succeeds_over_both_tls_versions_in_chunks_of_every_size() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let pair = pair("db.example", version);
        for piece in (1..40).chain([100, 1000, 100_000]) {
            let mut server = ScramServer::new(&pair, BOTH);
            let (_, channel) = run_login(&pair, &mut server, secret_login(), piece).unwrap();
            assert_eq!(server.header, "p=tls-server-end-point,,");
            let hash = digest::digest(&digest::SHA256, &pair.certificate);
            assert_eq!(channel.server_end_point().as_deref(), Some(hash.as_ref()));
            let text = channel.description().unwrap();
            text.assert_starts_with("TLSv1.").assert_contains(" TLS_");
        }
    }
}

#[test]
fn the_client_declares_its_channel_binding_support() {
    let pair = pair("db.example", &rustls::version::TLS13);
    let mut server = ScramServer::new(&pair, PLAIN);
    run_login(&pair, &mut server, secret_login(), 1000).unwrap();
    assert_eq!(
        server.header, "y,,",
        "the client supports it, the server does not offer it"
    );

    let mut disabled = secret_login();
    disabled.channel_binding = ChannelBinding::Disable;
    let mut server = ScramServer::new(&pair, BOTH);
    run_login(&pair, &mut server, disabled, 1000).unwrap();
    assert_eq!(server.header, "n,,");

    let mut required = secret_login();
    required.channel_binding = ChannelBinding::Require;
    let mut server = ScramServer::new(&pair, PLAIN);
    let error = run_login(&pair, &mut server, required, 1000).unwrap_err();
    assert!(matches!(error, ConnectError::ChannelBinding(_)), "{error}");
}

#[test]
fn a_wrong_password_and_an_impostor_have_different_errors() {
    let pair = pair("db.example", &rustls::version::TLS13);
    let mut wrong_password = secret_login();
    wrong_password.password = Some(Secret::new("wrong"));
    let error = run_login(
        &pair,
        &mut ScramServer::new(&pair, BOTH),
        wrong_password,
        1000,
    )
    .unwrap_err();
    let code = error.server_error().map(|error| error.code());
    assert_eq!(code, Some("28P01"));

    let mut server = ScramServer::new(&pair, BOTH);
    server.impostor = true;
    server.password = "a guess";
    let error = run_login(&pair, &mut server, secret_login(), 1000).unwrap_err();
    error
        .to_string()
        .assert_contains("incorrect server signature");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let pair = pair("other.example", &rustls::version::TLS13);
    let error = run_login(
        &pair,
        &mut ScramServer::new(&pair, BOTH),
        secret_login(),
        1000,
    )
    .unwrap_err();
    assert!(matches!(error, ConnectError::Tls(_)), "{error}");
}

#[test]
fn the_channel_carries_large_data_both_ways_and_a_close() {
    let pair = pair("db.example", &rustls::version::TLS13);
    let mut server = ScramServer::new(&pair, BOTH);
    let (_, mut channel) = run_login(&pair, &mut server, secret_login(), 777).unwrap();
    let mut tls = server.tls.take().unwrap();
    tls.set_buffer_limit(None);
    let data: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();

    let mut wire = Vec::new();
    channel.send(&data, &mut wire);
    let (mut unread, mut received) = (&wire[..], Vec::new());
    while !unread.is_empty() {
        tls.read_tls(&mut unread).unwrap();
        tls.process_new_packets().unwrap();
        let _ = tls.reader().read_to_end(&mut received);
    }
    assert_eq!(received, data);

    tls.writer().write_all(&data).unwrap();
    tls.refresh_traffic_keys().unwrap();
    tls.writer().write_all(b"after new keys").unwrap();
    tls.send_close_notify();
    let mut wire = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut wire).unwrap();
    }
    let (mut received, mut answers) = (Vec::new(), Vec::new());
    for part in wire.chunks(16_001) {
        channel.receive(part, &mut received, &mut answers).unwrap();
    }
    assert_eq!(&received[..data.len()], &data[..]);
    assert_eq!(&received[data.len()..], b"after new keys");
    let mut close_alert = Vec::new();
    channel.close(&mut close_alert);
    assert!(!close_alert.is_empty());
}

#[test]
fn direct_tls_requires_alpn() {
    for (offered, is_accepted) in [
        (&b"postgresql"[..], true),
        (b"http/1.1", false),
        (b"", false),
    ] {
        let mut pair = pair("db.example", &rustls::version::TLS13);
        let protocols: Vec<Vec<u8>> =
            if offered.is_empty() { Vec::new() } else { vec![offered.to_vec()] };
        Arc::make_mut(&mut pair.client.0).alpn_protocols = protocols.clone();
        Arc::make_mut(&mut pair.server).alpn_protocols = protocols;
        let mut connector = Connector::new(
            Arc::new(secret_login()),
            TlsUse::Direct,
            Some(pair.client.clone()),
        );
        let mut server = ScramServer::new(&pair, BOTH);
        server.tls = Some(ServerConnection::new(pair.server.clone()).unwrap());
        let mut to_server = Vec::new();
        connector.start(&mut to_server).unwrap();
        assert_eq!(to_server[0], 0x16, "the first byte of a TLS handshake");
        let result = loop {
            let to_client = server.receive(&std::mem::take(&mut to_server));
            match connector.receive(&to_client, &mut to_server) {
                Ok(LoginProgress::More | LoginProgress::Computing) => {}
                Ok(LoginProgress::Done(..)) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        match result {
            Ok(()) => assert!(is_accepted),
            Err(error) => assert!(!is_accepted && matches!(error, ConnectError::AlpnMissing)),
        }
    }
}

#[test]
fn a_connector_takes_little_memory() {
    // Ten thousand connections may be opened at the same time.
    assert!(size_of::<Connector>() <= 512, "{}", size_of::<Connector>());
    assert!(size_of::<Channel>() <= 16);
}

#[test]
fn garbage_instead_of_tls_is_an_error() {
    let pair = pair("db.example", &rustls::version::TLS13);
    let mut connector = Connector::new(
        Arc::new(secret_login()),
        TlsUse::Must,
        Some(pair.client.clone()),
    );
    let mut out = Vec::new();
    connector.start(&mut out).unwrap();
    connector.receive(b"S", &mut out).unwrap();
    let error = connector.receive(&[0x42; 4000], &mut out).unwrap_err();
    assert!(matches!(error, ConnectError::Tls(_)), "{error}");
    assert!(connector.uses_tls());
}
