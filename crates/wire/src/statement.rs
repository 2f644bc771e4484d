//! A statement, for all protocols.
//!
//! In: SQL with `$1`-style placeholders, in any encoding that contains ASCII. Out: the statement split
//! at its placeholders, so that any protocol can send it as text or prepared. Must never: interpret
//! the SQL beyond its first word.

use crate::parameter_type::ParameterType;
use crate::tds::StatementForm;
use crate::value::Value;
pub use prony_document::QueryMode;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The effect of a statement on its transaction, judged by its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Only reads: losing its reply loses nothing.
    Reads,
    /// Ends the transaction: losing its reply leaves the outcome unknown.
    Commits,
    /// Anything else: outside a block it commits by itself.
    Writes,
}

/// The first word of a statement, if it matters to code that adds statements to those of a program. Unlike [`Effect`],
/// it is that of the text's first statement: `;UPDATE` has none, because another text is put in front of these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWord {
    Insert,
    Update,
    Delete,
    Replace,
    With,
    /// EXEC and EXECUTE too.
    Call,
    /// SAVE too.
    Savepoint,
    /// ABORT too.
    Rollback,
    Set,
    Other,
}

impl FirstWord {
    /// The first word of a text without blanks before it. ODBC's `{call name}` is a call, too.
    fn of(sql: &[u8]) -> FirstWord {
        if sql.starts_with(b"{") {
            return FirstWord::Call;
        }
        let word = first_word(sql);
        const KNOWN: [(FirstWord, &[&str]); 9] = [
            (FirstWord::Insert, &["insert"]),
            (FirstWord::Update, &["update"]),
            (FirstWord::Delete, &["delete"]),
            (FirstWord::Replace, &["replace"]),
            (FirstWord::With, &["with"]),
            (FirstWord::Call, &["call", "exec", "execute"]),
            (FirstWord::Savepoint, &["savepoint", "save"]),
            (FirstWord::Rollback, &["rollback", "abort"]),
            (FirstWord::Set, &["set"]),
        ];
        let found = KNOWN.into_iter().find(|(_, words)| is_one_of(word, words));
        found.map_or(FirstWord::Other, |(first_word, _)| first_word)
    }
}

#[derive(Clone, Debug)]
struct Placeholder {
    /// Its bytes.
    range: Range<usize>,
    value_index: u32,
}

/// One statement of a program. Small, because a script may have a million of them.
#[derive(Clone, Debug)]
pub struct Statement {
    id: u32,
    sql: Arc<str>,
    /// The bytes to send, if they are not UTF-8.
    non_utf8_bytes: Option<Box<[u8]>>,
    /// In the order of the text; none if the text is not parsed.
    placeholders: Box<[Placeholder]>,
    parameter_count: u32,
    /// The declared types of the parameters; empty if none is declared.
    types: Box<[Option<ParameterType>]>,
    /// Whether the server converts values that do not fit the types.
    converts_values: bool,
    /// How SQL Server's protocol sends the statement. It depends only on text and types, so executions need not
    /// determine it again.
    tds_form: StatementForm,
    effect: Effect,
    first_word: FirstWord,
    begins_block: bool,
    is_blank: bool,
    wants_columns: bool,
    is_joined: bool,
    has_own_text: bool,
}

impl Statement {
    /// Number of this statement in its program, from 0 without gaps. Prepared statements are named by this
    /// number.
    pub fn id(&self) -> u32 {
        self.id
    }

    pub fn sql(&self) -> &str {
        &self.sql
    }

    /// The SQL with its placeholders, in the bytes to send.
    pub fn bytes(&self) -> &[u8] {
        self.non_utf8_bytes
            .as_deref()
            .unwrap_or(self.sql.as_bytes())
    }

    /// Number of values: the largest placeholder number.
    pub fn parameter_count(&self) -> usize {
        self.parameter_count as usize
    }

    /// Gives the statement this number, for one that the session adds to those of a program.
    #[must_use]
    pub fn with_id(mut self, id: u32) -> Statement {
        self.id = id;
        self
    }

    /// Declares the types of the parameters, in order. The server infers the types that are `None`, and all
    /// of them if this is not called.
    ///
    /// # Panics
    /// If the number of types is not the number of parameters.
    #[must_use]
    pub fn with_types<T>(mut self, types: impl IntoIterator<Item = T>) -> Statement
    where
        T: Into<Option<ParameterType>>,
    {
        let types: Box<[_]> = types.into_iter().map(Into::into).collect();
        assert_eq!(types.len(), self.parameter_count(), "{}", self.sql);
        self.types = if types.iter().any(Option::is_some) { types } else { Box::default() };
        // Taken out, because its types are those of the statement, which is borrowed.
        let mut form = std::mem::take(&mut self.tds_form);
        form.set_types(&self);
        self.tds_form = form;
        self
    }

