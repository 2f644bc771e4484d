//! Values of columns.
//!
//! In: a type and bytes. Out: the value, or its text as SQL Server converts it to `varchar`. Must never:
//! panic on hostile bytes.
//! Source: MS-TDS 2.2.5.5.

use super::calendar::{put_date, put_time};
use super::encode::time_bytes;
use super::packet::Reader;
use super::sql_type::DAYS_TO_1900;
use super::type_info::{Raw, TypeInfo, kind};
use super::utf16::{put_utf8, put_utf8_from_cp1252};
use std::io::Write;

/// A value that is not NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WireValue<'a> {
    Int(i64),
    Real(f32),
    Float(f64),
    /// Whether negative, digits, scale.
    Decimal(bool, u128, u8),
    /// Ten-thousandths.
    Money(i64),
    /// Days since 0001-01-01.
    Date(i64),
    /// Time in units of 10^-scale seconds, scale.
    Time(u64, u8),
    /// Days, time, scale.
    DateTime(i64, u64, u8),
    /// As `DateTime` in UTC, and minutes that the zone is ahead.
    DateTimeOffset(i64, u64, u8, i16),
    Guid([u8; 16]),
    /// UTF-16.
    Wide(Raw<'a>),
    /// One byte for each character, or UTF-8.
    Narrow(Raw<'a>, bool),
    Bytes(Raw<'a>),
}

/// Decodes a value that is not NULL; `None` if its bytes do not fit its type.
pub(super) fn decode<'a>(info: TypeInfo, raw: Raw<'a>) -> Option<WireValue<'a>> {
    use kind::*;
    Some(match info.kind {
        NVARCHAR | NCHAR | NTEXT | XML => WireValue::Wide(raw),
        VARCHAR | CHAR | TEXT | OLD_CHAR | OLD_VARCHAR => WireValue::Narrow(raw, info.is_utf8),
        VARBINARY | BINARY | IMAGE | UDT | OLD_BINARY | OLD_VARBINARY => WireValue::Bytes(raw),
        _ => {
            let Raw::Bytes(bytes) = raw else {
                return None;
            };
            match info.kind {
                VARIANT => return variant(bytes),
                _ => number(info, bytes)?,
            }
        }
    })
}

/// Decodes a value that is not text.
fn number<'a>(info: TypeInfo, bytes: &'a [u8]) -> Option<WireValue<'a>> {
    use kind::*;
    let mut reader = Reader(bytes);
    Some(match (info.kind, bytes.len()) {
        // TINYINT has no sign.
        (INT_N | INT1 | BIT | BIT_N, 1) => WireValue::Int(reader.byte()?.into()),
        (INT_N | INT2, 2) => WireValue::Int((reader.u16()? as i16).into()),
        (INT_N | INT4, 4) => WireValue::Int((reader.u32()? as i32).into()),
        (INT_N | INT8, 8) => WireValue::Int(reader.u64()? as i64),
        (FLOAT_N | REAL, 4) => WireValue::Real(f32::from_bits(reader.u32()?)),
        (FLOAT_N | FLOAT, 8) => WireValue::Float(f64::from_bits(reader.u64()?)),
        (MONEY_N | SMALLMONEY, 4) => WireValue::Money((reader.u32()? as i32).into()),
        (MONEY_N | MONEY, 8) => {
            let high = i64::from(reader.u32()?);
            WireValue::Money((high << 32) | i64::from(reader.u32()?))
        }
        (DECIMAL | NUMERIC, 2..=17) => {
            let negative = reader.byte()? == 0;
            let mut digits = [0; 16];
            digits[..reader.0.len()].copy_from_slice(reader.0);
            WireValue::Decimal(negative, u128::from_le_bytes(digits), info.scale)
        }
        (DATETIME_N | DATETIME, 8) => {
            let days = i64::from(reader.u32()? as i32) + DAYS_TO_1900;
            // To milliseconds, as the server rounds them.
            let parts = u64::from(reader.u32()?);
            WireValue::DateTime(days, (parts * 10 + 1) / 3, 3)
        }
        (DATETIME_N | SMALLDATETIME, 4) => {
            let days = i64::from(reader.u16()?) + DAYS_TO_1900;
            WireValue::DateTime(days, u64::from(reader.u16()?) * 60, 0)
        }
        (DATE, 3) => WireValue::Date(days(&mut reader)?),
        (TIME, _) => WireValue::Time(units(&mut reader, info.scale)?, info.scale),
        (DATETIME2, _) => {
            let units = units(&mut reader, info.scale)?;
            WireValue::DateTime(days(&mut reader)?, units, info.scale)
        }
        (DATETIMEOFFSET, _) => {
            let units = units(&mut reader, info.scale)?;
            let days = days(&mut reader)?;
            WireValue::DateTimeOffset(days, units, info.scale, reader.u16()? as i16)
        }
        (GUID, 16) => WireValue::Guid(reader.array()?),
        _ => return None,
    })
}

