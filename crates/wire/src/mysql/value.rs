//! Values of binary rows.
//!
//! In: a column's description, bytes. Out: the value, or its text as the server would write it. Must
//! never: panic on hostile bytes.
//! Source: MySQL documentation, "Binary Protocol Value" and "Column Definition".

use super::packet::Reader;
use std::io::Write;

/// Types of columns whose values are not plain bytes after their length.
mod column_type {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
}

/// Flag of a column whose numbers are unsigned.
const UNSIGNED: u16 = 32;

/// The attributes of a column that are needed to read its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    column_type: u8,
    is_unsigned: bool,
    /// Fractional digits of a time.
    decimals: u8,
}

/// How long a value in a binary row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueLength {
    Fixed(u8),
    /// A byte before the value: 0, 4, 7 or 11.
    Date,
    /// A byte before the value: 0, 8 or 12.
    Time,
    /// A length-encoded number before the value.
    Encoded,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BinaryValue<'a> {
    Null,
    Int(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    Bytes(&'a [u8]),
    /// Year, month, day, then hour, minute, second and microsecond.
    Date([u32; 7]),
    Time {
        is_negative: bool,
        /// Hours, minutes, seconds and microseconds.
        parts: [u32; 4],
    },
}

impl Column {
    /// Reads a column's description from its end, where the fields of fixed length are: `0x0c` (their length), the
    /// character set, the column's length, the type, the flags, the decimals and two bytes of filler.
    pub(super) fn read(described: &[u8]) -> Option<Column> {
        let fixed = described.last_chunk::<13>()?;
        (fixed[0] == 0x0c).then(|| Column {
            column_type: fixed[7],
            is_unsigned: u16::from_le_bytes([fixed[8], fixed[9]]) & UNSIGNED != 0,
            decimals: fixed[10],
        })
    }

    pub(super) fn value_length(self) -> ValueLength {
        match self.column_type {
            column_type::NULL => ValueLength::Fixed(0),
            column_type::TINY => ValueLength::Fixed(1),
            column_type::YEAR | column_type::SHORT => ValueLength::Fixed(2),
            column_type::LONG | column_type::INT24 | column_type::FLOAT => ValueLength::Fixed(4),
            column_type::LONGLONG | column_type::DOUBLE => ValueLength::Fixed(8),
            column_type::DATE | column_type::DATETIME | column_type::TIMESTAMP => ValueLength::Date,
            column_type::TIME => ValueLength::Time,
            _ => ValueLength::Encoded,
        }
    }

    /// Reads one value that is not NULL.
    pub(super) fn read_value<'a>(self, reader: &mut Reader<'a>) -> Option<BinaryValue<'a>> {
        let int = |signed: i64, unsigned: u64| {
            if self.is_unsigned {
                BinaryValue::Unsigned(unsigned)
            } else {
                BinaryValue::Int(signed)
            }
        };
        Some(match self.column_type {
            column_type::NULL => BinaryValue::Null,
            column_type::TINY => {
                let byte = reader.byte()?;
                int(i64::from(byte as i8), u64::from(byte))
            }
            column_type::YEAR => BinaryValue::Unsigned(u64::from(reader.u16()?)),
            column_type::SHORT => {
                let number = reader.u16()?;
                int(i64::from(number as i16), u64::from(number))
            }
            column_type::LONG | column_type::INT24 => {
                let number = reader.u32()?;
                int(i64::from(number as i32), u64::from(number))
            }
            column_type::LONGLONG => {
                let number = reader.u64()?;
                int(number as i64, number)
            }
            column_type::FLOAT => BinaryValue::Float(f32::from_bits(reader.u32()?)),
            column_type::DOUBLE => BinaryValue::Double(f64::from_bits(reader.u64()?)),
            column_type::DATE | column_type::DATETIME | column_type::TIMESTAMP => {
                BinaryValue::Date(read_date(reader.take_with_length()?)?)
            }
            column_type::TIME => read_time(reader.take_with_length()?)?,
            _ => BinaryValue::Bytes(reader.length_encoded_bytes()?),
        })
    }
}

impl<'a> Reader<'a> {
    /// Skips a value of a binary row; `None` if its length is impossible.
    pub(super) fn skip_value(&mut self, length: ValueLength) -> Option<()> {
        let length = match length {
            ValueLength::Fixed(length) => length,
            ValueLength::Date => self
                .byte()
                .filter(|length| matches!(length, 0 | 4 | 7 | 11))?,
            ValueLength::Time => self.byte().filter(|length| matches!(length, 0 | 8 | 12))?,
            ValueLength::Encoded => return self.length_encoded_bytes().map(drop),
        };
        self.take(usize::from(length)).map(drop)
    }

    /// Takes bytes after their length in one byte.
    fn take_with_length(&mut self) -> Option<Reader<'a>> {
        let length = self.byte()?;
        self.take(usize::from(length)).map(Reader)
    }
}

/// Reads a date, and perhaps a time, of 0, 4, 7 or 11 bytes; omitted parts are zero.
fn read_date(mut reader: Reader<'_>) -> Option<[u32; 7]> {
    let mut parts = [0; 7];
    if reader.0.is_empty() {
        return Some(parts);
    }
    parts[0] = u32::from(reader.u16()?);
    for part in &mut parts[1..3] {
        *part = u32::from(reader.byte()?);
    }
    if reader.0.is_empty() {
        return Some(parts);
    }
    for part in &mut parts[3..6] {
        *part = u32::from(reader.byte()?);
    }
    if !reader.0.is_empty() {
        parts[6] = reader.u32()?;
    }
    Some(parts)
}

