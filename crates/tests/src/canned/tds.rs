//! SQL Server's protocol, TDS 7.4 without encryption: batches, procedure calls, requests to the transaction
//! manager and bulk loads.
//!
//! Source: MS-TDS. A batch is answered as its first statement. The row of a query holds the same value as that of
//! the PostgreSQL server. The catalog has the table `sbtest1`, so that runs of its workloads start, unless the database
//! is called `empty`.

use super::event_loop::{Session, SessionEnd};
use super::tds_catalog::{
    CATALOG, CATALOG_COLUMNS, CATALOG_NAMES, COLUMN_TYPES, LOCK_CALL, LOCKED,
};
use super::tds_reader::{Reader, count_rows};
use super::{CannedError, Conversation, StatementKind, column_count, unsupported};
use std::sync::{Arc, OnceLock};

/// The value of a row's only column.
const VALUE: &str = "1000";
/// The server's option ENCRYPTION: it has no TLS.
const ENCRYPTION_NOT_SUPPORTED: u8 = 2;
const HEADER_BYTES: usize = 8;
/// The packet size before and, because every reply is shorter, also after the login, in bytes.
const PACKET_BYTES: usize = 4096;
const COLLATION: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];
/// The descriptor of every transaction.
const DESCRIPTOR: [u8; 8] = 1_u64.to_le_bytes();

mod packet {
    pub const BATCH: u8 = 0x01;
    pub const RPC: u8 = 0x03;
    pub const REPLY: u8 = 0x04;
    pub const ATTENTION: u8 = 0x06;
    pub const BULK: u8 = 0x07;
    pub const TRANSACTION: u8 = 0x0e;
    pub const LOGIN7: u8 = 0x10;
    pub const PRELOGIN: u8 = 0x12;
}

const DONE: u8 = 0xfd;
const DONE_PROC: u8 = 0xfe;
const DONE_IN_PROC: u8 = 0xff;
const MORE: u16 = 1;
const DONE_ERROR: u16 = 2;
const COUNT: u16 = 0x10;
const ATTENTION_DONE: u16 = 0x20;

/// The catalog of this database has no tables, so that a load can begin.
const EMPTY_DATABASE: &str = "empty";
fn put_done(out: &mut Vec<u8>, token: u8, status: u16, rows: u64) {
    out.push(token);
    out.extend_from_slice(&status.to_le_bytes());
    // The command, which clients ignore.
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&rows.to_le_bytes());
}

fn put_utf16(out: &mut Vec<u8>, text: &str) {
    out.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
}

/// ENVCHANGE with a new and an old value, both as bytes after their lengths.
fn put_change(out: &mut Vec<u8>, kind: u8, new: &[u8], old: &[u8]) {
    out.push(0xe3);
    out.extend_from_slice(&(new.len() as u16 + old.len() as u16 + 1).to_le_bytes());
    out.push(kind);
    out.extend_from_slice(new);
    out.extend_from_slice(old);
}

/// COLMETADATA of columns of the type `varchar(100)`, and one ROW for each element of `rows`.
fn put_rows<'a, R: AsRef<[Option<&'a str>]>>(
    out: &mut Vec<u8>,
    columns: usize,
    rows: impl Iterator<Item = R>,
) {
    out.push(0x81);
    out.extend_from_slice(&(columns as u16).to_le_bytes());
    for _ in 0..columns {
        // User type, flags (nullable), type, length in bytes.
        out.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0xa7, 100, 0]);
        out.extend_from_slice(&COLLATION);
        out.push(1);
        put_utf16(out, "c");
    }
    for row in rows {
        out.push(0xd1);
        for column in 0..columns {
            let value = row.as_ref().get(column).copied().flatten();
            let length = value.map_or(u16::MAX, |value| value.len() as u16);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(value.unwrap_or_default().as_bytes());
        }
    }
}

