//! Statements as SQL Server's SQL: with values in them, or with `@P1` in place of them.
//!
//! In: a statement, values, types. Out: UTF-16, appended. Must never: let a value end its literal.

use super::super::encode::put_literal;
use super::super::packet::HEADER;
use super::super::rpc::HEADERS;
use super::super::utf16::{put_utf16, put_utf16_lossy};
use super::{SqlType, Statement, Value};
use crate::parameter_type::ParameterType;
use crate::statement::{Effect, effect, skip_comments};

/// First words of statements that a procedure call must not contain: those that begin or end a
/// transaction (error 266), and those whose effect would end with the call.
const TEXT_ONLY: [&[u8]; 6] = [b"begin", b"commit", b"rollback", b"save", b"set", b"use"];

/// Whether a statement is sent as text in every mode.
pub(super) fn must_be_text(statement: &Statement) -> bool {
    let sql = &statement.bytes()[skip_comments(statement.bytes(), 0)..];
    let letters = sql.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let word = &sql[..letters.count()];
    TEXT_ONLY.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Appends a statement with its values in it, without a semicolon at its end.
pub(super) fn put_statement_text(statement: &Statement, values: &[Value<'_>], out: &mut Vec<u8>) {
    let start = out.len();
    for (text, index) in statement.parts() {
        put_utf16_lossy(text, out);
        let Some((index, value)) = index.and_then(|n| Some((n, values.get(n)?))) else {
            continue;
        };
        let declared = statement.types().get(index).copied().flatten();
        let is_varchar = matches!(
            declared,
            Some(ParameterType::Char(_) | ParameterType::VarChar(_))
        );
        put_literal(*value, is_varchar, out);
    }
    trim_end(out, start);
}

/// Appends a statement with numbered parameters.
pub(super) fn put_numbered(statement: &Statement, out: &mut Vec<u8>) {
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
    struct Wide<'a>(&'a mut Vec<u8>);
    impl std::fmt::Write for Wide<'_> {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            put_utf16(text, self.0);
            Ok(())
        }
    }
    for (index, kind) in types.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // Writing into memory cannot fail.
        let _ = std::fmt::write(
            &mut Wide(out),
            format_args!("{comma}@P{} {kind}", index + 1),
        );
    }
}

/// Removes spaces and semicolons from the end of the UTF-16 after `start`.
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

/// Whether the text in a message of packets commits. Characters other than ASCII do not matter, nor do the
/// headers between packets.
pub(super) fn commits(message: &[u8], packet_size: usize) -> bool {
    let payloads = message
        .chunks(packet_size)
        .map(|packet| packet.get(HEADER..).unwrap_or_default());
    let text: Vec<u8> = payloads
        .flatten()
        .skip(HEADERS)
        .copied()
        .filter(|byte| *byte != 0)
        .collect();
    effect(&text) == Effect::Commits
}
