//! Decodes values of columns.
//!
//! In: a type and bytes. Out: the value, or the text to which SQL Server would convert it. Must never:
//! panic on hostile bytes.
//! Source: MS-TDS 2.2.5.5.

use super::calendar::{put_date, put_time};
use super::code_page::{self, is_utf8};
use super::encode::{MONEY_SCALE, time_bytes};
use super::packet::Reader;
use super::sql_type::DAYS_TO_1900;
use super::type_info::{RawValue, TypeInfo, data_type};
use super::utf16::put_utf8_from_utf16;
use std::io::Write;

/// A decoded value that is not NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DecodedValue<'a> {
    Int(i64),
    Real(f32),
    Float(f64),
    Decimal(DecimalNumber),
    /// Ten-thousandths.
    Money(i64),
    /// Days since 0001-01-01.
    Date(i64),
    Time(TimeOfDay),
    /// Days since 0001-01-01, and the time of day.
    DateTime(i64, TimeOfDay),
    /// A date and time in UTC.
    DateTimeOffset {
        /// Days since 0001-01-01.
        days: i64,
        time: TimeOfDay,
        /// The zone's offset from UTC.
        zone_minutes: i16,
    },
    Guid([u8; 16]),
    /// Text in UTF-16.
    Utf16(RawValue<'a>),
    /// `char` or `varchar` text, and its collation.
    Varchar(RawValue<'a>, [u8; 5]),
    Bytes(RawValue<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DecimalNumber {
    is_negative: bool,
    digits: u128,
    /// How many of the digits follow the decimal point.
    scale: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeOfDay {
    /// Units of 10^-`scale` seconds since midnight.
    units: u64,
    scale: u8,
}

/// Decodes a value that is not NULL; `None` if its bytes do not fit its type.
pub(super) fn decode<'a>(type_info: TypeInfo, raw: RawValue<'a>) -> Option<DecodedValue<'a>> {
    use data_type::*;
    Some(match type_info.data_type {
        NVARCHAR | NCHAR | NTEXT | XML => DecodedValue::Utf16(raw),
        VARCHAR | CHAR | TEXT | OLD_CHAR | OLD_VARCHAR => {
            DecodedValue::Varchar(raw, type_info.collation)
        }
        VARBINARY | BINARY | IMAGE | UDT | OLD_BINARY | OLD_VARBINARY => DecodedValue::Bytes(raw),
        _ => {
            let RawValue::Bytes(bytes) = raw else {
                return None;
            };
            match type_info.data_type {
                VARIANT => return decode_variant(bytes),
                _ => decode_fixed(type_info, bytes)?,
            }
        }
    })
}

/// Decodes a value of a type other than text and bytes.
fn decode_fixed<'a>(type_info: TypeInfo, bytes: &'a [u8]) -> Option<DecodedValue<'a>> {
    use data_type::*;
    let mut reader = Reader(bytes);
    Some(match (type_info.data_type, bytes.len()) {
        // TINYINT has no sign.
        (INT_N | INT1 | BIT | BIT_N, 1) => DecodedValue::Int(reader.byte()?.into()),
        (INT_N | INT2, 2) => DecodedValue::Int((reader.u16()? as i16).into()),
        (INT_N | INT4, 4) => DecodedValue::Int((reader.u32()? as i32).into()),
        (INT_N | INT8, 8) => DecodedValue::Int(reader.u64()? as i64),
        (FLOAT_N | REAL, 4) => DecodedValue::Real(f32::from_bits(reader.u32()?)),
        (FLOAT_N | FLOAT, 8) => DecodedValue::Float(f64::from_bits(reader.u64()?)),
        (MONEY_N | SMALLMONEY, 4) => DecodedValue::Money((reader.u32()? as i32).into()),
        (MONEY_N | MONEY, 8) => {
            let high = i64::from(reader.u32()?);
            DecodedValue::Money((high << 32) | i64::from(reader.u32()?))
        }
        (DECIMAL | NUMERIC, 2..=17) => {
            let is_negative = reader.byte()? == 0;
            let mut digits = [0; 16];
            digits[..reader.0.len()].copy_from_slice(reader.0);
            DecodedValue::Decimal(DecimalNumber {
                is_negative,
                digits: u128::from_le_bytes(digits),
                scale: type_info.scale,
            })
        }
        (DATETIME_N | DATETIME, 8) => {
            let days = i64::from(reader.u32()? as i32) + DAYS_TO_1900;
            // Round units of 1/300 s to milliseconds, as the server does.
            let units = (u64::from(reader.u32()?) * 10 + 1) / 3;
            DecodedValue::DateTime(days, TimeOfDay { units, scale: 3 })
        }
        (DATETIME_N | SMALLDATETIME, 4) => {
            let days = i64::from(reader.u16()?) + DAYS_TO_1900;
            let units = u64::from(reader.u16()?) * 60;
            DecodedValue::DateTime(days, TimeOfDay { units, scale: 0 })
        }
        (DATE, 3) => DecodedValue::Date(read_days(&mut reader)?),
        (TIME, _) => DecodedValue::Time(read_time(&mut reader, type_info.scale)?),
        (DATETIME2, _) => {
            let time = read_time(&mut reader, type_info.scale)?;
            DecodedValue::DateTime(read_days(&mut reader)?, time)
        }
        (DATETIMEOFFSET, _) => {
            let time = read_time(&mut reader, type_info.scale)?;
            DecodedValue::DateTimeOffset {
                days: read_days(&mut reader)?,
                time,
                zone_minutes: reader.u16()? as i16,
            }
        }
        (GUID, 16) => DecodedValue::Guid(reader.array()?),
        _ => return None,
    })
}

