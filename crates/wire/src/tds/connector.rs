//! Logs in on a connection that is open: PRELOGIN, TLS, LOGIN7.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end a [`Session`] with its [`Channel`]. Must
//! never: do I/O or read a clock; send a password without TLS, unless the caller chose [`TlsUse::No`], or
//! [`TlsUse::IfOffered`] with a server that has no TLS.
//! Source: MS-TDS 3.2.5 (client details), 2.2.6.5 (encryption).

use super::error;
use super::login7::{VERSION_7_4, VERSION_8_0, put_login};
use super::packet::{
    PACKET_SIZE_INITIAL, PACKET_SIZE_MAX, PACKET_SIZE_MIN, Reader, Unframer, packet_type,
    put_message,
};
use super::prelogin::{self, Encryption};
use super::session::{Login, Route};
use super::token::{self, BodyError, EnvChange, parse_env_change, token_type};
use super::utf16;
use crate::login::{LoginProgress, SessionFlags, TlsParts, TlsUse};
use crate::{
    Channel, ConnectError, Exchange, FeedStatus, Parameters, QueryMode, ServerError, Session,
    Violation,
};
use rustls::ProtocolVersion;
use std::sync::Arc;

/// Maximum number of bytes that a server may send during the login, TLS handshake included.
const LOGIN_BYTES_MAX: usize = 1024 * 1024;
/// Maximum number of times that a login may be routed to another server; usually it is routed once or never.
const ROUTES_MAX: u8 = 5;
/// The protocol's name in ALPN, which is used when TLS comes first (TDS 8.0).
const ALPN_NAME: &[u8] = b"tds/8.0";
/// Largest packet size to request under TLS, in bytes; Microsoft's clients have the same limit, because a TLS
/// record holds 16 KB.
const TLS_PACKET_SIZE_MAX: u16 = 16_383;
/// Oldest accepted version: TDS 7.2, of SQL Server 2005. Older versions encode row counts in four bytes.
const VERSION_MIN: u32 = 0x7200_0000;
/// First number of the oldest accepted program version: SQL Server 2012, the first with sequences and `concat`.
const PROGRAM_MIN: u8 = 11;
/// Maximum number of the login's notices that are stored.
const STORED_NOTICES_MAX: usize = 16;
/// Notices that are not stored, because every login has them: "Changed database context", "Changed language
/// setting".
const USUAL_NOTICES: [u32; 2] = [5701, 5703];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The TLS handshake that comes before everything else (TDS 8.0).
    StrictTls,
    /// PRELOGIN was sent; the server's PRELOGIN comes next.
    Prelogin,
    /// The TLS handshake inside PRELOGIN packets.
    TlsInPackets,
    /// LOGIN7 was sent; the reply to it comes next.
    Login,
    /// The statements of [`Login::session_setup`] were sent; the reply to them comes next.
    Setup,
    /// The login has succeeded or failed.
    Ended,
}

/// One connection on which the client logs in.
///
/// [`TlsUse`] is the option that drivers call `encrypt`. `No` uses no TLS, and sends the password readable.
/// `IfOffered` is `optional`: it uses TLS for the login if the server has TLS, and for everything if the
/// server requires that. `Must` is `mandatory`. `Direct` is `strict` (TDS 8.0). For `IfOffered` and `Must`
/// the TLS configuration must be limited to TLS 1.2, the newest version whose handshake fits into packets.
/// For `Direct` it must offer the ALPN protocol `tds/8.0`.
pub struct Connector {
    login: Arc<Login>,
    tls_use: TlsUse,
    tls: Option<TlsParts>,
    channel: Channel,
    phase: Phase,
    unframer: Unframer,
    message: Vec<u8>,
    tls_for_login_only: bool,
    /// Whether the server says that it needs an account of Microsoft Entra.
    announces_entra: bool,
    /// How often the login has been routed.
    routes_followed: u8,
    received_bytes: usize,
    /// Set while the statements of the session's setup run.
    setup: Option<Box<Setup>>,
}

