//! Types of parameters and of bulk columns.
//!
//! In: a declared [`ParameterType`], or a value without one. Out: the type in SQL and on the wire. Must
//! never: let the length of a value change a declared type, because the server makes a plan for each
//! declaration.
//! Source: MS-TDS 2.2.5.4 and 2.2.5.6.

use super::type_info::data_type;
use crate::parameter_type::ParameterType;
use crate::value::Value;
use std::fmt;

/// The longest `varchar(n)`, in bytes.
pub(super) const VARCHAR_BYTES_MAX: usize = 8000;
/// The longest `nvarchar(n)`, in UTF-16 units.
pub(super) const NVARCHAR_UNITS_MAX: usize = 4000;
/// Stands for a maximum length in TYPE_INFO: the value is sent in chunks (PLP).
const LENGTH_IF_CHUNKED: u16 = 0xffff;
/// Days between 0001-01-01 and 1900-01-01.
pub(super) const DAYS_TO_1900: i64 = 693_595;

/// A type of SQL Server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    /// A whole number of one byte, without a sign.
    TinyInt,
    /// A whole number of two bytes.
    SmallInt,
    /// A whole number of four bytes.
    Int,
    /// A whole number of eight bytes.
    BigInt,
    /// A floating-point number of eight bytes.
    Float,
    Decimal {
        /// Maximum number of digits, 1 to 38.
        precision: u8,
        /// Digits after the decimal point.
        scale: u8,
    },
    /// A number with four digits after the decimal point, in eight bytes.
    Money,
    /// A number with four digits after the decimal point, in four bytes.
    SmallMoney,
    /// Date and time in units of 1/300 s, from the year 1753.
    DateTime,
    /// Date and time with this many digits for the fraction of a second, 0 to 7.
    DateTime2(u8),
    /// Text of this many bytes, 1 to 8000, padded with spaces.
    Char(u16),
    /// Text of at most this many bytes, 1 to 8000; `None`: `max`.
    VarChar(Option<u16>),
    /// Text of at most this many UTF-16 units, 1 to 4000; `None`: `max`.
    NVarChar(Option<u16>),
}

impl From<ParameterType> for SqlType {
    fn from(declared: ParameterType) -> SqlType {
        let length_if_allowed =
            |length: u16| (usize::from(length) <= VARCHAR_BYTES_MAX).then_some(length.max(1));
        match declared {
            ParameterType::SmallInt => SqlType::SmallInt,
            ParameterType::Int => SqlType::Int,
            ParameterType::BigInt => SqlType::BigInt,
            ParameterType::Decimal { precision, scale } => SqlType::Decimal { precision, scale },
            ParameterType::Char(length) => match length_if_allowed(length) {
                Some(length) => SqlType::Char(length),
                None => SqlType::VarChar(None),
            },
            // Do not use `nvarchar`: to compare it, the server would convert a `varchar` column, and not use
            // the column's index.
            ParameterType::VarChar(length) => SqlType::VarChar(length_if_allowed(length)),
            // Only `nvarchar` can hold every character.
            ParameterType::Text => SqlType::NVarChar(None),
        }
    }
}

impl SqlType {
    /// The type for a value of a parameter without a declared type. NULL gets `last_type`, the parameter's
    /// type in the previous execution. Texts get one of two lengths, so that a statement has few plans.
    pub(super) fn of_value(value: Value<'_>, last_type: Option<SqlType>) -> SqlType {
        match value {
            Value::Null => last_type.unwrap_or(SqlType::NVarChar(Some(NVARCHAR_UNITS_MAX as u16))),
            Value::Int(_) => SqlType::BigInt,
            Value::Float(_) => SqlType::Float,
            // `decimal` has at most 38 digits.
            Value::Decimal { scale: 39.., .. } => SqlType::Float,
            Value::Decimal { scale, .. } => SqlType::Decimal {
                precision: scale.max(19),
                scale,
            },
            Value::Text(text) => {
                let fits = text.len() <= NVARCHAR_UNITS_MAX
                    || text.encode_utf16().count() <= NVARCHAR_UNITS_MAX;
                SqlType::NVarChar(fits.then_some(NVARCHAR_UNITS_MAX as u16))
            }
            Value::Bytes(bytes) => SqlType::VarChar(
                (bytes.len() <= VARCHAR_BYTES_MAX).then_some(VARCHAR_BYTES_MAX as u16),
            ),
        }
    }

