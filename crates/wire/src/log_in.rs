//! Logging in, whatever the protocol.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end what the loop needs of the session.
//! Must never: let the loop see which protocol it is. Each protocol is a variant here.

use crate::{Channel, ConnectError, mysql, postgres};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// What TLS needs: the configuration, and the name that the certificate must bear.
pub type TlsParts = (Arc<ClientConfig>, ServerName<'static>);

/// What one attempt to connect does about TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsUse {
    /// Without.
    No,
    /// Asks, and goes on without when the server has none.
    IfOffered,
    /// Asks, and fails when the server has none.
    Must,
    /// Begins with it, without asking (PostgreSQL 17 and later).
    Direct,
}

/// A log-in under way.
pub enum LogIn {
    /// PostgreSQL.
    Postgres(Box<postgres::Connector>),
    /// MySQL or MariaDB.
    Mysql(Box<mysql::Connector>),
}

/// What a log-in settles for the requests after it ([`crate::Exchange::agree`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// MySQL: results come without EOF packets.
    pub(crate) deprecate_eof: bool,
    /// MySQL: the status flags of the session.
    pub(crate) status: u16,
}

/// How far it is.
#[derive(Debug)]
pub enum Progress {
    /// Send what was appended, come back with what arrives.
    More,
    /// Logged in. Send what was appended.
    Done(LoggedIn),
}

/// A session that is ready for its first statement.
#[derive(Debug)]
pub struct LoggedIn {
    /// What stands between the protocol and the socket from now on.
    pub channel: Channel,
    /// Bytes that came behind the log-in; hardly ever any.
    pub leftover: Vec<u8>,
    /// What kind of session it is.
    pub kind: SessionKind,
    /// For the requests of this session.
    pub agreed: Agreed,
    /// The server's version in its own words, where the log-in tells it.
    pub version: Option<String>,
    /// The server's number for this connection; 0: it told none.
    pub connection_id: u32,
}

/// What kind of session it is, as far as the server has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionKind {
    /// It refuses writes.
    pub read_only: Option<bool>,
    /// The server is a standby.
    pub standby: Option<bool>,
}

impl LogIn {
    /// The first bytes, if this side begins; call it once, when the socket is connected.
    ///
    /// # Errors
    /// The log-in cannot be expressed in the protocol.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<Progress, ConnectError> {
        match self {
            LogIn::Postgres(connector) => connector.start(to_socket).map(postgres_progress),
            LogIn::Mysql(connector) => connector.start().map(mysql_progress),
        }
    }

    /// Takes bytes from the socket, split anywhere.
    ///
    /// # Errors
    /// The connection is of no further use. `to_socket` may hold a last word for the server.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<Progress, ConnectError> {
        match self {
            LogIn::Postgres(connector) => connector
                .receive(from_socket, to_socket)
                .map(postgres_progress),
            LogIn::Mysql(connector) => connector
                .receive(from_socket, to_socket)
                .map(mysql_progress),
        }
    }

    /// Whether the conversation has come to run over TLS, or tried to.
    pub fn over_tls(&self) -> bool {
        match self {
            LogIn::Postgres(connector) => connector.over_tls(),
            LogIn::Mysql(connector) => connector.over_tls(),
        }
    }
}

/// Servers before version 14 do not report what kind of session it is; the control connection has
/// asked them.
fn postgres_progress(progress: postgres::Progress) -> Progress {
    match progress {
        postgres::Progress::More => Progress::More,
        postgres::Progress::Done(session, channel) => {
            let on = |name| session.parameters.get(name).map(|value| value == "on");
            Progress::Done(LoggedIn {
                channel,
                kind: SessionKind {
                    read_only: on("default_transaction_read_only"),
                    standby: on("in_hot_standby"),
                },
                agreed: Agreed::default(),
                version: session.parameters.get("server_version").map(str::to_owned),
                connection_id: session.cancel.backend_pid,
                leftover: session.leftover,
            })
        }
    }
}

/// MySQL's log-in does not tell what kind of session it is.
fn mysql_progress(progress: mysql::Progress) -> Progress {
    match progress {
        mysql::Progress::More => Progress::More,
        mysql::Progress::Done(session, channel) => Progress::Done(LoggedIn {
            channel,
            kind: SessionKind::default(),
            agreed: Agreed {
                deprecate_eof: session.deprecate_eof,
                status: session.status,
            },
            version: Some(session.version),
            connection_id: session.connection_id,
            leftover: session.leftover,
        }),
    }
}
