//! The values of the script language: types, conversions, and text in pgbench's format. Conversions between
//! numbers never allocate.

use super::error::EvalError;
use super::number::{FormattedDouble, parse_double, trim_start};
use std::fmt;

/// A value. The language has no strings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    /// A boolean, which never converts to a number.
    Bool(bool),
    Int(i64),
    /// A floating-point number.
    Double(f64),
}

impl Value {
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "int",
            Value::Double(_) => "double",
        }
    }

    /// Whether a condition holds: true, or a number that is not zero.
    pub fn is_truthy(self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => value,
            Value::Int(value) => value != 0,
            Value::Double(value) => value != 0.0,
        }
    }

    /// The value as a boolean; numbers are an error.
    pub fn to_bool(self) -> Result<bool, EvalError> {
        match self {
            Value::Bool(value) => Ok(value),
            _ => Err(self.coercion_error("boolean")),
        }
    }

    /// The value as an integer; a double is rounded to the nearest, ties to even.
    #[inline]
    pub fn to_int(self) -> Result<i64, EvalError> {
        match self {
            Value::Int(value) => Ok(value),
            Value::Double(value) => double_to_int(value),
            _ => Err(self.coercion_error("int")),
        }
    }

    #[inline]
    pub fn to_double(self) -> Result<f64, EvalError> {
        match self {
            Value::Double(value) => Ok(value),
            Value::Int(value) => Ok(value as f64),
            _ => Err(self.coercion_error("double")),
        }
    }

    #[cold]
    fn coercion_error(self, target: &str) -> EvalError {
        EvalError::new(format!("cannot coerce {} to {target}", self.type_name()))
    }

    /// Converts a text from outside the script; `name` is the variable's, for the error message.
    pub fn from_text(name: &str, text: &str) -> Result<Value, EvalError> {
        if text.is_empty() {
            return Err(EvalError::Silent);
        }
        let is_prefix_of = |word: &str| {
            word.get(..text.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(text))
        };
        let equals = |word: &str| word.eq_ignore_ascii_case(text);
        if equals("null") {
            return Ok(Value::Null);
        }
        if is_prefix_of("true") || is_prefix_of("yes") || equals("on") {
            return Ok(Value::Bool(true));
        }
        // "o" is ambiguous: "on" or "off".
        if is_prefix_of("false") || is_prefix_of("no") || equals("off") || equals("of") {
            return Ok(Value::Bool(false));
        }
        if let Some(number) = integer_text(text) {
            return number.parse().map(Value::Int).map_err(|_| {
                let problem = if number.ends_with(|c: char| c.is_ascii_digit()) {
                    format!("value \"{text}\" is out of range for type bigint")
                } else {
                    format!("invalid input syntax for type bigint: \"{text}\"")
                };
                EvalError::Message(problem)
            });
        }
        parse_double(text).map(Value::Double).ok_or_else(|| {
            EvalError::new(format!("malformed variable \"{name}\" value: \"{text}\""))
        })
    }
}

impl fmt::Display for Value {
    /// Formats as in a statement: `NULL`, `true`, `5`, `0.333333333333333`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Double(value) => write!(f, "{}", FormattedDouble(*value)),
        }
    }
}

/// `text` without leading blanks, if an optional sign and any number of digits, even none, follow.
fn integer_text(text: &str) -> Option<&str> {
    let number = trim_start(text);
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    digits.bytes().all(|c| c.is_ascii_digit()).then_some(number)
}

fn double_to_int(value: f64) -> Result<i64, EvalError> {
    let rounded = value.round_ties_even();
    // Both limits are exact in a double; NaN fails both comparisons.
    if rounded >= i64::MIN as f64 && rounded < -(i64::MIN as f64) {
        Ok(rounded as i64)
    } else {
        Err(EvalError::new(format!(
            "double to int overflow for {}",
            super::number::format_fixed(rounded, 6)
        )))
    }
}
