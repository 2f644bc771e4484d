//! Logs in, for all protocols.
//!
//! In: bytes from a socket. Out: bytes for the socket, and at the end a [`Session`] with its [`Channel`].
//! Must never: expose the protocol to the loop. Each protocol is a variant of [`PendingLogin`].

use crate::{Channel, ConnectError, Session, mysql, postgres, tds};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;

/// The TLS configuration, and the name that the certificate must carry.
pub type TlsParts = (Arc<ClientConfig>, ServerName<'static>);

/// Whether, and how, a login uses TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsUse {
    /// Does not use TLS.
    No,
    /// Requests TLS, and continues without it if the server has none.
    IfOffered,
    /// Requests TLS, and fails if the server has none.
    Must,
    /// Starts with TLS, without a request (PostgreSQL 17 and later, SQL Server 2022 and later).
    Direct,
}

/// A login that is not complete.
pub enum PendingLogin {
    Postgres(Box<postgres::Connector>),
    /// MySQL or MariaDB.
    Mysql(Box<mysql::Connector>),
    /// SQL Server.
    Tds(Box<tds::Connector>),
}

/// Settings negotiated at login that later requests depend on ([`crate::Exchange::set_session_flags`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionFlags {
    /// MySQL: results come without EOF packets.
    pub(crate) deprecate_eof: bool,
    /// MySQL: the status flags of the session.
    pub(crate) status: u16,
    /// SQL Server: the size of packets in bytes.
    pub(crate) packet_size: u16,
    /// SQL Server: the collation of the session, which determines the encoding of `varchar`.
    pub(crate) collation: [u8; 5],
}

/// What the caller of a login does next.
#[derive(Debug)]
pub enum LoginProgress {
    /// Send the appended bytes, then feed the bytes that arrive.
    More,
    /// Send the appended bytes, then feed no bytes: a computation of many steps continues. Look at time limits and signals
    /// in between.
    Computing,
    /// The client is logged in, or its request to cancel is complete. Send the appended bytes. From now on
    /// all bytes pass through the channel.
    Done(Box<Session>, Channel),
}

impl PendingLogin {
    /// Appends the first bytes, if the client sends first. Call it once, when the socket is connected.
    ///
    /// # Errors
    /// The login cannot be expressed in the protocol.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<LoginProgress, ConnectError> {
        match self {
            PendingLogin::Postgres(connector) => connector.start(to_socket),
            PendingLogin::Mysql(connector) => connector.start(),
            PendingLogin::Tds(connector) => connector.start(to_socket),
        }
    }

    /// Feeds bytes from the socket, split anywhere.
    ///
    /// # Errors
    /// The connection can no longer be used. `to_socket` may hold a last message for the server.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        match self {
            PendingLogin::Postgres(connector) => connector.receive(from_socket, to_socket),
            PendingLogin::Mysql(connector) => connector.receive(from_socket, to_socket),
            PendingLogin::Tds(connector) => connector.receive(from_socket, to_socket),
        }
    }

    /// Whether the server has not yet answered with the TLS handshake with which TDS 8.0 begins.
    pub fn awaits_strict_tls(&self) -> bool {
        matches!(self, PendingLogin::Tds(connector) if connector.awaits_strict_tls())
    }

    /// Whether the connection uses TLS, used it for the login, or has begun to set it up.
    pub fn uses_tls(&self) -> bool {
        match self {
            PendingLogin::Postgres(connector) => connector.uses_tls(),
            PendingLogin::Mysql(connector) => connector.uses_tls(),
            PendingLogin::Tds(connector) => connector.uses_tls(),
        }
    }
}
