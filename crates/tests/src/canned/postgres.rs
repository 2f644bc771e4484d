//! PostgreSQL's protocol, version 3.0: simple queries, and prepared statements with the unnamed portal.

use super::event_loop::{Session, SessionEnd};
use super::postgres_catalog::{TABLES_QUERY, TABLES_ROW};
use super::{CannedError, Conversation, Row, StatementKind, column_count, unsupported};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// The type `integer`.
const INT4_OID: u32 = 23;
/// The type `text`.
const TEXT_OID: u32 = 25;
/// The value of every column: 1000 in text format, and also four bytes, the length of an `integer` in binary
/// format. pgbench takes it as the scale.
const VALUE: &[u8] = b"1000";
/// The first words of pgbench's query for the partitions of its table, whose result has three columns.
const PARTITIONS_QUERY: &[u8] = b"select o.n, p.partstrat";

/// The codes of requests that come before the first message.
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// The version of a server without a conversation.
const VERSION: &str = "16.0 (canned)";
/// The settings that the server reports after the startup packet, with their values, besides its version.
const PARAMETERS: &[(&str, &str)] = &[
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
];

fn message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

struct Reply {
    /// RowDescription or NoData.
    description: Vec<u8>,
    /// The rows and CommandComplete.
    result: Vec<u8>,
}

impl Reply {
    fn of(kind: StatementKind) -> Self {
        let tag = match kind {
            StatementKind::Select => return Self::of_row(&[Some(VALUE)]),
            StatementKind::Insert => "INSERT 0 1",
            StatementKind::Update => "UPDATE 1",
            StatementKind::Delete => "DELETE 1",
            StatementKind::Begin => "BEGIN",
            StatementKind::Commit => "COMMIT",
            StatementKind::Rollback => "ROLLBACK",
            StatementKind::Other => "SET",
        };
        let (mut description, mut result) = (Vec::new(), Vec::new());
        message(&mut description, b'n', &[]);
        message(&mut result, b'C', format!("{tag}\0").as_bytes());
        Reply {
            description,
            result,
        }
    }

    fn of_row(values: &[Option<&[u8]>]) -> Self {
        let column_count = (values.len() as u16).to_be_bytes();
        let (mut columns, mut row) = (column_count.to_vec(), column_count.to_vec());
        for value in values {
            // The table's OID and the column's number are unknown; the format is text.
            columns.extend_from_slice(b"value\0\0\0\0\0\0\0");
            columns.extend_from_slice(&INT4_OID.to_be_bytes());
            columns.extend_from_slice(&[0, 4, 0xff, 0xff, 0xff, 0xff, 0, 0]);
            let length = value.map_or(u32::MAX, |value| value.len() as u32);
            row.extend_from_slice(&length.to_be_bytes());
            row.extend_from_slice(value.unwrap_or_default());
        }
        let (mut description, mut result) = (Vec::new(), Vec::new());
        message(&mut description, b'T', &columns);
        message(&mut result, b'D', &row);
        message(&mut result, b'C', b"SELECT 1\0");
        Reply {
            description,
            result,
        }
    }

    fn to(sql: &[u8], kind: StatementKind) -> &'static Self {
        static BY_KIND: OnceLock<[Reply; 8]> = OnceLock::new();
        static PARTITIONS: OnceLock<Reply> = OnceLock::new();
        static TABLES: OnceLock<Reply> = OnceLock::new();
        if kind == StatementKind::Select && sql.starts_with(PARTITIONS_QUERY) {
            return PARTITIONS.get_or_init(|| Reply::of_row(&[Some(b"1"), None, Some(b"0")]));
        }
        if kind == StatementKind::Select && sql.starts_with(TABLES_QUERY) {
            return TABLES.get_or_init(|| Reply::of_row(&TABLES_ROW));
        }
        &BY_KIND.get_or_init(|| StatementKind::ALL.map(Reply::of))[kind as usize]
    }
}

#[derive(Clone, Copy)]
struct PreparedStatement {
    kind: StatementKind,
    reply: &'static Reply,
    parameter_count: u16,
}

impl PreparedStatement {
    fn new(sql: &[u8]) -> Self {
        let kind = StatementKind::of(sql);
        PreparedStatement {
            kind,
            reply: Reply::to(sql, kind),
            parameter_count: parameter_count(sql),
        }
    }
}

/// The highest number after a dollar sign.
fn parameter_count(sql: &[u8]) -> u16 {
    let numbers = sql.split(|byte| *byte == b'$').skip(1).map(|tail| {
        let digits = tail.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number: u16, digit| {
            number * 10 + u16::from(digit - b'0')
        })
    });
    numbers.max().unwrap_or(0)
}

/// The text before the first zero byte, and the bytes after it.
fn split_text(body: &[u8]) -> (&[u8], &[u8]) {
    let end = body.iter().position(|byte| *byte == 0);
    let end = end.unwrap_or(body.len());
    (&body[..end], body.get(end + 1..).unwrap_or_default())
}

