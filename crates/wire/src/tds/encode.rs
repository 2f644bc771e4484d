//! Encodes values of parameters and of bulk rows.
//!
//! In: a type and a value. Out: TYPE_INFO and bytes, appended. Must never: write a value that does not
//! match the type in front of it.
//! Source: MS-TDS 2.2.5.4 and 2.2.5.5.

use super::calendar::{self, Moment, TICKS_PER_SECOND};
use super::code_page;
use super::sql_type::{DAYS_TO_1900, DECIMAL_BYTES, SqlType, VARCHAR_BYTES_MAX};
use super::utf16::{put_utf16, put_utf16_lossy};
use crate::value::{Value, put_decimal_literal};
use std::io::Write;

/// Digits of `money` and `smallmoney` after the decimal point.
pub(super) const MONEY_SCALE: u8 = 4;

/// Whether a type can represent a value without loss. Characters that the collation lacks, and the length of
/// a text, are not checked.
pub(super) fn fits(sql_type: SqlType, value: Value<'_>) -> bool {
    let within = |number: i64, low: i64, high: i64| (low..=high).contains(&number);
    match (sql_type, value) {
        (_, Value::Null) => true,
        (SqlType::TinyInt, Value::Int(n)) => within(n, 0, 255),
        (SqlType::SmallInt, Value::Int(n)) => within(n, i16::MIN.into(), i16::MAX.into()),
        (SqlType::Int, Value::Int(n)) => within(n, i32::MIN.into(), i32::MAX.into()),
        (SqlType::BigInt, Value::Int(_)) => true,
        (SqlType::Float, Value::Float(x)) => x.is_finite(),
        (SqlType::Decimal { precision, scale }, _) => {
            unscaled_at(value, scale).is_some_and(|number| {
                number.unsigned_abs().checked_ilog10().unwrap_or(0) < u32::from(precision.min(38))
            })
        }
        (SqlType::Money, _) => {
            unscaled_at(value, MONEY_SCALE).is_some_and(|number| i64::try_from(number).is_ok())
        }
        (SqlType::SmallMoney, _) => {
            unscaled_at(value, MONEY_SCALE).is_some_and(|number| i32::try_from(number).is_ok())
        }
        (SqlType::DateTime2(0..=7), Value::Text(text)) => calendar::parse(text).is_some(),
        // The range of `datetime` begins in 1753.
        (SqlType::DateTime, Value::Text(text)) => calendar::parse(text)
            .is_some_and(|moment| calendar::date_from_days(moment.days).0 >= 1753),
        (
            SqlType::Char(_) | SqlType::VarChar(_) | SqlType::NVarChar(_),
            Value::Text(_) | Value::Bytes(_),
        ) => true,
        _ => false,
    }
}

/// A number in units of 10^-`scale`; `None` if the value is not a number or has more decimal places.
fn unscaled_at(value: Value<'_>, scale: u8) -> Option<i128> {
    let (unscaled, value_scale) = match value {
        Value::Int(number) => (number, 0),
        Value::Decimal { unscaled, scale } => (unscaled, scale),
        _ => return None,
    };
    let factor = 10_i128.checked_pow(u32::from(scale.checked_sub(value_scale)?))?;
    i128::from(unscaled).checked_mul(factor)
}

/// Appends a parameter without its name: flags, type and value. A value that does not fit the type is sent
/// with a type of its own: the server converts the value, or reports why it cannot.
pub(super) fn put_parameter_body(
    sql_type: SqlType,
    value: Value<'_>,
    flags: u8,
    collation: [u8; 5],
    out: &mut Vec<u8>,
) {
    let fitting_type =
        if fits(sql_type, value) { sql_type } else { SqlType::of_value(value, None) };
    out.push(flags);
    // A value longer than its type allows makes the server close the connection: send it as a `max` type.
    let length = text_bytes(fitting_type, value, collation);
    let sent_type = match fitting_type {
        SqlType::Char(_) | SqlType::VarChar(_) if length > VARCHAR_BYTES_MAX => {
            SqlType::VarChar(None)
        }
        SqlType::NVarChar(_) if length > VARCHAR_BYTES_MAX => SqlType::NVarChar(None),
        _ => fitting_type,
    };
    sent_type.put_type_info(length, collation, out);
    put_value(sent_type, value, collation, out);
}

