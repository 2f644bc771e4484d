//! Parses and formats numbers and booleans.
//!
//! Must never: wrap around on overflow.

/// A number, or text that is not a number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Integer(i64),
    Real(f64),
    Text(String),
}

impl Value {
    /// Parses a number; any other text stays text.
    pub fn parse(text: &str) -> Value {
        if let Some(number) = parse_integer(text) {
            return Value::Integer(number);
        }
        match parse_real(text) {
            Some(number) => Value::Real(number),
            None => Value::Text(text.to_owned()),
        }
    }

    pub fn text(&self) -> String {
        match self {
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => real_text(*number),
            Value::Text(text) => text.clone(),
        }
    }

    pub fn as_real(&self) -> Result<f64, String> {
        match self {
            Value::Integer(number) => Ok(*number as f64),
            Value::Real(number) => Ok(*number),
            Value::Text(text) => Err(format!("expected floating-point number but got \"{text}\"")),
        }
    }

    pub fn as_bool(&self) -> Result<bool, String> {
        match self {
            Value::Integer(number) => Ok(*number != 0),
            Value::Real(number) => Ok(*number != 0.0),
            Value::Text(text) => {
                parse_bool(text).ok_or_else(|| format!("expected boolean value but got \"{text}\""))
            }
        }
    }
}

/// Parses a boolean: a word or the start of one, or a number, which is true unless it is 0.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "tru" | "tr" | "t" | "ye" | "y" => Some(true),
        "false" | "no" | "off" | "fals" | "fal" | "fa" | "f" | "n" | "of" => Some(false),
        _ => match Value::parse(text) {
            Value::Text(_) => None,
            number => number.as_bool().ok(),
        },
    }
}

/// The text after a sign, if it has one.
fn without_sign(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

/// Parses an integer: decimal; with `0x`, `0o` or `0b`; or octal with a leading zero, as in Tcl 8.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let text = text.trim_ascii();
    let lower = without_sign(text).to_ascii_lowercase();
    let mut prefixes = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter();
    let prefixed = prefixes.find_map(|(prefix, base)| Some((base, lower.strip_prefix(prefix)?)));
    let (base, digits) = match prefixed {
        Some(prefixed) => prefixed,
        None if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        None => (10, &*lower),
    };
    // Rust would accept a second sign.
    if !digits.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, base).ok()?;
    let number = if text.starts_with('-') { -magnitude } else { magnitude };
    i64::try_from(number).ok()
}

/// The error of an integer beyond 64 bits.
pub(crate) const TOO_LARGE: &str = "integer value too large to represent";

/// Parses an integer.
///
/// # Errors
/// Tcl's message about any other text.
pub(crate) fn require_integer(text: &str) -> Result<i64, String> {
    parse_integer(text).ok_or_else(|| format!("expected integer but got \"{text}\""))
}

pub(crate) fn parse_real(text: &str) -> Option<f64> {
    let text = text.trim_ascii();
    let digits = without_sign(text);
    let is_word = digits.eq_ignore_ascii_case("inf") || digits.eq_ignore_ascii_case("nan");
    if !is_word && !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    // Rust would also parse words such as `infinity`, but they were rejected above.
    text.parse().ok()
}

/// Formats a real number as Tcl does: the shortest text that parses to the number and is not an integer.
pub(crate) fn real_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e17).contains(&magnitude) {
        let text = format!("{number:e}");
        return if text.contains("e-") { text } else { text.replace('e', "e+") };
    }
    let text = format!("{number}");
    if text.contains('.') { text } else { text + ".0" }
}