/// ERROR of severity 16, and the end of the reply.
fn put_error(out: &mut Vec<u8>, error: &CannedError) {
    let mut body = u32::from(error.number).to_le_bytes().to_vec();
    body.extend_from_slice(&[1, 16]);
    body.extend_from_slice(&(error.message.len() as u16).to_le_bytes());
    put_utf16(&mut body, &error.message);
    // No names of server and procedure; the line.
    body.extend_from_slice(&[0, 0, 1, 0, 0, 0]);
    out.push(0xaa);
    out.extend_from_slice(&(body.len() as u16).to_le_bytes());
    out.extend_from_slice(&body);
    put_done(out, DONE, DONE_ERROR, 0);
}

/// The tokens of a statement's result. `done`: DONE, or DONEINPROC, which more tokens follow.
fn result_tokens(kind: StatementKind, done: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let more = if done == DONE { 0 } else { MORE };
    let descriptor = [&[8][..], &DESCRIPTOR].concat();
    let (status, count) = match kind {
        StatementKind::Select => {
            put_rows(&mut out, 1, [[Some(VALUE)]].into_iter());
            (COUNT, 1)
        }
        StatementKind::Insert | StatementKind::Update | StatementKind::Delete => (COUNT, 1),
        StatementKind::Begin => {
            put_change(&mut out, 8, &descriptor, &[0]);
            (0, 0)
        }
        StatementKind::Commit | StatementKind::Rollback => {
            let change = if kind == StatementKind::Commit { 9 } else { 10 };
            put_change(&mut out, change, &[0], &descriptor);
            (0, 0)
        }
        StatementKind::Other => (0, 0),
    };
    put_done(&mut out, done, status | more, count);
    out
}

struct Results {
    batch: [Vec<u8>; 8],
    /// In a procedure call, with RETURNSTATUS.
    call: [Vec<u8>; 8],
}

impl Results {
    fn get() -> &'static Results {
        static RESULTS: OnceLock<Results> = OnceLock::new();
        RESULTS.get_or_init(|| Results {
            batch: StatementKind::ALL.map(|kind| result_tokens(kind, DONE)),
            call: StatementKind::ALL.map(|kind| {
                let mut tokens = result_tokens(kind, DONE_IN_PROC);
                tokens.extend_from_slice(&[0x79, 0, 0, 0, 0]);
                tokens
            }),
        })
    }
}

/// Appends the packet of a reply, whose tokens `put` appends.
fn put_reply(
    out: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>) -> Result<(), SessionEnd>,
) -> Result<(), SessionEnd> {
    let start = out.len();
    // The last packet of its message, number 1; the length follows.
    out.extend_from_slice(&[packet::REPLY, 1, 0, 0, 0, 0, 1, 0]);
    put(out)?;
    let length = out.len() - start;
    if length > PACKET_BYTES {
        return Err(unsupported("a message whose reply needs several packets"));
    }
    out[start + 2..start + 4].copy_from_slice(&(length as u16).to_be_bytes());
    Ok(())
}

/// The server's side of one connection.
pub struct TdsSession {
    conversation: Arc<Conversation>,
    /// Whether the catalog has no tables.
    is_empty: bool,
    /// Payload of the packets so far of an incomplete message.
    message: Vec<u8>,
    /// The kinds of prepared statements; the handle is the index plus one.
    statements: Vec<StatementKind>,
    /// The text of a statement, with a byte for each character.
    text: Vec<u8>,
}

impl TdsSession {
    pub fn new(conversation: Arc<Conversation>) -> Self {
        TdsSession {
            conversation,
            is_empty: false,
            message: Vec::new(),
            statements: Vec::new(),
            text: Vec::new(),
        }
    }