struct Setup {
    /// The logged-in session.
    session: Session,
    /// The request of the statements.
    exchange: Exchange,
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
            tls_for_login_only: false,
            announces_entra: false,
            routes_followed: 0,
            received_bytes: 0,
            setup: None,
        }
    }

    /// Continues a login that another server routed here; the number of routes is limited, so that servers
    /// cannot route a login in a circle.
    #[must_use]
    pub fn after_route(mut self, route: &Route) -> Connector {
        self.routes_followed = route.hops;
        self
    }

    pub fn uses_tls(&self) -> bool {
        !self.channel.is_plain() || self.tls_for_login_only
    }

    /// Whether the server has not yet answered with the TLS handshake with which TDS 8.0 begins.
    pub fn awaits_strict_tls(&self) -> bool {
        self.phase == Phase::StrictTls && self.channel.is_handshaking()
    }

    /// Appends the first bytes; call it once, when the socket is connected.
    pub fn start(&mut self, to_socket: &mut Vec<u8>) -> Result<LoginProgress, ConnectError> {
        // Encode the login once now, so that a name that is too long is reported before anything is sent.
        put_login(&self.login, VERSION_7_4, &mut Vec::new())?;
        if self.tls_use == TlsUse::Direct {
            self.channel = Channel::start_tls(self.tls.take(), to_socket)?;
            self.phase = Phase::StrictTls;
        } else {
            self.put_prelogin(to_socket);
        }
        Ok(LoginProgress::More)
    }

    fn put_prelogin(&mut self, out: &mut Vec<u8>) {
        let encryption = match self.tls_use {
            // With TDS 8.0 the server ignores the value; Microsoft's drivers send this one.
            TlsUse::No | TlsUse::Direct => Encryption::NotSupported,
            TlsUse::IfOffered => Encryption::Off,
            TlsUse::Must => Encryption::On,
        };
        put_message(out, packet_type::PRELOGIN, PACKET_SIZE_INITIAL, |out| {
            prelogin::put_request(encryption, out);
        });
    }

    /// Feeds bytes from the socket, split anywhere; appends bytes to send.
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
            return Err(not_tds_error("its login does not end"));
        }
        if self.phase == Phase::TlsInPackets {
            return self.receive_handshake(from_socket, to_socket);
        }
        let mut plain = Vec::new();
        self.channel
            .receive(from_socket, &mut plain, to_socket)
            .map_err(|error| match (self.phase, error) {
                // The server answers without TLS.
                (Phase::StrictTls, rustls::Error::InvalidMessage(_)) => {
                    ConnectError::StrictTlsRefused { is_silent: false }
                }
                (_, error) => ConnectError::Tls(error),
            })?;
        if self.phase == Phase::Setup {
            return self.receive_setup(&plain);
        }
        if self.phase == Phase::StrictTls {
            if self.channel.is_handshaking() {
                return Ok(LoginProgress::More);
            }
            if self.channel.alpn().is_some_and(|name| name != ALPN_NAME) {
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
            .next(&mut input, &[packet_type::REPLY])
            .map_err(not_tds_error_of)?
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
                            _ => not_tds_error("it answers before it is asked"),
                        });
                    }
                }
                Phase::Login => return self.handle_login(&message, input, to_socket),
                _ => return Err(not_tds_error("it sends a message after the login")),
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
        let packet_types = [packet_type::PRELOGIN, packet_type::REPLY];
        while let Some(piece) = self
            .unframer
            .next(&mut input, &packet_types)
            .map_err(not_tds_error_of)?
        {
            let (mut plain, mut response) = (Vec::new(), Vec::new());
            let received = self
                .channel
                .receive(piece.payload, &mut plain, &mut response);
            if !response.is_empty() {
                put_handshake(&response, to_socket);
            }
            received.map_err(ConnectError::Tls)?;
            if self.channel.is_handshaking() {
                continue;
            }
            if !plain.is_empty() || !input.is_empty() || !piece.ends_message {
                return Err(not_tds_error("it sends more than a TLS handshake"));
            }
            if self.channel.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
                return Err(ConnectError::TlsVersionInPackets);
            }
            self.send_login(to_socket)?;
            return Ok(LoginProgress::More);
        }
        Ok(LoginProgress::More)
    }

    /// Handles the server's PRELOGIN: starts TLS, or sends the login.
    fn handle_prelogin(
        &mut self,
        message: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let server = prelogin::parse(message).ok_or_else(|| not_tds_error("invalid PRELOGIN"))?;
        if server.mars {
            return Err(not_tds_error("it enables MARS, which was not requested"));
        }
        self.announces_entra = server.announces_entra;
        use Encryption::{NotSupported, Off, On, Required};
        match (self.tls_use, server.encryption) {
            (TlsUse::Direct, _) => return self.send_login(to_socket),
            (TlsUse::No, On | Required) => return Err(ConnectError::TlsRequired),
            // `Off` means that the server has TLS, but does not require it.
            (TlsUse::No, Off | NotSupported) | (TlsUse::IfOffered, NotSupported) => {
                return self.send_login(to_socket);
            }
            (TlsUse::Must, Off | NotSupported) => return Err(ConnectError::TlsUnsupported),
            (TlsUse::IfOffered, Off) => self.tls_for_login_only = true,
            (TlsUse::IfOffered | TlsUse::Must, On | Required) => {}
        }
        let mut hello = Vec::new();
        self.channel = Channel::start_tls(self.tls.take(), &mut hello)?;
        put_handshake(&hello, to_socket);
        self.phase = Phase::TlsInPackets;
        Ok(())
    }

    fn send_login(&mut self, to_socket: &mut Vec<u8>) -> Result<(), ConnectError> {
        let mut login = (*self.login).clone();
        if !self.channel.is_plain() && !self.tls_for_login_only {
            login.packet_size = login.packet_size.min(TLS_PACKET_SIZE_MAX);
        }
        let version = match self.tls_use {
            TlsUse::Direct => VERSION_8_0,
            TlsUse::No | TlsUse::IfOffered | TlsUse::Must => VERSION_7_4,
        };
        let mut body = Vec::new();
        put_login(&login, version, &mut body)?;
        let mut request = Vec::new();
        put_message(
            &mut request,
            packet_type::LOGIN7,
            PACKET_SIZE_INITIAL,
            |out| out.append(&mut body),
        );
        self.channel.send(&request, to_socket);
        if self.tls_for_login_only {
            // The server sends the reply to LOGIN7, and everything after it, without TLS.
            self.channel = Channel::Plain;
        }
        self.phase = Phase::Login;
        Ok(())
    }

    /// Handles the reply to LOGIN7; `trailing` are the bytes that arrived after it.
    fn handle_login(
        &mut self,
        message: &[u8],
        trailing: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        self.phase = Phase::Ended;
        let reply = parse_login_reply(message).map_err(|error| self.explain_refusal(error))?;
        if let Some((host, port)) = reply.route {
            if self.routes_followed >= ROUTES_MAX {
                return Err(ConnectError::RoutedTooOften(ROUTES_MAX));
            }
            let hops = self.routes_followed + 1;
            return Err(ConnectError::Routed(Box::new(Route { host, port, hops })));
        }
        let is_plain = self.channel.is_plain() && !self.tls_for_login_only;
        let session = Session {
            cancel: crate::CancelKey {
                backend_pid: self.unframer.spid().into(),
                secret: Box::default(),
            },
            parameters: reply.parameters,
            notices: reply.notices,
            password_in_clear: is_plain,
            flags: SessionFlags {
                packet_size: reply.packet_size,
                collation: reply.collation,
                ..SessionFlags::default()
            },
            trailing_bytes: trailing.to_vec(),
        };
        if !self.login.session_setup.is_empty() {
            return self.start_setup(session, to_socket);
        }
        let channel = std::mem::take(&mut self.channel);
        Ok(LoginProgress::Done(Box::new(session), channel))
    }

    /// Adds the likely reason to a refused login. A server may announce that it needs Microsoft Entra and still
    /// accept passwords, so the announcement alone refuses nothing.
    fn explain_refusal(&self, error: ConnectError) -> ConnectError {
        match error {
            ConnectError::Server(mut error) if self.announces_entra => {
                error.message += " (the server announces that it needs a Microsoft Entra login; Prony logs in to SQL \
                                  Server with a password)";
                ConnectError::Server(error)
            }
            error => error,
        }
    }

    /// Sends the statements of the session's setup.
    fn start_setup(
        &mut self,
        mut session: Session,
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        if !std::mem::take(&mut session.trailing_bytes).is_empty() {
            return Err(not_tds_error("it answers before it is asked"));
        }
        let mut exchange = Exchange::tds(QueryMode::Simple);
        exchange.set_session_flags(session.flags);
        exchange.query(&self.login.session_setup);
        self.channel.send(exchange.outgoing(), to_socket);
        self.setup = Some(Box::new(Setup { session, exchange }));
        self.phase = Phase::Setup;
        Ok(LoginProgress::More)
    }

    /// Feeds the reply to the session's setup.
    fn receive_setup(&mut self, plain: &[u8]) -> Result<LoginProgress, ConnectError> {
        let mut setup = self
            .setup
            .take()
            .ok_or_else(|| not_tds_error("it sends a message after the login"))?;
        let status = setup.exchange.feed(plain).map_err(not_tds_error_of)?;
        if status != FeedStatus::Complete {
            self.setup = Some(setup);
            return Ok(LoginProgress::More);
        }
        self.phase = Phase::Ended;
        if let Some(error) = setup.exchange.error() {
            return Err(error.into());
        }
        let channel = std::mem::take(&mut self.channel);
        Ok(LoginProgress::Done(Box::new(setup.session), channel))
    }
}

