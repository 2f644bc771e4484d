//! One connection of the server: login, then requests. Panics on a client that breaks the protocol.

use crate::bulk;
use crate::config::{Config, Encryption, Outcome};
use crate::datum::Datum;
use crate::login::{accept, answer_prelogin, read_login, read_prelogin};
use crate::packet::{message, messages};
use crate::reply::ReplyWriter;
use crate::request::{self, Parameter, Procedure, Request, Rpc};
use crate::tls::Tls;
use std::collections::HashMap;
use std::sync::Arc;

const DONE: u8 = 0xfd;
const DONE_PROC: u8 = 0xfe;
const DONE_IN_PROC: u8 = 0xff;
const MORE: u16 = 1;
const ERROR: u16 = 2;
const COUNT: u16 = 0x10;
const ATTENTION: u16 = 0x20;

/// Errors that end the transaction.
const ROLLS_BACK: [i32; 4] = [1205, 3960, 41302, 3998];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Prelogin,
    /// A TLS handshake inside packets.
    Handshake,
    Login,
    Ready,
    /// A request waits for an attention.
    Hanging,
    Closed,
}

/// One connection.
pub struct Connection {
    config: Arc<Config>,
    phase: Phase,
    tls: Option<Tls>,
    /// TLS is only for the login.
    login_only: bool,
    inbox: Vec<u8>,
    packet_size: usize,
    client_encryption: u8,
    /// Descriptor of the open transaction; 0: none.
    transaction: u64,
    transactions: u64,
    handles: HashMap<i32, String>,
    next_handle: i32,
    /// The statement of a bulk load whose rows come next.
    bulk: Option<String>,
}

impl Connection {
    /// A connection that has just been accepted.
    pub fn new(config: Arc<Config>) -> Connection {
        let strict = config.encryption == Encryption::Strict;
        let tls = strict.then(|| Tls::new(config.tls.clone().expect("a certificate")));
        Connection {
            config,
            phase: Phase::Prelogin,
            tls,
            login_only: false,
            inbox: Vec::new(),
            packet_size: 4096,
            client_encryption: 2,
            transaction: 0,
            transactions: 0,
            handles: HashMap::new(),
            next_handle: 1,
            bulk: None,
        }
    }

