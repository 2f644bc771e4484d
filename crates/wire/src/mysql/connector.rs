//! Logs in on a connection that is open: greeting, TLS, authentication.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end a [`Session`] with its [`Channel`]. Must
//! never: do I/O or read a clock; if TLS is used, send anything but the TLS request in the clear.
//! Source: MySQL documentation, "Connection Phase".

use super::auth::Plugin;
use super::codec::COM_QUERY;
use super::error;
use super::flags;
use super::greeting::{self, Greeting};
use super::packet::{HEADER, Reader, frame, header, put_bytes, put_number};
use super::reply::parse_ok;
use super::session::Login;
use crate::login::{LoginProgress, SessionFlags, TlsParts, TlsUse};
use crate::{CancelKey, Channel, ConnectError, Parameters, Session};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum number of packets of a login; a normal one takes fewer than ten.
const LOGIN_PACKETS_MAX: u32 = 100;

/// Longest packet of a login that is accepted, in bytes.
const PACKET_BYTES_MAX: usize = 64 * 1024;
/// Longest payload that the client declares to accept, in bytes.
const MAX_ALLOWED_PACKET: u32 = 1 << 30;
/// `utf8mb4_general_ci`, which every server since 5.5 supports.
const UTF8MB4: u8 = 45;
/// Maximum number of times that a server may switch to another plugin; usually it does so once or never.
const PLUGIN_SWITCHES_MAX: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// TLS is being set up.
    Tls,
    Authentication,
    /// The server has accepted the login, and executes the statement that sets the session's state.
    Setup,
}

pub struct Connector {
    login: Arc<Login>,
    tls_use: TlsUse,
    tls: Option<TlsParts>,
    channel: Channel,
    phase: Phase,
    inbox: Vec<u8>,
    greeting: Greeting,
    capabilities: u32,
    plugin: Plugin,
    nonce: Vec<u8>,
    /// Sequence number of the next packet, in either direction.
    sequence: u8,
    plugin_switches: u32,
    /// Packets received from the server so far.
    packets: u32,
}

impl Connector {
    /// Prepares a login. `tls` may be absent only for [`TlsUse::No`].
    pub fn new(login: Arc<Login>, tls_use: TlsUse, tls: Option<TlsParts>) -> Connector {
        Connector {
            login,
            tls_use,
            tls,
            channel: Channel::Plain,
            phase: Phase::Greeting,
            inbox: Vec::new(),
            greeting: Greeting::default(),
            capabilities: 0,
            plugin: Plugin::Native,
            nonce: Vec::new(),
            sequence: 0,
            plugin_switches: 0,
            packets: 0,
        }
    }

    /// Whether the connection uses TLS, or has begun to set it up.
    pub fn uses_tls(&self) -> bool {
        !self.channel.is_plain()
    }

    /// Checks the login. Call it once; it sends nothing, because the server sends first.
    pub fn start(&mut self) -> Result<LoginProgress, ConnectError> {
        let login = &self.login;
        for (name, value) in [("user", &login.user), ("database", &login.database)] {
            if value.contains('\0') {
                return Err(ConnectError::ZeroByte(name.to_owned()));
            }
        }
        Ok(LoginProgress::More)
    }

    /// Feeds bytes from the socket, split anywhere.
    pub fn receive(
        &mut self,
        from_socket: &[u8],
        to_socket: &mut Vec<u8>,
    ) -> Result<LoginProgress, ConnectError> {
        self.channel
            .receive(from_socket, &mut self.inbox, to_socket)
            .map_err(ConnectError::Tls)?;
        let mut reply = Vec::new();
        if self.phase == Phase::Tls {
            if self.channel.is_handshaking() {
                return Ok(LoginProgress::More);
            }
            self.put_login(&mut reply)?;
        }
        while let Some(payload) = self.take_packet()? {
            if self.phase == Phase::Greeting {
                self.handle_greeting(&payload, &mut reply)?;
                if self.phase == Phase::Tls {
                    to_socket.extend_from_slice(&reply);
                    self.channel = Channel::start_tls(self.tls.take(), to_socket)?;
                    return Ok(LoginProgress::More);
                }
            } else if let Some(status) = self.authenticate(&payload, &mut reply)? {
                if self.phase != Phase::Setup && self.needs_setup(status) {
                    self.phase = Phase::Setup;
                    self.put_setup(&mut reply);
                    continue;
                }
                self.channel.send(&reply, to_socket);
                return Ok(LoginProgress::Done(
                    Box::new(self.take_session(status)),
                    std::mem::take(&mut self.channel),
                ));
            }
        }
        self.channel.send(&reply, to_socket);
        Ok(LoginProgress::More)
    }