/// Appends a packet that carries a TLS handshake.
fn put_handshake(handshake: &[u8], to_socket: &mut Vec<u8>) {
    let packet_type = packet_type::PRELOGIN;
    put_message(to_socket, packet_type, PACKET_SIZE_INITIAL, |out| {
        out.extend_from_slice(handshake);
    });
}

fn not_tds_error(reason: &str) -> ConnectError {
    ConnectError::NotTds(reason.to_owned())
}

fn not_tds_error_of(violation: Violation) -> ConnectError {
    ConnectError::NotTds(match violation {
        Violation::Unexpected(byte) => format!("its first byte is {byte:#04x}"),
        violation => violation.to_string(),
    })
}

/// The content of a reply that accepts the login or routes it.
struct LoginReply {
    /// `server_version`, `server_program` and `database`.
    parameters: Parameters,
    notices: Vec<ServerError>,
    /// Packet size in bytes, headers included.
    packet_size: u16,
    collation: [u8; 5],
    /// Host and port of the server to log in to instead.
    route: Option<(String, u16)>,
}

/// Parses the server's reply to LOGIN7, the whole message. Must never mistake a refused login for an accepted one.
fn parse_login_reply(message: &[u8]) -> Result<LoginReply, ConnectError> {
    let mut reply = LoginReply {
        parameters: Parameters::default(),
        notices: Vec::new(),
        packet_size: PACKET_SIZE_INITIAL as u16,
        collation: [0; 5],
        route: None,
    };
    let (mut is_accepted, mut is_done) = (false, false);
    let mut reader = Reader(message);
    while let Some(token_type) = reader.byte() {
        let body = token::take_body(token_type, &mut reader).map_err(|error| {
            not_tds_error(match error {
                BodyError::UnknownType => "it sends an unknown token during the login",
                BodyError::Incomplete => "its reply to the login is truncated",
            })
        })?;
        match token_type {
            token_type::ERROR => return Err(error::parse(body).into()),
            token_type::INFO => {
                let notice = error::parse(body);
                if reply.notices.len() < STORED_NOTICES_MAX
                    && !USUAL_NOTICES.contains(&notice.number)
                {
                    reply.notices.push(notice);
                }
            }
            token_type::ENV_CHANGE => reply.apply_env_change(body)?,
            token_type::LOGIN_ACK => {
                reply.apply_login_ack(body)?;
                is_accepted = true;
            }
            token_type::SSPI => return Err(ConnectError::SqlLoginNeeded("Windows")),
            token_type::FEDERATED_INFO => {
                return Err(ConnectError::SqlLoginNeeded("Microsoft Entra"));
            }
            token_type::DONE | token_type::DONE_PROC => is_done = true,
            // Such as what a trigger on logins returns.
            _ => {}
        }
    }
    if is_accepted && is_done {
        Ok(reply)
    } else {
        Err(not_tds_error("it does not acknowledge the login"))
    }
}

