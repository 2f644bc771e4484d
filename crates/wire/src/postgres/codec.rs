//! Encodes statements, for a connection that is logged in.
//!
//! In: statements and values. Out: messages appended to a buffer. Must never: wait for a reply.
//! The Parse of a statement precedes its first execution on a connection.
//! Source: PostgreSQL documentation, "Message Formats".

use crate::parameter_type::ParameterType;
use crate::statement::{QueryMode, Statement};
use crate::value::{Value, put_decimal, put_literal};

/// Ends a request in the extended protocol.
const SYNC: &[u8] = b"S\0\0\0\x04";

pub(crate) const TERMINATE: &[u8] = b"X\0\0\0\x04";

/// Ends a COPY without data, and then the session.
pub(crate) const END_COPY: &[u8] = b"c\0\0\0\x04X\0\0\0\x04";
/// Like [`END_COPY`], in the extended protocol.
pub(crate) const END_COPY_EXTENDED: &[u8] = b"c\0\0\0\x04S\0\0\0\x04X\0\0\0\x04";

/// The header of one piece of a COPY's data. Returns `None` if a piece cannot be that long.
pub fn copy_data_header(bytes: usize) -> Option<[u8; 5]> {
    let [a, b, c, d] = u32::try_from(bytes + 4).ok()?.to_be_bytes();
    Some([b'd', a, b, c, d])
}

/// Ends the data of a COPY.
pub const COPY_DONE: &[u8] = b"c\0\0\0\x04";

/// Appends a CopyFail message, which aborts a COPY: none of its rows remains. The server's log shows
/// `reason`.
pub fn put_copy_fail(reason: &str, out: &mut Vec<u8>) {
    message(out, b'f', |out| {
        out.extend(reason.bytes().filter(|byte| *byte != 0));
        out.push(0);
    });
}

/// Encodes the requests of one connection, and keeps track of its prepared statements.
#[derive(Debug)]
pub struct Codec {
    mode: QueryMode,
    describe: bool,
    prepared: Vec<bool>,
    /// Statements whose Parse is in the request that is not yet answered, in order.
    unanswered_parses: Vec<u32>,
    /// How many results the request has at least, unless it fails.
    results: u32,
    /// Boxed, because few programs close statements, and there are many connections.
    pending_closes: Option<Box<PendingCloses>>,
}

#[derive(Debug, Default)]
struct PendingCloses {
    ids: Vec<u32>,
    /// Number of `ids` that the current, unanswered request closes.
    sent: usize,
}

impl Codec {
    /// A codec for a new connection. `describe` requests the row description with each execution, as
    /// libpq does; without it the server does a little less work.
    pub fn new(mode: QueryMode, describe: bool) -> Self {
        Codec {
            mode,
            describe,
            prepared: Vec::new(),
            unanswered_parses: Vec::new(),
            results: 0,
            pending_closes: None,
        }
    }

    /// Forgets the statements prepared on the old connection.
    pub fn reset(&mut self) {
        self.prepared.clear();
        self.unanswered_parses.clear();
        self.pending_closes = None;
    }

