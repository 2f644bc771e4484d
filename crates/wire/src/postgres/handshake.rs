//! Logs in: from the first byte to the first ReadyForQuery.
//!
//! In: a [`Login`], and the server's bytes, split anywhere. Out: bytes for the server, and a
//! [`Session`]. Must never: do I/O, panic on hostile bytes, or let a server make it allocate without
//! bound.
//!
//! Source: PostgreSQL documentation, "Message Flow: Start-up" and "Message Formats".

use super::auth::{self, Auth, TlsState};
use super::error::parse_error;
use super::login::Login;
use crate::login::TlsUse;
use crate::{CancelKey, ConnectError, Session};
use std::sync::Arc;

/// The longest message that a server may send before the first ReadyForQuery, in bytes. libpq
/// allows 2,000 for most and 30,000 for an error.
const MAX_MESSAGE_BYTES: usize = 64 * 1024;
/// Maximum number of bytes that a server may send before the first ReadyForQuery: whole messages, and the next one.
const MAX_START_UP_BYTES: usize = 1024 * 1024 + MAX_MESSAGE_BYTES;
/// Maximum number of startup notices that are stored.
const MAX_NOTICES: usize = 16;

const PROTOCOL_3_0: u32 = 3 << 16;
const SSL_REQUEST: u32 = 80_877_103;
const CANCEL_REQUEST: u32 = 80_877_102;

#[derive(Debug)]
pub enum HandshakeStep {
    /// Send the appended bytes, then feed the server's answer.
    NeedBytes,
    /// Call [`Handshake::receive`] again, without bytes: a computation continues.
    Computing,
    /// Set up TLS on the connection, then call [`Handshake::tls_established`].
    StartTls,
    /// Send the appended bytes. The client is logged in, or its request to cancel is complete.
    Done(Session),
}

enum Purpose {
    Login(Arc<Login>),
    Cancel(CancelKey),
}

enum HandshakeState {
    New,
    /// The SSLRequest is sent; the server replies with one byte.
    RequestedTls,
    /// TLS is being set up by the owner.
    SettingUpTls,
    /// The startup message is sent.
    Authenticating,
    /// AuthenticationOk has arrived; settings and the cancel key follow.
    Starting,
    Finished,
}

/// The login of one connection, as a state machine.
pub struct Handshake {
    purpose: Purpose,
    tls: TlsUse,
    state: HandshakeState,
    auth: Auth,
    uses_tls: bool,
    /// The hash of the server's certificate for channel binding; `None` without TLS, or if there is none.
    server_end_point: Option<Vec<u8>>,
    /// The beginning of an incomplete message.
    partial: Vec<u8>,
    received_bytes: usize,
    session: Session,
}

impl Handshake {
    pub fn new(login: Arc<Login>, tls: TlsUse) -> Handshake {
        Handshake::with_purpose(Purpose::Login(login), tls)
    }

    /// Prepares a request to cancel the current command of another session.
    pub fn cancel(key: CancelKey, tls: TlsUse) -> Handshake {
        Handshake::with_purpose(Purpose::Cancel(key), tls)
    }

    fn with_purpose(purpose: Purpose, tls: TlsUse) -> Handshake {
        Handshake {
            purpose,
            tls,
            state: HandshakeState::New,
            auth: Auth::Initial,
            uses_tls: false,
            server_end_point: None,
            partial: Vec::new(),
            received_bytes: 0,
            session: Session::default(),
        }
    }

    /// Appends the first bytes. Call it once, when the socket is connected.
    pub fn start(&mut self, out: &mut Vec<u8>) -> Result<HandshakeStep, ConnectError> {
        match self.tls {
            TlsUse::No => self.open(out),
            TlsUse::Direct => {
                self.state = HandshakeState::SettingUpTls;
                Ok(HandshakeStep::StartTls)
            }
            TlsUse::IfOffered | TlsUse::Must => {
                out.extend_from_slice(&8_u32.to_be_bytes());
                out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
                self.state = HandshakeState::RequestedTls;
                Ok(HandshakeStep::NeedBytes)
            }
        }
    }