    fn handle(&mut self, kind: u8, payload: &[u8], out: &mut Vec<u8>) -> Result<(), SessionEnd> {
        let mut reader = Reader(payload);
        if matches!(kind, packet::BATCH | packet::RPC | packet::TRANSACTION) {
            reader.headers().ok_or_else(malformed)?;
        }
        put_reply(out, |out| {
            match kind {
                packet::PRELOGIN => put_prelogin(out),
                packet::LOGIN7 => {
                    let database = reader.login_database().ok_or_else(malformed)?;
                    self.is_empty = database.eq(EMPTY_DATABASE.encode_utf16());
                    put_login_ack(out);
                }
                packet::BATCH => {
                    self.set_text(reader.0);
                    self.answer_batch(out);
                }
                packet::RPC => self.answer_calls(reader, out)?,
                packet::TRANSACTION => {
                    let kind = match reader.u16() {
                        Some(5) => StatementKind::Begin,
                        Some(7) => StatementKind::Commit,
                        Some(8) => StatementKind::Rollback,
                        _ => return Err(unsupported("another request about transactions")),
                    };
                    out.extend_from_slice(&Results::get().batch[kind as usize]);
                }
                packet::BULK => {
                    let rows = count_rows(payload).ok_or_else(malformed)?;
                    put_done(out, DONE, COUNT, rows);
                }
                packet::ATTENTION => put_done(out, DONE, ATTENTION_DONE, 0),
                _ => return Err(unsupported(&format!("a packet of type {kind:#x}"))),
            }
            Ok(())
        })
    }

    fn answer_calls(
        &mut self,
        mut reader: Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionEnd> {
        loop {
            self.answer_call(&mut reader, out)?;
            let is_last = reader.0.is_empty();
            put_done(out, DONE_PROC, if is_last { 0 } else { MORE }, 0);
            if is_last {
                return Ok(());
            }
        }
    }

    /// Keeps the low bytes of a text in UTF-16, which is enough to recognize statements.
    fn set_text(&mut self, utf16: &[u8]) {
        self.text.clear();
        self.text.extend(utf16.iter().step_by(2));
    }

    fn answer_batch(&self, out: &mut Vec<u8>) {
        let kind = StatementKind::of(&self.text);
        match self.conversation.reply(&self.text) {
            Some(super::Reply::Rows(rows)) => {
                let cells = rows
                    .iter()
                    .map(|row| -> Vec<_> { row.iter().map(Option::as_deref).collect() });
                put_rows(out, column_count(&rows), cells);
                put_done(out, DONE, COUNT, rows.len() as u64);
                return;
            }
            Some(super::Reply::Error(error)) => return put_error(out, error),
            None => {}
        }
        match self.catalog_rows(kind) {
            Some(rows) => {
                let cells = rows
                    .iter()
                    .map(|row| -> Vec<_> { row.iter().map(|cell| Some(*cell)).collect() });
                put_rows(out, CATALOG_COLUMNS, cells);
                put_done(out, DONE, COUNT, rows.len() as u64);
            }
            None => out.extend_from_slice(&Results::get().batch[kind as usize]),
        }
    }

    fn catalog_rows(&self, kind: StatementKind) -> Option<&'static [&'static [&'static str]]> {
        let text = str::from_utf8(&self.text).ok()?;
        if kind != StatementKind::Select {
            return text.contains(LOCK_CALL).then_some(LOCKED);
        }
        if text.starts_with(COLUMN_TYPES.0) {
            return Some(COLUMN_TYPES.1);
        }
        let (_, rows) = CATALOG
            .iter()
            .find(|(beginning, _)| text.starts_with(beginning))?;
        // Queries for other names, such as those of indexes, find nothing.
        let has_tables = !self.is_empty && text.contains(CATALOG_NAMES);
        Some(if has_tables { rows } else { &[] })
    }

    /// Appends the tokens of a procedure call, without the last.
    fn answer_call(
        &mut self,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), SessionEnd> {
        let procedure = reader.procedure().ok_or_else(malformed)?;
        let mut handle = None;
        let kind = match procedure {
            // sp_executesql: the text comes first.
            10 => {
                let text = reader.parameter().ok_or_else(malformed)?;
                self.set_text(text.unwrap_or_default());
                StatementKind::of(&self.text)
            }
            // sp_prepare and sp_prepexec: handle, declarations, text.
            11 | 13 => {
                reader.parameter().ok_or_else(malformed)?;
                reader.parameter().ok_or_else(malformed)?;
                let text = reader.parameter().ok_or_else(malformed)?;
                self.set_text(text.unwrap_or_default());
                let kind = StatementKind::of(&self.text);
                self.statements.push(kind);
                handle = Some(self.statements.len() as u32);
                if procedure == 13 { kind } else { StatementKind::Other }
            }
            // sp_execute: the handle comes first.
            12 => {
                let handle = reader.parameter().ok_or_else(malformed)?;
                let handle = handle.and_then(<[u8]>::first_chunk).copied();
                let index = handle.map_or(0, u32::from_le_bytes).wrapping_sub(1);
                let kind = self.statements.get(index as usize).copied();
                kind.ok_or_else(|| unsupported("an unknown handle"))?
            }
            // sp_unprepare, and procedures by name.
            _ => StatementKind::Other,
        };
        reader.rest_of_call().ok_or_else(malformed)?;
        out.extend_from_slice(&Results::get().call[kind as usize]);
        if let Some(handle) = handle {
            // RETURNVALUE: number and name of the parameter, status (output), user type, flags, INTN, value.
            out.extend_from_slice(&[0xac, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4]);
            out.extend_from_slice(&handle.to_le_bytes());
        }
        Ok(())
    }
}

/// PRELOGIN: version, encryption, and no multiple active results.
fn put_prelogin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, 16, 0, 6, 1, 0, 22, 0, 1, 4, 0, 23, 0, 1, 0xff]);
    out.extend_from_slice(&[16, 0, 0x10, 0x27, 0, 0, ENCRYPTION_NOT_SUPPORTED, 0]);
}

