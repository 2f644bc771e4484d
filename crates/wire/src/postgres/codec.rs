//! Statements to bytes, for a connection that is logged in.
//!
//! In: statements and values. Out: messages appended to a buffer. Must never: wait for anything; a
//! statement that is not yet prepared on this connection carries its Parse in front.
//! Source: PostgreSQL documentation, "Message Formats".

use crate::statement::{QueryMode, Statement, Value};

/// Ends a request in the extended protocol.
const SYNC: &[u8] = b"S\0\0\0\x04";

/// Ends the session.
pub(crate) const TERMINATE: &[u8] = b"X\0\0\0\x04";

/// Ends a COPY without data, then the session; and the same in the extended protocol.
pub(crate) const END_COPY: &[u8] = b"c\0\0\0\x04X\0\0\0\x04";
pub(crate) const END_COPY_EXTENDED: &[u8] = b"c\0\0\0\x04S\0\0\0\x04X\0\0\0\x04";

/// What a connection remembers between requests.
#[derive(Debug)]
pub struct Codec {
    mode: QueryMode,
    describe: bool,
    prepared: Vec<bool>,
    /// Statements whose Parse is part of the request that is not yet answered, in order.
    parsing: Vec<u16>,
    /// In a box, because few programs close statements, and there are many connections.
    closing: Option<Box<Closing>>,
}

/// Statements that the server may forget.
#[derive(Debug, Default)]
struct Closing {
    ids: Vec<u16>,
    /// So many of them are part of the request that is not yet answered.
    told: usize,
}

impl Codec {
    /// A codec for a fresh connection. `describe` asks for the row description with each execution,
    /// as libpq does; without it the server does a little less work.
    pub fn new(mode: QueryMode, describe: bool) -> Self {
        Codec {
            mode,
            describe,
            prepared: Vec::new(),
            parsing: Vec::new(),
            closing: None,
        }
    }

    /// Forgets what the old connection had prepared.
    pub fn reset(&mut self) {
        self.prepared.clear();
        self.parsing.clear();
        self.closing = None;
    }

    /// Appends one request of several executions. It brings one `ReadyForQuery`: the server runs
    /// them in turn and, outside a block, as one transaction; after an error it skips the rest.
    pub fn request<'a>(
        &mut self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
        out: &mut Vec<u8>,
    ) {
        self.begin();
        if self.mode == QueryMode::Simple {
            return message(out, b'Q', |out| {
                for (place, (statement, values)) in batch.enumerate() {
                    if place > 0 {
                        // On a line of its own: the text before may end in a comment.
                        out.extend_from_slice(b"\n;");
                    }
                    filled(statement, values, out);
                }
                out.push(0);
            });
        }
        self.closes(out);
        for (statement, values) in batch {
            self.execute(statement, values, out);
        }
        self.sync(out);
    }

    /// The mode in which statements are sent.
    pub fn mode(&self) -> QueryMode {
        self.mode
    }

    /// Appends the end of a request in the extended protocol. It brings one `ReadyForQuery`.
    pub fn sync(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SYNC);
    }

    /// Forgets a request that was begun and not sent.
    pub fn begin(&mut self) {
        self.parsing.clear();
        if let Some(closing) = &mut self.closing {
            closing.told = 0;
        }
    }

    /// A statement is not used any more: the server may forget it. Its number may be another's then.
    pub fn close(&mut self, statement: &Statement) {
        let id = statement.id();
        if self.knows(statement) {
            self.prepared[usize::from(id)] = false;
            self.closing.get_or_insert_default().ids.push(id);
        }
    }

    /// Begins a request in the extended protocol with what the server may forget. To close what is not
    /// there is no error.
    pub fn closes(&mut self, out: &mut Vec<u8>) {
        let Some(closing) = &mut self.closing else {
            return;
        };
        for id in &closing.ids {
            message(out, b'C', |out| {
                out.push(b'S');
                name(Some(*id), out);
            });
        }
        closing.told = closing.ids.len();
    }

    /// Appends one execution in the extended protocol; [`Codec::sync`] ends the request.
    pub fn execute(&mut self, statement: &Statement, values: &[Value], out: &mut Vec<u8>) {
        debug_assert_eq!(values.len(), statement.parameters(), "{}", statement.sql());
        let name = (self.mode == QueryMode::Prepared).then(|| statement.id());
        let known = name.is_some_and(|id| self.knows(statement) || self.parsing.contains(&id));
        if !known {
            parse(out, name, statement.bytes());
            self.parsing.extend(name);
        }
        self.bind(
            name,
            values,
            self.describe || statement.wants_columns(),
            out,
        );
    }

    /// Appends a request that prepares a statement and does nothing else. From then on it counts as
    /// prepared, whatever the server says, as for pgbench.
    pub fn prepare(&mut self, statement: &Statement, out: &mut Vec<u8>) {
        self.begin();
        self.closes(out);
        parse(out, Some(statement.id()), statement.bytes());
        self.sync(out);
        self.know(statement.id());
    }

    /// Whether a statement is prepared on this connection.
    pub fn knows(&self, statement: &Statement) -> bool {
        self.prepared.get(usize::from(statement.id())) == Some(&true)
    }

    fn know(&mut self, id: u16) {
        let id = usize::from(id);
        if self.prepared.len() <= id {
            self.prepared.resize(id + 1, false);
        }
        self.prepared[id] = true;
    }

    /// Appends a simple query. It brings one `ReadyForQuery`.
    pub fn query(&mut self, sql: &[u8], out: &mut Vec<u8>) {
        self.begin();
        message(out, b'Q', |out| {
            out.extend_from_slice(sql);
            out.push(0);
        });
    }

    /// Notes that a request was answered, `parsed` of its Parse messages with success.
    pub fn answered(&mut self, parsed: u32) {
        for place in 0..self.parsing.len().min(parsed as usize) {
            self.know(self.parsing[place]);
        }
        self.parsing.clear();
        if let Some(closing) = &mut self.closing {
            closing.ids.drain(..closing.told);
            closing.told = 0;
        }
    }

    fn bind(&self, id: Option<u16>, values: &[Value], describe: bool, out: &mut Vec<u8>) {
        message(out, b'B', |out| {
            out.push(0); // the unnamed portal
            name(id, out);
            out.extend_from_slice(&[0, 0]); // all values as text
            out.extend_from_slice(&(values.len() as u16).to_be_bytes());
            for value in values {
                bound(*value, out);
            }
            out.extend_from_slice(&[0, 0]); // all results as text
        });
        if describe {
            out.extend_from_slice(b"D\0\0\0\x06P\0");
        }
        out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
    }
}