/// Length of an encoded text, or of bytes, in bytes; 0 for other values.
pub(super) fn text_bytes(sql_type: SqlType, value: Value<'_>, collation: [u8; 5]) -> usize {
    match (sql_type, value) {
        (SqlType::NVarChar(_), Value::Text(text)) => text.encode_utf16().count() * 2,
        (SqlType::NVarChar(_), Value::Bytes(bytes)) => {
            let units = |chunk: std::str::Utf8Chunk<'_>| {
                chunk.valid().encode_utf16().count() + usize::from(!chunk.invalid().is_empty())
            };
            bytes.utf8_chunks().map(units).sum::<usize>() * 2
        }
        (SqlType::Char(_) | SqlType::VarChar(_), Value::Text(text)) => {
            let mut length = 0;
            code_page::encode(text, collation, |piece| length += piece.len());
            length
        }
        (_, Value::Text(text)) => text.len(),
        (_, Value::Bytes(bytes)) => bytes.len(),
        _ => 0,
    }
}

/// Appends a value with its length. The value must fit the type.
pub(super) fn put_value(
    sql_type: SqlType,
    value: Value<'_>,
    collation: [u8; 5],
    out: &mut Vec<u8>,
) {
    match sql_type {
        SqlType::Char(_) | SqlType::VarChar(Some(_)) | SqlType::NVarChar(Some(_)) => {
            if value == Value::Null {
                return out.extend_from_slice(&[0xff; 2]);
            }
            let at = out.len();
            out.extend_from_slice(&[0; 2]);
            put_text(sql_type, value, collation, out);
            let length = (out.len() - at - 2) as u16;
            out[at..at + 2].copy_from_slice(&length.to_le_bytes());
        }
        SqlType::VarChar(None) | SqlType::NVarChar(None) => {
            if value == Value::Null {
                return out.extend_from_slice(&[0xff; 8]);
            }
            // PLP consists of the total length, one chunk unless the value is empty, and an empty chunk as
            // the end.
            let at = out.len();
            out.extend_from_slice(&[0; 12]);
            put_text(sql_type, value, collation, out);
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
            put_fixed_value(sql_type, value, out);
            out[at] = (out.len() - at - 1) as u8;
        }
    }
}

fn put_text(sql_type: SqlType, value: Value<'_>, collation: [u8; 5], out: &mut Vec<u8>) {
    let is_utf16 = matches!(sql_type, SqlType::NVarChar(_));
    match value {
        Value::Text(text) if is_utf16 => put_utf16(text, out),
        Value::Bytes(bytes) if is_utf16 => put_utf16_lossy(bytes, out),
        Value::Text(text) => {
            code_page::encode(text, collation, |piece| out.extend_from_slice(piece));
        }
        Value::Bytes(bytes) => out.extend_from_slice(bytes),
        Value::Int(_) | Value::Float(_) | Value::Decimal { .. } | Value::Null => {}
    }
}

/// Appends a value of a type other than text and bytes, without its length; nothing for NULL.
fn put_fixed_value(sql_type: SqlType, value: Value<'_>, out: &mut Vec<u8>) {
    let parse_moment = |value: Value<'_>| match value {
        Value::Text(text) => calendar::parse(text),
        _ => None,
    };
    match (sql_type, value) {
        (_, Value::Null) => {}
        (SqlType::TinyInt, Value::Int(n)) => out.push(n as u8),
        (SqlType::SmallInt, Value::Int(n)) => out.extend_from_slice(&(n as i16).to_le_bytes()),
        (SqlType::Int, Value::Int(n)) => out.extend_from_slice(&(n as i32).to_le_bytes()),
        (SqlType::BigInt, Value::Int(n)) => out.extend_from_slice(&n.to_le_bytes()),
        (SqlType::Float, Value::Float(x)) => out.extend_from_slice(&x.to_le_bytes()),
        (SqlType::Float, Value::Decimal { unscaled, scale }) => {
            let number = unscaled as f64 / 10_f64.powi(scale.into());
            out.extend_from_slice(&number.to_le_bytes());
        }
        (SqlType::Decimal { scale, .. }, value) => {
            if let Some(number) = unscaled_at(value, scale) {
                out.push(u8::from(number >= 0));
                let digits = number.unsigned_abs().to_le_bytes();
                out.extend_from_slice(&digits[..DECIMAL_BYTES]);
            }
        }
        (SqlType::Money, value) => {
            if let Some(number) = unscaled_at(value, MONEY_SCALE) {
                // `money` has its upper half first.
                out.extend_from_slice(&((number >> 32) as u32).to_le_bytes());
                out.extend_from_slice(&(number as u32).to_le_bytes());
            }
        }
        (SqlType::SmallMoney, value) => {
            if let Some(number) = unscaled_at(value, MONEY_SCALE) {
                out.extend_from_slice(&(number as i32).to_le_bytes());
            }
        }
        (sql_type, value) => {
            if let Some(moment) = parse_moment(value) {
                put_date_time(sql_type, moment, out);
            }
        }
    }
}

