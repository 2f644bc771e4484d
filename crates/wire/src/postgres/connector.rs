//! Opens a connection: login and TLS together, so that the caller only transfers bytes.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end a [`crate::Session`] with its
//! [`Channel`]. Must never: do I/O or read a clock. The blocking control connection and the loop both
//! use it.

use super::handshake::{Handshake, HandshakeStep};
use super::login::Login;
use crate::login::{LoginProgress, TlsParts, TlsUse};
use crate::{CancelKey, Channel, ConnectError};
use std::sync::Arc;

pub struct Connector {
    handshake: Handshake,
    channel: Channel,
    tls: Option<TlsParts>,
    /// Whether the connection begins with TLS, so that the server must select the protocol by ALPN.
    is_direct: bool,
    /// Whether TLS is established and the handshake knows it.
    is_established: bool,
}

impl Connector {
    /// Prepares a login. `tls` may be absent only for [`TlsUse::No`].
    pub fn new(login: Arc<Login>, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector::with(Handshake::new(login, tls_use), tls_use, tls)
    }

    /// Prepares a request to cancel the current command of the session with this key. When it is done,
    /// close the connection; the server does not answer.
    pub fn cancel(key: CancelKey, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector::with(Handshake::cancel(key, tls_use), tls_use, tls)
    }

    fn with(handshake: Handshake, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector {
            handshake,
            channel: Channel::Plain,
            tls,
            is_direct: tls_use == TlsUse::Direct,
            is_established: false,
        }
    }

    /// Appends the first bytes. Call it once, when the socket is connected.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<LoginProgress, ConnectError> {
        let step = self.handshake.start(to_socket)?;
        self.follow(step, to_socket)
    }

    /// Feeds bytes from the socket, split anywhere.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        if self.channel.is_plain() {
            let step = self.handshake.receive(from_socket, to_socket)?;
            return self.follow(step, to_socket);
        }
        let mut plain = Vec::new();
        self.channel
            .receive(from_socket, &mut plain, to_socket)
            .map_err(ConnectError::Tls)?;
        if self.channel.is_handshaking() {
            return Ok(LoginProgress::More);
        }
        let mut reply = Vec::new();
        let mut step = HandshakeStep::NeedBytes;
        if !self.is_established {
            self.is_established = true;
            if self.is_direct && self.channel.alpn() != Some(b"postgresql") {
                return Err(ConnectError::AlpnMissing);
            }
            step = self
                .handshake
                .tls_established(self.channel.server_end_point(), &mut reply)?;
        }
        if matches!(step, HandshakeStep::NeedBytes) {
            step = self.handshake.receive(&plain, &mut reply)?;
        }
        self.channel.send(&reply, to_socket);
        self.follow(step, to_socket)
    }

    /// Whether the connection uses TLS, or tried to: libpq's fallbacks depend on it.
    pub fn uses_tls(&self) -> bool {
        !self.channel.is_plain()
    }

    /// Does what the handshake's step requires of its owner.
    fn follow(
        &mut self,
        step: HandshakeStep,
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        match step {
            HandshakeStep::NeedBytes => Ok(LoginProgress::More),
            HandshakeStep::Computing => Ok(LoginProgress::Computing),
            HandshakeStep::StartTls => {
                self.channel = Channel::start_tls(self.tls.take(), to_socket)?;
                Ok(LoginProgress::More)
            }
            HandshakeStep::Done(session) => Ok(LoginProgress::Done(
                Box::new(session),
                std::mem::take(&mut self.channel),
            )),
        }
    }
}
