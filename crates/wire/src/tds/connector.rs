//! Opens a connection: PRELOGIN, TLS, LOGIN7.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end a [`Session`] with its [`Channel`]. Must
//! never: do I/O or read a clock; send a password in the clear unless the caller chose no TLS or the
//! server has none and the caller allows that.
//! Source: MS-TDS 3.2.5 (client details), 2.2.6.5 (encryption).

use super::login7::put_login;
use super::packet::{PACKET_SIZE_INITIAL, Unframer, kind, put_message};
use super::prelogin::{self, Encryption};
use super::session::{Authentication, Login, Route};
use crate::login::{LoginProgress, SessionFlags, TlsParts, TlsUse};
use crate::{Channel, ConnectError, Session, Violation};
use rustls::{ClientConnection, ProtocolVersion};
use std::sync::Arc;

mod answer;

/// Most bytes that a server may send during the login, in messages or a TLS handshake.
const LOGIN_BYTES_MAX: usize = 1024 * 1024;
/// How often a login may be routed to another server. Once is usual.
const HOPS_MAX: u8 = 5;
/// The protocol in ALPN when TLS comes first.
const ALPN: &[u8] = b"tds/8.0";
/// Largest packet under TLS, as Microsoft's clients limit it: a TLS record holds 16 KB.
const TLS_PACKET_SIZE_MAX: u16 = 16_383;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// TLS comes first and is being set up.
    StrictTls,
    /// PRELOGIN is sent.
    Prelogin,
    /// TLS is being set up inside packets.
    TlsInPackets,
    /// LOGIN7 is sent.
    Login,
    /// The login has ended, well or not.
    Ended,
}

/// One connection being opened.
///
/// [`TlsUse`] selects what drivers call `encrypt`: `No` offers none, and sends the password readable;
/// `IfOffered` is `optional`: TLS for the login if the server has it, for everything if the server
/// requires it; `Must` is `mandatory`; `Direct` is `strict`, TDS 8.0. For `IfOffered` and `Must` give a
/// TLS configuration limited to TLS 1.2, the newest that can be set up inside packets; for `Direct` one
/// with the ALPN protocol `tds/8.0`.
pub struct Connector {
    login: Arc<Login>,
    tls_use: TlsUse,
    tls: Option<TlsParts>,
    channel: Channel,
    phase: Phase,
    unframer: Unframer,
    /// Payload of the current message.
    message: Vec<u8>,
    /// TLS is only for the login.
    login_only: bool,
    hops: u8,
    received_bytes: usize,
}

impl Connector {
    /// Prepares a login. `tls` may be absent only for [`TlsUse::No`].
    pub fn new(login: Arc<Login>, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector {
            login,
            tls_use,
            tls,
            channel: Channel::Plain,
            phase: Phase::Prelogin,
            unframer: Unframer::default(),
            message: Vec::new(),
            login_only: false,
            hops: 0,
            received_bytes: 0,
        }
    }

    /// Continues a login that another server routed here, so that servers cannot route it in a circle.
    #[must_use]
    pub fn after_route(mut self, route: &Route) -> Connector {
        self.hops = route.hops;
        self
    }

    /// Whether the connection uses TLS, or tried to.
    pub fn over_tls(&self) -> bool {
        !self.channel.is_plain() || self.login_only
    }

