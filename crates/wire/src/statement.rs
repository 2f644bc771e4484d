//! A statement and the values put into it, whatever the protocol.
//!
//! In: SQL with `$1`-style placeholders, in any encoding that has ASCII in it. Out: the statement cut at its placeholders, so that any
//! protocol can send it as text or prepared. Must never: look into what the SQL means beyond its
//! first word.

use std::borrow::Cow;

/// A value for a placeholder. Values travel as text, which every engine reads and infers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A floating-point number, sent with as many digits as it needs to be read back unchanged.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Text in the encoding of the connection, or bytes.
    Bytes(&'a [u8]),
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryMode {
    /// Text with the values in it.
    Simple,
    /// Parse, bind and execute each time.
    Extended,
    /// Parsed once a connection, bound and executed each time.
    Prepared,
}

/// What a statement does to the transaction it runs in, as its first word tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Only reads: losing its reply loses nothing.
    Reads,
    /// Ends the transaction: losing its reply leaves the outcome unknown.
    Commits,
    /// Anything else: outside a block it commits by itself.
    Writes,
}

/// One statement of a program.
#[derive(Debug)]
pub struct Statement {
    id: u16,
    sql: Box<str>,
    /// As it is sent, where that is not UTF-8.
    raw: Option<Box<[u8]>>,
    /// Byte ranges of the text between placeholders; placeholder `n` follows piece `n`.
    pieces: Vec<std::ops::Range<usize>>,
    /// Which value (from 0) each placeholder takes.
    slots: Vec<u16>,
    parameters: u16,
    effect: Effect,
    columns: bool,
    joined: bool,
}

impl Statement {
    /// Number of this statement in its program, dense from 0; prepared statements are named by it.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// The SQL with its placeholders, to be shown.
    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The SQL with its placeholders, as it is sent.
    pub fn bytes(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.sql.as_bytes())
    }

    /// How many values it takes: the largest placeholder number.
    pub fn parameters(&self) -> usize {
        usize::from(self.parameters)
    }

    /// The same statement, whose columns' names are wanted: its row description is asked for even
    /// where a connection does without.
    #[must_use]
    pub fn with_columns(mut self) -> Statement {
        self.columns = true;
        self
    }

    /// The same statement, which changes data though its first word may not tell, such as a `SELECT`
    /// of a function: losing its reply outside a block leaves the outcome unknown.
    #[must_use]
    pub fn writing(mut self) -> Statement {
        if self.effect == Effect::Reads {
            self.effect = Effect::Writes;
        }
        self
    }

    /// The same statement, which goes to MySQL and MariaDB as text in every mode, and shares the text,
    /// so the round trip, with others like it that stand next to it in a request: all that those
    /// protocols allow. Nothing changes on PostgreSQL, where a request is a round trip anyway.
    #[must_use]
    pub fn joined(mut self) -> Statement {
        self.joined = true;
        self
    }

    /// Whether it shares a text with its neighbours.
    pub fn is_joined(&self) -> bool {
        self.joined
    }

    /// Whether the names of its columns are wanted.
    pub fn wants_columns(&self) -> bool {
        self.columns
    }

    /// Which value (from 0) each placeholder takes, in the order of the text. Of text that was not
    /// looked into, as many as it takes values.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        let raw = match self.slots.is_empty() {
            true => self.parameters,
            false => 0,
        };
        let cut = self.slots.iter().map(|slot| usize::from(*slot));
        cut.chain(0..usize::from(raw))
    }

    /// What it does to its transaction.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Text and values in turn: each piece of text with the value that follows it, if any.
    pub fn parts(&self) -> impl Iterator<Item = (&[u8], Option<usize>)> {
        let slots = self.slots.iter().map(|s| Some(usize::from(*s)));
        let bytes = self.bytes();
        self.pieces
            .iter()
            .map(|r| &bytes[r.clone()])
            .zip(slots.chain(std::iter::once(None)))
    }
}

/// The statements of one program, numbered in the order they were added; the numbers of those that were
/// removed first.
#[derive(Debug, Default)]
pub struct Statements {
    next: u16,
    free: Vec<u16>,
}

impl Statements {
    /// An empty set.
    pub fn new() -> Self {
        Statements::default()
    }