/// Appends rows of text as the reply to a simple query.
fn put_rows(out: &mut Vec<u8>, rows: &[Row]) {
    let columns = column_count(rows);
    let mut body = (columns as u16).to_be_bytes().to_vec();
    for _ in 0..columns {
        body.extend_from_slice(b"value\0\0\0\0\0\0\0");
        body.extend_from_slice(&TEXT_OID.to_be_bytes());
        body.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    }
    message(out, b'T', &body);
    for row in rows {
        let mut body = (columns as u16).to_be_bytes().to_vec();
        for column in 0..columns {
            let value = row.get(column).and_then(Option::as_deref);
            let length = value.map_or(u32::MAX, |value| value.len() as u32);
            body.extend_from_slice(&length.to_be_bytes());
            body.extend_from_slice(value.unwrap_or_default().as_bytes());
        }
        message(out, b'D', &body);
    }
    message(out, b'C', format!("SELECT {}\0", rows.len()).as_bytes());
}

fn put_error(out: &mut Vec<u8>, error: &CannedError) {
    let CannedError {
        sqlstate,
        message: text,
        ..
    } = error;
    let body = format!("SERROR\0VERROR\0C{sqlstate}\0M{text}\0\0");
    message(out, b'E', body.as_bytes());
}

/// The server's side of one connection.
pub struct PgSession {
    conversation: Arc<Conversation>,
    has_started: bool,
    in_transaction: bool,
    statements: HashMap<Vec<u8>, PreparedStatement>,
    /// The statement of the unnamed portal.
    portal: Option<PreparedStatement>,
}

impl PgSession {
    /// A session that waits for the startup packet.
    pub fn new(conversation: Arc<Conversation>) -> Self {
        PgSession {
            conversation,
            has_started: false,
            in_transaction: false,
            statements: HashMap::new(),
            portal: None,
        }
    }

    fn put_ready(&self, out: &mut Vec<u8>) {
        let status = if self.in_transaction { b'T' } else { b'I' };
        message(out, b'Z', &[status]);
    }

    fn start(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), SessionEnd> {
        let code = body.first_chunk().copied().map(u32::from_be_bytes);
        match code {
            Some(SSL_REQUEST | GSS_REQUEST) => out.push(b'N'),
            Some(CANCEL_REQUEST) => return Err(SessionEnd::ClosedByClient),
            Some(code) if code >> 16 == 3 => {
                self.has_started = true;
                // A pooler may refuse a parameter or a database.
                if let Some(super::Reply::Error(error)) = self.conversation.reply(body) {
                    put_error(out, error);
                    return Ok(());
                }
                message(out, b'R', &[0; 4]);
                let version = ("server_version", self.conversation.version_or(VERSION));
                for (name, value) in [version].iter().chain(PARAMETERS) {
                    message(out, b'S', format!("{name}\0{value}\0").as_bytes());
                }
                message(out, b'K', &[0, 0, 0, 1, 0, 0, 0, 1]);
                self.put_ready(out);
            }
            _ => return Err(unsupported("a startup packet of another version")),
        }
        Ok(())
    }

    /// Answers a statement of a simple query. An error ends an open transaction, as if the client had rolled it back.
    /// Returns whether it succeeds.
    fn answer_query(&mut self, sql: &[u8], out: &mut Vec<u8>) -> bool {
        let kind = StatementKind::of(sql);
        match self.conversation.reply(sql) {
            Some(super::Reply::Rows(rows)) => put_rows(out, &rows),
            Some(super::Reply::Error(error)) => {
                put_error(out, error);
                self.in_transaction = false;
                return false;
            }
            None => {
                let reply = Reply::to(sql, kind);
                if kind == StatementKind::Select {
                    out.extend_from_slice(&reply.description);
                }
                out.extend_from_slice(&reply.result);
            }
        }
        self.in_transaction = kind.in_transaction_after(self.in_transaction);
        true
    }

    fn statement(&self, name: &[u8]) -> Result<PreparedStatement, SessionEnd> {
        let prepared = self.statements.get(name).copied();
        prepared.ok_or_else(|| unsupported("the name of a statement that was not prepared"))
    }

    fn portal(&self) -> Result<PreparedStatement, SessionEnd> {
        let error = || unsupported("a portal that was not bound");
        self.portal.ok_or_else(error)
    }

    fn handle(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), SessionEnd> {
        match kind {
            b'Q' => {
                // What Prony puts between the statements of a request.
                let mut statements = split_text(body).0;
                let mut has_failed = false;
                while let Some(end) = statements.windows(2).position(|two| two == b"\n;")
                    && !has_failed
                {
                    has_failed = !self.answer_query(&statements[..end], out);
                    statements = &statements[end + 2..];
                }
                if !has_failed {
                    self.answer_query(statements, out);
                }
                self.put_ready(out);
            }
            b'P' => {
                let (name, tail) = split_text(body);
                let prepared = PreparedStatement::new(split_text(tail).0);
                self.statements.insert(name.to_vec(), prepared);
                message(out, b'1', &[]);
            }
            b'B' => {
                let (_portal, tail) = split_text(body);
                self.portal = Some(self.statement(split_text(tail).0)?);
                message(out, b'2', &[]);
            }
            b'D' if body.first() == Some(&b'S') => {
                let prepared = self.statement(split_text(&body[1..]).0)?;
                let mut parameters = prepared.parameter_count.to_be_bytes().to_vec();
                for _ in 0..prepared.parameter_count {
                    parameters.extend_from_slice(&INT4_OID.to_be_bytes());
                }
                message(out, b't', &parameters);
                out.extend_from_slice(&prepared.reply.description);
            }
            b'D' => out.extend_from_slice(&self.portal()?.reply.description),
            b'E' => {
                let statement = self.portal()?;
                out.extend_from_slice(&statement.reply.result);
                self.in_transaction = statement.kind.in_transaction_after(self.in_transaction);
            }
            b'C' => message(out, b'3', &[]),
            b'S' => self.put_ready(out),
            b'H' => {}
            b'X' => return Err(SessionEnd::ClosedByClient),
            _ => {
                let kind = char::from(kind);
                return Err(unsupported(&format!("a message of type {kind:?}")));
            }
        }
        Ok(())
    }
}