    /// Appends one request of several executions, which the server answers with one `ReadyForQuery`. The
    /// server runs the executions in order and, outside a block, as one transaction. After an error it skips
    /// the others.
    pub fn request<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
        out: &mut Vec<u8>,
    ) {
        self.begin();
        if self.mode == QueryMode::Simple {
            let results = &mut self.results;
            return message(out, b'Q', |out| {
                for (index, (statement, values)) in batch.enumerate() {
                    *results += u32::from(!statement.is_blank());
                    if index > 0 {
                        // The previous text may end in a comment, so begin a new line.
                        out.extend_from_slice(b"\n;");
                    }
                    put_statement_text(statement, values, out);
                }
                out.push(0);
            });
        }
        self.put_closes(out);
        for (statement, values) in batch {
            self.execute(statement, values, out);
        }
        self.sync(out);
    }

    pub fn mode(&self) -> QueryMode {
        self.mode
    }

    /// Appends the end of a request in the extended protocol. The server answers with one
    /// `ReadyForQuery`.
    pub fn sync(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SYNC);
    }

    /// How many results the request has at least, unless it fails: one for each execution. A text may be several statements,
    /// and counts as one.
    pub fn results(&self) -> u32 {
        self.results
    }

    /// Begins a request: discards one that was begun and not sent.
    pub fn begin(&mut self) {
        self.unanswered_parses.clear();
        self.results = 0;
        if let Some(pending_closes) = &mut self.pending_closes {
            pending_closes.sent = 0;
        }
    }

    /// Marks a statement as no longer used: a later request closes it on the server, and another statement
    /// may reuse its number.
    pub fn close(&mut self, statement: &Statement) {
        let id = statement.id();
        if self.is_prepared(statement) {
            self.prepared[id as usize] = false;
            self.pending_closes.get_or_insert_default().ids.push(id);
        }
    }

    /// Begins a request in the extended protocol by closing unused statements. Closing a statement
    /// that does not exist is no error.
    pub fn put_closes(&mut self, out: &mut Vec<u8>) {
        let Some(pending_closes) = &mut self.pending_closes else {
            return;
        };
        for id in &pending_closes.ids {
            message(out, b'C', |out| {
                out.push(b'S');
                put_name(Some(*id), out);
            });
        }
        pending_closes.sent = pending_closes.ids.len();
    }

    /// Appends one execution in the extended protocol; [`Codec::sync`] ends the request.
    pub fn execute(&mut self, statement: &Statement, values: &[Value], out: &mut Vec<u8>) {
        debug_assert!(statement.accepts(values), "{statement:?} {values:?}");
        let name = (self.mode == QueryMode::Prepared).then(|| statement.id());
        let is_parsed = name
            .is_some_and(|id| self.is_prepared(statement) || self.unanswered_parses.contains(&id));
        if !is_parsed {
            put_parse(out, name, statement);
            self.unanswered_parses.extend(name);
        }
        self.results += 1;
        self.put_bind(
            name,
            values,
            self.describe || statement.wants_columns(),
            out,
        );
    }

    /// Appends a request that only prepares a statement. From then on it counts as prepared, whatever
    /// the server replies, as in pgbench.
    pub fn prepare(&mut self, statement: &Statement, out: &mut Vec<u8>) {
        self.begin();
        self.put_closes(out);
        // Only this mode names statements; otherwise this checks the statement.
        let id = (self.mode == QueryMode::Prepared).then(|| statement.id());
        put_parse(out, id, statement);
        self.sync(out);
        if let Some(id) = id {
            self.mark_prepared(id);
        }
    }

    pub fn is_prepared(&self, statement: &Statement) -> bool {
        self.prepared.get(statement.id() as usize) == Some(&true)
    }

    fn mark_prepared(&mut self, id: u32) {
        let id = id as usize;
        if self.prepared.len() <= id {
            self.prepared.resize(id + 1, false);
        }
        self.prepared[id] = true;
    }

    /// Appends a simple query. The server answers with one `ReadyForQuery`.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.begin();
        self.results = 1;
        message(out, b'Q', |out| {
            out.extend_from_slice(sql);
            out.push(0);
        });
    }

    /// Records that a request was answered, and that `parsed` of its Parse messages succeeded.
    #[inline]
    pub fn record_reply(&mut self, parsed: u32) {
        if !self.unanswered_parses.is_empty() || self.pending_closes.is_some() {
            self.record_parses_and_closes(parsed);
        }
    }

    fn record_parses_and_closes(&mut self, parsed: u32) {
        for index in 0..self.unanswered_parses.len().min(parsed as usize) {
            self.mark_prepared(self.unanswered_parses[index]);
        }
        self.unanswered_parses.clear();
        if let Some(pending_closes) = &mut self.pending_closes {
            pending_closes.ids.drain(..pending_closes.sent);
            pending_closes.sent = 0;
        }
    }

    fn put_bind(&self, id: Option<u32>, values: &[Value], describe: bool, out: &mut Vec<u8>) {
        message(out, b'B', |out| {
            out.push(0); // the unnamed portal
            put_name(id, out);
            let [high, low] = (values.len() as u16).to_be_bytes();
            out.extend_from_slice(&[0, 0, high, low]); // all values as text
            for value in values {
                put_bind_value(*value, out);
            }
            out.extend_from_slice(&[0, 0]); // all results as text
        });
        if describe {
            out.extend_from_slice(b"D\0\0\0\x06P\0"); // Describe the unnamed portal
        }
        out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0"); // Execute it, without a limit of rows
    }
}

