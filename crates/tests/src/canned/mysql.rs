//! MySQL's protocol: COM_QUERY, and prepared statements in the binary protocol.
//!
//! Source: MySQL documentation, "Client/Server Protocol". Result sets have EOF packets, because the server
//! does not offer `CLIENT_DEPRECATE_EOF`.

use super::event_loop::{Session, SessionEnd};
use super::{CannedError, Conversation, Row, StatementKind, column_count, unsupported};
use std::sync::{Arc, OnceLock};

/// The version of a server without a conversation.
const VERSION: &str = "8.0.36-canned";
const PLUGIN: &[u8] = b"mysql_native_password\0";
/// LONG_PASSWORD, LONG_FLAG, CONNECT_WITH_DB, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS,
/// MULTI_RESULTS, PS_MULTI_RESULTS, PLUGIN_AUTH.
const CAPABILITIES: u32 =
    1 | 1 << 2 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19;

const STATUS_IN_TRANSACTION: u16 = 1;
const STATUS_AUTOCOMMIT: u16 = 2;

/// utf8mb4_general_ci.
const CHARACTER_SET: u8 = 45;
/// A value of column `c` of sysbench's tables, which is `char(120)`.
const VALUE: &[u8] = b"83868641912-28773972837-60736120486-75162659906-27563526494-20381887404-41576422241-93426793964-56405065102-33518432330";
/// A definition of the column: catalog, schema, table, its name, the column and its name; the length of the
/// fixed part, character set, length 480 bytes, type VAR_STRING, flags, decimals, filler.
const COLUMN: &[u8] =
    b"\x03def\x06sbtest\x00\x00\x01c\x01c\x0c\x2d\x00\xe0\x01\x00\x00\xfd\x00\x00\x00\x00\x00";
/// A definition of a parameter. As MySQL does, it gives `?` in place of a name.
const PARAMETER: &[u8] =
    b"\x03def\x00\x00\x00\x01?\x00\x0c\x3f\x00\x00\x00\x00\x00\xfd\x80\x00\x00\x00\x00";

/// Appends a packet and increments the sequence number.
fn packet(out: &mut Vec<u8>, sequence: &mut u8, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
    out.push(*sequence);
    *sequence = sequence.wrapping_add(1);
    out.extend_from_slice(payload);
}

fn status_flags(in_transaction: bool) -> u16 {
    if in_transaction { STATUS_AUTOCOMMIT | STATUS_IN_TRANSACTION } else { STATUS_AUTOCOMMIT }
}

fn put_eof(out: &mut Vec<u8>, sequence: &mut u8, in_transaction: bool) {
    let [low, high] = status_flags(in_transaction).to_le_bytes();
    packet(out, sequence, &[0xfe, 0, 0, low, high]);
}

fn put_ok(out: &mut Vec<u8>, sequence: &mut u8, affected_rows: u8, in_transaction: bool) {
    let [low, high] = status_flags(in_transaction).to_le_bytes();
    packet(out, sequence, &[0, affected_rows, 0, low, high, 0, 0]);
}

/// A result set of one row. `row_start`: the bytes before the value in the row's packet.
fn result_set(row_start: &[u8], in_transaction: bool) -> Vec<u8> {
    let (mut out, mut sequence) = (Vec::new(), 1);
    packet(&mut out, &mut sequence, &[1]);
    packet(&mut out, &mut sequence, COLUMN);
    put_eof(&mut out, &mut sequence, in_transaction);
    let row = [row_start, &[VALUE.len() as u8], VALUE].concat();
    packet(&mut out, &mut sequence, &row);
    put_eof(&mut out, &mut sequence, in_transaction);
    out
}

/// Replies to statements that return a row, by whether a transaction is open.
struct ResultSets {
    text: [Vec<u8>; 2],
    binary: [Vec<u8>; 2],
}

impl ResultSets {
    fn get() -> &'static Self {
        static RESULT_SETS: OnceLock<ResultSets> = OnceLock::new();
        RESULT_SETS.get_or_init(|| {
            let states = [false, true];
            ResultSets {
                text: states.map(|state| result_set(&[], state)),
                // The header of a binary row, and the bitmap of its nulls.
                binary: states.map(|state| result_set(&[0, 0], state)),
            }
        })
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    match text.len() {
        length @ 0..=250 => out.push(length as u8),
        length => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
    }
    out.extend_from_slice(text.as_bytes());
}

