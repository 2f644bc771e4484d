//! Values of a statement: in its text, or separately in binary form.
//!
//! In: a statement and values. Out: bytes, appended. Must never: let a value end its literal.
//! Source: MySQL documentation, "String Literals" and "COM_STMT_EXECUTE".

use super::packet::{put_bytes, put_number};
use crate::parameter_type::ParameterType;
use crate::statement::Statement;
use crate::value::{Value, decimal_length, put_decimal, put_literal};
use std::io::Write;

/// Types of values, by the server's numbers.
const TYPE_DOUBLE: u8 = 5;
const TYPE_NULL: u8 = 6;
const TYPE_LONGLONG: u8 = 8;
const TYPE_NEWDECIMAL: u8 = 246;
const TYPE_VAR_STRING: u8 = 253;

/// Appends the text of a statement with its values in it, without a terminator that would make it two
/// statements.
pub(super) fn put_statement_text(
    statement: &Statement,
    values: &[Value<'_>],
    no_backslash_escapes: bool,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    statement.put_text(out, |index, out| {
        if let Some(value) = values.get(index) {
            put_literal(*value, out, put_float, |text, out| {
                put_quoted(text, no_backslash_escapes, out);
            });
        }
    });
    trim_end(out, start);
}

fn put_float(number: f64, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    let _ = if number.is_finite() {
        // Only a literal with an exponent is a floating-point number.
        write!(out, "({number:e})")
    } else {
        // SQL has no literal for infinity or NaN: send a text, which the server rejects.
        write!(out, "'{number}'")
    };
}

fn put_quoted(text: &[u8], no_backslash_escapes: bool, out: &mut Vec<u8>) {
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

/// Removes spaces and semicolons from the end of `out`, but not before `start`.
pub(super) fn trim_end(out: &mut Vec<u8>, start: usize) {
    while out.len() > start && matches!(out.last(), Some(b';' | b' ' | b'\t' | b'\r' | b'\n')) {
        out.pop();
    }
}

/// Updates the types of the values that the server knows; returns whether they change. A NULL gets the declared type of
/// its parameter, or else the last type, so that later values need no new type.
pub(super) fn update_types(
    statement: &Statement,
    values: &[Value<'_>],
    types: &mut Vec<u8>,
) -> bool {
    let indexes = statement.value_indexes();
    let mut is_changed = types.len() != indexes.len();
    types.resize(indexes.len(), TYPE_NULL);
    for (last_type, value_index) in types.iter_mut().zip(indexes) {
        let next_type = match values.get(value_index) {
            Some(Value::Int(_)) => TYPE_LONGLONG,
            Some(Value::Float(_)) => TYPE_DOUBLE,
            Some(Value::Decimal { .. }) => TYPE_NEWDECIMAL,
            Some(Value::Text(_) | Value::Bytes(_)) => TYPE_VAR_STRING,
            Some(Value::Null) | None => match statement.types().get(value_index) {
                Some(Some(declared)) => type_of_values(*declared),
                _ => *last_type,
            },
        };
        is_changed |= *last_type != next_type;
        *last_type = next_type;
    }
    is_changed
}

fn type_of_values(declared: ParameterType) -> u8 {
    match declared {
        ParameterType::SmallInt | ParameterType::Int | ParameterType::BigInt => TYPE_LONGLONG,
        ParameterType::Decimal { .. } => TYPE_NEWDECIMAL,
        ParameterType::Char(_) | ParameterType::VarChar(_) | ParameterType::Text => TYPE_VAR_STRING,
    }
}

/// Appends the values of an execution: a bit for each NULL, their types (`None`: the server knows them), the values.
pub(super) fn put_values(
    statement: &Statement,
    values: &[Value<'_>],
    types: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let indexes = statement.value_indexes();
    if indexes.len() == 0 {
        return;
    }
    let nulls = out.len();
    out.resize(nulls + indexes.len().div_ceil(8), 0);
    out.push(u8::from(types.is_some()));
    for value_type in types.into_iter().flatten() {
        // The second byte would mark a number as unsigned.
        out.extend_from_slice(&[*value_type, 0]);
    }
    for (position, value_index) in indexes.enumerate() {
        match values.get(value_index) {
            Some(Value::Int(number)) => out.extend_from_slice(&number.to_le_bytes()),
            Some(Value::Float(number)) => out.extend_from_slice(&number.to_le_bytes()),
            Some(&Value::Decimal { unscaled, scale }) => {
                put_number(out, decimal_length(unscaled, scale) as u64);
                put_decimal(unscaled, scale, out);
            }
            Some(Value::Text(text)) => put_bytes(out, text.as_bytes()),
            Some(Value::Bytes(bytes)) => put_bytes(out, bytes),
            Some(Value::Null) | None => out[nulls + position / 8] |= 1 << (position % 8),
        }
    }
}
