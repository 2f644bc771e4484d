//! Types of parameters and of bulk columns.
//!
//! In: a declared [`ParameterType`], or a value without one. Out: the type in SQL and on the wire. Must
//! never: declare a type by the length of a value where the declaration decides, because each declaration
//! has its own plan on the server.
//! Source: MS-TDS 2.2.5.4 and 2.2.5.6.

use crate::parameter_type::ParameterType;
use crate::value::Value;
use std::fmt;

/// The longest `varchar(n)`, in bytes.
pub(super) const BYTES_MAX: usize = 8000;
/// The longest `nvarchar(n)`, in UTF-16 units.
pub(super) const UNITS_MAX: usize = 4000;
/// In place of a length: the value comes in chunks.
const CHUNKS: u16 = 0xffff;
/// Days between 0001-01-01 and 1900-01-01.
pub(super) const DAYS_TO_1900: i64 = 693_595;

/// A type of SQL Server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// One byte, without a sign.
    TinyInt,
    /// Two bytes.
    SmallInt,
    /// Four bytes.
    Int,
    /// Eight bytes.
    BigInt,
    /// 0 or 1.
    Bit,
    /// A floating-point number of eight bytes.
    Float,
    /// An exact number.
    Decimal {
        /// Maximum number of digits, 1 to 38.
        precision: u8,
        /// How many of them are after the decimal point.
        scale: u8,
    },
    /// Four digits after the point, in eight bytes.
    Money,
    /// Four digits after the point, in four bytes.
    SmallMoney,
    /// A day.
    Date,
    /// Date and time in steps of 1/300 s, from 1753.
    DateTime,
    /// Date and time with this many digits after the second, 0 to 7.
    DateTime2(u8),
    /// Text of this many bytes, 1 to 8000, padded with spaces.
    Char(u16),
    /// Text of at most this many bytes, 1 to 8000; `None`: `max`.
    VarChar(Option<u16>),
    /// Text of this many UTF-16 units, 1 to 4000, padded with spaces.
    NChar(u16),
    /// Text of at most this many UTF-16 units, 1 to 4000; `None`: `max`.
    NVarChar(Option<u16>),
    /// At most this many bytes, 1 to 8000; `None`: `max`.
    VarBinary(Option<u16>),
}

impl From<ParameterType> for SqlType {
    fn from(declared: ParameterType) -> SqlType {
        let limited = |length: u16| (usize::from(length) <= BYTES_MAX).then_some(length.max(1));
        match declared {
            ParameterType::SmallInt => SqlType::SmallInt,
            ParameterType::Int => SqlType::Int,
            ParameterType::BigInt => SqlType::BigInt,
            ParameterType::Decimal { precision, scale } => SqlType::Decimal { precision, scale },
            ParameterType::Char(length) => match limited(length) {
                Some(length) => SqlType::Char(length),
                None => SqlType::VarChar(None),
            },
            // Compared with a `varchar` column, `nvarchar` would convert the column: no index then.
            ParameterType::VarChar(length) => SqlType::VarChar(limited(length)),
            // It has to hold any text.
            ParameterType::Text => SqlType::NVarChar(None),
        }
    }
}

impl SqlType {
    /// The type for a value without a declared one; `known`: the type of its parameter so far, which
    /// NULL adopts. Text has few lengths, so that it has few plans.
    pub(super) fn of_value(value: Value<'_>, known: Option<SqlType>) -> SqlType {
        match value {
            Value::Null => known.unwrap_or(SqlType::NVarChar(Some(UNITS_MAX as u16))),
            Value::Int(_) => SqlType::BigInt,
            Value::Float(_) => SqlType::Float,
            // The server has no more digits than 38.
            Value::Decimal { scale: 39.., .. } => SqlType::Float,
            Value::Decimal { scale, .. } => SqlType::Decimal {
                precision: scale.max(19),
                scale,
            },
            Value::Text(text) => {
                let fits = text.len() <= UNITS_MAX || text.encode_utf16().count() <= UNITS_MAX;
                SqlType::NVarChar(fits.then_some(UNITS_MAX as u16))
            }
            Value::Bytes(bytes) => {
                SqlType::VarChar((bytes.len() <= BYTES_MAX).then_some(BYTES_MAX as u16))
            }
        }
    }