/// Days since 0001-01-01.
fn days(reader: &mut Reader<'_>) -> Option<i64> {
    let [a, b, c] = reader.array()?;
    Some(u32::from_le_bytes([a, b, c, 0]).into())
}

fn units(reader: &mut Reader<'_>, scale: u8) -> Option<u64> {
    let mut units = [0; 8];
    let bytes = reader.take(time_bytes(scale))?;
    units[..bytes.len()].copy_from_slice(bytes);
    Some(u64::from_le_bytes(units))
}

/// A value with its own type: the type, a number of bytes of properties, these, the value.
fn variant(bytes: &[u8]) -> Option<WireValue<'_>> {
    let mut reader = Reader(bytes);
    let base = reader.byte()?;
    let properties = reader.short_bytes()?;
    let mut info = TypeInfo {
        kind: base,
        ..TypeInfo::default()
    };
    match (base, properties) {
        (kind::VARIANT, _) => return None,
        (kind::DECIMAL | kind::NUMERIC, [_, scale]) => info.scale = (*scale).min(38),
        (kind::TIME | kind::DATETIME2 | kind::DATETIMEOFFSET, [scale]) => {
            info.scale = (*scale).min(7);
        }
        // A collation and the length.
        (_, [_, _, _, flags, _, _, _]) => info.is_utf8 = flags & 0x04 != 0,
        _ => {}
    }
    decode(info, Raw::Bytes(reader.0))
}

impl<'a> WireValue<'a> {
    /// The value as an integer, if it is one.
    pub(super) fn int(self) -> Option<i64> {
        match self {
            WireValue::Int(number) => Some(number),
            WireValue::Decimal(negative, digits, 0) => {
                let number = i128::try_from(digits).ok()?;
                i64::try_from(if negative { -number } else { number }).ok()
            }
            WireValue::Narrow(raw, _) => {
                let mut digits = [0; DIGITS_MAX];
                std::str::from_utf8(gather(raw, &mut digits)?)
                    .ok()?
                    .parse()
                    .ok()
            }
            WireValue::Wide(raw) => wide_int(gather(raw, &mut [0; 2 * DIGITS_MAX])?),
            _ => None,
        }
    }