    /// Declares types as [`Statement::with_types`] does, but values need not fit them: the server converts the others.
    ///
    /// # Panics
    /// If the number of types is not the number of parameters.
    #[must_use]
    pub fn with_suggested_types<T>(self, types: impl IntoIterator<Item = T>) -> Statement
    where
        T: Into<Option<ParameterType>>,
    {
        let mut statement = self.with_types(types);
        statement.converts_values = true;
        statement
    }

    /// Determines `tds_form`, once all fields on which it depends are set.
    fn with_tds_form(mut self) -> Statement {
        self.tds_form = StatementForm::of(&self);
        self
    }

    /// How SQL Server's protocol sends the statement.
    pub(crate) fn tds_form(&self) -> &StatementForm {
        &self.tds_form
    }

    /// The declared types of the parameters; empty if none is declared.
    pub fn types(&self) -> &[Option<ParameterType>] {
        &self.types
    }

    /// Whether there is one value for each parameter, and each fits its declared type or is converted.
    pub fn accepts(&self, values: &[Value<'_>]) -> bool {
        let mut typed = self.types.iter().zip(values);
        let fits = self.converts_values
            || typed
                .all(|(declared, value)| declared.is_none_or(|declared| declared.holds(*value)));
        values.len() == self.parameter_count() && fits
    }

    /// Marks that the column names are needed: the row description is then requested even if the connection
    /// usually does not request it.
    #[must_use]
    pub fn with_columns(mut self) -> Statement {
        self.wants_columns = true;
        self
    }

    /// Marks that the statement changes data even if its first word does not show it, such as a
    /// `SELECT` of a function: losing its reply outside a block leaves the outcome unknown.
    #[must_use]
    pub fn with_write_effect(mut self) -> Statement {
        if self.effect == Effect::Reads {
            self.effect = Effect::Writes;
        }
        self
    }

    /// Marks that on MySQL and MariaDB the statement is sent as text in every mode, in one query with
    /// adjacent statements that are marked: they then share a round trip, which MySQL's protocol does not
    /// offer otherwise. Changes nothing on PostgreSQL, where a request is one round trip anyway.
    #[must_use]
    pub fn with_joining(mut self) -> Statement {
        self.is_joined = true;
        self
    }

    /// Whether the statement is joined with adjacent ones into one text (see [`Statement::with_joining`]).
    pub fn is_joined(&self) -> bool {
        self.is_joined
    }

    /// Marks that on MySQL and MariaDB the statement is sent as text in every mode, in a query without others, so that it
    /// has a round trip of its own. Changes nothing on other engines.
    #[must_use]
    pub fn with_own_text(mut self) -> Statement {
        self.has_own_text = true;
        self
    }

    /// Whether the statement is sent as a text of its own (see [`Statement::with_own_text`]).
    pub fn has_own_text(&self) -> bool {
        self.has_own_text
    }

    pub fn wants_columns(&self) -> bool {
        self.wants_columns
    }

    /// Index of the value of each placeholder, in the order of the text. For text that was not parsed, one
    /// index per value.
    pub fn value_indexes(&self) -> impl ExactSizeIterator<Item = usize> {
        let count = match self.placeholders.len() {
            0 => self.parameter_count(),
            count => count,
        };
        let value_index = |position: usize| {
            let placeholder = self.placeholders.get(position);
            placeholder.map_or(position, |placeholder| placeholder.value_index as usize)
        };
        (0..count).map(value_index)
    }

    pub fn effect(&self) -> Effect {
        self.effect
    }

    pub fn first_word(&self) -> FirstWord {
        self.first_word
    }

    /// Whether [`Statement::sql`] is what is sent, because its bytes are UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.non_utf8_bytes.is_none()
    }

    /// Whether the statement's first word begins a transaction block.
    pub fn begins_block(&self) -> bool {
        self.begins_block
    }

    /// Whether the text has only blanks, comments and semicolons: it has no result.
    pub fn is_blank(&self) -> bool {
        self.is_blank
    }

    /// The pieces of the text between placeholders, each with the index of the value that follows, if any.
    pub fn parts(&self) -> impl Iterator<Item = (&[u8], Option<usize>)> {
        let (bytes, placeholders) = (self.bytes(), &self.placeholders);
        (0..=placeholders.len()).map(move |index| {
            let start = match index {
                0 => 0,
                _ => placeholders[index - 1].range.end,
            };
            match placeholders.get(index) {
                Some(next) => (
                    &bytes[start..next.range.start],
                    Some(next.value_index as usize),
                ),
                None => (&bytes[start..], None),
            }
        })
    }