    /// Appends the first bytes; call it once, when the socket is connected.
    ///
    /// # Errors
    /// The login cannot be expressed in the protocol, or its kind is not supported.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<LoginProgress, ConnectError> {
        match self.login.authentication {
            Authentication::Sql => {}
            Authentication::Windows => return Err(ConnectError::SqlLoginNeeded("Windows")),
            Authentication::Entra => {
                return Err(ConnectError::SqlLoginNeeded("Microsoft Entra"));
            }
        }
        // Names that are too long are found before anything is sent.
        put_login(&self.login, false, &mut Vec::new())?;
        if self.tls_use == TlsUse::Direct {
            self.start_tls(to_socket)?;
            self.phase = Phase::StrictTls;
        } else {
            self.put_prelogin(to_socket);
        }
        Ok(LoginProgress::More)
    }

    fn put_prelogin(&mut self, out: &mut Vec<u8>) {
        let encryption = match self.tls_use {
            // In strict mode the server ignores it; drivers send this.
            TlsUse::No | TlsUse::Direct => Encryption::NotSupported,
            TlsUse::IfOffered => Encryption::Off,
            TlsUse::Must => Encryption::On,
        };
        put_message(out, kind::PRELOGIN, PACKET_SIZE_INITIAL, |out| {
            prelogin::put_request(encryption, out);
        });
    }

    fn start_tls(&mut self, to_socket: &mut Vec<u8>) -> Result<(), ConnectError> {
        let (config, name) = self.tls.take().ok_or(ConnectError::TlsNotConfigured)?;
        let connection = ClientConnection::new(config, name).map_err(ConnectError::Tls)?;
        self.channel = Channel::tls(connection, to_socket);
        Ok(())
    }

    /// Feeds bytes from the socket, split anywhere.
    ///
    /// # Errors
    /// The connection can no longer be used. `to_socket` may hold a last message for the server (a TLS
    /// alert); try once to send it. [`ConnectError::Routed`] names another server to connect to.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        self.received_bytes += from_socket.len();
        if self.received_bytes > LOGIN_BYTES_MAX {
            return Err(not_tds("its login does not end"));
        }
        if self.phase == Phase::TlsInPackets {
            return self.receive_handshake(from_socket, to_socket);
        }
        let mut plain = Vec::new();
        self.channel
            .receive(from_socket, &mut plain, to_socket)
            .map_err(ConnectError::Tls)?;
        if self.phase == Phase::StrictTls {
            if self.channel.is_handshaking() {
                return Ok(LoginProgress::More);
            }
            if self.channel.alpn().is_some_and(|name| name != ALPN) {
                return Err(ConnectError::AlpnMissing);
            }
            let mut request = Vec::new();
            self.put_prelogin(&mut request);
            self.channel.send(&request, to_socket);
            self.phase = Phase::Prelogin;
        }
        let mut input = &plain[..];
        while let Some(piece) = self
            .unframer
            .next(&mut input, &[kind::REPLY])
            .map_err(bad)?
        {
            self.message.extend_from_slice(piece.payload);
            if !piece.ends_message {
                continue;
            }
            let message = std::mem::take(&mut self.message);
            match self.phase {
                Phase::Prelogin => {
                    self.handle_prelogin(&message, to_socket)?;
                    if !input.is_empty() {
                        return Err(match self.phase {
                            Phase::TlsInPackets => ConnectError::BytesBeforeTls,
                            _ => not_tds("it answers before it is asked"),
                        });
                    }
                }
                Phase::Login => return self.handle_login(&message, input),
                _ => return Err(not_tds("it sends a message after the login")),
            }
        }
        Ok(LoginProgress::More)
    }

    /// Feeds packets that carry a TLS handshake.
    fn receive_handshake(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        let mut input = from_socket;
        let kinds = [kind::PRELOGIN, kind::REPLY];
        while let Some(piece) = self.unframer.next(&mut input, &kinds).map_err(bad)? {
            let (mut plain, mut answer) = (Vec::new(), Vec::new());
            let received = self.channel.receive(piece.payload, &mut plain, &mut answer);
            if !answer.is_empty() {
                put_message(to_socket, kind::PRELOGIN, PACKET_SIZE_INITIAL, |out| {
                    out.append(&mut answer);
                });
            }
            received.map_err(ConnectError::Tls)?;
            if self.channel.is_handshaking() {
                continue;
            }
            if !plain.is_empty() || !input.is_empty() || !piece.ends_message {
                return Err(not_tds("it sends more than a TLS handshake"));
            }
            if self.channel.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
                return Err(ConnectError::TlsVersionInPackets);
            }
            self.send_login(to_socket)?;
            return Ok(LoginProgress::More);
        }
        Ok(LoginProgress::More)
    }

    /// Handles the server's PRELOGIN: sets up TLS, or logs in.
    fn handle_prelogin(
        &mut self,
        message: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let answer = prelogin::parse(message).ok_or_else(|| not_tds("invalid PRELOGIN"))?;
        if answer.mars {
            return Err(not_tds("it enables MARS, which was not requested"));
        }
        if answer.federated {
            return Err(ConnectError::SqlLoginNeeded("Microsoft Entra"));
        }
        use Encryption::{NotSupported, Off, On, Required};
        match (self.tls_use, answer.encryption) {
            (TlsUse::Direct, _) => return self.send_login(to_socket),
            (TlsUse::No, On | Required) => return Err(ConnectError::TlsRequired),
            // Off: the server has TLS, and would use it if the client had it.
            (TlsUse::No, Off | NotSupported) | (TlsUse::IfOffered, NotSupported) => {
                return self.send_login(to_socket);
            }
            (TlsUse::Must, Off | NotSupported) => return Err(ConnectError::TlsUnsupported),
            (TlsUse::IfOffered, Off) => self.login_only = true,
            (TlsUse::IfOffered | TlsUse::Must, On | Required) => {}
        }
        let mut hello = Vec::new();
        self.start_tls(&mut hello)?;
        put_message(to_socket, kind::PRELOGIN, PACKET_SIZE_INITIAL, |out| {
            out.append(&mut hello);
        });
        self.phase = Phase::TlsInPackets;
        Ok(())
    }

    fn send_login(&mut self, to_socket: &mut Vec<u8>) -> Result<(), ConnectError> {
        let mut login = (*self.login).clone();
        if !self.channel.is_plain() && !self.login_only {
            login.packet_size = login.packet_size.min(TLS_PACKET_SIZE_MAX);
        }
        let mut request = Vec::new();
        let mut put = Ok(());
        put_message(&mut request, kind::LOGIN7, PACKET_SIZE_INITIAL, |out| {
            put = put_login(&login, self.tls_use == TlsUse::Direct, out);
        });
        put?;
        self.channel.send(&request, to_socket);
        if self.login_only {
            // The reply comes without TLS, and so does everything after it.
            self.channel = Channel::Plain;
        }
        self.phase = Phase::Login;
        Ok(())
    }

    /// Handles the reply to LOGIN7; `rest` arrived after it.
    fn handle_login(&mut self, message: &[u8], rest: &[u8]) -> Result<LoginProgress, ConnectError> {
        self.phase = Phase::Ended;
        let answer = answer::parse(message)?;
        if let Some((host, port)) = answer.route {
            if self.hops >= HOPS_MAX {
                return Err(ConnectError::RoutedTooOften(HOPS_MAX));
            }
            let hops = self.hops + 1;
            return Err(ConnectError::Routed(Box::new(Route { host, port, hops })));
        }
        let is_plain = self.channel.is_plain() && !self.login_only;
        let session = Session {
            cancel: crate::CancelKey {
                backend_pid: self.unframer.spid().into(),
                secret: Box::default(),
            },
            parameters: answer.parameters,
            notices: answer.notices,
            password_in_clear: is_plain,
            flags: SessionFlags {
                packet_size: answer.packet_size,
                collation: answer.collation,
                ..SessionFlags::default()
            },
            trailing_bytes: rest.to_vec(),
        };
        let channel = std::mem::take(&mut self.channel);
        Ok(LoginProgress::Done(Box::new(session), channel))
    }
}

fn not_tds(why: &str) -> ConnectError {
    ConnectError::NotTds(why.to_owned())
}

fn bad(violation: Violation) -> ConnectError {
    ConnectError::NotTds(match violation {
        Violation::Unexpected(kind) => format!("its first byte is {kind:#04x}"),
        other => other.to_string(),
    })
}