    /// Appends TYPE_INFO. `length`: of the value in bytes, if it is longer than declared; the server then
    /// cuts it as an assignment would.
    pub(super) fn put(self, length: usize, collation: [u8; 5], out: &mut Vec<u8>) {
        let longest = |declared: usize| declared.max(length).min(BYTES_MAX) as u16;
        match self {
            SqlType::TinyInt => out.extend_from_slice(&[0x26, 1]),
            SqlType::SmallInt => out.extend_from_slice(&[0x26, 2]),
            SqlType::Int => out.extend_from_slice(&[0x26, 4]),
            SqlType::BigInt => out.extend_from_slice(&[0x26, 8]),
            SqlType::Bit => out.extend_from_slice(&[0x68, 1]),
            SqlType::Float => out.extend_from_slice(&[0x6d, 8]),
            SqlType::Decimal { precision, scale } => {
                let bytes = decimal_bytes(precision) as u8 + 1;
                out.extend_from_slice(&[0x6a, bytes, precision, scale]);
            }
            SqlType::Money => out.extend_from_slice(&[0x6e, 8]),
            SqlType::SmallMoney => out.extend_from_slice(&[0x6e, 4]),
            SqlType::Date => out.push(0x28),
            SqlType::DateTime => out.extend_from_slice(&[0x6f, 8]),
            SqlType::DateTime2(scale) => out.extend_from_slice(&[0x2a, scale]),
            SqlType::Char(n) => put_long(0xaf, longest(n.into()), Some(collation), out),
            SqlType::NChar(n) => put_long(0xef, longest(2 * usize::from(n)), Some(collation), out),
            SqlType::VarChar(n) => {
                let size = n.map_or(CHUNKS, |n| longest(n.into()));
                put_long(0xa7, size, Some(collation), out);
            }
            SqlType::NVarChar(n) => {
                let size = n.map_or(CHUNKS, |n| longest(2 * usize::from(n)));
                put_long(0xe7, size, Some(collation), out);
            }
            SqlType::VarBinary(n) => {
                let size = n.map_or(CHUNKS, |n| longest(n.into()));
                put_long(0xa5, size, None, out);
            }
        }
    }
}

fn put_long(kind: u8, size: u16, collation: Option<[u8; 5]>, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(collation.as_ref().map_or(&[], |collation| &collation[..]));
}

/// Bytes of the digits of a decimal number with this precision.
pub(super) fn decimal_bytes(precision: u8) -> usize {
    match precision {
        0..=9 => 4,
        10..=19 => 8,
        20..=28 => 12,
        _ => 16,
    }
}

/// As in SQL, such as `varchar(24)` or `decimal(6,2)`.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_length = |f: &mut fmt::Formatter<'_>, name: &str, length: Option<u16>| match length {
            Some(length) => write!(f, "{name}({length})"),
            None => write!(f, "{name}(max)"),
        };
        match *self {
            SqlType::TinyInt => f.write_str("tinyint"),
            SqlType::SmallInt => f.write_str("smallint"),
            SqlType::Int => f.write_str("int"),
            SqlType::BigInt => f.write_str("bigint"),
            SqlType::Bit => f.write_str("bit"),
            SqlType::Float => f.write_str("float"),
            SqlType::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            SqlType::Money => f.write_str("money"),
            SqlType::SmallMoney => f.write_str("smallmoney"),
            SqlType::Date => f.write_str("date"),
            SqlType::DateTime => f.write_str("datetime"),
            SqlType::DateTime2(scale) => write!(f, "datetime2({scale})"),
            SqlType::Char(length) => of_length(f, "char", Some(length)),
            SqlType::VarChar(length) => of_length(f, "varchar", length),
            SqlType::NChar(length) => of_length(f, "nchar", Some(length)),
            SqlType::NVarChar(length) => of_length(f, "nvarchar", length),
            SqlType::VarBinary(length) => of_length(f, "varbinary", length),
        }
    }
}