    /// Appends TYPE_INFO. `length` is the length of the value, in bytes. If it exceeds the declared length,
    /// it becomes the maximum length, and the server truncates the value as an assignment would.
    pub(super) fn put_type_info(self, length: usize, collation: [u8; 5], out: &mut Vec<u8>) {
        use data_type::*;
        let max_length = |declared: usize| declared.max(length).min(VARCHAR_BYTES_MAX) as u16;
        match self {
            SqlType::TinyInt => out.extend_from_slice(&[INT_N, 1]),
            SqlType::SmallInt => out.extend_from_slice(&[INT_N, 2]),
            SqlType::Int => out.extend_from_slice(&[INT_N, 4]),
            SqlType::BigInt => out.extend_from_slice(&[INT_N, 8]),
            SqlType::Float => out.extend_from_slice(&[FLOAT_N, 8]),
            SqlType::Decimal { precision, scale } => {
                out.extend_from_slice(&[DECIMAL, DECIMAL_BYTES as u8 + 1, precision, scale]);
            }
            SqlType::Money => out.extend_from_slice(&[MONEY_N, 8]),
            SqlType::SmallMoney => out.extend_from_slice(&[MONEY_N, 4]),
            SqlType::DateTime => out.extend_from_slice(&[DATETIME_N, 8]),
            SqlType::DateTime2(scale) => out.extend_from_slice(&[DATETIME2, scale]),
            SqlType::Char(bytes) => {
                put_type_with_length(CHAR, max_length(bytes.into()), collation, out);
            }
            SqlType::VarChar(bytes) => {
                let size = bytes.map_or(LENGTH_IF_CHUNKED, |bytes| max_length(bytes.into()));
                put_type_with_length(VARCHAR, size, collation, out);
            }
            SqlType::NVarChar(units) => {
                let size = units.map_or(LENGTH_IF_CHUNKED, |units| {
                    max_length(2 * usize::from(units))
                });
                put_type_with_length(NVARCHAR, size, collation, out);
            }
        }
    }
}

fn put_type_with_length(data_type: u8, size: u16, collation: [u8; 5], out: &mut Vec<u8>) {
    out.push(data_type);
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&collation);
}

/// Number of bytes of a decimal's digits: enough for the largest precision, as Microsoft's SqlClient sends them.
/// Fewer would do for a smaller precision, but Babelfish reads 16 from a bulk stream in any case.
pub(super) const DECIMAL_BYTES: usize = 16;

/// Formats the type as in SQL, such as `varchar(24)` or `decimal(6,2)`.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write_with_length =
            |f: &mut fmt::Formatter<'_>, name: &str, length: Option<u16>| match length {
                Some(length) => write!(f, "{name}({length})"),
                None => write!(f, "{name}(max)"),
            };
        match *self {
            SqlType::TinyInt => f.write_str("tinyint"),
            SqlType::SmallInt => f.write_str("smallint"),
            SqlType::Int => f.write_str("int"),
            SqlType::BigInt => f.write_str("bigint"),
            SqlType::Float => f.write_str("float"),
            SqlType::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            SqlType::Money => f.write_str("money"),
            SqlType::SmallMoney => f.write_str("smallmoney"),
            SqlType::DateTime => f.write_str("datetime"),
            SqlType::DateTime2(scale) => write!(f, "datetime2({scale})"),
            SqlType::Char(length) => write_with_length(f, "char", Some(length)),
            SqlType::VarChar(length) => write_with_length(f, "varchar", length),
            SqlType::NVarChar(length) => write_with_length(f, "nvarchar", length),
        }
    }
}
