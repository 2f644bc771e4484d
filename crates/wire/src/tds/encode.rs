//! Values of parameters and of bulk rows, as the wire has them.
//!
//! In: a type and a value. Out: TYPE_INFO and bytes, appended. Must never: write a value that does not
//! match the type in front of it.
//! Source: MS-TDS 2.2.5.4 and 2.2.5.5.

use super::calendar::{self, Moment, TICKS_PER_SECOND};
use super::sql_type::{BYTES_MAX, DAYS_TO_1900, SqlType, decimal_bytes};
use super::utf16::{put_cp1252, put_utf16, put_utf16_lossy};
use crate::value::{Value, put_decimal_literal};
use std::io::Write;

/// The collation's texts are UTF-8 (bit 26 of its flags).
pub(super) fn is_utf8(collation: [u8; 5]) -> bool {
    collation[3] & 0x04 != 0
}

/// Whether a value can be written as a type without losing anything but characters that the collation
/// lacks.
pub(super) fn fits(kind: SqlType, value: Value<'_>) -> bool {
    let within = |number: i64, low: i64, high: i64| (low..=high).contains(&number);
    match (kind, value) {
        (_, Value::Null) => true,
        (SqlType::TinyInt, Value::Int(n)) => within(n, 0, 255),
        (SqlType::SmallInt, Value::Int(n)) => within(n, i16::MIN.into(), i16::MAX.into()),
        (SqlType::Int, Value::Int(n)) => within(n, i32::MIN.into(), i32::MAX.into()),
        (SqlType::BigInt, Value::Int(_)) => true,
        (SqlType::Bit, Value::Int(n)) => within(n, 0, 1),
        (SqlType::Float, Value::Float(x)) => x.is_finite(),
        (SqlType::Decimal { precision, scale }, _) => scaled(value, scale).is_some_and(|number| {
            number.unsigned_abs().checked_ilog10().unwrap_or(0) < u32::from(precision.min(38))
        }),
        (SqlType::Money, _) => scaled(value, 4).is_some_and(|n| i64::try_from(n).is_ok()),
        (SqlType::SmallMoney, _) => scaled(value, 4).is_some_and(|n| i32::try_from(n).is_ok()),
        (SqlType::Date | SqlType::DateTime2(0..=7), Value::Text(text)) => {
            calendar::parse(text).is_some()
        }
        // It begins when Britain adopted the Gregorian calendar.
        (SqlType::DateTime, Value::Text(text)) => {
            calendar::parse(text).is_some_and(|moment| calendar::civil(moment.days).0 >= 1753)
        }
        (
            SqlType::Char(_)
            | SqlType::VarChar(_)
            | SqlType::NChar(_)
            | SqlType::NVarChar(_)
            | SqlType::VarBinary(_),
            Value::Text(_) | Value::Bytes(_),
        ) => true,
        _ => false,
    }
}

/// A number in units of 10^-`scale`, if it is one without more digits.
fn scaled(value: Value<'_>, scale: u8) -> Option<i128> {
    let (unscaled, given) = match value {
        Value::Int(number) => (number, 0),
        Value::Decimal { unscaled, scale } => (unscaled, scale),
        _ => return None,
    };
    let factor = 10_i128.checked_pow(u32::from(scale.checked_sub(given)?))?;
    i128::from(unscaled).checked_mul(factor)
}

/// Appends a parameter without its name: flags, type and value. A value that does not fit its type is
/// sent as the type that it has: the server converts it, or reports why it cannot.
pub(super) fn put_parameter(
    kind: SqlType,
    value: Value<'_>,
    flags: u8,
    collation: [u8; 5],
    out: &mut Vec<u8>,
) {
    let kind = match fits(kind, value) {
        true => kind,
        false => SqlType::of_value(value, None),
    };
    out.push(flags);
    // A long text in a short type makes the server close the connection: send it as it is.
    let length = text_bytes(kind, value, collation);
    let kind = match kind {
        SqlType::Char(_) | SqlType::VarChar(_) if length > BYTES_MAX => SqlType::VarChar(None),
        SqlType::NChar(_) | SqlType::NVarChar(_) if length > BYTES_MAX => SqlType::NVarChar(None),
        SqlType::VarBinary(_) if length > BYTES_MAX => SqlType::VarBinary(None),
        kind => kind,
    };
    kind.put(length, collation, out);
    put_value(kind, value, collation, out);
}

