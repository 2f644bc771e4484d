//! The statements of a recording: what is known of each from its text.

use super::encoding::{Cursor, flags_of_number, number_of_flags, put_bytes, put_number};
use super::times::LoggedTimes;
use crate::capture::{Token, TokenKind, is_one_of, tokens, without_literals};
use prony_document::SqlDialect;

/// A statement of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RecordedStatement {
    /// A short name, unique in the recording.
    pub name: String,
    /// With placeholders, or with a question mark for each literal.
    pub text: String,
    /// Whether `text` is sent with the recorded values; otherwise the recorded text is sent.
    pub has_placeholders: bool,
    pub writes: bool,
    pub rolls_back: bool,
    /// Whether a read-only session has to be made read-only again after it.
    pub ends_read_only: bool,
    /// Whether the session has no prepared statements after it.
    pub drops_prepared: bool,
    /// Number of executions, failed ones included.
    pub calls: u64,
    pub times: LoggedTimes,
}

/// Verbs before the name of a savepoint, cursor or prepared statement.
const NAMING_VERBS: &str = "savepoint release rollback declare fetch move close deallocate prepare";

/// The text that tells a statement from others: without literals, and without the numbers in names that drivers make, such as
/// those of savepoints.
pub(super) fn key_of(text: &str, dialect: SqlDialect) -> String {
    let key = without_literals(text, dialect);
    let mut head = tokens(&key, dialect).take(6).peekable();
    if !head
        .peek()
        .is_some_and(|verb| is_one_of(&verb.text, NAMING_VERBS))
    {
        return key;
    }
    let is_over = |token: &Token<'_>| matches!(&*token.text, "for" | "as" | "cursor" | ";");
    let numbered = head.take_while(|token| !is_over(token)).find(|token| {
        token.kind == TokenKind::Name && token.text.contains(|c: char| c.is_ascii_digit())
    });
    match numbered.map(|token| token.range) {
        Some(range) => format!("{}?{}", &key[..range.start], &key[range.end..]),
        None => key,
    }
}

/// Codes of a table that is missing: its name is no value, and says which backup or database is the wrong one. (PostgreSQL
/// takes a value between double quotes for the name of a column.)
const MISSING_TABLE: [&[u8; 5]; 2] = [b"42P01", b"42S02"];

/// A message of the server without what stands between quotes, which may be a value: from the first quote of a kind to
/// the last, because values may have quotes too.
pub(super) fn without_quoted(code: &[u8; 5], message: &str) -> String {
    let mut out = message.to_owned();
    if MISSING_TABLE.contains(&code) {
        return out;
    }
    for quote in ['\'', '"', '`'] {
        // An apostrophe follows a letter.
        let mut starts = out.match_indices(quote).map(|(start, _)| start);
        let opens = |start: &usize| !out[..*start].ends_with(char::is_alphanumeric);
        if let Some(start) = starts.find(opens) {
            let end = out.rfind(quote).filter(|end| *end > start);
            out.replace_range(start + 1..end.unwrap_or(out.len()), "?");
        }
    }
    out
}

/// The number of values that the placeholders of a text need: the highest number of them.
pub(super) fn placeholders(text: &str, dialect: SqlDialect) -> usize {
    if dialect != SqlDialect::PostgreSql {
        return 0;
    }
    let numbers = tokens(text, dialect)
        .filter(|token| token.kind == TokenKind::Placeholder)
        .filter_map(|token| text[token.range.clone()].get(1..)?.parse().ok());
    numbers.max().unwrap_or(0)
}

/// A text of PostgreSQL with its values as literals.
pub(super) fn with_values(text: &str, values: &[Option<String>]) -> String {
    let (mut out, mut end) = (String::new(), 0);
    for token in tokens(text, SqlDialect::PostgreSql) {
        if token.kind != TokenKind::Placeholder {
            continue;
        }
        out.push_str(&text[end..token.range.start]);
        end = token.range.end;
        let number = text[token.range.clone()][1..].parse::<usize>().ok();
        match number.and_then(|number| values.get(number.checked_sub(1)?)) {
            // A placeholder is a token of its own: the space that keeps a literal apart is not needed.
            Some(Some(value)) => {
                out.push_str(SqlDialect::PostgreSql.quote_literal(value).trim_start());
            }
            _ => out.push_str("NULL"),
        }
    }
    out + &text[end..]
}