impl LoginReply {
    fn apply_env_change(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let change = parse_env_change(body).ok_or_else(|| not_tds_error("invalid ENVCHANGE"))?;
        match change {
            EnvChange::Database(name) => {
                self.parameters.set("database", &utf16::display_text(name))
            }
            EnvChange::PacketSize(digits) => {
                let size = utf16::display_text(digits).parse::<u16>().ok();
                let allowed = PACKET_SIZE_MIN..PACKET_SIZE_MAX;
                self.packet_size = size
                    .filter(|size| allowed.contains(&usize::from(*size)))
                    .ok_or_else(|| not_tds_error("it chooses an impossible packet size"))?;
            }
            EnvChange::Collation(collation) => self.collation = collation,
            EnvChange::Routing { host, port } => {
                self.route = Some((utf16::display_text(host), port));
            }
            EnvChange::TransactionBegun(_) | EnvChange::TransactionEnded | EnvChange::Other => {}
        }
        Ok(())
    }

    fn apply_login_ack(&mut self, body: &[u8]) -> Result<(), ConnectError> {
        let ack = LoginAck::parse(body).ok_or_else(|| not_tds_error("invalid LOGINACK"))?;
        if ack.protocol_version < VERSION_MIN && ack.protocol_version != VERSION_8_0 {
            return Err(not_tds_error("SQL Server 2005 or later is needed"));
        }
        let [major, minor, build_high, build_low] = ack.program_version;
        let build = u16::from_be_bytes([build_high, build_low]);
        let version = format!("{major}.{minor}.{build}");
        if major < PROGRAM_MIN {
            return Err(ConnectError::SqlServerTooOld(version));
        }
        self.parameters.set("server_version", &version);
        let program = utf16::display_text(ack.program);
        self.parameters
            .set("server_program", program.trim_end_matches('\0'));
        Ok(())
    }
}