/// Reads a time of 0, 8 or 12 bytes.
fn read_time(mut reader: Reader<'_>) -> Option<BinaryValue<'static>> {
    if reader.0.is_empty() {
        return Some(BinaryValue::Time {
            is_negative: false,
            parts: [0; 4],
        });
    }
    let is_negative = reader.byte()? != 0;
    let days = reader.u32()?;
    let hours = days.checked_mul(24)?.checked_add(reader.byte()?.into())?;
    let (minutes, seconds) = (reader.byte()?.into(), reader.byte()?.into());
    let micros = match reader.0 {
        [] => 0,
        _ => reader.u32()?,
    };
    Some(BinaryValue::Time {
        is_negative,
        parts: [hours, minutes, seconds, micros],
    })
}

impl BinaryValue<'_> {
    /// Appends the value as text, as in the text protocol. A floating-point number becomes the shortest text
    /// that reads back unchanged.
    pub(super) fn write(self, column: Column, out: &mut Vec<u8>) {
        // Writing into memory cannot fail.
        let _ = self.try_write(column, out);
    }

    fn try_write(self, column: Column, out: &mut Vec<u8>) -> std::io::Result<()> {
        match self {
            BinaryValue::Null => Ok(()),
            BinaryValue::Int(number) => write!(out, "{number}"),
            BinaryValue::Unsigned(number) if column.column_type == column_type::YEAR => {
                write!(out, "{number:04}")
            }
            BinaryValue::Unsigned(number) => write!(out, "{number}"),
            BinaryValue::Float(number) => write!(out, "{number}"),
            BinaryValue::Double(number) => write!(out, "{number}"),
            BinaryValue::Bytes(bytes) => out.write_all(bytes),
            BinaryValue::Date([year, month, day, hour, minute, second, micros]) => {
                write!(out, "{year:04}-{month:02}-{day:02}")?;
                if column.column_type != column_type::DATE {
                    write!(out, " {hour:02}:{minute:02}:{second:02}")?;
                    put_fraction(out, micros, column.decimals);
                }
                Ok(())
            }
            BinaryValue::Time { is_negative, parts } => {
                let [hours, minutes, seconds, micros] = parts;
                let sign = if is_negative { "-" } else { "" };
                write!(out, "{sign}{hours:02}:{minutes:02}:{seconds:02}")?;
                put_fraction(out, micros, column.decimals);
                Ok(())
            }
        }
    }
}

/// Appends as many fractional digits as the column has.
fn put_fraction(out: &mut Vec<u8>, micros: u32, decimals: u8) {
    if let digits @ 1..=6 = decimals {
        let text = format!("{micros:06}");
        out.push(b'.');
        out.extend_from_slice(&text.as_bytes()[..usize::from(digits)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(column_type: u8, is_unsigned: bool, decimals: u8, bytes: &[u8]) -> Option<String> {
        let column = Column {
            column_type,
            is_unsigned,
            decimals,
        };
        let (mut reader, mut skipping) = (Reader(bytes), Reader(bytes));
        let value = column.read_value(&mut reader);
        let skipped = skipping.skip_value(column.value_length());
        assert_eq!(
            skipped.is_some(),
            value.is_some(),
            "{column_type}: {bytes:?}"
        );
        let mut out = Vec::new();
        value?.write(column, &mut out);
        assert_eq!(reader.0, skipping.0, "{column_type}: {bytes:?}");
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_are_written_as_the_server_writes_them() {
        for (column_type, unsigned, decimals, bytes, expected) in [
            (column_type::TINY, false, 0, &b"\xff"[..], "-1"),
            (column_type::TINY, true, 0, b"\xff", "255"),
            (column_type::SHORT, false, 0, b"\0\x80", "-32768"),
            (
                column_type::LONG,
                true,
                0,
                b"\xff\xff\xff\xff",
                "4294967295",
            ),
            (column_type::INT24, false, 0, b"\xff\xff\xff\xff", "-1"),
            (
                column_type::LONGLONG,
                true,
                0,
                &[0xff; 8],
                "18446744073709551615",
            ),
            (column_type::LONGLONG, false, 0, &[0xff; 8], "-1"),
            (column_type::YEAR, true, 0, b"\xea\x07", "2026"),
            (
                column_type::DOUBLE,
                false,
                31,
                &0.5_f64.to_le_bytes(),
                "0.5",
            ),
            (
                column_type::FLOAT,
                false,
                31,
                &1.25_f32.to_le_bytes(),
                "1.25",
            ),
            (
                column_type::DATE,
                false,
                0,
                b"\x04\xea\x07\x0b\x15",
                "2026-11-21",
            ),
            (column_type::DATE, false, 0, b"\0", "0000-00-00"),
            (
                column_type::DATETIME,
                false,
                0,
                b"\0",
                "0000-00-00 00:00:00",
            ),
            (
                column_type::DATETIME,
                false,
                3,
                b"\x0b\xea\x07\x0b\x15\x01\x02\x03\x40\xe2\x01\0",
                "2026-11-21 01:02:03.123",
            ),
            (
                column_type::TIME,
                false,
                6,
                b"\x0c\x01\x01\0\0\0\x02\x03\x04\x01\0\0\0",
                "-26:03:04.000001",
            ),
            (column_type::TIME, false, 0, b"\0", "00:00:00"),
            (246, false, 2, b"\x0412.5", "12.5"),
        ] {
            let written = text(column_type, unsigned, decimals, bytes);
            assert_eq!(written.as_deref(), Some(expected), "type {column_type}");
            for end in 0..bytes.len() {
                let _ = text(column_type, unsigned, decimals, &bytes[..end]);
            }
        }
    }
}
