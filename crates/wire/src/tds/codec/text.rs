//! Statements as SQL Server's SQL, with literals or with `@P1`, `@P2`, … for their values.
//!
//! In: a statement, values, types. Out: UTF-16, appended. Must never: let the text of a value
//! end the literal that contains it.

use super::super::encode::put_literal;
use super::super::packet::HEADER_BYTES;
use super::super::rpc::ALL_HEADERS_BYTES;
use super::super::utf16::{put_utf16, put_utf16_lossy};
use super::{SqlType, Statement, Value};
use crate::parameter_type::ParameterType;
use crate::statement::{Effect, effect, first_word, is_one_of, skip_to_statement};

/// First words of statements that must not be sent as a procedure call: those that begin or end a
/// transaction (error 266), and those whose effect would end with the call (SET and USE).
const TEXT_ONLY_WORDS: [&str; 6] = ["begin", "commit", "rollback", "save", "set", "use"];

/// How SQL Server's protocol sends a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementForm {
    /// Whether the statement is sent as text in every mode.
    pub is_text_only: bool,
    /// The procedure that the statement calls, if it only calls one with its parameters.
    pub procedure: Option<Box<str>>,
    /// The types of the parameters; `None` if one of them is not declared.
    pub types: Option<Box<[SqlType]>>,
}

impl StatementForm {
    /// The form of a statement without declared types.
    pub(crate) fn of(statement: &Statement) -> StatementForm {
        let mut form = StatementForm {
            is_text_only: must_be_sent_as_text(statement),
            procedure: called_procedure(statement).map(Into::into),
            types: None,
        };
        form.set_types(statement);
        form
    }

    /// Sets the types of the parameters to those that the statement declares.
    pub(crate) fn set_types(&mut self, statement: &Statement) {
        let declared = statement.types().iter().copied();
        let types: Option<Box<[SqlType]>> = declared
            .map(|of_parameter| of_parameter.map(SqlType::from))
            .collect();
        // A statement that declares none has an empty list.
        self.types = types.filter(|types| types.len() == statement.parameter_count());
    }
}

fn must_be_sent_as_text(statement: &Statement) -> bool {
    let sql = &statement.bytes()[skip_to_statement(statement.bytes(), 0)..];
    is_one_of(first_word(sql), &TEXT_ONLY_WORDS)
}

/// The procedure that a statement calls, if its text is `EXEC name $1, $2, …` with each parameter once and in
/// order: the call can then be sent without a text that the server would have to parse.
fn called_procedure(statement: &Statement) -> Option<&str> {
    let mut parts = statement.parts();
    let (first, mut placeholder) = parts.next()?;
    let first = trim_sql(std::str::from_utf8(first).ok()?);
    let (word, name) = first.split_once(|c: char| c.is_ascii_whitespace())?;
    let is_exec = word.eq_ignore_ascii_case("exec") || word.eq_ignore_ascii_case("execute");
    let name = name.trim_start();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    if !is_exec || name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    for (expected_index, (text, next)) in parts.enumerate() {
        if placeholder != Some(expected_index) {
            return None;
        }
        let separator = if next.is_some() { "," } else { "" };
        if trim_sql(std::str::from_utf8(text).ok()?) != separator {
            return None;
        }
        placeholder = next;
    }
    Some(name)
}

/// The text without blanks and without semicolons at its end.
fn trim_sql(text: &str) -> &str {
    text.trim_start()
        .trim_end_matches(|c: char| c == ';' || c.is_ascii_whitespace())
}

/// Appends a statement with its values as literals, without semicolons at the end.
pub(super) fn put_statement_text(statement: &Statement, values: &[Value<'_>], out: &mut Vec<u8>) {
    let start = out.len();
    for (text, index) in statement.parts() {
        put_utf16_lossy(text, out);
        if let Some(index) = index
            && let Some(value) = values.get(index)
        {
            let declared = statement.types().get(index).copied().flatten();
            let is_varchar = matches!(
                declared,
                Some(ParameterType::Char(_) | ParameterType::VarChar(_))
            );
            put_literal(*value, is_varchar, out);
        }
    }
    trim_end(out, start);
}

/// Appends a statement with `@P1`, `@P2`, … for its parameters, without semicolons at the end.
pub(super) fn put_numbered_text(statement: &Statement, out: &mut Vec<u8>) {
    let start = out.len();
    for (text, index) in statement.parts() {
        put_utf16_lossy(text, out);
        if let Some(index) = index {
            put_utf16("@P", out);
            put_utf16(itoa::Buffer::new().format(index + 1), out);
        }
    }
    trim_end(out, start);
}

/// Appends the declarations of parameters: `@P1 int,@P2 varchar(24)`.
pub(super) fn put_declarations(types: &[SqlType], out: &mut Vec<u8>) {
    struct Utf16Writer<'a>(&'a mut Vec<u8>);
    impl std::fmt::Write for Utf16Writer<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            put_utf16(text, self.0);
            Ok(())
        }
    }
    for (index, sql_type) in types.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing into memory cannot fail.
        let _ = std::fmt::write(
            &mut Utf16Writer(out),
            format_args!("{comma}@P{} {sql_type}", index + 1),
        );
    }
}

/// Removes spaces and semicolons from the end of `out`, which holds UTF-16 from `start` on.
fn trim_end(out: &mut Vec<u8>, start: usize) {
    while out.len() >= start + 2
        && matches!(
            out[out.len() - 2..],
            [b';' | b' ' | b'\t' | b'\r' | b'\n', 0]
        )
    {
        out.truncate(out.len() - 2);
    }
}

/// Whether the SQL text of a message commits. `message` is split into packets. To read the UTF-16 as ASCII,
/// this drops the zero bytes. That garbles other characters, but keywords are ASCII.
pub(super) fn batch_commits(message: &[u8], packet_size: usize) -> bool {
    let payloads = message
        .chunks(packet_size)
        .map(|packet| packet.get(HEADER_BYTES..).unwrap_or_default());
    let text: Vec<u8> = payloads
        .flatten()
        .skip(ALL_HEADERS_BYTES)
        .copied()
        .filter(|byte| *byte != 0)
        .collect();
    effect(&text) == Effect::Commits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::StatementIds;

    #[test]
    fn only_a_plain_call_names_a_procedure() {
        let procedure = |sql: &str| {
            let statement = StatementIds::new().add(sql);
            called_procedure(&statement).map(str::to_owned)
        };
        for (sql, name) in [
            ("EXEC dbo.neword $1, $2 ,$3", "dbo.neword"),
            ("EXEC dbo.neword $1, $2 ; ", "dbo.neword"),
            ("EXEC dbo.neword;", "dbo.neword"),
            ("execute  a_b $1 ", "a_b"),
            ("exec p", "p"),
        ] {
            assert_eq!(procedure(sql).as_deref(), Some(name), "{sql}");
        }
        for sql in [
            "select $1",
            "exec",
            "exec p $2, $1",
            "exec p $1, $1",
            "exec p $1, 2",
            "exec p @a = $1",
            "exec p $1; select 1",
            "exec @r = p $1",
            "exec [my p] $1",
            "exec ('select 1')",
            "executing p $1",
        ] {
            assert_eq!(procedure(sql), None, "{sql}");
        }
    }
}