/// Appends rows of text as the reply to COM_QUERY.
fn put_rows(out: &mut Vec<u8>, rows: &[Row], in_transaction: bool) {
    let (columns, mut sequence) = (column_count(rows), 1);
    packet(out, &mut sequence, &[columns as u8]);
    for _ in 0..columns {
        packet(out, &mut sequence, COLUMN);
    }
    put_eof(out, &mut sequence, in_transaction);
    for row in rows {
        let mut body = Vec::new();
        for column in 0..columns {
            match row.get(column).and_then(Option::as_deref) {
                Some(value) => put_text(&mut body, value),
                None => body.push(0xfb),
            }
        }
        packet(out, &mut sequence, &body);
    }
    put_eof(out, &mut sequence, in_transaction);
}

fn put_error(out: &mut Vec<u8>, error: &CannedError) {
    let text = format!("#{}{}", error.sqlstate, error.message);
    let body = [&[0xff], &error.number.to_le_bytes()[..], text.as_bytes()].concat();
    packet(out, &mut 1, &body);
}

/// The server's side of one connection.
pub struct MySqlSession {
    conversation: Arc<Conversation>,
    has_logged_in: bool,
    in_transaction: bool,
    /// The kinds of prepared statements; the statement's number is the index plus one.
    statements: Vec<StatementKind>,
}

impl MySqlSession {
    pub fn new(conversation: Arc<Conversation>) -> Self {
        MySqlSession {
            conversation,
            has_logged_in: false,
            in_transaction: false,
            statements: Vec::new(),
        }
    }

    fn execute(&mut self, kind: StatementKind, is_binary: bool, out: &mut Vec<u8>) {
        self.in_transaction = kind.in_transaction_after(self.in_transaction);
        let affected_rows = match kind {
            StatementKind::Select => {
                let result_sets = ResultSets::get();
                let by_state = if is_binary { &result_sets.binary } else { &result_sets.text };
                out.extend_from_slice(&by_state[usize::from(self.in_transaction)]);
                return;
            }
            StatementKind::Insert | StatementKind::Update | StatementKind::Delete => 1,
            _ => 0,
        };
        put_ok(out, &mut 1, affected_rows, self.in_transaction);
    }

    /// Answers COM_QUERY. An error ends an open transaction, as a deadlock does.
    fn answer_query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        let conversation = Arc::clone(&self.conversation);
        match conversation.reply(sql) {
            Some(super::Reply::Rows(rows)) => put_rows(out, &rows, self.in_transaction),
            Some(super::Reply::Error(error)) => {
                put_error(out, error);
                self.in_transaction = false;
            }
            None => self.execute(StatementKind::of(sql), false, out),
        }
    }

    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        let kind = StatementKind::of(sql);
        self.statements.push(kind);
        let column_count = u16::from(kind == StatementKind::Select);
        let parameter_count = sql.iter().filter(|byte| **byte == b'?').count() as u16;
        let mut sequence = 1;
        let mut first = vec![0];
        first.extend_from_slice(&(self.statements.len() as u32).to_le_bytes());
        first.extend_from_slice(&column_count.to_le_bytes());
        first.extend_from_slice(&parameter_count.to_le_bytes());
        first.extend_from_slice(&[0, 0, 0]);
        packet(out, &mut sequence, &first);
        for (count, definition) in [(parameter_count, PARAMETER), (column_count, COLUMN)] {
            for _ in 0..count {
                packet(out, &mut sequence, definition);
            }
            if count > 0 {
                put_eof(out, &mut sequence, self.in_transaction);
            }
        }
    }

    fn handle(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), SessionEnd> {
        let Some((command, body)) = payload.split_first() else {
            return Err(unsupported("an empty packet"));
        };
        match command {
            0x01 => return Err(SessionEnd::ClosedByClient),
            // COM_QUERY
            0x03 => self.answer_query(body, out),
            // COM_STMT_PREPARE
            0x16 => self.prepare(body, out),
            // COM_STMT_EXECUTE
            0x17 => {
                let number = body.first_chunk().copied().map(u32::from_le_bytes);
                let index = number.unwrap_or(0).wrapping_sub(1) as usize;
                let kind = self.statements.get(index).copied();
                let kind = kind.ok_or_else(|| unsupported("the number of an unknown statement"))?;
                self.execute(kind, true, out);
            }
            // COM_STMT_CLOSE has no reply. The statement's number is not used again.
            0x19 => {}
            // COM_SET_OPTION
            0x1b => put_eof(out, &mut 1, self.in_transaction),
            // COM_INIT_DB, COM_PING, COM_STMT_RESET
            0x02 | 0x0e | 0x1a => put_ok(out, &mut 1, 0, self.in_transaction),
            _ => return Err(unsupported(&format!("command {command:#x}"))),
        }
        Ok(())
    }
}