fn put_login_ack(out: &mut Vec<u8>) {
    let put_text_change = |out: &mut Vec<u8>, kind, text: &str| {
        let mut new = vec![text.len() as u8];
        put_utf16(&mut new, text);
        put_change(out, kind, &new, &[0]);
    };
    put_text_change(out, 1, "sbtest");
    put_change(out, 7, &[&[5][..], &COLLATION].concat(), &[0]);
    let name = "Microsoft SQL Server\0\0";
    // Interface, TDS 7.4, the name, version 16.
    let mut body = vec![1, 0x74, 0, 0, 4, name.len() as u8];
    put_utf16(&mut body, name);
    body.extend_from_slice(&[16, 0, 0x10, 0x27]);
    out.push(0xad);
    out.extend_from_slice(&(body.len() as u16).to_le_bytes());
    out.extend_from_slice(&body);
    put_text_change(out, 4, &PACKET_BYTES.to_string());
    put_done(out, DONE, 0, 0);
}

fn malformed() -> SessionEnd {
    unsupported("a malformed message, or a type of value that this server does not know")
}

impl Session for TdsSession {
    fn greet(&mut self, _: &mut Vec<u8>) {}

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, SessionEnd> {
        let mut handled = 0;
        while let Some(&[kind, status, high, low]) = input[handled..].first_chunk() {
            let length = usize::from(u16::from_be_bytes([high, low]));
            if length < HEADER_BYTES {
                return Err(malformed());
            }
            let Some(packet) = input.get(handled..handled + length) else {
                break;
            };
            handled += length;
            let payload = &packet[HEADER_BYTES..];
            match (status & 1 == 1, self.message.is_empty()) {
                (true, true) => self.handle(kind, payload, out)?,
                (true, false) => {
                    self.message.extend_from_slice(payload);
                    let message = std::mem::take(&mut self.message);
                    self.handle(kind, &message, out)?;
                }
                (false, _) => self.message.extend_from_slice(payload),
            }
        }
        Ok(handled)
    }
}

#[cfg(test)]
#[path = "tds_tests.rs"]
mod tests;