/// Appends the text of a statement with its values in it.
fn filled(statement: &Statement, values: &[Value], out: &mut Vec<u8>) {
    debug_assert_eq!(values.len(), statement.parameters(), "{}", statement.sql());
    for (text, value) in statement.parts() {
        out.extend_from_slice(text);
        if let Some(value) = value.and_then(|n| values.get(n)) {
            literal(*value, out);
        }
    }
}

fn parse(out: &mut Vec<u8>, id: Option<u16>, sql: &[u8]) {
    message(out, b'P', |out| {
        name(id, out);
        out.extend_from_slice(sql);
        out.extend_from_slice(&[0, 0, 0]); // end of the text; no types given
    });
}

/// Name of a prepared statement: `P_` and its number, nothing for the unnamed one.
fn name(id: Option<u16>, out: &mut Vec<u8>) {
    if let Some(id) = id {
        out.extend_from_slice(b"P_");
        out.extend_from_slice(itoa::Buffer::new().format(id).as_bytes());
    }
    out.push(0);
}

/// Appends a message: its type, its length and what `body` writes.
pub(crate) fn message(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// A value of a Bind message: its length and its text.
fn bound(value: Value, out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(&(-1i32).to_be_bytes());
    match value {
        Value::Null => return,
        Value::Int(n) => out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes()),
        Value::Float(x) => out.extend_from_slice(float(x).as_bytes()),
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
    }
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// A value inside the text of a simple query. Negative numbers are put in parentheses, for
/// `a - -1` would otherwise start a comment.
fn literal(value: Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(n) if n < 0 => {
            out.push(b'(');
            out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
            out.push(b')');
        }
        Value::Int(n) => out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes()),
        Value::Float(x) => {
            out.extend_from_slice(b"'");
            out.extend_from_slice(float(x).as_bytes());
            out.extend_from_slice(b"'");
        }
        Value::Text(text) => quoted(text.as_bytes(), out),
        Value::Bytes(bytes) => quoted(bytes, out),
    }
}