/// Reads days since 0001-01-01.
fn read_days(reader: &mut Reader<'_>) -> Option<i64> {
    let [low, middle, high] = reader.array()?;
    Some(u32::from_le_bytes([low, middle, high, 0]).into())
}

fn read_time(reader: &mut Reader<'_>, scale: u8) -> Option<TimeOfDay> {
    let mut units = [0; 8];
    let bytes = reader.take(time_bytes(scale))?;
    units[..bytes.len()].copy_from_slice(bytes);
    let units = u64::from_le_bytes(units);
    Some(TimeOfDay { units, scale })
}

/// Decodes a `sql_variant`: the value's type, the number of bytes of its properties, the properties, the
/// value.
fn decode_variant(bytes: &[u8]) -> Option<DecodedValue<'_>> {
    let mut reader = Reader(bytes);
    let base_type = reader.byte()?;
    let properties = reader.short_bytes()?;
    let mut type_info = TypeInfo {
        data_type: base_type,
        ..TypeInfo::default()
    };
    match (base_type, properties) {
        (data_type::VARIANT, _) => return None,
        (data_type::DECIMAL | data_type::NUMERIC, [_, scale]) => type_info.scale = (*scale).min(38),
        (data_type::TIME | data_type::DATETIME2 | data_type::DATETIMEOFFSET, [scale]) => {
            type_info.scale = (*scale).min(7);
        }
        // A text's collation and maximum length.
        (_, [collation @ .., _, _]) if collation.len() == 5 => {
            type_info.collation.copy_from_slice(collation);
        }
        _ => {}
    }
    decode(type_info, RawValue::Bytes(reader.0))
}

impl<'a> DecodedValue<'a> {
    /// The value as an integer, if it is one: also a decimal without fraction, or a text of digits.
    pub(super) fn as_int(self) -> Option<i64> {
        match self {
            DecodedValue::Int(number) => Some(number),
            DecodedValue::Decimal(decimal) if decimal.scale == 0 => {
                let number = i128::try_from(decimal.digits).ok()?;
                i64::try_from(if decimal.is_negative { -number } else { number }).ok()
            }
            DecodedValue::Varchar(raw, _) => {
                let mut digits = [0; INT_CHARS_MAX];
                std::str::from_utf8(copy_pieces(raw, &mut digits)?)
                    .ok()?
                    .parse()
                    .ok()
            }
            DecodedValue::Utf16(raw) => {
                parse_utf16_int(copy_pieces(raw, &mut [0; 2 * INT_CHARS_MAX])?)
            }
            _ => None,
        }
    }