    /// Continues after TLS is established; from here on bytes are received and sent through TLS.
    /// `server_end_point` is the hash of the server's certificate for channel binding, if there is one.
    pub fn tls_established(
        &mut self,
        server_end_point: Option<Vec<u8>>,
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, ConnectError> {
        self.uses_tls = true;
        self.server_end_point = server_end_point;
        self.open(out)
    }

    pub fn uses_tls(&self) -> bool {
        self.uses_tls
    }

    /// Feeds bytes of the server, split anywhere.
    pub fn receive(
        &mut self,
        mut input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, ConnectError> {
        if matches!(self.state, HandshakeState::RequestedTls) {
            let Some((&answer, rest)) = input.split_first() else {
                return Ok(HandshakeStep::NeedBytes);
            };
            let step = self.tls_answer(answer, rest, out)?;
            if rest.is_empty() || !matches!(step, HandshakeStep::NeedBytes) {
                return Ok(step);
            }
            input = rest;
        }
        if !matches!(
            self.state,
            HandshakeState::Authenticating | HandshakeState::Starting
        ) {
            return match input {
                [] => Ok(HandshakeStep::NeedBytes),
                _ => Err(ConnectError::Protocol("unexpected bytes".into())),
            };
        }
        self.received_bytes += input.len();
        if self.received_bytes > MAX_START_UP_BYTES {
            return Err(ConnectError::Protocol("the startup does not end".into()));
        }
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(input);
        let mut consumed = 0;
        self.auth.continue_salting(out);
        while !self.auth.is_salting()
            && let Some((tag, body)) = first_message(&bytes[consumed..])?
        {
            consumed += 5 + body.len();
            if self.handle_message(tag, body, out)? {
                self.state = HandshakeState::Finished;
                let mut session = std::mem::take(&mut self.session);
                session.trailing_bytes = bytes.split_off(consumed);
                return Ok(HandshakeStep::Done(session));
            }
        }
        bytes.drain(..consumed);
        self.partial = bytes;
        Ok(
            if self.auth.is_salting() {
                HandshakeStep::Computing
            } else {
                HandshakeStep::NeedBytes
            },
        )
    }

    /// Handles the one byte that answers an SSLRequest.
    fn tls_answer(
        &mut self,
        answer: u8,
        rest: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<HandshakeStep, ConnectError> {
        match answer {
            b'S' if !rest.is_empty() => Err(ConnectError::BytesBeforeTls),
            b'S' => {
                self.state = HandshakeState::SettingUpTls;
                Ok(HandshakeStep::StartTls)
            }
            b'N' if self.tls == TlsUse::Must => Err(ConnectError::TlsUnsupported),
            b'N' => self.open(out),
            b'E' => Err(ConnectError::TlsRequestFailed),
            _ => Err(ConnectError::Protocol(format!(
                "received invalid response to SSL negotiation: {:?}",
                char::from(answer)
            ))),
        }
    }

    /// Appends the first message of the connection's purpose: startup or cancel request.
    fn open(&mut self, out: &mut Vec<u8>) -> Result<HandshakeStep, ConnectError> {
        match &self.purpose {
            Purpose::Login(login) => {
                put_start_up(login, out)?;
                self.state = HandshakeState::Authenticating;
                Ok(HandshakeStep::NeedBytes)
            }
            Purpose::Cancel(key) => {
                let length = 12 + key.secret.len() as u32;
                for word in [length, CANCEL_REQUEST, key.backend_pid] {
                    out.extend_from_slice(&word.to_be_bytes());
                }
                out.extend_from_slice(&key.secret);
                self.state = HandshakeState::Finished;
                Ok(HandshakeStep::Done(Session::default()))
            }
        }
    }

    /// Handles one complete message. Returns true if it is the first ReadyForQuery.
    fn handle_message(
        &mut self,
        tag: u8,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectError> {
        match (&self.state, tag) {
            (_, b'E') => return Err(parse_error(body).into()),
            (_, b'N') => {
                if self.session.notices.len() < MAX_NOTICES {
                    self.session.notices.push(parse_error(body));
                }
            }
            (HandshakeState::Authenticating, b'R') => self.handle_authentication(body, out)?,
            // A server that supports only older minor versions or fewer options reports so and
            // continues; 3.0 without options is the minimum, so nothing changes.
            (HandshakeState::Authenticating, b'v') => {}
            (HandshakeState::Starting, b'S') => self.session.parameters.add(body)?,
            (HandshakeState::Starting, b'K') => {
                let Some((pid, secret)) = body.split_first_chunk::<4>() else {
                    return Err(ConnectError::Protocol("malformed BackendKeyData".into()));
                };
                let backend_pid = u32::from_be_bytes(*pid);
                self.session.cancel = CancelKey {
                    backend_pid,
                    secret: secret.into(),
                };
            }
            (HandshakeState::Starting, b'Z') => return Ok(true),
            _ => {
                let tag = char::from(tag).escape_default();
                let text = format!("unexpected message '{tag}' during startup");
                return Err(ConnectError::Protocol(text));
            }
        }
        Ok(false)
    }

    fn handle_authentication(
        &mut self,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ConnectError> {
        let Purpose::Login(login) = &self.purpose else {
            return Err(ConnectError::Protocol(
                "a reply to a request to cancel".into(),
            ));
        };
        let tls_state = TlsState {
            in_use: self.uses_tls,
            server_end_point: self.server_end_point.as_deref(),
        };
        let is_complete = self.auth.receive(body, login, &tls_state, out)?;
        let is_cleartext = body.starts_with(&auth::CLEARTEXT_PASSWORD.to_be_bytes());
        self.session.password_in_clear |= is_cleartext && !tls_state.in_use;
        if is_complete {
            self.state = HandshakeState::Starting;
        }
        Ok(())
    }
}

/// The first complete message of `bytes`: its tag and body.
fn first_message(bytes: &[u8]) -> Result<Option<(u8, &[u8])>, ConnectError> {
    let Some((header, rest)) = bytes.split_first_chunk::<5>() else {
        // An unknown tag is refused at once: a peer with another protocol may never send five bytes.
        return match bytes.first() {
            Some(&tag) => check_tag(tag).map(|()| None),
            None => Ok(None),
        };
    };
    check_tag(header[0])?;
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let Some(body_bytes) = length
        .checked_sub(4)
        .filter(|body| *body <= MAX_MESSAGE_BYTES)
    else {
        let text = format!("a message of {length} bytes during startup");
        return Err(ConnectError::Protocol(text));
    };
    Ok(rest.get(..body_bytes).map(|body| (header[0], body)))
}

fn check_tag(tag: u8) -> Result<(), ConnectError> {
    if b"REvSKZN".contains(&tag) {
        return Ok(());
    }
    let tag = char::from(tag).escape_default();
    Err(ConnectError::Protocol(format!(
        "expected authentication request, got '{tag}'"
    )))
}

fn put_start_up(login: &Login, out: &mut Vec<u8>) -> Result<(), ConnectError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
    let names = [
        ("user", login.user.as_str()),
        ("database", login.database.as_str()),
    ];
    let others = login
        .parameters
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in names.into_iter().chain(others) {
        // An empty name would end the list early; a zero byte would forge a parameter.
        if name.is_empty() || name.contains('\0') || value.contains('\0') {
            return Err(ConnectError::ZeroByte(name.replace('\0', "\\0")));
        }
        for text in [name, value] {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
    }
    out.push(0);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