/// The content of LOGINACK.
struct LoginAck<'a> {
    protocol_version: u32,
    /// Name of the server program, in UTF-16.
    program: &'a [u8],
    program_version: [u8; 4],
}

impl<'a> LoginAck<'a> {
    /// Parses LOGINACK; `None` if it is truncated.
    fn parse(body: &'a [u8]) -> Option<LoginAck<'a>> {
        let mut reader = Reader(body);
        // The interface.
        reader.byte()?;
        Some(LoginAck {
            protocol_version: u32::from_be_bytes(reader.array()?),
            program: reader.short_text()?,
            program_version: reader.array()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_procedures_do_not_disturb_a_login() {
        let mut message = vec![
            token_type::LOGIN_ACK,
            12,
            0,
            1,
            0x74,
            0,
            0,
            4,
            1,
            b'M',
            0,
            16,
            0,
            0x10,
            0x27,
        ];
        message.extend([token_type::RETURN_STATUS, 0, 0, 0, 0]);
        message.extend([token_type::TABLE_NAME, 1, 0, 7]);
        message.extend([[token_type::DONE_IN_PROC, 1].as_slice(), &[0; 11]].concat());
        message.extend([[token_type::DONE_PROC].as_slice(), &[0; 12]].concat());
        let reply = parse_login_reply(&message).map_err(|error| error.to_string());
        let parameters = reply.expect("accepted").parameters;
        assert_eq!(parameters.get("server_version"), Some("16.0.4135"));
    }

    #[test]
    fn windows_and_entra_logins_are_refused_with_advice() {
        let text = |message: &[u8]| {
            let error = parse_login_reply(message).err();
            error.expect("refused").to_string()
        };
        let refused = "logins are not supported: use a SQL Server login with a password";
        let sspi = [token_type::SSPI, 1, 0, 0];
        assert_eq!(text(&sspi), format!("Windows {refused}"));
        let federated = [token_type::FEDERATED_INFO, 0, 0, 0, 0];
        assert_eq!(text(&federated), format!("Microsoft Entra {refused}"));
    }
}