fn put_date_time(sql_type: SqlType, moment: Moment, out: &mut Vec<u8>) {
    let Moment { days, ticks } = moment;
    match sql_type {
        SqlType::DateTime => {
            // Round to units of 1/300 s; the result may be the next midnight.
            let units = (ticks * 300 + TICKS_PER_SECOND / 2) / TICKS_PER_SECOND;
            let units_per_day = 24 * 3600 * 300;
            let days = days - DAYS_TO_1900 + (units / units_per_day) as i64;
            out.extend_from_slice(&(days as i32).to_le_bytes());
            out.extend_from_slice(&((units % units_per_day) as u32).to_le_bytes());
            return;
        }
        SqlType::DateTime2(scale) => {
            // Truncate digits beyond the scale.
            let units = ticks / 10_u64.pow(7 - u32::from(scale.min(7)));
            out.extend_from_slice(&units.to_le_bytes()[..time_bytes(scale)]);
        }
        _ => {}
    }
    out.extend_from_slice(&(days as u32).to_le_bytes()[..3]);
}

/// Number of bytes of an encoded time with this scale.
pub(super) fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Appends a value as an SQL literal in UTF-16. `is_varchar`: whether the parameter's type is declared as `char` or
/// `varchar`.
pub(super) fn put_literal(value: Value<'_>, is_varchar: bool, out: &mut Vec<u8>) {
    match value {
        Value::Null => put_utf16("NULL", out),
        // SQL Server reads such a literal as a decimal, and would then convert the column compared with it.
        Value::Int(n) if i32::try_from(n).is_err() => {
            put_utf16("CAST(", out);
            put_utf16(itoa::Buffer::new().format(n), out);
            put_utf16(" AS bigint)", out);
        }
        // Parentheses, because `a -` and `-1` together would start a comment.
        Value::Int(n) => {
            put_utf16(if n < 0 { "(" } else { "" }, out);
            put_utf16(itoa::Buffer::new().format(n), out);
            put_utf16(if n < 0 { ")" } else { "" }, out);
        }
        // Only a literal with an exponent is a floating-point number. SQL has no literal for infinity: send a
        // text, which the server rejects.
        Value::Float(x) if x.is_finite() => put_formatted(format_args!("({x:e})"), out),
        Value::Float(x) => put_formatted(format_args!("'{x}'"), out),
        Value::Decimal { unscaled, scale } => {
            put_ascii_as_utf16(out, |out| put_decimal_literal(unscaled, scale, out));
        }
        Value::Text(text) => put_quoted(text, is_varchar, out),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => put_quoted(text, is_varchar, out),
            _ => {
                put_utf16("0x", out);
                for byte in bytes {
                    put_formatted(format_args!("{byte:02x}"), out);
                }
            }
        },
    }
}

/// Appends, as UTF-16, the ASCII text that `put` appends.
fn put_ascii_as_utf16(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    put(out);
    let length = out.len() - at;
    out.resize(at + 2 * length, 0);
    for index in (0..length).rev() {
        let byte = out[at + index];
        out[at + 2 * index..at + 2 * index + 2].copy_from_slice(&[byte, 0]);
    }
}

fn put_formatted(text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    put_ascii_as_utf16(out, |out| {
        // Writing into memory cannot fail.
        let _ = out.write_fmt(text);
    });
}

fn put_quoted(text: &str, is_varchar: bool, out: &mut Vec<u8>) {
    // Do not compare a `varchar` column with `N'…'`: the server would convert the column, and not use its
    // index.
    let opening = if is_varchar || text.is_ascii() { "'" } else { "N'" };
    put_utf16(opening, out);
    for part in text.split_inclusive('\'') {
        put_utf16(part, out);
        if part.ends_with('\'') {
            put_utf16("'", out);
        }
    }
    put_utf16("'", out);
}