/// Length of a text or of bytes on the wire; 0 for other values.
pub(super) fn text_bytes(kind: SqlType, value: Value<'_>, collation: [u8; 5]) -> usize {
    match (kind, value) {
        (SqlType::NChar(_) | SqlType::NVarChar(_), Value::Text(text)) => {
            text.encode_utf16().count() * 2
        }
        (SqlType::NChar(_) | SqlType::NVarChar(_), Value::Bytes(bytes)) => {
            let units = |chunk: std::str::Utf8Chunk<'_>| {
                chunk.valid().encode_utf16().count() + usize::from(!chunk.invalid().is_empty())
            };
            bytes.utf8_chunks().map(units).sum::<usize>() * 2
        }
        (SqlType::Char(_) | SqlType::VarChar(_), Value::Text(text)) => {
            match text.is_ascii() || is_utf8(collation) {
                true => text.len(),
                false => text.chars().count(),
            }
        }
        (_, Value::Text(text)) => text.len(),
        (_, Value::Bytes(bytes)) => bytes.len(),
        _ => 0,
    }
}

/// Appends a value with its length. It must fit its type.
pub(super) fn put_value(kind: SqlType, value: Value<'_>, collation: [u8; 5], out: &mut Vec<u8>) {
    match kind {
        SqlType::Char(_)
        | SqlType::VarChar(Some(_))
        | SqlType::NChar(_)
        | SqlType::NVarChar(Some(_))
        | SqlType::VarBinary(Some(_)) => {
            if value == Value::Null {
                return out.extend_from_slice(&[0xff; 2]);
            }
            let at = out.len();
            out.extend_from_slice(&[0; 2]);
            put_text(kind, value, collation, out);
            let length = (out.len() - at - 2) as u16;
            out[at..at + 2].copy_from_slice(&length.to_le_bytes());
        }
        SqlType::VarChar(None) | SqlType::NVarChar(None) | SqlType::VarBinary(None) => {
            if value == Value::Null {
                return out.extend_from_slice(&[0xff; 8]);
            }
            // The whole length, then one chunk, then an empty one; an empty value has no chunk.
            let at = out.len();
            out.extend_from_slice(&[0; 12]);
            put_text(kind, value, collation, out);
            let length = out.len() - at - 12;
            out[at..at + 8].copy_from_slice(&(length as u64).to_le_bytes());
            out[at + 8..at + 12].copy_from_slice(&(length as u32).to_le_bytes());
            if length > 0 {
                out.extend_from_slice(&[0; 4]);
            }
        }
        _ => {
            let at = out.len();
            out.push(0);
            put_number(kind, value, out);
            out[at] = (out.len() - at - 1) as u8;
        }
    }
}

fn put_text(kind: SqlType, value: Value<'_>, collation: [u8; 5], out: &mut Vec<u8>) {
    let wide = matches!(kind, SqlType::NChar(_) | SqlType::NVarChar(_));
    match value {
        Value::Text(text) if wide => put_utf16(text, out),
        Value::Bytes(bytes) if wide => put_utf16_lossy(bytes, out),
        Value::Text(text) if matches!(kind, SqlType::Char(_) | SqlType::VarChar(_)) => {
            match text.is_ascii() || is_utf8(collation) {
                true => out.extend_from_slice(text.as_bytes()),
                false => put_cp1252(text, out),
            }
        }
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Int(_) | Value::Float(_) | Value::Decimal { .. } | Value::Null => {}
    }
}

/// Appends the content of a value that is not text; nothing for NULL.
fn put_number(kind: SqlType, value: Value<'_>, out: &mut Vec<u8>) {
    let moment = |value: Value<'_>| match value {
        Value::Text(text) => calendar::parse(text),
        _ => None,
    };
    match (kind, value) {
        (_, Value::Null) => {}
        (SqlType::TinyInt | SqlType::Bit, Value::Int(n)) => out.push(n as u8),
        (SqlType::SmallInt, Value::Int(n)) => out.extend_from_slice(&(n as i16).to_le_bytes()),
        (SqlType::Int, Value::Int(n)) => out.extend_from_slice(&(n as i32).to_le_bytes()),
        (SqlType::BigInt, Value::Int(n)) => out.extend_from_slice(&n.to_le_bytes()),
        (SqlType::Float, Value::Float(x)) => out.extend_from_slice(&x.to_le_bytes()),
        (SqlType::Float, Value::Decimal { unscaled, scale }) => {
            let number = unscaled as f64 / 10_f64.powi(scale.into());
            out.extend_from_slice(&number.to_le_bytes());
        }
        (SqlType::Decimal { precision, scale }, value) => {
            if let Some(number) = scaled(value, scale) {
                out.push(u8::from(number >= 0));
                let digits = number.unsigned_abs().to_le_bytes();
                out.extend_from_slice(&digits[..decimal_bytes(precision)]);
            }
        }
        (SqlType::Money, value) => {
            if let Some(number) = scaled(value, 4) {
                // The upper half comes first.
                out.extend_from_slice(&((number >> 32) as u32).to_le_bytes());
                out.extend_from_slice(&(number as u32).to_le_bytes());
            }
        }
        (SqlType::SmallMoney, value) => {
            if let Some(number) = scaled(value, 4) {
                out.extend_from_slice(&(number as i32).to_le_bytes());
            }
        }
        (kind, value) => {
            if let Some(moment) = moment(value) {
                put_moment(kind, moment, out);
            }
        }
    }
}

