//! A client and a server of the protocol, connected in memory.

pub use crate::exchanges::{changed, changes, read_results, rows};
use prony_tds_server::{
    Column, Config, Connection, Datum, Encryption, Outcome, Parameter, Received, Request,
    TestCertificate, Type,
};
use prony_wire::login::{LoginProgress, TlsParts, TlsUse};
use prony_wire::tds::{Connector, Login};
use prony_wire::{
    Channel, ConnectError, Exchange, FeedStatus, PendingLogin, QueryMode, Secret, Session,
    Statement, Value, Violation,
};
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
        tls: Some(CERTIFICATE.server_config(versions, strict)),
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
                LoginProgress::More | LoginProgress::Computing => {}
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

/// A client and a server after a login without TLS.
pub struct Talk {
    pub server: Connection,
    pub exchange: Exchange,
    pub received: Arc<Mutex<Received>>,
    pub round_trips: usize,
    /// The server's bytes arrive in pieces of this length.
    pub step: usize,
}

impl Talk {
    /// Logs in with packets of 512 bytes, so that most messages are split.
    pub fn new(mode: QueryMode, config: Config) -> Talk {
        let received = received(&config);
        let login = Login {
            packet_size: 512,
            ..account()
        };
        let link = log_in(config, login, TlsUse::No, 100_000).unwrap();
        let mut exchange = Exchange::tds(mode);
        exchange.reset();
        exchange.set_session_flags(link.session.flags);
        Talk {
            server: link.server,
            exchange,
            received,
            round_trips: 0,
            step: 100_000,
        }
    }

    /// Logs in to a server without TLS that replies to statements by `handler`.
    pub fn with(
        mode: QueryMode,
        handler: impl Fn(&str, &[Parameter]) -> Vec<Outcome> + Send + Sync + 'static,
    ) -> Talk {
        Talk::new(mode, Config::new(handler))
    }

    /// Sends the request and takes the whole reply.
    pub fn run(&mut self) -> Result<(), Violation> {
        self.round_trips = 0;
        loop {
            self.round_trips += 1;
            let answer = self.server.receive(self.exchange.outgoing());
            match self.take(&answer)? {
                FeedStatus::Send => {}
                FeedStatus::Complete => return Ok(()),
                FeedStatus::More => panic!("the reply has no end"),
            }
        }
    }

    /// Feeds bytes of the server.
    pub fn take(&mut self, bytes: &[u8]) -> Result<FeedStatus, Violation> {
        let mut status = FeedStatus::More;
        for piece in bytes.chunks(self.step) {
            assert_eq!(status, FeedStatus::More, "complete before the end");
            status = self.exchange.feed(piece)?;
        }
        Ok(status)
    }

    pub fn batch(&mut self, batch: &[(&Statement, &[Value<'_>])]) {
        self.exchange.request(batch.iter().copied());
        self.run().unwrap();
    }

    pub fn exec(&mut self, statement: &Statement, values: &[Value<'_>]) {
        self.batch(&[(statement, values)]);
    }

    pub fn query(&mut self, sql: &str) {
        self.exchange.query(sql);
        self.run().unwrap();
    }

    pub fn error(&self) -> Option<u32> {
        self.exchange.error().map(|error| error.number)
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.received.lock().unwrap().requests)
    }

    pub fn rows(&self) -> Vec<(usize, Vec<String>)> {
        rows(&self.exchange)
    }
}

/// A result with one integer column, which holds these numbers.
pub fn ints(numbers: &[i64]) -> Outcome {
    let rows = numbers.iter().map(|number| vec![Datum::Int(*number)]);
    Outcome::Rows(vec![Column::new("n", Type::Int(4))], rows.collect())
}
