//! One connection of the server: login, then requests. Panics if the client violates the protocol.

use crate::bulk;
use crate::config::{Config, Encryption, Outcome};
use crate::datum::Datum;
use crate::login::{answer_prelogin, login_ack_tokens, read_login, read_prelogin};
use crate::packet::{BULK_LOAD, LOGIN7, PRELOGIN, REPLY, encode_message, take_messages};
use crate::reply::ReplyWriter;
use crate::request::{self, Parameter, Procedure, Request, Rpc};
use crate::tls::Tls;
use std::collections::HashMap;
use std::sync::Arc;

mod run;

const LOGIN_PACKET_BYTES: usize = 4096;

// Types of tokens, and flags of their status.
const DONE: u8 = 0xfd;
const DONE_PROC: u8 = 0xfe;
const DONE_IN_PROC: u8 = 0xff;
const MORE: u16 = 1;
const ERROR: u16 = 2;
const COUNT: u16 = 0x10;
const ATTENTION: u16 = 0x20;

/// Numbers of errors that roll back the transaction.
const ERRORS_THAT_ROLL_BACK: [i32; 4] = [1205, 3960, 41302, 3998];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Prelogin,
    /// A TLS handshake inside PRELOGIN packets.
    Handshake,
    Login,
    Ready,
    /// A request does not end before an attention arrives.
    Hanging,
    Closed,
}

pub struct Connection {
    config: Arc<Config>,
    phase: Phase,
    tls: Option<Tls>,
    /// Whether TLS ends after the login.
    tls_for_login_only: bool,
    /// Bytes that arrived and are not part of a complete message.
    inbox: Vec<u8>,
    packet_size: usize,
    /// The client's ENCRYPTION option.
    client_encryption: u8,
    /// Descriptor of the open transaction; 0 if none is open.
    transaction_descriptor: u64,
    /// Number of transactions so far; makes descriptors unique.
    transactions_begun: u64,
    prepared_texts: HashMap<i32, String>,
    next_handle: i32,
    /// The `INSERT BULK` statement whose rows come next.
    announced_bulk: Option<String>,
    /// Whether statements must be T-SQL.
    parses_sql: bool,
}

impl Connection {
    /// A connection on which nothing has been received.
    pub fn new(config: Arc<Config>) -> Connection {
        let is_strict = config.encryption == Encryption::Strict;
        let tls = is_strict.then(|| Tls::new(config.tls.clone().expect("a certificate")));
        Connection {
            config,
            phase: Phase::Prelogin,
            tls,
            tls_for_login_only: false,
            inbox: Vec::new(),
            packet_size: LOGIN_PACKET_BYTES,
            client_encryption: 2,
            transaction_descriptor: 0,
            transactions_begun: 0,
            prepared_texts: HashMap::new(),
            next_handle: 1,
            announced_bulk: None,
            parses_sql: false,
        }
    }