    /// The bytes of the value, if they are the value's text without conversion and in one piece.
    pub(super) fn text_in_place(self) -> Option<&'a [u8]> {
        match self {
            DecodedValue::Varchar(raw, collation) => raw
                .as_one_piece()
                .filter(|bytes| is_utf8(collation) || bytes.is_ascii()),
            DecodedValue::Bytes(raw) => raw.as_one_piece(),
            _ => None,
        }
    }

    /// Appends the text of the value, in UTF-8.
    pub(super) fn put_text(self, out: &mut Vec<u8>) {
        // Writing into memory cannot fail.
        let _ = match self {
            DecodedValue::Int(number) => {
                out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                Ok(())
            }
            DecodedValue::Real(number) if is_short_without_exponent(number.into()) => {
                write!(out, "{number}")
            }
            DecodedValue::Real(number) => write!(out, "{number:e}"),
            DecodedValue::Float(number) if is_short_without_exponent(number) => {
                write!(out, "{number}")
            }
            DecodedValue::Float(number) => write!(out, "{number:e}"),
            DecodedValue::Decimal(decimal) => put_decimal(decimal, out),
            DecodedValue::Money(number) => {
                let decimal = DecimalNumber {
                    is_negative: number < 0,
                    digits: number.unsigned_abs().into(),
                    scale: MONEY_SCALE,
                };
                put_decimal(decimal, out)
            }
            DecodedValue::Date(days) => {
                put_date(days, out);
                Ok(())
            }
            DecodedValue::Time(time) => {
                put_time(time.units, time.scale, out);
                Ok(())
            }
            DecodedValue::DateTime(days, time) => {
                put_date(days, out);
                out.push(b' ');
                put_time(time.units, time.scale, out);
                Ok(())
            }
            DecodedValue::DateTimeOffset {
                days,
                time,
                zone_minutes,
            } => put_date_time_offset(days, time, zone_minutes, out),
            DecodedValue::Guid(bytes) => put_guid(bytes, out),
            DecodedValue::Utf16(raw) => {
                put_utf8_from_utf16(raw.pieces(), out);
                Ok(())
            }
            DecodedValue::Varchar(raw, collation) if !is_utf8(collation) => {
                code_page::decode(raw.pieces(), collation, out);
                Ok(())
            }
            DecodedValue::Varchar(raw, _) | DecodedValue::Bytes(raw) => {
                raw.pieces().for_each(|piece| out.extend_from_slice(piece));
                Ok(())
            }
        };
    }
}

/// Maximum number of characters of an integer: a sign and 19 digits.
const INT_CHARS_MAX: usize = 20;

/// Copies the pieces of a value into the buffer; `None` if it is too small.
fn copy_pieces<'a>(raw: RawValue<'_>, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for piece in raw.pieces() {
        buffer
            .get_mut(length..length + piece.len())?
            .copy_from_slice(piece);
        length += piece.len();
    }
    Some(&buffer[..length])
}

/// Parses an integer in UTF-16.
fn parse_utf16_int(bytes: &[u8]) -> Option<i64> {
    let mut digits = [0; INT_CHARS_MAX];
    let text = digits.get_mut(..bytes.len() / 2)?;
    for (digit, unit) in text.iter_mut().zip(bytes.as_chunks().0) {
        let &[low, 0] = unit else {
            return None;
        };
        *digit = low;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether to write a floating-point number without an exponent.
fn is_short_without_exponent(number: f64) -> bool {
    number == 0.0 || (1e-5..1e17).contains(&number.abs()) || !number.is_finite()
}

fn put_decimal(decimal: DecimalNumber, out: &mut Vec<u8>) -> std::io::Result<()> {
    let DecimalNumber {
        is_negative,
        digits,
        scale,
    } = decimal;
    let sign = if is_negative && digits > 0 { "-" } else { "" };
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

fn put_date_time_offset(
    days: i64,
    time: TimeOfDay,
    zone_minutes: i16,
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    let TimeOfDay { units, scale } = time;
    let units_per_minute = 60 * 10_i64.pow(scale.min(7).into());
    let units_per_day = 1440 * units_per_minute;
    let local = (units as i64).saturating_add(i64::from(zone_minutes) * units_per_minute);
    put_date(days + local.div_euclid(units_per_day), out);
    out.push(b' ');
    put_time(local.rem_euclid(units_per_day) as u64, scale, out);
    let sign = if zone_minutes < 0 { '-' } else { '+' };
    let distance = zone_minutes.unsigned_abs();
    write!(out, " {sign}{:02}:{:02}", distance / 60, distance % 60)
}

/// Appends a GUID. Its first three groups are sent as little-endian numbers, the others byte by byte.
fn put_guid(bytes: [u8; 16], out: &mut Vec<u8>) -> std::io::Result<()> {
    const BYTE_ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    for (index, from) in BYTE_ORDER.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        write!(out, "{:02X}", bytes[from])?;
    }
    Ok(())
}