impl Session for MySqlSession {
    fn greet(&mut self, out: &mut Vec<u8>) {
        let [low_0, low_1, high_0, high_1] = CAPABILITIES.to_le_bytes();
        let [status_0, status_1] = status_flags(false).to_le_bytes();
        let mut payload = vec![10];
        payload.extend_from_slice(self.conversation.version_or(VERSION).as_bytes());
        payload.push(0);
        // The connection's number, and the first part of the nonce. No password is checked.
        payload.extend_from_slice(&[1, 0, 0, 0]);
        payload.extend_from_slice(b"12345678\0");
        payload.extend_from_slice(&[low_0, low_1, CHARACTER_SET, status_0, status_1]);
        // The length of the nonce includes a zero at its end.
        payload.extend_from_slice(&[high_0, high_1, 21]);
        payload.extend_from_slice(&[0; 10]);
        payload.extend_from_slice(b"901234567890\0");
        payload.extend_from_slice(PLUGIN);
        packet(out, &mut 0, &payload);
    }

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, SessionEnd> {
        let mut handled = 0;
        while let Some(&[low, middle, high, sequence]) = input[handled..].first_chunk() {
            let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
            let start = handled + 4;
            let Some(payload) = input.get(start..start + length) else {
                break;
            };
            if self.has_logged_in {
                self.handle(payload, out)?;
            } else {
                self.has_logged_in = true;
                put_ok(out, &mut sequence.wrapping_add(1), 0, false);
            }
            handled = start + length;
        }
        Ok(handled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply;
    use super::*;

    const OK: &[u8] = b"\x07\0\0\x01\0\0\0\x02\0\0\0";

    /// A session after its login.
    fn logged_in() -> MySqlSession {
        let mut session = MySqlSession::new(Arc::default());
        let mut out = Vec::new();
        session.greet(&mut out);
        assert!(out[4..].starts_with(b"\x0a8.0."), "{out:?}");
        assert_eq!(out.len(), 4 + usize::from(out[0]));
        let login = b"\x03\0\0\x01abc";
        assert_eq!(reply(&mut session, login), b"\x07\0\0\x02\0\0\0\x02\0\0\0");
        session
    }

    fn command(number: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        packet(&mut out, &mut 0, &[&[number], body].concat());
        out
    }

    #[test]
    fn a_prepared_statement_is_described_and_executed_in_the_binary_protocol() {
        let mut session = logged_in();
        let prepared = reply(&mut session, &command(0x16, b"SELECT c FROM t WHERE id=?"));
        let first = b"\x0c\0\0\x01\0\x01\0\0\0\x01\0\x01\0\0\0\0";
        assert!(prepared.starts_with(first), "{prepared:?}");
        assert!(
            prepared.ends_with(b"\x05\0\0\x05\xfe\0\0\x02\0"),
            "{prepared:?}"
        );
        let executed = reply(&mut session, &command(0x17, b"\x01\0\0\0\0\x01\0\0\0"));
        let row = [&b"\x7a\0\0\x04\0\0\x77"[..], VALUE].concat();
        let has_row = executed.windows(row.len()).any(|window| window == row);
        assert!(has_row, "{executed:?}");
        // COM_STMT_CLOSE has no reply, COM_PING has one.
        assert_eq!(reply(&mut session, &command(0x19, b"\x01\0\0\0")), b"");
        assert_eq!(reply(&mut session, &command(0x0e, b"")), OK);
    }

    #[test]
    fn the_status_tells_whether_a_transaction_is_open() {
        let mut session = logged_in();
        let status = |reply: Vec<u8>| reply[7];
        assert_eq!(status(reply(&mut session, &command(3, b"BEGIN"))), 3);
        let update = reply(&mut session, &command(3, b"UPDATE t SET a=1"));
        assert_eq!(update, b"\x07\0\0\x01\0\x01\0\x03\0\0\0");
        let select = reply(&mut session, &command(3, b"SELECT 1"));
        assert!(select.ends_with(b"\xfe\0\0\x03\0"), "{select:?}");
        assert_eq!(status(reply(&mut session, &command(3, b"COMMIT"))), 2);
    }

    #[test]
    fn an_unknown_statement_ends_the_session() {
        let mut session = logged_in();
        let mut out = Vec::new();
        for request in [command(0x17, b"\x09\0\0\0\0\x01\0\0\0"), command(0x11, b"")] {
            let end = session.receive(&request, &mut out);
            assert!(matches!(end, Err(SessionEnd::Unsupported(_))), "{end:?}");
        }
        let end = session.receive(&command(1, b""), &mut out);
        assert_eq!(end, Err(SessionEnd::ClosedByClient));
    }
}