    /// The bytes of the value, if they are its text as they are.
    pub(super) fn in_place(self) -> Option<&'a [u8]> {
        match self {
            WireValue::Narrow(raw, is_utf8) => {
                raw.whole().filter(|bytes| is_utf8 || bytes.is_ascii())
            }
            WireValue::Bytes(raw) => raw.whole(),
            _ => None,
        }
    }

    /// Appends the text of the value.
    pub(super) fn put(self, out: &mut Vec<u8>) {
        // Writing into memory cannot fail.
        let _ = match self {
            WireValue::Int(number) => {
                out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                Ok(())
            }
            WireValue::Real(number) if readable(number.into()) => write!(out, "{number}"),
            WireValue::Real(number) => write!(out, "{number:e}"),
            WireValue::Float(number) if readable(number) => write!(out, "{number}"),
            WireValue::Float(number) => write!(out, "{number:e}"),
            WireValue::Decimal(negative, digits, scale) => {
                put_decimal(negative, digits, scale, out)
            }
            WireValue::Money(number) => {
                put_decimal(number < 0, number.unsigned_abs().into(), 4, out)
            }
            WireValue::Date(days) => {
                put_date(days, out);
                Ok(())
            }
            WireValue::Time(units, scale) => {
                put_time(units, scale, out);
                Ok(())
            }
            WireValue::DateTime(days, units, scale) => {
                put_date(days, out);
                out.push(b' ');
                put_time(units, scale, out);
                Ok(())
            }
            WireValue::DateTimeOffset(days, units, scale, zone) => {
                put_offset(days, units, scale, zone, out)
            }
            WireValue::Guid(bytes) => put_guid(bytes, out),
            WireValue::Wide(raw) => {
                put_utf8(raw.pieces(), out);
                Ok(())
            }
            WireValue::Narrow(raw, false) => {
                put_utf8_from_cp1252(raw.pieces(), out);
                Ok(())
            }
            WireValue::Narrow(raw, true) | WireValue::Bytes(raw) => {
                raw.pieces().for_each(|piece| out.extend_from_slice(piece));
                Ok(())
            }
        };
    }
}

/// Most characters of an integer: a sign and 19 digits.
const DIGITS_MAX: usize = 20;

/// The bytes of a value, if the buffer can hold them.
fn gather<'a>(raw: Raw<'_>, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for piece in raw.pieces() {
        buffer
            .get_mut(length..length + piece.len())?
            .copy_from_slice(piece);
        length += piece.len();
    }
    Some(&buffer[..length])
}

/// Digits in UTF-16 as a number.
fn wide_int(bytes: &[u8]) -> Option<i64> {
    let mut digits = [0; DIGITS_MAX];
    let text = digits.get_mut(..bytes.len() / 2)?;
    for (digit, unit) in text.iter_mut().zip(bytes.as_chunks().0) {
        let &[low, 0] = unit else {
            return None;
        };
        *digit = low;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether a floating-point number is short without an exponent.
fn readable(number: f64) -> bool {
    number == 0.0 || (1e-5..1e17).contains(&number.abs()) || !number.is_finite()
}

fn put_decimal(negative: bool, digits: u128, scale: u8, out: &mut Vec<u8>) -> std::io::Result<()> {
    let sign = if negative && digits > 0 { "-" } else { "" };
    match 10_u128.checked_pow(scale.into()) {
        None | Some(1) => write!(out, "{sign}{digits}"),
        Some(power) => {
            let (whole, fraction) = (digits / power, digits % power);
            write!(
                out,
                "{sign}{whole}.{fraction:0width$}",
                width = usize::from(scale)
            )
        }
    }
}

fn put_offset(
    days: i64,
    units: u64,
    scale: u8,
    zone: i16,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    let per_minute = 60 * 10_i64.pow(scale.min(7).into());
    let per_day = 1440 * per_minute;
    let local = (units as i64).saturating_add(i64::from(zone) * per_minute);
    put_date(days + local.div_euclid(per_day), out);
    out.push(b' ');
    put_time(local.rem_euclid(per_day) as u64, scale, out);
    let sign = if zone < 0 { '-' } else { '+' };
    let zone = zone.unsigned_abs();
    write!(out, " {sign}{:02}:{:02}", zone / 60, zone % 60)
}

/// The first three groups are numbers in little-endian order, the others bytes.
fn put_guid(bytes: [u8; 16], out: &mut Vec<u8>) -> std::io::Result<()> {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    for (index, from) in ORDER.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        write!(out, "{:02X}", bytes[from])?;
    }
    Ok(())
}
