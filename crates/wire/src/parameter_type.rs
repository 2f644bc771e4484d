//! SQL types of parameters.
//!
//! In: SQL notation such as `decimal(6,2)`. Out: the type, and whether a value fits it. Each protocol maps
//! the types to its own codes.

use crate::value::Value;
use std::fmt;
use std::str::FromStr;

/// The SQL type that a statement declares for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterType {
    /// A whole number of two bytes.
    SmallInt,
    /// A whole number of four bytes.
    Int,
    /// A whole number of eight bytes.
    BigInt,
    Decimal {
        precision: u8,
        /// Number of digits after the decimal point.
        scale: u8,
    },
    /// Text of this many characters, padded with spaces.
    Char(u16),
    /// Text of at most this many characters.
    VarChar(u16),
    /// Text of any length.
    Text,
}

impl ParameterType {
    /// Whether the type can hold a value without changing it. NULL fits every type.
    pub fn holds(self, value: Value<'_>) -> bool {
        use ParameterType::{BigInt, Char, Decimal, Int, SmallInt, Text, VarChar};
        match (self, value) {
            (_, Value::Null) => true,
            (SmallInt, Value::Int(number)) => i16::try_from(number).is_ok(),
            (Int, Value::Int(number)) => i32::try_from(number).is_ok(),
            (BigInt, Value::Int(_)) => true,
            (
                Decimal { precision, scale },
                Value::Decimal {
                    unscaled,
                    scale: value_scale,
                },
            ) => {
                // The smallest number, which has no absolute value, has 19 digits.
                let digits = unscaled.checked_abs().map_or(19, decimal_digits);
                let integer_digits = digits.saturating_sub(u32::from(value_scale));
                value_scale <= scale && integer_digits <= u32::from(precision.saturating_sub(scale))
            }
            (Char(limit) | VarChar(limit), Value::Text(text)) => {
                text.chars().count() <= usize::from(limit)
            }
            (Char(limit) | VarChar(limit), Value::Bytes(bytes)) => {
                bytes.len() <= usize::from(limit)
            }
            (Text, Value::Text(_) | Value::Bytes(_)) => true,
            _ => false,
        }
    }
}

/// Number of digits of a number that is not negative; 0 for zero.
fn decimal_digits(number: i64) -> u32 {
    number.checked_ilog10().map_or(0, |digits| digits + 1)
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterType::SmallInt => f.write_str("smallint"),
            ParameterType::Int => f.write_str("int"),
            ParameterType::BigInt => f.write_str("bigint"),
            ParameterType::Decimal { precision, scale } => {
                write!(f, "decimal({precision},{scale})")
            }
            ParameterType::Char(length) => write!(f, "char({length})"),
            ParameterType::VarChar(length) => write!(f, "varchar({length})"),
            ParameterType::Text => f.write_str("text"),
        }
    }
}

/// The text is not the name of a [`ParameterType`] as it is displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a parameter type: use smallint, int, bigint, decimal(P,S), char(N), varchar(N) or text"
)]
pub struct ParseParameterTypeError;

impl FromStr for ParameterType {
    type Err = ParseParameterTypeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, arguments) = match text.strip_suffix(')') {
            Some(call) => {
                let (name, arguments) = call.split_once('(').ok_or(ParseParameterTypeError)?;
                (name, Some(arguments))
            }
            None => (text, None),
        };
        let parsed = match (name, arguments) {
            ("smallint", None) => Some(ParameterType::SmallInt),
            ("int", None) => Some(ParameterType::Int),
            ("bigint", None) => Some(ParameterType::BigInt),
            ("text", None) => Some(ParameterType::Text),
            ("char", Some(length)) => length.parse().ok().map(ParameterType::Char),
            ("varchar", Some(length)) => length.parse().ok().map(ParameterType::VarChar),
            ("decimal", Some(arguments)) => decimal(arguments),
            _ => None,
        };
        parsed.ok_or(ParseParameterTypeError)
    }
}

fn decimal(arguments: &str) -> Option<ParameterType> {
    let (precision, scale) = arguments.split_once(',')?;
    let (precision, scale) = (precision.parse().ok()?, scale.parse().ok()?);
    (scale <= precision).then_some(ParameterType::Decimal { precision, scale })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONEY: ParameterType = ParameterType::Decimal {
        precision: 6,
        scale: 2,
    };

    #[test]
    fn the_displayed_name_of_a_type_parses_as_this_type() {
        for (text, parsed) in [
            ("smallint", ParameterType::SmallInt),
            ("int", ParameterType::Int),
            ("bigint", ParameterType::BigInt),
            ("decimal(6,2)", MONEY),
            ("char(24)", ParameterType::Char(24)),
            ("varchar(16)", ParameterType::VarChar(16)),
            ("text", ParameterType::Text),
        ] {
            assert_eq!(text.parse(), Ok(parsed));
            assert_eq!(parsed.to_string(), text);
        }
        for text in [
            "",
            "INT",
            "int(4)",
            "char",
            "char()",
            "char(-1)",
            "text)",
            "decimal(6)",
            "decimal(2,6)",
            "varchar(16",
            "varchar(65536)",
        ] {
            let parsed: Result<ParameterType, _> = text.parse();
            assert_eq!(parsed, Err(ParseParameterTypeError), "{text}");
        }
    }

    #[test]
    fn values_that_a_type_would_change_do_not_fit() {
        let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
        let widest = ParameterType::Decimal {
            precision: 19,
            scale: 0,
        };
        for (parameter_type, accepted, rejected) in [
            (
                ParameterType::SmallInt,
                &[Value::Int(-32_768), Value::Null][..],
                &[Value::Int(32_768), Value::Text("1"), decimal(1, 0)][..],
            ),
            (
                ParameterType::Int,
                &[Value::Int(2_147_483_647)],
                &[Value::Int(-2_147_483_649), Value::Float(1.0)],
            ),
            (
                ParameterType::BigInt,
                &[Value::Int(i64::MIN)],
                &[Value::Bytes(b"1")],
            ),
            (
                MONEY,
                &[decimal(-999_999, 2), decimal(9_999, 0), decimal(0, 1)],
                &[
                    decimal(1_000_000, 2),
                    decimal(10_000, 0),
                    decimal(1, 3),
                    Value::Int(1),
                ],
            ),
            (widest, &[decimal(i64::MIN, 0)], &[decimal(i64::MIN, 1)]),
            (
                ParameterType::Char(2),
                &[Value::Text("éé"), Value::Bytes(b"a")],
                &[Value::Text("abc"), Value::Bytes(b"abc"), Value::Int(1)],
            ),
            (
                ParameterType::VarChar(2),
                &[Value::Text(""), Value::Bytes(b"ab")],
                &[Value::Text("abc"), Value::Bytes(b"abc")],
            ),
            (
                ParameterType::Text,
                &[Value::Text("abc"), Value::Bytes(b"abc")],
                &[Value::Int(1)],
            ),
        ] {
            for value in accepted {
                assert!(parameter_type.holds(*value), "{parameter_type} {value:?}");
            }
            for value in rejected {
                assert!(!parameter_type.holds(*value), "{parameter_type} {value:?}");
            }
        }
    }
}