/// Text as a literal that means the same whatever `standard_conforming_strings` says.
fn quoted(text: &[u8], out: &mut Vec<u8>) {
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

fn float(x: f64) -> String {
    if x.is_nan() {
        "NaN".to_owned()
    } else if x.is_infinite() {
        if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::Statements;

    fn sent(mode: QueryMode, describe: bool, sql: &str, values: &[Value]) -> Vec<u8> {
        let statement = Statements::new().add(sql);
        let mut out = Vec::new();
        let mut codec = Codec::new(mode, describe);
        codec.request(std::iter::once((&statement, values)), &mut out);
        out
    }

    #[test]
    fn simple_mode_writes_literals() {
        let sql = "select $1 - $2, $3, $4, $5";
        let values = [
            Value::Int(7),
            Value::Int(-7),
            Value::Text(r"o'\n"),
            Value::Null,
            Value::Float(0.5),
        ];
        let out = sent(QueryMode::Simple, true, sql, &values);
        assert_eq!(out[0], b'Q');
        assert_eq!(out[1..5], (out.len() as u32 - 1).to_be_bytes());
        assert_eq!(
            &out[5..],
            br"select 7 - (-7),  E'o''\\n', NULL, '0.5'"
                .iter()
                .chain(&[0])
                .copied()
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_batch_is_one_request_in_every_mode() {
        let mut set = Statements::new();
        let (one, two) = (set.add("select $1 -- one"), set.add("select 2"));
        let value = [Value::Int(1)];
        for (mode, start, end) in [
            (
                QueryMode::Simple,
                b'Q',
                &b"select 1 -- one\n;select 2\0"[..],
            ),
            (QueryMode::Extended, b'P', SYNC),
            (QueryMode::Prepared, b'P', SYNC),
        ] {
            let mut out = Vec::new();
            let batch: [(&Statement, &[Value]); 2] = [(&one, &value), (&two, &[])];
            Codec::new(mode, false).request(batch.into_iter(), &mut out);
            assert_eq!(out[0], start);
            assert!(out.ends_with(end), "{mode:?}");
            assert_eq!(
                out.windows(5).filter(|five| *five == SYNC).count(),
                usize::from(end == SYNC)
            );
        }
    }

    #[test]
    fn prepared_mode_parses_once_and_again_after_a_failed_parse() {
        let statement = Statements::new().add("select $1");
        let mut codec = Codec::new(QueryMode::Prepared, false);
        let request = |codec: &mut Codec| {
            let mut out = Vec::new();
            codec.execute(&statement, &[Value::Int(1)], &mut out);
            out[0]
        };
        assert_eq!(request(&mut codec), b'P');
        codec.answered(0); // the Parse failed
        assert_eq!(request(&mut codec), b'P');
        codec.answered(1);
        assert_eq!(request(&mut codec), b'B');
        codec.reset();
        assert_eq!(request(&mut codec), b'P');
    }

    #[test]
    fn closed_statements_go_with_the_next_request_and_their_numbers_to_others() {
        let mut set = Statements::new();
        let mut codec = Codec::new(QueryMode::Prepared, false);
        let close = b"C\0\0\0\x09SP_0\0";
        let old = set.add("select 1");
        let mut out = Vec::new();
        // What was never prepared needs no closing.
        codec.close(&old);
        codec.prepare(&old, &mut out);
        assert_eq!(out[0], b'P');
        codec.answered(1);
        codec.close(&old);
        set.remove(&old);
        let new = set.add("select 2");
        assert!(new.id() == old.id() && !codec.knows(&new));
        // Not with a text, and again where the request before was given up.
        let mut out = Vec::new();
        codec.query(b"select 3", &mut out);
        codec.answered(0);
        assert_eq!(out[0], b'Q');
        for answer in [false, true] {
            let mut out = Vec::new();
            codec.request(std::iter::once((&new, &[][..])), &mut out);
            assert!(out.starts_with(close) && out[close.len()] == b'P');
            if answer {
                codec.answered(1);
            }
        }
        let mut out = Vec::new();
        codec.request(std::iter::once((&new, &[][..])), &mut out);
        assert_eq!(out[0], b'B');
        codec.close(&new);
        codec.reset();
        let mut out = Vec::new();
        codec.prepare(&new, &mut out);
        assert_eq!(out[0], b'P');
    }

    #[test]
    fn a_request_that_was_given_up_prepared_nothing() {
        let mut set = Statements::new();
        let (first, second) = (set.add_raw("select '$1'", 1), set.add("select 2"));
        let mut codec = Codec::new(QueryMode::Prepared, false);
        let mut out = Vec::new();
        codec.execute(&first, &[Value::Null], &mut out);
        codec.request(std::iter::once((&second, &[][..])), &mut out);
        // One Parse was accepted: that of the second.
        codec.answered(1);
        for (statement, start) in [(&first, b'P'), (&second, b'B')] {
            let mut out = Vec::new();
            codec.execute(
                statement,
                &[Value::Null][..statement.parameters()],
                &mut out,
            );
            codec.sync(&mut out);
            assert_eq!(out[0], start);
            assert!(out.ends_with(SYNC));
        }
    }

    #[test]
    fn columns_are_described_where_they_are_wanted() {
        let mut set = Statements::new();
        let (plain, wanted) = (set.add("select 1"), set.add("select 1").with_columns());
        let described = |statement: &Statement, describe| {
            let mut out = Vec::new();
            Codec::new(QueryMode::Extended, describe).execute(statement, &[], &mut out);
            out.windows(7).any(|seven| seven == b"D\0\0\0\x06P\0")
        };
        assert!(!described(&plain, false));
        assert!(described(&wanted, false) && described(&plain, true));
    }

    #[test]
    fn bind_is_as_documented() {
        let out = sent(QueryMode::Extended, true, "q$1", &[Value::Int(-5)]);
        let wanted: &[u8] = b"P\0\0\0\x0b\0q$1\0\0\0\
            B\0\0\0\x12\0\0\0\0\0\x01\0\0\0\x02-5\0\0\
            D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(out, wanted);
    }
}