    /// Appends the text; in place of each placeholder, what `put_value` appends for the value of this index. Called for
    /// each execution: a loop over [`Statement::parts`] would take 1.5 times as many instructions.
    pub(crate) fn put_text(&self, out: &mut Vec<u8>, put_value: impl Fn(usize, &mut Vec<u8>)) {
        let (bytes, mut start) = (self.bytes(), 0);
        for placeholder in &self.placeholders {
            out.extend_from_slice(&bytes[start..placeholder.range.start]);
            put_value(placeholder.value_index as usize, out);
            start = placeholder.range.end;
        }
        out.extend_from_slice(&bytes[start..]);
    }
}

/// The numbers of the statements of one program, in the order in which the statements are created; numbers
/// of removed statements are reused first.
#[derive(Debug, Default)]
pub struct StatementIds {
    next_id: u32,
    free_ids: Vec<u32>,
}

impl StatementIds {
    pub fn new() -> Self {
        StatementIds::default()
    }

    /// Creates a statement with `$1`, `$2`... as placeholders.
    pub fn add(&mut self, sql: &str) -> Statement {
        self.add_bytes(sql.as_bytes())
    }

    fn add_bytes(&mut self, sql: &[u8]) -> Statement {
        let text = String::from_utf8_lossy(sql);
        let non_utf8_bytes = match text {
            Cow::Borrowed(_) => None,
            Cow::Owned(_) => Some(sql.into()),
        };
        let mut statement = self.create(text.into(), sql);
        statement.non_utf8_bytes = non_utf8_bytes;
        statement.placeholders = find_placeholders(sql);
        let placeholders = statement.placeholders.iter();
        let numbers = placeholders.map(|placeholder| placeholder.value_index + 1);
        statement.parameter_count = numbers.max().unwrap_or(0);
        statement.with_tds_form()
    }

    /// A statement without parameters, from the bytes of its text.
    fn create(&mut self, sql: Arc<str>, bytes: &[u8]) -> Statement {
        let start = skip_blanks_and_comments(bytes, 0);
        let first_statement = &bytes[skip_to_statement(bytes, start)..];
        Statement {
            id: self.next_free_id(),
            effect: effect(bytes),
            first_word: FirstWord::of(&bytes[start..]),
            begins_block: is_one_of(first_word(first_statement), &["begin", "start"]),
            is_blank: first_statement.is_empty(),
            sql,
            non_utf8_bytes: None,
            placeholders: Box::default(),
            parameter_count: 0,
            types: Box::default(),
            converts_values: false,
            tds_form: StatementForm::default(),
            wants_columns: false,
            is_joined: false,
            has_own_text: false,
        }
    }

    /// Creates a statement with `?` as placeholders, one for each value, in order. They are converted to
    /// numbered ones, so that every protocol can send the statement. The text is in any encoding that
    /// the connection uses.
    pub fn add_with_question_marks(&mut self, sql: impl AsRef<[u8]>) -> Statement {
        self.add_bytes(&number_placeholders(sql.as_ref()))
    }

    /// Creates a statement whose text is not parsed. It takes `parameter_count` values, whether or not the
    /// text has placeholders for them. Use it only in the extended protocol: in simple mode the text is sent
    /// unchanged, without the values.
    pub fn add_unparsed(&mut self, sql: impl Into<Arc<str>>, parameter_count: u32) -> Statement {
        let sql = sql.into();
        let mut statement = self.create(Arc::clone(&sql), sql.as_bytes());
        statement.parameter_count = parameter_count;
        statement.with_tds_form()
    }

    /// Creates a statement whose placeholders `$1`, `$2`... are at these positions, in order. Other text is not parsed,
    /// so a `$1` in a literal stays what it is.
    pub fn add_with_placeholders(
        &mut self,
        sql: impl Into<Arc<str>>,
        positions: impl IntoIterator<Item = Range<usize>>,
    ) -> Statement {
        let placeholders: Box<[Placeholder]> = positions
            .into_iter()
            .zip(0..)
            .map(|(range, value_index)| Placeholder { range, value_index })
            .collect();
        let count = placeholders.len() as u32;
        let mut statement = self.add_unparsed(sql, count);
        statement.placeholders = placeholders;
        statement.with_tds_form()
    }

    /// Removes a statement: another may reuse its number. Every connection that may have prepared it
    /// must close it first.
    pub fn remove(&mut self, statement: &Statement) {
        self.free_ids.push(statement.id);
    }

    fn next_free_id(&mut self) -> u32 {
        self.free_ids.pop().unwrap_or_else(|| {
            // Memory is exhausted long before these numbers are.
            self.next_id += 1;
            self.next_id - 1
        })
    }
}

