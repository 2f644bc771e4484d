//! Values in a statement: as text, or behind it as bytes.
//!
//! In: a statement and values. Out: bytes, appended. Must never: let a value end its literal.
//! Source: MySQL documentation, "String Literals" and "COM_STMT_EXECUTE".

use super::packet::put_bytes;
use crate::statement::{Statement, Value};
use std::io::Write;

/// Types of values, as the server numbers them.
const TYPE_DOUBLE: u8 = 5;
const TYPE_NULL: u8 = 6;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 253;

/// Appends the text of a statement with its values in it, without an end that would make it
/// two statements.
pub(super) fn filled(
    statement: &Statement,
    values: &[Value<'_>],
    no_backslash_escapes: bool,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    for (text, value) in statement.parts() {
        out.extend_from_slice(text);
        if let Some(value) = value.and_then(|n| values.get(n)) {
            literal(*value, no_backslash_escapes, out);
        }
    }
    trim_end(out, start);
}

/// A value in the text of a statement.
fn literal(value: Value<'_>, no_backslash_escapes: bool, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(n) if n < 0 => {
            // `a --1` would otherwise start a comment where a blank follows.
            out.push(b'(');
            out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
            out.push(b')');
        }
        Value::Int(n) => out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes()),
        // With an exponent it is a floating-point number, not a decimal. Writing into memory does
        // not fail.
        Value::Float(x) if x.is_finite() => drop(write!(out, "({x:e})")),
        // There is no such value: the server is to say so.
        Value::Float(x) => drop(write!(out, "'{x}'")),
        Value::Text(text) => quoted(text.as_bytes(), no_backslash_escapes, out),
        Value::Bytes(bytes) => quoted(bytes, no_backslash_escapes, out),
    }
}

fn quoted(text: &[u8], no_backslash_escapes: bool, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        match byte {
            b'\'' => out.push(b'\''),
            b'\\' if !no_backslash_escapes => out.push(b'\\'),
            _ => {}
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

/// Removes blanks and semicolons from the end of what stands behind `start`.
pub(super) fn trim_end(out: &mut Vec<u8>, start: usize) {
    while out.len() > start && matches!(out.last(), Some(b';' | b' ' | b'\t' | b'\r' | b'\n')) {
        out.pop();
    }
}

/// The types of the values, into `types`; whether they are not those that the server knows. A NULL
/// is of any type.
pub(super) fn renew_types(
    statement: &Statement,
    values: &[Value<'_>],
    known: &[u8],
    types: &mut Vec<u8>,
) -> bool {
    types.clear();
    for (place, slot) in statement.slots().enumerate() {
        types.push(match values.get(slot) {
            Some(Value::Int(_)) => TYPE_LONGLONG,
            Some(Value::Float(_)) => TYPE_DOUBLE,
            Some(Value::Text(_) | Value::Bytes(_)) => TYPE_VAR_STRING,
            Some(Value::Null) | None => known.get(place).copied().unwrap_or(TYPE_NULL),
        });
    }
    types != known
}

/// Appends the values of an execution: a bit for each NULL, their types, themselves.
pub(super) fn put_values(
    statement: &Statement,
    values: &[Value<'_>],
    types: Option<&Vec<u8>>,
    out: &mut Vec<u8>,
) {
    let count = statement.slots().count();
    if count == 0 {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + count.div_ceil(8), 0);
    out.push(u8::from(types.is_some()));
    for kind in types.into_iter().flatten() {
        // The second byte would say that a number has no sign.
        out.extend_from_slice(&[*kind, 0]);
    }
    for (place, slot) in statement.slots().enumerate() {
        match values.get(slot) {
            Some(Value::Int(number)) => out.extend_from_slice(&number.to_le_bytes()),
            Some(Value::Float(number)) => out.extend_from_slice(&number.to_le_bytes()),
            Some(Value::Text(text)) => put_bytes(out, text.as_bytes()),
            Some(Value::Bytes(bytes)) => put_bytes(out, bytes),
            Some(Value::Null) | None => out[nulls + place / 8] |= 1 << (place % 8),
        }
    }
}

/// Whether a statement may leave a transaction open though it fails: a procedure can begin one, and
/// so can a text of several statements.
pub(super) fn may_open(sql: &[u8]) -> bool {
    let word = sql.trim_ascii_start().get(..4);
    word.is_some_and(|word| word.eq_ignore_ascii_case(b"call"))
}
