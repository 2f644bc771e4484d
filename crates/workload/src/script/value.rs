//! A value of the script language: its types, their conversions, their text.
//!
//! In: values, and texts given for them. Out: other values, text as pgbench writes it. Must never:
//! allocate while it converts numbers.

use super::error::EvalError;
use super::number::{Float, parse_double, trim_start};
use std::fmt;

/// A value. There are no strings in the language.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// True or false; never taken for a number.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
}

impl Value {
    /// Name of the type, as messages give it.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "int",
            Value::Double(_) => "double",
        }
    }

    /// Whether a condition holds: true, or a number that is not zero.
    pub fn is_truth(self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => value,
            Value::Int(value) => value != 0,
            Value::Double(value) => value != 0.0,
        }
    }

    /// The value as true or false, which only a boolean is.
    pub fn to_bool(self) -> Result<bool, EvalError> {
        match self {
            Value::Bool(value) => Ok(value),
            _ => Err(self.cannot_be("boolean")),
        }
    }

    /// The value as a whole number; a double is rounded to the nearest, a tie to the even one.
    #[inline]
    pub fn to_int(self) -> Result<i64, EvalError> {
        match self {
            Value::Int(value) => Ok(value),
            Value::Double(value) => double_to_int(value),
            _ => Err(self.cannot_be("int")),
        }
    }

    /// The value as a floating-point number.
    #[inline]
    pub fn to_double(self) -> Result<f64, EvalError> {
        match self {
            Value::Double(value) => Ok(value),
            Value::Int(value) => Ok(value as f64),
            _ => Err(self.cannot_be("double")),
        }
    }

    #[cold]
    fn cannot_be(self, wanted: &str) -> EvalError {
        EvalError::new(format!("cannot coerce {} to {wanted}", self.type_name()))
    }

    /// What a text given from outside stands for; `name` is the variable it was given to.
    pub fn from_text(name: &str, text: &str) -> Result<Value, EvalError> {
        if text.is_empty() {
            return Err(EvalError::Silent);
        }
        let starts = |word: &str| {
            word.get(..text.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(text))
        };
        let is = |word: &str| word.eq_ignore_ascii_case(text);
        if is("null") {
            return Ok(Value::Null);
        }
        if starts("true") || starts("yes") || is("on") {
            return Ok(Value::Bool(true));
        }
        // "o" alone could be either and is neither.
        if starts("false") || starts("no") || is("off") || is("of") {
            return Ok(Value::Bool(false));
        }
        if let Some(number) = whole_number(text) {
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
    /// As in a statement: `NULL`, `true`, `5`, `0.333333333333333`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("NULL"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Double(value) => write!(f, "{}", Float(*value)),
        }
    }
}

/// `text` without the blanks before it, if all else is a sign and digits; there may be none.
fn whole_number(text: &str) -> Option<&str> {
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
            super::number::fixed(rounded, 6)
        )))
    }
}