/// The strongest effect of the statements in a text. A semicolon in quotes may make it too strong; at
/// worst an outcome is then reported as unknown. Does not allocate.
pub(crate) fn effect(sql: &[u8]) -> Effect {
    let mut strongest = Effect::Reads;
    let mut at = 0;
    loop {
        at = skip_to_statement(sql, at);
        if at >= sql.len() {
            return strongest;
        }
        strongest = match (strongest, effect_of_first_word(&sql[at..])) {
            (_, Effect::Commits) => return Effect::Commits,
            (Effect::Reads, next_effect) => next_effect,
            (strongest, _) => strongest,
        };
        at = position_after(sql, at, b";");
    }
}

/// Whether a statement of a text begins with one of these words.
pub(crate) fn has_statement(sql: &[u8], words: &[&str]) -> bool {
    let mut at = skip_to_statement(sql, 0);
    while at < sql.len() {
        if is_one_of(first_word(&sql[at..]), words) {
            return true;
        }
        at = skip_to_statement(sql, position_after(sql, at, b";"));
    }
    false
}

/// The position of the first statement from `at` on, after semicolons of empty ones.
pub(crate) fn skip_to_statement(sql: &[u8], mut at: usize) -> usize {
    loop {
        at = skip_blanks_and_comments(sql, at);
        if sql.get(at) != Some(&b';') {
            return at;
        }
        at += 1;
    }
}

/// The position of the first byte from `at` on that is not part of whitespace or a comment.
fn skip_blanks_and_comments(sql: &[u8], mut at: usize) -> usize {
    while let Some(byte) = sql.get(at) {
        at = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c' => at + 1,
            b'-' | b'/' => match end_of_quoted_or_comment(sql, at) {
                Some(end) => end,
                None => return at,
            },
            _ => return at,
        };
    }
    at
}

fn effect_of_first_word(sql: &[u8]) -> Effect {
    const READS: &[&str] = &[
        "select", "show", "begin", "start", "rollback", "abort", "set", "values",
    ];
    let word = first_word(sql);
    if is_one_of(word, READS) {
        Effect::Reads
    } else if is_one_of(word, &["commit", "end"]) {
        Effect::Commits
    } else {
        Effect::Writes
    }
}

pub(crate) fn first_word(sql: &[u8]) -> &[u8] {
    let letters = sql.iter().take_while(|byte| byte.is_ascii_alphabetic());
    &sql[..letters.count()]
}

pub(crate) fn is_one_of(word: &[u8], names: &[&str]) -> bool {
    let mut names = names.iter();
    names.any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

/// The same SQL with `$1`, `$2`... in place of each `?` outside quoted text, quoted names and comments.
fn number_placeholders(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut count = 0;
    let (mut piece_start, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] == b'?' {
            count += 1;
            text.extend_from_slice(&bytes[piece_start..at]);
            text.extend_from_slice(format!("${count}").as_bytes());
            piece_start = at + 1;
        }
        at = end_of_quoted_or_comment(bytes, at).unwrap_or(at + 1);
    }
    text.extend_from_slice(&bytes[piece_start..]);
    text
}

/// The position after the quoted text, quoted name or comment that begins at `at`, if one does.
fn end_of_quoted_or_comment(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at] {
        quote @ (b'\'' | b'"' | b'`') => Some(position_after(bytes, at + 1, &[quote])),
        b'-' if bytes[at..].starts_with(b"--") => Some(position_after(bytes, at, b"\n")),
        b'/' if bytes[at..].starts_with(b"/*") => Some(position_after(bytes, at + 2, b"*/")),
        _ => None,
    }
}

/// The largest number of a placeholder, because there is a value for each number up to the largest of a text. No server
/// prepares as many, but the simple protocol sends them as text.
const PLACEHOLDER_NUMBER_MAX: u32 = 1_000_000;

/// Finds each `$n`, except in quoted text, quoted names and comments.
fn find_placeholders(bytes: &[u8]) -> Box<[Placeholder]> {
    let mut placeholders = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if let Some(end) = end_of_quoted_or_comment(bytes, at) {
            at = end;
            continue;
        }
        match bytes[at] {
            b'$' => {
                let digits = bytes[at + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let number = std::str::from_utf8(&bytes[at + 1..at + 1 + digits]);
                match number.map(str::parse::<u32>) {
                    Ok(Ok(n @ 1..=PLACEHOLDER_NUMBER_MAX)) => {
                        placeholders.push(Placeholder {
                            range: at..at + 1 + digits,
                            value_index: n - 1,
                        });
                        at += 1 + digits;
                    }
                    _ => at += 1,
                }
            }
            _ => at += 1,
        }
    }
    placeholders.into()
}

/// The position after the next `pattern`, from `from` on, or the end of the text.
fn position_after(bytes: &[u8], from: usize, pattern: &[u8]) -> usize {
    bytes[from.min(bytes.len())..]
        .windows(pattern.len())
        .position(|window| window == pattern)
        .map_or(bytes.len(), |offset| from + offset + pattern.len())
}

#[cfg(test)]
mod tests;