    /// Adds a statement with `$1`, `$2`... where values go.
    ///
    /// # Panics
    /// With more than 65,535 statements in one program at a time.
    pub fn add(&mut self, sql: &str) -> Statement {
        self.add_bytes(sql.as_bytes())
    }

    fn add_bytes(&mut self, sql: &[u8]) -> Statement {
        let (pieces, slots) = cut(sql);
        let shown = String::from_utf8_lossy(sql);
        let raw = match shown {
            Cow::Borrowed(_) => None,
            Cow::Owned(_) => Some(sql.into()),
        };
        Statement {
            id: self.number(),
            effect: effect(&shown),
            sql: shown.into(),
            raw,
            pieces,
            parameters: slots.iter().map(|s| s + 1).max().unwrap_or(0),
            slots,
            columns: false,
            joined: false,
        }
    }

    /// Adds a statement with a `?` wherever a value goes, each the next one. It is numbered on the way,
    /// so that every protocol can send it. Its text is in whatever encoding the connection has.
    ///
    /// # Panics
    /// With more than 65,535 statements in one program at a time.
    pub fn add_marked(&mut self, sql: impl AsRef<[u8]>) -> Statement {
        self.add_bytes(&numbered(sql.as_ref()))
    }

    /// Adds a statement that is not looked into: it takes `parameters` values, wherever its text
    /// names them, even if it does not. For the extended protocol only: in simple mode its text
    /// would go as it stands, without values, so that whoever cut the text puts them in there.
    ///
    /// # Panics
    /// With more than 65,535 statements in one program at a time.
    pub fn add_raw(&mut self, sql: &str, parameters: u16) -> Statement {
        Statement {
            id: self.number(),
            sql: sql.into(),
            raw: None,
            pieces: std::iter::once(0..sql.len()).collect(),
            slots: Vec::new(),
            parameters,
            effect: effect(sql),
            columns: false,
            joined: false,
        }
    }

    /// A statement is not used any more: another may have its number. Every connection that may have
    /// prepared it is to close it first.
    pub fn remove(&mut self, statement: &Statement) {
        self.free.push(statement.id);
    }

    fn number(&mut self) -> u16 {
        if let Some(id) = self.free.pop() {
            return id;
        }
        let id = self.next;
        self.next = id.checked_add(1).expect("at most 65,535 statements");
        id
    }
}

fn effect(sql: &str) -> Effect {
    let word: String = sql
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_alphabetic())
        .collect();
    match word.to_ascii_lowercase().as_str() {
        "select" | "show" | "begin" | "start" | "rollback" | "abort" | "set" | "values" => {
            Effect::Reads
        }
        "commit" | "end" => Effect::Commits,
        _ => Effect::Writes,
    }
}

/// The same SQL with `$1`, `$2`... in place of each `?` outside quoted text, quoted names and comments.
fn numbered(bytes: &[u8]) -> Vec<u8> {
    let (mut text, mut piece, mut at, mut count) = (Vec::new(), 0, 0, 0);
    while at < bytes.len() {
        if bytes[at] == b'?' {
            count += 1;
            text.extend_from_slice(&bytes[piece..at]);
            text.extend_from_slice(format!("${count}").as_bytes());
            piece = at + 1;
        }
        at = behind_quoted(bytes, at).unwrap_or(at + 1);
    }
    text.extend_from_slice(&bytes[piece..]);
    text
}

/// The position behind the quoted text, quoted name or comment that begins at `at`, if one does.
fn behind_quoted(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at] {
        quote @ (b'\'' | b'"' | b'`') => Some(past(bytes, at + 1, &[quote])),
        b'-' if bytes[at..].starts_with(b"--") => Some(past(bytes, at, b"\n")),
        b'/' if bytes[at..].starts_with(b"/*") => Some(past(bytes, at + 2, b"*/")),
        _ => None,
    }
}