/// A short name: the first word and the first table.
pub(super) fn short_name(text: &str, dialect: SqlDialect) -> String {
    let mut tokens = tokens(text, dialect).skip_while(|token| token.kind != TokenKind::Name);
    let Some(verb) = tokens.next() else {
        return "statement".to_owned();
    };
    let mut is_table = false;
    let verb_text = verb.text.clone();
    let table = std::iter::once(verb).chain(tokens).find(|token| {
        let was_table = std::mem::replace(
            &mut is_table,
            !token.is_quoted
                && matches!(&*token.text, "from" | "into" | "update" | "table" | "join"),
        );
        was_table && token.kind == TokenKind::Name
    });
    let table = table.map(|token| format!(" {}", token.text));
    let name = format!("{verb_text}{}", table.unwrap_or_default());
    // A kilobyte of a name is possible.
    name.chars().take(48).collect()
}

impl RecordedStatement {
    pub fn write(&self, out: &mut Vec<u8>) {
        put_bytes(self.name.as_bytes(), out);
        put_bytes(self.text.as_bytes(), out);
        let flags = [
            self.has_placeholders,
            self.writes,
            self.rolls_back,
            self.ends_read_only,
            self.drops_prepared,
        ];
        put_number(number_of_flags(flags), out);
        put_number(self.calls, out);
        self.times.write(out);
    }

    pub fn read(cursor: &mut Cursor<'_>) -> Option<RecordedStatement> {
        let (name, text) = (cursor.text()?, cursor.text()?);
        let [
            has_placeholders,
            writes,
            rolls_back,
            ends_read_only,
            drops_prepared,
        ] = flags_of_number(cursor.number()?);
        Some(RecordedStatement {
            name,
            text,
            has_placeholders,
            writes,
            rolls_back,
            ends_read_only,
            drops_prepared,
            calls: cursor.number()?,
            times: LoggedTimes::read(cursor)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::{TextAssertions, cases};

    #[test]
    fn messages_have_no_values() {
        for (message, masked) in [
            ("Duplicate entry 'it's' for key 'a'", "Duplicate entry '?'"),
            ("can't find 'a' of \"b\"", "can't find '?' of \"?\""),
            ("near 'a", "near '?"),
            ("division by zero", "division by zero"),
        ] {
            assert_eq!(without_quoted(b"23505", message), masked);
        }
        let missing = "relation \"invoices\" does not exist";
        assert_eq!(without_quoted(b"42P01", missing), missing);
    }

    #[test]
    fn statements_with_other_numbers_are_the_same() {
        let normalised = |text| without_literals(text, SqlDialect::PostgreSql);
        for (text, other, is_same) in [
            (
                "SET a = a + 5 WHERE id IN (1, 2)",
                "SET a = a + -7 WHERE id IN (-1, 3)",
                true,
            ),
            ("SELECT 'a' LIMIT 5", "SELECT 'b; c'  LIMIT 10", true),
            ("SELECT a - 5", "SELECT a + 5", false),
            ("SELECT a-5", "SELECT a", false),
        ] {
            assert_eq!(normalised(text) == normalised(other), is_same, "{text}");
        }
    }

    #[test]
    fn names_that_drivers_number_are_the_same() {
        for [text, key] in cases(
            r#"
                SAVEPOINT "s140_x1" => SAVEPOINT ?
                ROLLBACK TO SAVEPOINT s140_x2 => ROLLBACK TO SAVEPOINT ?
                FETCH FORWARD 100 FROM _psycopg_cursor_17 => FETCH FORWARD ? FROM ?
                DECLARE c1 CURSOR FOR SELECT a1 FROM t => DECLARE ? CURSOR FOR SELECT a1 FROM t
                PREPARE p AS SELECT a1 FROM t => PREPARE p AS SELECT a1 FROM t
                SELECT a1 FROM t => SELECT a1 FROM t
            "#,
        ) {
            assert_eq!(key_of(text, SqlDialect::PostgreSql), key);
        }
    }

    #[test]
    fn names_are_short() {
        let name = |text| short_name(text, SqlDialect::PostgreSql);
        name("UPDATE pgbench_tellers SET a = 1").assert_equals("update pgbench_tellers");
        assert_eq!(name("SELECT a FROM \"Big\" b"), "select Big");
        assert_eq!(name("BEGIN"), "begin");
        assert_eq!(name(""), "statement");
    }

    #[test]
    fn values_become_literals() {
        let values = [Some("it's".to_owned()), None, Some("a\\b".to_owned())];
        with_values("select $1, $2, '$1', $3::text", &values)
            .assert_equals("select 'it''s', NULL, '$1', E'a\\\\b'::text");
    }
}