impl Session for PgSession {
    fn greet(&mut self, _: &mut Vec<u8>) {}

    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, SessionEnd> {
        let mut handled = 0;
        loop {
            let rest = &input[handled..];
            // The startup packet has no type.
            let type_bytes = usize::from(self.has_started);
            let Some(length) = rest.get(type_bytes..).and_then(<[u8]>::first_chunk) else {
                return Ok(handled);
            };
            let length = u32::from_be_bytes(*length) as usize;
            let Some(body_bytes) = length.checked_sub(4) else {
                return Err(unsupported("a message of fewer than four bytes"));
            };
            let start = type_bytes + 4;
            let Some(body) = rest.get(start..start + body_bytes) else {
                return Ok(handled);
            };
            if self.has_started {
                self.handle(rest[0], body, out)?;
            } else {
                self.start(body, out)?;
            }
            handled += start + body_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply;
    use super::*;

    const STARTUP: &[u8] = b"\0\0\0\x13\0\x03\0\0user\0tester\0\0";

    /// A session after its login.
    fn started() -> PgSession {
        let mut session = PgSession::new(Arc::default());
        let mut out = Vec::new();
        let startup_bytes = STARTUP.len() as u32;
        let startup = [&startup_bytes.to_be_bytes(), &STARTUP[4..]].concat();
        assert_eq!(session.receive(&startup, &mut out), Ok(startup.len()));
        assert!(out.starts_with(b"R\0\0\0\x08\0\0\0\0S"), "{out:?}");
        assert!(out.ends_with(b"Z\0\0\0\x05I"), "{out:?}");
        session
    }

    fn query(sql: &str) -> Vec<u8> {
        let mut out = Vec::new();
        message(&mut out, b'Q', format!("{sql}\0").as_bytes());
        out
    }

    #[test]
    fn encryption_is_refused_before_the_login() {
        let mut session = PgSession::new(Arc::default());
        assert_eq!(reply(&mut session, b"\0\0\0\x08\x04\xd2\x16\x2f"), b"N");
        assert_eq!(reply(&mut session, b"\0\0\0\x08\x04\xd2\x16\x30"), b"N");
    }

    #[test]
    fn a_request_in_pieces_is_answered_once() {
        let mut session = started();
        let request = [query("select 1"), query("select 1")].concat();
        let single = reply(&mut session, &query("select 1"));
        for cut in 0..request.len() {
            let mut out = Vec::new();
            let handled = session.receive(&request[..cut], &mut out).expect("handled");
            let rest = session.receive(&request[handled..], &mut out);
            assert_eq!(rest, Ok(request.len() - handled));
            assert_eq!(out, [&single[..], &single].concat(), "cut at {cut}");
        }
    }

    #[test]
    fn the_status_tells_whether_a_transaction_is_open() {
        let mut session = started();
        for (sql, end) in [
            ("BEGIN", b"BEGIN\0Z\0\0\0\x05T"),
            ("UPDATE t SET a = 1", b"ATE 1\0Z\0\0\0\x05T"),
            (
                "END",
                b"OMMIT\0Z\0\0\0\x05I".first_chunk().expect("12 bytes"),
            ),
        ] {
            let reply = reply(&mut session, &query(sql));
            assert!(reply.ends_with(end), "{sql}: {reply:?}");
        }
    }

    #[test]
    fn the_parameters_of_a_statement_are_described() {
        let mut session = started();
        reply(&mut session, b"P\0\0\0\x1cs\0UPDATE t SET a = $2\0\0\0");
        assert_eq!(
            reply(&mut session, b"D\0\0\0\x07Ss\0"),
            b"t\0\0\0\x0e\0\x02\0\0\0\x17\0\0\0\x17n\0\0\0\x04".to_vec()
        );
    }

    #[test]
    fn an_unsupported_message_ends_the_session() {
        let mut session = started();
        let mut out = Vec::new();
        let end = session.receive(b"F\0\0\0\x04", &mut out);
        assert!(matches!(end, Err(SessionEnd::Unsupported(_))), "{end:?}");
        let end = session.receive(b"X\0\0\0\x04", &mut out);
        assert_eq!(end, Err(SessionEnd::ClosedByClient));
    }
}