/// Cuts SQL at `$n`, leaving quoted text, quoted names and comments alone.
fn cut(bytes: &[u8]) -> (Vec<std::ops::Range<usize>>, Vec<u16>) {
    let (mut pieces, mut slots) = (Vec::new(), Vec::new());
    let (mut at, mut piece) = (0, 0);
    while at < bytes.len() {
        if let Some(behind) = behind_quoted(bytes, at) {
            at = behind;
            continue;
        }
        match bytes[at] {
            b'$' => {
                let digits = bytes[at + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let number = std::str::from_utf8(&bytes[at + 1..at + 1 + digits]);
                match number.map(str::parse::<u16>) {
                    Ok(Ok(n)) if n > 0 => {
                        pieces.push(piece..at);
                        slots.push(n - 1);
                        at += 1 + digits;
                        piece = at;
                    }
                    _ => at += 1,
                }
            }
            _ => at += 1,
        }
    }
    pieces.push(piece..bytes.len());
    (pieces, slots)
}

/// The position after the next `end` at or behind `from`, or the end of the text.
fn past(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    bytes[from.min(bytes.len())..]
        .windows(end.len())
        .position(|w| w == end)
        .map_or(bytes.len(), |p| from + p + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(sql: &str) -> Vec<(String, Option<usize>)> {
        let statement = Statements::new().add(sql);
        let text = |text: &[u8]| String::from_utf8(text.to_owned()).expect("UTF-8");
        statement.parts().map(|(t, v)| (text(t), v)).collect()
    }

    #[test]
    fn cuts_at_placeholders_outside_quotes_and_comments() {
        assert_eq!(
            shown("update t set a = a + $1 where b = $2 and c = '$3' -- $4"),
            [
                ("update t set a = a + ".to_owned(), Some(0)),
                (" where b = ".to_owned(), Some(1)),
                (" and c = '$3' -- $4".to_owned(), None),
            ]
        );
        assert_eq!(
            shown("select /* $1 */ 1"),
            [("select /* $1 */ 1".to_owned(), None)]
        );
        assert_eq!(shown("$2$1").len(), 3);
        assert_eq!(shown("it's open $1").len(), 1);
        assert_eq!(shown(""), [(String::new(), None)]);
    }

    #[test]
    fn marks_are_numbered_outside_quotes_and_comments() {
        let statement = Statements::new().add_marked("select ?, '?', `a?`, ? -- ?\n/* ? */ ?é");
        assert_eq!(
            statement.sql(),
            "select $1, '?', `a?`, $2 -- ?\n/* ? */ $3é"
        );
        assert_eq!(statement.slots().collect::<Vec<_>>(), [0, 1, 2]);
        let raw = Statements::new().add_raw("select ?, ?", 2);
        assert_eq!(raw.slots().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn text_in_another_encoding_is_sent_as_it_is() {
        let statement = Statements::new().add_marked(b"select '\xe9?', ? -- \xe9");
        assert_eq!(statement.bytes(), b"select '\xe9?', $1 -- \xe9");
        assert_eq!(statement.sql(), "select '\u{fffd}?', $1 -- \u{fffd}");
        let parts: Vec<_> = statement.parts().collect();
        assert_eq!(
            parts,
            [
                (&b"select '\xe9?', "[..], Some(0)),
                (&b" -- \xe9"[..], None)
            ]
        );
        assert_eq!(statement.effect(), Effect::Reads);
    }

    #[test]
    fn numbers_statements_and_counts_values() {
        let mut set = Statements::new();
        assert_eq!(set.add("select 1").id(), 0);
        let second = set.add("select $2 + $1");
        assert_eq!((second.id(), second.parameters()), (1, 2));
        // A number that is free again goes before a new one.
        set.remove(&second);
        assert_eq!([set.add("select 3").id(), set.add("select 4").id()], [1, 2]);
    }

    #[test]
    fn raw_text_is_left_alone() {
        let statement = Statements::new().add_raw("select '$1', $2", 2);
        assert_eq!(statement.parameters(), 2);
        let parts: Vec<_> = statement.parts().collect();
        assert_eq!(parts, [(&b"select '$1', $2"[..], None)]);
    }

    #[test]
    fn first_word_tells_the_effect() {
        let of = |sql| Statements::new().add(sql).effect();
        assert_eq!(of(" SELECT 1"), Effect::Reads);
        assert_eq!(of("END;"), Effect::Commits);
        assert_eq!(of("insert into t values (1)"), Effect::Writes);
        let mut set = Statements::new();
        assert_eq!(set.add("select f()").writing().effect(), Effect::Writes);
        assert_eq!(set.add("commit").writing().effect(), Effect::Commits);
    }
}