    /// Whether a statement must set the session's state; `status`: the flags with which the server accepted the login.
    fn needs_setup(&self, status: u16) -> bool {
        let options = &self.login.options;
        status & flags::STATUS_AUTOCOMMIT == 0
            || options.sets_session.load(Ordering::Relaxed)
            || !options.session_settings.is_empty()
    }

    /// Appends the command that sets the session's state.
    fn put_setup(&mut self, out: &mut Vec<u8>) {
        let mut sql = self.login.session_use.set();
        for setting in &self.login.options.session_settings {
            sql.push_str(", ");
            sql.push_str(setting);
        }
        // Each command begins a new sequence.
        self.sequence = 0;
        self.put_packet(&[&[COM_QUERY][..], sql.as_bytes()].concat(), out);
    }

    fn take_session(&mut self, status: u16) -> Session {
        let mut parameters = Parameters::default();
        parameters.set("server_version", &self.greeting.version);
        Session {
            cancel: CancelKey {
                backend_pid: self.greeting.connection_id,
                secret: Box::default(),
            },
            parameters,
            flags: SessionFlags {
                deprecate_eof: self.capabilities & flags::DEPRECATE_EOF != 0,
                status,
                ..SessionFlags::default()
            },
            trailing_bytes: std::mem::take(&mut self.inbox),
            ..Session::default()
        }
    }