    /// From now on panics on a statement that is no T-SQL.
    #[must_use]
    pub fn parsing_sql(mut self) -> Connection {
        self.parses_sql = true;
        self
    }

    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Processes bytes of the client, split anywhere; returns bytes to send to the client.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.phase == Phase::Handshake {
            self.inbox.extend_from_slice(bytes);
            while self.phase == Phase::Handshake {
                let Some((kind, payload)) =
                    take_messages(&mut self.inbox, LOGIN_PACKET_BYTES).pop()
                else {
                    return out;
                };
                assert_eq!(kind, PRELOGIN, "a handshake comes in PRELOGIN packets");
                self.handshake(&payload, &mut out);
            }
            let remaining = std::mem::take(&mut self.inbox);
            if !remaining.is_empty() {
                out.extend(self.receive(&remaining));
            }
            return out;
        }
        let was_handshaking = self.tls.as_ref().is_some_and(|tls| tls.0.is_handshaking());
        match &mut self.tls {
            None => self.inbox.extend_from_slice(bytes),
            Some(tls) => match tls.receive(bytes) {
                Ok(plain) => self.inbox.extend_from_slice(&plain),
                Err(_) => {
                    self.phase = Phase::Closed;
                    return tls.take_outgoing();
                }
            },
        }
        if let (true, Some(tls)) = (was_handshaking, &mut self.tls) {
            out.extend(tls.take_outgoing());
        }
        loop {
            let complete = take_messages(&mut self.inbox, self.packet_size);
            if complete.is_empty() || self.phase == Phase::Closed {
                return out;
            }
            for (kind, payload) in complete {
                self.handle_message(kind, &payload, &mut out);
            }
            if self.phase == Phase::Handshake && !self.inbox.is_empty() {
                let remaining = std::mem::take(&mut self.inbox);
                out.extend(self.receive(&remaining));
                return out;
            }
        }
    }

    fn handshake(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let tls = self.tls.as_mut().expect("TLS has begun");
        let received = tls.receive(payload);
        let answer = tls.take_outgoing();
        if !answer.is_empty() {
            out.extend(encode_message(PRELOGIN, &answer, LOGIN_PACKET_BYTES));
        }
        if received.is_err() {
            self.phase = Phase::Closed;
        } else if !tls.0.is_handshaking() {
            self.phase = Phase::Login;
        }
    }

    fn send(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let bytes = encode_message(REPLY, payload, self.packet_size);
        match &mut self.tls {
            None => out.extend(bytes),
            Some(tls) => out.extend(tls.send(&bytes)),
        }
    }

    fn handle_message(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) {
        match self.phase {
            Phase::Prelogin => {
                assert_eq!(kind, PRELOGIN, "PRELOGIN");
                let (encryption, _) = read_prelogin(payload);
                self.client_encryption = encryption;
                let (answer, starts_tls) = answer_prelogin(&self.config, encryption);
                self.phase = Phase::Login;
                self.send(&answer, out);
                if starts_tls {
                    self.tls_for_login_only = encrypts_only_login(&answer);
                    let config = self.config.tls.clone().expect("a certificate");
                    self.tls = Some(Tls::new(config));
                    self.phase = Phase::Handshake;
                }
            }
            Phase::Login => {
                assert_eq!(kind, LOGIN7, "LOGIN7");
                self.log_in(payload, out);
            }
            Phase::Ready | Phase::Hanging => self.handle_request(kind, payload, out),
            Phase::Handshake | Phase::Closed => {}
        }
    }

    fn log_in(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let mut login = read_login(payload);
        login.is_over_tls = self.tls.is_some();
        if self.tls_for_login_only {
            self.tls = None;
        }
        let config = self.config.clone();
        let mut reply = ReplyWriter::new(config.collation);
        let account = (login.user.clone(), login.password.clone());
        let is_strict = config.encryption == Encryption::Strict;
        assert_eq!(
            login.version == 0x0800_0000,
            is_strict,
            "the version of TDS"
        );
        config
            .received
            .lock()
            .expect("no panic")
            .logins
            .push(login.clone());
        let refusal = config.refused_database;
        if let Some(database) = refusal.filter(|database| *database == login.database) {
            let text = format!("Cannot open database \"{database}\" requested by the login.");
            reply.error((4060, 1, 11), &text);
        }
        if account != config.account || refusal == Some(&*login.database) {
            let text = format!("Login failed for user '{}'.", login.user);
            reply.error((18456, 1, 14), &text);
            reply.done(DONE, ERROR, 0, 0);
            self.send(&reply.finish(), out);
            self.phase = Phase::Closed;
            return;
        }
        let size = login.packet_size.clamp(512, config.packet_size_max);
        let payload = login_ack_tokens(&config, &login, size);
        // The new size applies from the next message on.
        self.send(&payload, out);
        self.packet_size = size as usize;
        self.phase = Phase::Ready;
    }

    fn handle_request(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) {
        let mut reply = ReplyWriter::new(self.config.collation);
        if kind == BULK_LOAD {
            let statement = self.announced_bulk.take().expect("INSERT BULK comes first");
            let rows = bulk::read_rows(statement, payload);
            let count = rows.rows.len();
            let mut received = self.config.received.lock().expect("no panic");
            received.requests.push(Request::Bulk(count));
            received.bulk.push(rows);
            drop(received);
            reply.done(DONE, COUNT, 0xf0, count as u64);
            return self.send(&reply.finish(), out);
        }
        let request = request::read_request(kind, payload);
        let mut received = self.config.received.lock().expect("no panic");
        received.requests.push(request.clone());
        drop(received);
        if request == Request::Attention {
            self.phase = Phase::Ready;
            reply.done(DONE, ATTENTION, 0, 0);
            return self.send(&reply.finish(), out);
        }
        assert_eq!(self.phase, Phase::Ready, "one request at a time");
        let is_complete = match request {
            Request::Batch { descriptor, text } => {
                !self.check_descriptor(descriptor, &mut reply) || self.run_batch(&text, &mut reply)
            }
            Request::Rpcs { descriptor, calls } => {
                let last_index = calls.len() - 1;
                !self.check_descriptor(descriptor, &mut reply)
                    || calls.iter().enumerate().all(|(index, call)| {
                        let more_flag = if index < last_index { MORE } else { 0 };
                        self.run_rpc(call, more_flag, &mut reply)
                    })
            }
            Request::Bulk(_) | Request::Attention => unreachable!("handled above"),
        };
        if is_complete { self.send(&reply.finish(), out) } else { self.phase = Phase::Hanging }
    }
}

/// Whether the ENCRYPTION option of the server's PRELOGIN is ENCRYPT_OFF, which encrypts only the login.
fn encrypts_only_login(answer: &[u8]) -> bool {
    let encryption_offset = usize::from(u16::from_be_bytes([answer[6], answer[7]]));
    answer[encryption_offset] == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "sql parser error")]
    fn a_statement_that_is_no_sql_is_refused() {
        let config = Config::new(|_, _| vec![Outcome::Done]);
        let mut connection = Connection::new(Arc::new(config)).parsing_sql();
        let mut reply = ReplyWriter::new(connection.config.collation);
        connection.run_batch("select a from t", &mut reply);
        connection.run_batch("select a from t with (updlock", &mut reply);
    }
}