fn put_moment(kind: SqlType, moment: Moment, out: &mut Vec<u8>) {
    let Moment { days, ticks } = moment;
    match kind {
        SqlType::DateTime => {
            // To the nearest 1/300 s, which may be the next midnight.
            let parts = (ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
            let per_day = 24 * 3600 * 300;
            let days = days - DAYS_TO_1900 + (parts / per_day) as i64;
            out.extend_from_slice(&(days as i32).to_le_bytes());
            out.extend_from_slice(&((parts % per_day) as u32).to_le_bytes());
            return;
        }
        SqlType::DateTime2(scale) => {
            // Digits beyond the scale are cut.
            let units = ticks / 10_u64.pow(7 - u32::from(scale.min(7)));
            out.extend_from_slice(&units.to_le_bytes()[..time_bytes(scale)]);
        }
        _ => {}
    }
    out.extend_from_slice(&(days as u32).to_le_bytes()[..3]);
}

/// Bytes of a time with this scale.
pub(super) fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Appends a value as a literal in UTF-16.
pub(super) fn put_literal(value: Value<'_>, is_varchar: bool, out: &mut Vec<u8>) {
    match value {
        Value::Null => put_utf16("NULL", out),
        // A larger literal would be a decimal, and its column would be converted instead.
        Value::Int(n) if i32::try_from(n).is_err() => {
            put_utf16("CAST(", out);
            put_utf16(itoa::Buffer::new().format(n), out);
            put_utf16(" AS bigint)", out);
        }
        // Otherwise `a --1` would start a comment.
        Value::Int(n) => {
            put_utf16(if n < 0 { "(" } else { "" }, out);
            put_utf16(itoa::Buffer::new().format(n), out);
            put_utf16(if n < 0 { ")" } else { "" }, out);
        }
        // With an exponent it is a floating-point number. SQL has no infinity: the server reports that.
        Value::Float(x) if x.is_finite() => put_ascii(format_args!("({x:e})"), out),
        Value::Float(x) => put_ascii(format_args!("'{x}'"), out),
        Value::Decimal { unscaled, scale } => {
            put_wide(out, |out| put_decimal_literal(unscaled, scale, out));
        }
        Value::Text(text) => put_quoted(text, is_varchar, out),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => put_quoted(text, true, out),
            _ => {
                put_utf16("0x", out);
                bytes
                    .iter()
                    .for_each(|byte| put_ascii(format_args!("{byte:02x}"), out));
            }
        },
    }
}

/// Appends the ASCII text that `put` appends as UTF-16.
fn put_wide(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    put(out);
    let length = out.len() - at;
    out.resize(at + 2 * length, 0);
    for index in (0..length).rev() {
        let byte = out[at + index];
        out[at + 2 * index..at + 2 * index + 2].copy_from_slice(&[byte, 0]);
    }
}

fn put_ascii(text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    // Writing into memory cannot fail.
    put_wide(out, |out| drop(out.write_fmt(text)));
}

fn put_quoted(text: &str, is_varchar: bool, out: &mut Vec<u8>) {
    // Compared with a `varchar` column, `N'…'` would convert the column: no index then.
    put_utf16(
        if is_varchar || text.is_ascii() {
            "'"
        } else {
            "N'"
        },
        out,
    );
    for part in text.split_inclusive('\'') {
        put_utf16(part, out);
        if part.ends_with('\'') {
            put_utf16("'", out);
        }
    }
    put_utf16("'", out);
}
