//! A client and a server of the protocol, connected in memory.

use prony_tds_server::{Config, Connection, Encryption, Outcome, Received, TestCertificate};
use prony_wire::login::{LoginProgress, TlsParts, TlsUse};
use prony_wire::tds::{Connector, Login};
use prony_wire::{Channel, ConnectError, PendingLogin, Secret, Session};
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use std::sync::{Arc, LazyLock, Mutex};

pub const HOST: &str = "db.example";

pub static CERTIFICATE: LazyLock<TestCertificate> = LazyLock::new(|| TestCertificate::new(HOST));

pub fn account() -> Login {
    Login {
        server: HOST.to_owned(),
        host: "client".to_owned(),
        client_pid: 4711,
        ..Login::new("sa", Secret::new("Sesame1"), "tpcc")
    }
}

/// A server with TLS, which answers nothing.
pub fn config(encryption: Encryption) -> Config {
    let strict = encryption == Encryption::Strict;
    let versions: &[_] = if strict { &[&TLS12, &TLS13] } else { &[&TLS12] };
    Config {
        encryption,
        tls: Some(CERTIFICATE.server(versions, strict)),
        ..Config::new(|_, _| vec![Outcome::Done])
    }
}

pub fn tls_parts(tls_use: TlsUse) -> Option<TlsParts> {
    let strict = tls_use == TlsUse::Direct;
    let versions: &[_] = if strict { &[&TLS12, &TLS13] } else { &[&TLS12] };
    let config = prony_tds_server::client_config(Some(&CERTIFICATE), versions, strict);
    (tls_use != TlsUse::No).then(|| (config, ServerName::try_from(HOST).unwrap()))
}

pub fn received(config: &Config) -> Arc<Mutex<Received>> {
    config.received.clone()
}

/// A client that is logged in, and its server.
#[allow(dead_code)]
pub struct Link {
    pub server: Connection,
    pub session: Box<Session>,
    pub channel: Channel,
}

/// Logs in; the server's bytes arrive in pieces of `step` bytes.
pub fn log_in(
    config: Config,
    login: Login,
    tls_use: TlsUse,
    step: usize,
) -> Result<Link, ConnectError> {
    let connector = Connector::new(Arc::new(login), tls_use, tls_parts(tls_use));
    run_login(config, connector, step)
}

pub fn run_login(config: Config, connector: Connector, step: usize) -> Result<Link, ConnectError> {
    let mut server = Connection::new(Arc::new(config));
    let mut pending = PendingLogin::Tds(Box::new(connector));
    let mut to_server = Vec::new();
    pending.start(&mut to_server)?;
    loop {
        let answer = server.receive(&to_server);
        to_server.clear();
        assert!(
            !answer.is_empty(),
            "the server waits, and so does the client"
        );
        let pieces = answer.chunks(step);
        let count = pieces.len();
        for (index, piece) in pieces.enumerate() {
            match pending.receive(piece, &mut to_server)? {
                LoginProgress::More => {}
                LoginProgress::Done(session, channel) => {
                    assert_eq!(index + 1, count, "done before the end");
                    assert!(to_server.is_empty());
                    return Ok(Link {
                        server,
                        session,
                        channel,
                    });
                }
            }
        }
    }
}