fn put_statement_text(statement: &Statement, values: &[Value], out: &mut Vec<u8>) {
    debug_assert!(statement.accepts(values), "{statement:?} {values:?}");
    statement.put_text(out, |index, out| {
        if let Some(value) = values.get(index) {
            put_literal(*value, out, put_float, put_quoted);
        }
    });
}

fn put_parse(out: &mut Vec<u8>, id: Option<u32>, statement: &Statement) {
    let types = statement.types();
    message(out, b'P', |out| {
        put_name(id, out);
        out.extend_from_slice(statement.bytes());
        out.push(0);
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for declared in types {
            out.extend_from_slice(&declared.map_or(INFERRED_OID, type_oid).to_be_bytes());
        }
    });
}

/// Stands for a type whose OID the client does not declare: the server infers the type.
const INFERRED_OID: u32 = 0;

/// The OID of a type, which is the same in every database (`pg_type.dat`).
fn type_oid(declared: ParameterType) -> u32 {
    match declared {
        ParameterType::BigInt => 20,
        ParameterType::SmallInt => 21,
        ParameterType::Int => 23,
        ParameterType::Text => 25,
        ParameterType::Char(_) => 1042,
        ParameterType::VarChar(_) => 1043,
        ParameterType::Decimal { .. } => 1700,
    }
}

/// Appends the name of a prepared statement: `P_` and its number, empty for the unnamed one.
fn put_name(id: Option<u32>, out: &mut Vec<u8>) {
    if let Some(id) = id {
        out.extend_from_slice(b"P_");
        out.extend_from_slice(itoa::Buffer::new().format(id).as_bytes());
    }
    out.push(0);
}

/// Appends a message: its type, its length and the output of `body`.
pub(crate) fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len() + 1;
    out.extend_from_slice(&[kind, 0, 0, 0, 0]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a value of a Bind message: its length and its text.
fn put_bind_value(value: Value, out: &mut Vec<u8>) {
    let at = out.len();
    // The length of NULL, which that of another value overwrites.
    out.extend_from_slice(&(-1i32).to_be_bytes());
    match value {
        Value::Null => return,
        Value::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        Value::Float(number) => out.extend_from_slice(float_text(number).as_bytes()),
        Value::Decimal { unscaled, scale } => put_decimal(unscaled, scale, out),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
    }
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_float(number: f64, out: &mut Vec<u8>) {
    out.push(b'\'');
    out.extend_from_slice(float_text(number).as_bytes());
    out.push(b'\'');
}

/// Appends text as a literal that means the same under any `standard_conforming_strings`.
fn put_quoted(text: &[u8], out: &mut Vec<u8>) {
    if text.contains(&b'\\') {
        out.extend_from_slice(b" E");
    }
    out.push(b'\'');
    for byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

fn float_text(number: f64) -> String {
    if number == f64::INFINITY {
        "Infinity".to_owned()
    } else if number == f64::NEG_INFINITY {
        "-Infinity".to_owned()
    } else {
        // Rust's text of NaN is also PostgreSQL's.
        number.to_string()
    }
}

#[cfg(test)]
mod tests;
