//! Opening a connection: greeting, TLS, authentication.
//!
//! In: bytes from a socket. Out: bytes for it, and at the end a [`Session`] with its [`Channel`].
//! Must never: do I/O or read a clock; send more than a request for TLS in the clear where TLS is
//! to be used.
//! Source: MySQL documentation, "Connection Phase".

use super::auth::{Answer, Plugin};
use super::error;
use super::flags;
use super::greeting::{self, Greeting};
use super::packet::{HEADER, Reader, frame, header, put_bytes, put_number};
use super::session::{Login, Session};
use crate::ConnectError;
use crate::channel::Channel;
use crate::log_in::{TlsParts, TlsUse};
use rustls::ClientConnection;
use std::sync::Arc;

/// Longest packet of a log-in that is believed, in bytes.
const PACKET_MAX: usize = 64 * 1024;
/// Longest payload that we say we take, in bytes.
const MAX_ALLOWED_PACKET: u32 = 1 << 30;
/// `utf8mb4_general_ci`, which every server since 5.5 knows.
const UTF8MB4: u8 = 45;
/// How often a server may ask for another plugin; one is the custom.
const SWITCHES_MAX: u32 = 3;

/// How far it is.
#[derive(Debug)]
pub enum Progress {
    /// Send what was appended, come back with what arrives.
    More,
    /// Logged in. Send what was appended.
    Done(Box<Session>, Channel),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Greeting,
    /// TLS is being set up.
    Tls,
    Authentication,
}

/// One connection being opened.
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
    /// Number of the next packet, whoever sends it.
    sequence: u8,
    switches: u32,
}

