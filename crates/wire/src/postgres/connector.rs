//! Opening a connection: the log-in and its TLS together, so that an owner only moves bytes.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end a [`Session`] with its [`Channel`].
//! Must never: do I/O or read a clock. The blocking control connection and the loop both use it.

use super::handshake::{Handshake, Step};
use super::session::{CancelKey, Login, Session};
use crate::ConnectError;
use crate::channel::Channel;
use crate::log_in::{TlsParts, TlsUse};
use rustls::ClientConnection;
use std::sync::Arc;

/// How far it is.
#[derive(Debug)]
pub enum Progress {
    /// Send what was appended, come back with what arrives.
    More,
    /// Logged in, or the request to cancel is written. Send what was appended.
    Done(Box<Session>, Channel),
}

/// One connection being opened.
pub struct Connector {
    handshake: Handshake,
    channel: Channel,
    tls: Option<TlsParts>,
    direct: bool,
    /// TLS stands and the log-in knows it.
    established: bool,
}

impl Connector {
    /// Prepares a log-in. `tls` may be absent only for [`TlsUse::No`].
    pub fn new(login: Arc<Login>, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector::with(Handshake::new(login, tls_use), tls_use, tls)
    }

    /// Prepares a request to cancel what the session with this key does. When it is done, close the
    /// connection; the server answers nothing.
    pub fn cancel(key: CancelKey, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector::with(Handshake::cancel(key, tls_use), tls_use, tls)
    }

    fn with(handshake: Handshake, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        let direct = tls_use == TlsUse::Direct;
        Connector {
            handshake,
            channel: Channel::Plain,
            tls,
            direct,
            established: false,
        }
    }

    /// The first bytes; call it once, when the socket is connected.
    ///
    /// # Errors
    /// The log-in cannot be expressed in the protocol, or lacks its TLS configuration.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<Progress, ConnectError> {
        let step = self.handshake.start(to_socket)?;
        self.follow(step, to_socket)
    }

    /// Takes bytes from the socket, split anywhere.
    ///
    /// # Errors
    /// The connection is of no further use. `to_socket` may hold a last word for the server (a TLS
    /// alert), worth one attempt to send.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<Progress, ConnectError> {
        if self.channel.is_plain() {
            let step = self.handshake.receive(from_socket, to_socket)?;
            return self.follow(step, to_socket);
        }
        let mut plain = Vec::new();
        self.channel
            .receive(from_socket, &mut plain, to_socket)
            .map_err(ConnectError::Tls)?;
        if self.channel.is_handshaking() {
            return Ok(Progress::More);
        }
        let mut reply = Vec::new();
        let mut step = Step::NeedBytes;
        if !self.established {
            self.established = true;
            if self.direct && self.channel.alpn() != Some(b"postgresql") {
                return Err(ConnectError::AlpnMissing);
            }
            step = self
                .handshake
                .tls_established(self.channel.server_end_point(), &mut reply)?;
        }
        if !plain.is_empty() && matches!(step, Step::NeedBytes) {
            step = self.handshake.receive(&plain, &mut reply)?;
        }
        self.channel.send(&reply, to_socket);
        self.follow(step, to_socket)
    }

    /// Whether the conversation has come to run over TLS, or tried to: libpq's fallbacks depend on
    /// it.
    pub fn over_tls(&self) -> bool {
        !self.channel.is_plain()
    }

    fn follow(&mut self, step: Step, to_socket: &mut Vec<u8>) -> Result<Progress, ConnectError> {
        match step {
            Step::NeedBytes => Ok(Progress::More),
            Step::StartTls => {
                let (config, name) = self.tls.take().ok_or(ConnectError::TlsNotConfigured)?;
                let connection = ClientConnection::new(config, name).map_err(ConnectError::Tls)?;
                self.channel = Channel::tls(connection, to_socket);
                Ok(Progress::More)
            }
            Step::Done(session) => Ok(Progress::Done(
                Box::new(session),
                std::mem::take(&mut self.channel),
            )),
        }
    }
}