    /// Takes the next packet's payload, once it is complete.
    fn take_packet(&mut self) -> Result<Option<Vec<u8>>, ConnectError> {
        let Some((length, sequence)) = header(&self.inbox, 0) else {
            return Ok(None);
        };
        if length > PACKET_BYTES_MAX {
            return Err(not_mysql("it sends a packet of an invalid length"));
        }
        if self.inbox.len() < HEADER + length {
            return Ok(None);
        }
        let payload = self.inbox[HEADER..HEADER + length].to_vec();
        // An error packet may have any sequence number.
        if sequence != self.sequence && payload.first() != Some(&error::ERR) {
            return Err(not_mysql("its packets are out of order"));
        }
        self.packets += 1;
        if self.packets > LOGIN_PACKETS_MAX {
            return Err(not_mysql("its login does not end"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.inbox.drain(..HEADER + length);
        Ok(Some(payload))
    }

    /// Handles the greeting: requests TLS, or answers.
    fn handle_greeting(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectError> {
        if payload.first() == Some(&error::ERR) {
            return Err(error::parse(payload).into());
        }
        self.greeting = greeting::parse(payload).map_err(ConnectError::NotMysql)?;
        self.nonce = std::mem::take(&mut self.greeting.nonce);
        self.capabilities = self.requested_capabilities();
        let has_tls = self.greeting.capabilities & flags::SSL != 0;
        let use_tls = match self.tls_use {
            TlsUse::No => false,
            TlsUse::IfOffered => has_tls,
            TlsUse::Must | TlsUse::Direct if !has_tls => return Err(ConnectError::TlsUnsupported),
            TlsUse::Must | TlsUse::Direct => true,
        };
        if !use_tls {
            return self.put_login(out);
        }
        if !self.inbox.is_empty() {
            return Err(ConnectError::BytesBeforeTls);
        }
        self.capabilities |= flags::SSL;
        let sequence = self.sequence;
        self.sequence = frame(out, sequence, |out| self.put_header(out));
        self.phase = Phase::Tls;
        Ok(())
    }

    /// The capabilities to request, out of those that the server offers.
    fn requested_capabilities(&self) -> u32 {
        let always = flags::LONG_PASSWORD
            | flags::LONG_FLAG
            | flags::PROTOCOL_41
            | flags::TRANSACTIONS
            | flags::SECURE_CONNECTION
            | flags::MULTI_STATEMENTS
            | flags::MULTI_RESULTS
            | flags::PS_MULTI_RESULTS
            | flags::PLUGIN_AUTH
            | flags::PLUGIN_AUTH_LENENC
            | flags::CONNECT_ATTRS
            | flags::DEPRECATE_EOF;
        let mut requested = always & self.greeting.capabilities;
        let login = &self.login;
        for (is_requested, flag) in [
            (!login.database.is_empty(), flags::CONNECT_WITH_DB),
            (login.options.local_infile, flags::LOCAL_FILES),
            (login.options.found_rows, flags::FOUND_ROWS),
        ] {
            if is_requested {
                requested |= flag;
            }
        }
        requested
    }

    /// Appends capabilities, longest packet, character set and reserved bytes: the complete request
    /// for TLS, and the start of the login packet.
    fn put_header(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&MAX_ALLOWED_PACKET.to_le_bytes());
        out.push(UTF8MB4);
        out.extend_from_slice(&[0; 23]);
    }

    /// Appends the login: user, authentication, database.
    fn put_login(&mut self, out: &mut Vec<u8>) -> Result<(), ConnectError> {
        self.phase = Phase::Authentication;
        // If the server's default plugin is not supported, the account may still use another plugin, to
        // which the server then switches.
        self.plugin = match Plugin::from_name(&self.greeting.plugin) {
            None | Some(Plugin::Clear | Plugin::Ed25519) => Plugin::Native,
            Some(plugin) => plugin,
        };
        let over_tls = self.uses_tls();
        let login = self.login.clone();
        let answer = match self.plugin.first_answer(&login, &self.nonce, over_tls) {
            // The account may use a different plugin, which needs no secure connection.
            Err(ConnectError::SecureTransportNeeded(_)) => {
                self.plugin = Plugin::Native;
                self.plugin.first_answer(&login, &self.nonce, over_tls)?
            }
            answer => answer?,
        };
        let has_capability = |flag| self.capabilities & flag != 0;
        let sequence = self.sequence;
        self.sequence = frame(out, sequence, |out| {
            self.put_header(out);
            put_text(out, &login.user);
            if has_capability(flags::PLUGIN_AUTH_LENENC) {
                put_bytes(out, &answer);
            } else {
                // Without that capability no answer is longer than 64 bytes.
                out.push(answer.len() as u8);
                out.extend_from_slice(&answer);
            }
            if has_capability(flags::CONNECT_WITH_DB) {
                put_text(out, &login.database);
            }
            if has_capability(flags::PLUGIN_AUTH) {
                put_text(out, self.plugin.name());
            }
            if has_capability(flags::CONNECT_ATTRS) {
                let mut attributes = Vec::new();
                for (name, value) in &login.options.attributes {
                    put_bytes(&mut attributes, name.as_bytes());
                    put_bytes(&mut attributes, value.as_bytes());
                }
                put_number(out, attributes.len() as u64);
                out.extend_from_slice(&attributes);
            }
        });
        Ok(())
    }

    /// Handles an authentication packet, or the answer to the statement that sets the session's state. Returns the status
    /// flags once the server accepts either.
    fn authenticate(
        &mut self,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<u16>, ConnectError> {
        let over_tls = self.uses_tls();
        match payload {
            [0, ..] => {
                let (_, status) =
                    parse_ok(payload).ok_or_else(|| not_mysql("its OK packet is truncated"))?;
                return Ok(Some(status));
            }
            [error::ERR, ..] => return Err(error::parse(payload).into()),
            // A switch to the plugin that predates the names of plugins.
            [0xfe] => {
                let plugin = "mysql_old_password".to_owned();
                return Err(ConnectError::PluginUnsupported(plugin));
            }
            [0xfe, rest @ ..] => self.switch_plugin(rest, out)?,
            [1, data @ ..] => {
                let answer = self
                    .plugin
                    .next_answer(data, &self.login, &self.nonce, over_tls)?;
                if let Some(bytes) = answer {
                    self.put_packet(&bytes, out);
                }
            }
            [2, ..] => {
                let factor = "multi-factor authentication".to_owned();
                return Err(ConnectError::PluginUnsupported(factor));
            }
            _ => return Err(not_mysql("it sends an unknown authentication packet")),
        }
        Ok(None)
    }

    /// Handles the server's switch to another plugin.
    fn switch_plugin(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectError> {
        self.plugin_switches += 1;
        if self.plugin_switches > PLUGIN_SWITCHES_MAX {
            return Err(not_mysql(
                "it keeps switching to another authentication plugin",
            ));
        }
        let mut reader = Reader(rest);
        let name = String::from_utf8_lossy(reader.zero_terminated_text()).into_owned();
        self.plugin = Plugin::from_name(&name).ok_or(ConnectError::PluginUnsupported(name))?;
        // Some servers end the nonce with a zero, and a random byte may be zero too: each plugin takes as
        // many bytes as it needs.
        self.nonce = reader.0.to_vec();
        let answer = self
            .plugin
            .first_answer(&self.login, &self.nonce, self.uses_tls())?;
        self.put_packet(&answer, out);
        Ok(())
    }

    fn put_packet(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.sequence = frame(out, self.sequence, |out| out.extend_from_slice(payload));
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn not_mysql(reason: &str) -> ConnectError {
    ConnectError::NotMysql(reason.to_owned())
}