    /// Whether the server closes the connection.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Takes bytes of the client, split anywhere; returns bytes for it.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.phase == Phase::Handshake {
            self.inbox.extend_from_slice(bytes);
            while self.phase == Phase::Handshake {
                let Some((kind, payload)) = messages(&mut self.inbox, 4096).pop() else {
                    return out;
                };
                assert_eq!(kind, 0x12, "a handshake comes in PRELOGIN packets");
                self.handshake(&payload, &mut out);
            }
            let rest = std::mem::take(&mut self.inbox);
            if !rest.is_empty() {
                out.extend(self.receive(&rest));
            }
            return out;
        }
        let before = self.tls.as_ref().is_some_and(|tls| tls.0.is_handshaking());
        match &mut self.tls {
            None => self.inbox.extend_from_slice(bytes),
            Some(tls) => match tls.receive(bytes) {
                Ok(plain) => self.inbox.extend_from_slice(&plain),
                Err(_) => {
                    self.phase = Phase::Closed;
                    return tls.pending();
                }
            },
        }
        if let (true, Some(tls)) = (before, &mut self.tls) {
            out.extend(tls.pending());
        }
        loop {
            let found = messages(&mut self.inbox, self.packet_size);
            if found.is_empty() || self.phase == Phase::Closed {
                return out;
            }
            for (kind, payload) in found {
                self.message(kind, &payload, &mut out);
            }
            if self.phase == Phase::Handshake && !self.inbox.is_empty() {
                let rest = std::mem::take(&mut self.inbox);
                out.extend(self.receive(&rest));
                return out;
            }
        }
    }

    fn handshake(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let tls = self.tls.as_mut().expect("TLS has begun");
        let received = tls.receive(payload);
        let answer = tls.pending();
        if !answer.is_empty() {
            out.extend(message(0x12, &answer, 4096));
        }
        if received.is_err() {
            self.phase = Phase::Closed;
        } else if !tls.0.is_handshaking() {
            self.phase = Phase::Login;
        }
    }

    fn send(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let bytes = message(4, payload, self.packet_size);
        match &mut self.tls {
            None => out.extend(bytes),
            Some(tls) => out.extend(tls.send(&bytes)),
        }
    }

    fn message(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) {
        match self.phase {
            Phase::Prelogin => {
                assert_eq!(kind, 0x12, "PRELOGIN");
                let (encryption, _) = read_prelogin(payload);
                self.client_encryption = encryption;
                let (answer, with_tls) = answer_prelogin(&self.config, encryption);
                self.phase = Phase::Login;
                self.send(&answer, out);
                if with_tls {
                    self.login_only = answer_is_off(&answer);
                    let config = self.config.tls.clone().expect("a certificate");
                    self.tls = Some(Tls::new(config));
                    self.phase = Phase::Handshake;
                }
            }
            Phase::Login => {
                assert_eq!(kind, 0x10, "LOGIN7");
                self.log_in(payload, out);
            }
            Phase::Ready | Phase::Hanging => self.request(kind, payload, out),
            Phase::Handshake | Phase::Closed => {}
        }
    }

    fn log_in(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let mut login = read_login(payload);
        login.over_tls = self.tls.is_some();
        if self.login_only {
            self.tls = None;
        }
        let config = self.config.clone();
        let mut reply = ReplyWriter::new(config.collation);
        let wanted = (login.user.clone(), login.password.clone());
        let strict = config.encryption == Encryption::Strict;
        assert_eq!(login.version == 0x0800_0000, strict, "the version of TDS");
        config
            .received
            .lock()
            .expect("no panic")
            .logins
            .push(login.clone());
        if wanted != config.account {
            let text = format!("Login failed for user '{}'.", login.user);
            reply.error((18456, 1, 14), &text);
            reply.done(DONE, ERROR, 0, 0);
            self.send(&reply.finish(), out);
            self.phase = Phase::Closed;
            return;
        }
        let size = login.packet_size.clamp(512, config.packet_size_max);
        let payload = accept(&config, &login, size);
        // The new size holds from the next message on.
        self.send(&payload, out);
        self.packet_size = size as usize;
        self.phase = Phase::Ready;
    }

    fn request(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) {
        let mut reply = ReplyWriter::new(self.config.collation);
        if kind == 7 {
            let statement = self.bulk.take().expect("INSERT BULK comes first");
            let rows = bulk::read(statement, payload);
            let count = rows.rows.len();
            let mut received = self.config.received.lock().expect("no panic");
            received.requests.push(Request::Bulk(count));
            received.bulk.push(rows);
            drop(received);
            reply.done(DONE, COUNT, 0xf0, count as u64);
            return self.send(&reply.finish(), out);
        }
        let request = request::read(kind, payload);
        let mut received = self.config.received.lock().expect("no panic");
        received.requests.push(request.clone());
        drop(received);
        if request == Request::Attention {
            self.phase = Phase::Ready;
            reply.done(DONE, ATTENTION, 0, 0);
            return self.send(&reply.finish(), out);
        }
        assert_eq!(self.phase, Phase::Ready, "one request at a time");
        let complete = match request {
            Request::Batch { descriptor, text } => {
                !self.has_descriptor(descriptor, &mut reply) || self.batch(&text, &mut reply)
            }
            Request::Rpcs { descriptor, calls } => {
                let last = calls.len() - 1;
                !self.has_descriptor(descriptor, &mut reply)
                    || calls.iter().enumerate().all(|(index, call)| {
                        let more = if index < last { MORE } else { 0 };
                        self.call(call, more, &mut reply)
                    })
            }
            Request::Transaction {
                descriptor,
                kind,
                begins,
                ..
            } => {
                if self.has_descriptor(descriptor, &mut reply) {
                    self.manage(kind, begins, &mut reply);
                }
                true
            }
            Request::Bulk(_) | Request::Attention => unreachable!("handled above"),
        };
        match complete {
            true => self.send(&reply.finish(), out),
            false => self.phase = Phase::Hanging,
        }
    }

    fn has_descriptor(&self, descriptor: u64, reply: &mut ReplyWriter) -> bool {
        let is_right = descriptor == self.transaction;
        if !is_right {
            let text = "New request is not allowed to start because it should come with valid \
                        transaction descriptor.";
            reply.error((3989, 1, 16), text);
            reply.done(DONE, ERROR, 0, 0);
        }
        is_right
    }

    fn begin(&mut self, reply: &mut ReplyWriter) {
        self.transactions += 1;
        self.transaction = 0x2a_0000_0000 + self.transactions;
        reply.env_bytes(8, &self.transaction.to_le_bytes(), &[]);
    }

    fn end(&mut self, commits: bool, reply: &mut ReplyWriter) {
        let kind = if commits { 9 } else { 10 };
        reply.env_bytes(kind, &[], &self.transaction.to_le_bytes());
        self.transaction = 0;
    }

    fn manage(&mut self, kind: u16, begins: bool, reply: &mut ReplyWriter) {
        match (kind, self.transaction) {
            (5, _) => self.begin(reply),
            (7 | 8, 0) => {
                reply.error(
                    (3902, 1, 16),
                    "The COMMIT TRANSACTION request has no transaction.",
                );
                return reply.done(DONE, ERROR, 0, 0);
            }
            (7 | 8, _) => {
                self.end(kind == 7, reply);
                if begins {
                    self.begin(reply);
                }
            }
            _ => {}
        }
        reply.done(DONE, 0, 0, 0);
    }

    /// Runs a text; false: it does not end by itself.
    fn batch(&mut self, text: &str, reply: &mut ReplyWriter) -> bool {
        let statements: Vec<&str> = split(text);
        for (index, statement) in statements.iter().enumerate() {
            let more = if index + 1 < statements.len() {
                MORE
            } else {
                0
            };
            match self.statement(statement, &[], DONE, more, reply) {
                Ended::Next => {}
                Ended::Aborted => return true,
                Ended::Hanging => return false,
            }
        }
        true
    }

    fn call(&mut self, call: &Rpc, more: u16, reply: &mut ReplyWriter) -> bool {
        let number = match &call.procedure {
            Procedure::Id(number) => *number,
            Procedure::Name(name) => {
                return self.routine(&name.clone(), &call.parameters, None, more, reply);
            }
        };
        let parameters = &call.parameters;
        let text = |index: usize| match &parameters[index].value {
            Datum::Text(text) => text.clone(),
            value => panic!("{value:?} is not nvarchar"),
        };
        match number {
            10 => {
                let values = parameters.get(2..).unwrap_or_default();
                let declared = parameters.get(1).map(|_| text(1)).unwrap_or_default();
                assert_eq!(declared.matches('@').count(), values.len(), "declarations");
                self.routine(&text(0), values, None, more, reply)
            }
            11 | 13 => {
                assert!(parameters[0].output, "the handle is returned");
                let handle = self.next_handle;
                self.next_handle += 1;
                self.handles.insert(handle, text(2));
                match number {
                    13 => self.routine(&text(2), &parameters[3..], Some(handle), more, reply),
                    _ => {
                        reply.return_status(0);
                        reply.return_int("", handle);
                        reply.done(DONE_PROC, more, 0xe0, 0);
                        true
                    }
                }
            }
            12 | 15 => {
                let Datum::Int(handle) = parameters[0].value else {
                    panic!("a handle is a number");
                };
                let known = match number {
                    12 => self.handles.get(&(handle as i32)).cloned(),
                    _ => self.handles.remove(&(handle as i32)),
                };
                let Some(known) = known else {
                    let text = format!("Could not find prepared statement with handle {handle}.");
                    reply.error((8179, 4, 16), &text);
                    reply.done(DONE_PROC, ERROR | more, 0xe0, 0);
                    return true;
                };
                if number == 15 {
                    reply.return_status(0);
                    reply.done(DONE_PROC, more, 0xe0, 0);
                    return true;
                }
                self.routine(&known, &parameters[1..], None, more, reply)
            }
            number => panic!("procedure {number}"),
        }
    }

    /// Runs a text inside an RPC; false: it does not end by itself.
    fn routine(
        &mut self,
        text: &str,
        values: &[Parameter],
        handle: Option<i32>,
        more: u16,
        reply: &mut ReplyWriter,
    ) -> bool {
        let before = self.transaction;
        let mut failed = 0;
        for statement in split(text) {
            match self.statement(statement, values, DONE_IN_PROC, MORE, reply) {
                Ended::Next => {}
                Ended::Aborted => {
                    failed = ERROR;
                    break;
                }
                Ended::Hanging => return false,
            }
        }
        if failed == 0 && (before == 0) != (self.transaction == 0) {
            let text = "Transaction count after EXECUTE indicates a mismatching number of BEGIN and \
                        COMMIT statements. Previous count = 0, current count = 1.";
            reply.error((266, 2, 16), text);
            failed = ERROR;
        }
        reply.return_status(0);
        if let Some(handle) = handle {
            reply.return_int("", handle);
        }
        reply.done(DONE_PROC, failed | more, 0xe0, 0);
        true
    }

    fn statement(
        &mut self,
        statement: &str,
        values: &[Parameter],
        done: u8,
        more: u16,
        reply: &mut ReplyWriter,
    ) -> Ended {
        let words = statement.trim().to_ascii_lowercase();
        if words.starts_with("begin tran") {
            self.begin(reply);
        } else if words.starts_with("commit") || words.starts_with("rollback") {
            if self.transaction == 0 {
                reply.error(
                    (3902, 1, 16),
                    "The request has no corresponding BEGIN TRANSACTION.",
                );
                reply.done(done, ERROR | more, 0, 0);
                return Ended::Next;
            }
            self.end(words.starts_with("commit"), reply);
        } else if words.starts_with("insert bulk") {
            self.bulk = Some(statement.trim().to_owned());
        } else {
            let config = self.config.clone();
            for outcome in (config.handler)(statement, values) {
                match self.outcome(outcome, done, more, reply) {
                    Ended::Next => {}
                    ended => return ended,
                }
            }
            return Ended::Next;
        }
        reply.done(done, more, 0xd4, 0);
        Ended::Next
    }

    fn outcome(&mut self, outcome: Outcome, done: u8, more: u16, reply: &mut ReplyWriter) -> Ended {
        match outcome {
            Outcome::Rows(columns, rows) => {
                reply.columns(&columns);
                rows.iter().for_each(|row| reply.row(&columns, row));
                reply.done(done, COUNT | more, 0xc1, rows.len() as u64);
            }
            Outcome::CompressedRows(columns, rows) => {
                reply.columns(&columns);
                rows.iter()
                    .for_each(|row| reply.compressed_row(&columns, row));
                reply.done(done, COUNT | more, 0xc1, rows.len() as u64);
            }
            Outcome::Count(count) => reply.done(done, COUNT | more, 0xc5, count),
            Outcome::Done => reply.done(done, more, 0xc0, 0),
            Outcome::Info(number, text) => reply.info(number, 0, &text),
            Outcome::Raw(bytes) => reply.raw(&bytes),
            Outcome::Hang => return Ended::Hanging,
            Outcome::Error(number, state, level, text) => {
                let aborts = ROLLS_BACK.contains(&number);
                if aborts && self.transaction != 0 {
                    self.end(false, reply);
                }
                reply.error((number, state, level), &text);
                let more = if aborts && done == DONE { 0 } else { more };
                reply.done(done, ERROR | more, 0, 0);
                if aborts {
                    return Ended::Aborted;
                }
            }
        }
        Ended::Next
    }
}

/// How a statement ended.
enum Ended {
    Next,
    /// The batch ends with it.
    Aborted,
    Hanging,
}

/// Statements between semicolons outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = text.split(|character| {
        quoted ^= character == '\'';
        character == ';' && !quoted
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// Whether a PRELOGIN of this server says that only the login is encrypted.
fn answer_is_off(answer: &[u8]) -> bool {
    let at = usize::from(u16::from_be_bytes([answer[6], answer[7]]));
    answer[at] == 0
}