impl Connector {
    /// Prepares a log-in. `tls` may be absent only for [`TlsUse::No`].
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
            switches: 0,
        }
    }

    /// Whether the conversation has come to run over TLS, or tried to.
    pub fn over_tls(&self) -> bool {
        !self.channel.is_plain()
    }

    /// The server speaks first, so there is nothing to send; call it once all the same.
    ///
    /// # Errors
    /// The log-in cannot be expressed in the protocol.
    pub fn start(&mut self) -> Result<Progress, ConnectError> {
        let login = &self.login;
        for (name, value) in [("user", &login.user), ("database", &login.database)] {
            if value.contains('\0') {
                return Err(ConnectError::ZeroByte(name.to_owned()));
            }
        }
        Ok(Progress::More)
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
        self.channel
            .receive(from_socket, &mut self.inbox, to_socket)
            .map_err(ConnectError::Tls)?;
        let mut reply = Vec::new();
        if self.phase == Phase::Tls {
            if self.channel.is_handshaking() {
                return Ok(Progress::More);
            }
            self.respond(&mut reply)?;
        }
        while let Some(payload) = self.packet()? {
            if self.phase == Phase::Greeting {
                self.greeted(&payload, &mut reply)?;
                if self.phase == Phase::Tls {
                    to_socket.extend_from_slice(&reply);
                    self.start_tls(to_socket)?;
                    return Ok(Progress::More);
                }
            } else if let Some(status) = self.authenticate(&payload, &mut reply)? {
                self.channel.send(&reply, to_socket);
                return Ok(Progress::Done(
                    Box::new(self.session(status)),
                    std::mem::take(&mut self.channel),
                ));
            }
        }
        self.channel.send(&reply, to_socket);
        Ok(Progress::More)
    }

    fn session(&mut self, status: u16) -> Session {
        Session {
            version: std::mem::take(&mut self.greeting.version),
            connection_id: self.greeting.connection_id,
            deprecate_eof: self.capabilities & flags::DEPRECATE_EOF != 0,
            status,
            leftover: std::mem::take(&mut self.inbox),
        }
    }

    /// The next packet, if it is all there.
    fn packet(&mut self) -> Result<Option<Vec<u8>>, ConnectError> {
        let Some((length, sequence)) = header(&self.inbox, 0) else {
            return Ok(None);
        };
        if length > PACKET_MAX {
            return Err(not_mysql("it sends a packet of an impossible length"));
        }
        if self.inbox.len() < HEADER + length {
            return Ok(None);
        }
        let payload = self.inbox[HEADER..HEADER + length].to_vec();
        // An error may bear any number.
        if sequence != self.sequence && payload.first() != Some(&error::ERR) {
            return Err(not_mysql("its packets are out of order"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.inbox.drain(..HEADER + length);
        Ok(Some(payload))
    }

    /// The greeting came: asks for TLS, or answers.
    fn greeted(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectError> {
        if payload.first() == Some(&error::ERR) {
            return Err(error::parse(payload).into());
        }
        self.greeting = greeting::parse(payload).map_err(ConnectError::NotMysql)?;
        self.nonce = std::mem::take(&mut self.greeting.nonce);
        self.capabilities = self.wanted();
        let has_tls = self.greeting.capabilities & flags::SSL != 0;
        let use_tls = match self.tls_use {
            TlsUse::No => false,
            TlsUse::IfOffered => has_tls,
            TlsUse::Must | TlsUse::Direct if !has_tls => return Err(ConnectError::TlsUnsupported),
            TlsUse::Must | TlsUse::Direct => true,
        };
        if !use_tls {
            return self.respond(out);
        }
        if !self.inbox.is_empty() {
            return Err(ConnectError::BytesBeforeTls);
        }
        self.capabilities |= flags::SSL;
        let sequence = self.sequence;
        self.sequence = frame(out, sequence, |out| self.put_head(out));
        self.phase = Phase::Tls;
        Ok(())
    }

    fn start_tls(&mut self, to_socket: &mut Vec<u8>) -> Result<(), ConnectError> {
        let (config, name) = self.tls.take().ok_or(ConnectError::TlsNotConfigured)?;
        let connection = ClientConnection::new(config, name).map_err(ConnectError::Tls)?;
        self.channel = Channel::tls(connection, to_socket);
        Ok(())
    }

    /// What is asked of the server, of what it offers.
    fn wanted(&self) -> u32 {
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
        let mut wanted = always & self.greeting.capabilities;
        let login = &self.login;
        for (asked, flag) in [
            (!login.database.is_empty(), flags::CONNECT_WITH_DB),
            (login.local_infile, flags::LOCAL_FILES),
            (login.found_rows, flags::FOUND_ROWS),
        ] {
            if asked {
                wanted |= flag;
            }
        }
        wanted
    }

    /// Capabilities, longest packet, character set, and what is reserved: all that a request for
    /// TLS says, and the head of the answer.
    fn put_head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capabilities.to_le_bytes());
        out.extend_from_slice(&MAX_ALLOWED_PACKET.to_le_bytes());
        out.push(UTF8MB4);
        out.extend_from_slice(&[0; 23]);
    }

    /// Says who logs in.
    fn respond(&mut self, out: &mut Vec<u8>) -> Result<(), ConnectError> {
        self.phase = Phase::Authentication;
        // A server whose own plugin is unknown here asks for the account's.
        self.plugin = match Plugin::named(&self.greeting.plugin) {
            None | Some(Plugin::Clear | Plugin::Ed25519) => Plugin::Native,
            Some(plugin) => plugin,
        };
        let over_tls = self.over_tls();
        let login = self.login.clone();
        let answer = match self.plugin.first(&login, &self.nonce, over_tls) {
            // The account's own plugin may be another, which needs no safe connection.
            Err(ConnectError::SecureTransportNeeded(_)) => {
                self.plugin = Plugin::Native;
                self.plugin.first(&login, &self.nonce, over_tls)?
            }
            answer => answer?,
        };
        let has = |flag| self.capabilities & flag != 0;
        let sequence = self.sequence;
        self.sequence = frame(out, sequence, |out| {
            self.put_head(out);
            put_text(out, &login.user);
            if has(flags::PLUGIN_AUTH_LENENC) {
                put_bytes(out, &answer);
            } else {
                // No answer without that capability is longer than 64 bytes.
                out.push(answer.len() as u8);
                out.extend_from_slice(&answer);
            }
            if has(flags::CONNECT_WITH_DB) {
                put_text(out, &login.database);
            }
            if has(flags::PLUGIN_AUTH) {
                put_text(out, self.plugin.name());
            }
            if has(flags::CONNECT_ATTRS) {
                let mut attributes = Vec::new();
                for (name, value) in &login.attributes {
                    put_bytes(&mut attributes, name.as_bytes());
                    put_bytes(&mut attributes, value.as_bytes());
                }
                put_number(out, attributes.len() as u64);
                out.extend_from_slice(&attributes);
            }
        });
        Ok(())
    }

    /// A packet about the authentication; status flags once the server lets us in.
    fn authenticate(
        &mut self,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<u16>, ConnectError> {
        let over_tls = self.over_tls();
        match payload {
            [0, rest @ ..] => {
                let mut reader = Reader(rest);
                let status = (reader.number().and_then(|_| reader.number()))
                    .and_then(|_| reader.u16())
                    .ok_or_else(|| not_mysql("its consent is cut off"))?;
                return Ok(Some(status));
            }
            [0xff, ..] => return Err(error::parse(payload).into()),
            [0xfe] => {
                let old = "mysql_old_password".to_owned();
                return Err(ConnectError::PluginUnsupported(old));
            }
            [0xfe, rest @ ..] => self.switch(rest, out)?,
            [1, data @ ..] => {
                let answer = self.plugin.more(data, &self.login, &self.nonce, over_tls)?;
                if let Answer::Send(bytes) = answer {
                    self.put(&bytes, out);
                }
            }
            [2, ..] => {
                let factor = "multi-factor authentication".to_owned();
                return Err(ConnectError::PluginUnsupported(factor));
            }
            _ => return Err(not_mysql("its authentication goes on in an unknown way")),
        }
        Ok(None)
    }

    /// The server asks for another plugin.
    fn switch(&mut self, rest: &[u8], out: &mut Vec<u8>) -> Result<(), ConnectError> {
        self.switches += 1;
        if self.switches > SWITCHES_MAX {
            return Err(not_mysql(
                "it asks for one way of authentication after another",
            ));
        }
        let mut reader = Reader(rest);
        let name = String::from_utf8_lossy(reader.text()).into_owned();
        self.plugin = Plugin::named(&name).ok_or(ConnectError::PluginUnsupported(name))?;
        // Some end it by a zero, some do not, and a random byte may be zero too: each plugin takes as
        // many bytes as it uses.
        self.nonce = reader.0.to_vec();
        let answer = self
            .plugin
            .first(&self.login, &self.nonce, self.over_tls())?;
        self.put(&answer, out);
        Ok(())
    }

    fn put(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        self.sequence = frame(out, self.sequence, |out| out.extend_from_slice(payload));
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

fn not_mysql(why: &str) -> ConnectError {
    ConnectError::NotMysql(why.to_owned())
}
