//! Parses and prints numbers as C does.
//!
//! Must never: accept more or less than strtol, strtod and scanf do, or print other digits than printf.

/// What `strtol(text, &end, 10)` returns.
struct Strtol<'a> {
    /// Saturated; 0 if there is no digit.
    value: i64,
    overflow: bool,
    /// The text after the number; all of it if there is no digit.
    remaining: &'a str,
}

fn strtol(text: &str) -> Strtol<'_> {
    let (negative, digits) = split_sign(text);
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    if end == 0 {
        return Strtol {
            value: 0,
            overflow: false,
            remaining: text,
        };
    }
    let mut value: i64 = 0;
    let mut overflow = false;
    for byte in digits[..end].bytes() {
        let digit = i64::from(byte - b'0');
        let signed_digit = if negative { -digit } else { digit };
        let shifted = value.checked_mul(10);
        let next = shifted.and_then(|value| value.checked_add(signed_digit));
        overflow |= next.is_none();
        value = next.unwrap_or(value);
    }
    if overflow {
        value = if negative { i64::MIN } else { i64::MAX };
    }
    Strtol {
        value,
        overflow,
        remaining: &digits[end..],
    }
}

/// Whether a number is negative, and the text after its sign and the white space before it.
fn split_sign(text: &str) -> (bool, &str) {
    let text = text.trim_start_matches(is_c_space);
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r')
}

/// The error of an invalid value of an integer option.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum InvalidInt {
    /// The text is not a number with optional white space around it.
    NotANumber,
    /// The number is outside of the option's range.
    OutOfRange,
}

/// Parses an integer option as levels from 15 on do: white space may surround the number, other text is an
/// error; an empty text is 0.
pub(crate) fn parse_option_int(text: &str, min: i32, max: i32) -> Result<i32, InvalidInt> {
    let number = strtol(text);
    if !number.remaining.trim_start_matches(is_c_space).is_empty() {
        return Err(InvalidInt::NotANumber);
    }
    match i32::try_from(number.value) {
        Ok(value) if !number.overflow && (min..=max).contains(&value) => Ok(value),
        _ => Err(InvalidInt::OutOfRange),
    }
}

/// `atoi`: the number at the beginning of a text, truncated to 32 bits as by glibc; 0 if there is none.
pub(crate) fn atoi(text: &str) -> i32 {
    strtol(text).value as i32
}

/// A script's weight after `@`; `None` unless all of the text is a number.
pub(crate) fn parse_weight(text: &str) -> Option<i64> {
    let number = strtol(text);
    let is_whole = !text.is_empty() && number.remaining.is_empty();
    (is_whole && !number.overflow).then_some(number.value)
}

/// Parses a seed as `sscanf("%lu%c")` does: with optional leading blanks and sign, and no text after it.
pub(crate) fn parse_seed(text: &str) -> Option<u64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A number that is too large has all bits set, regardless of its sign.
    Some(match digits.parse::<u64>() {
        Ok(value) if negative => value.wrapping_neg(),
        Ok(value) => value,
        Err(_) => u64::MAX,
    })
}

/// `atof`: the number at the beginning of a text; 0 if there is none.
pub(crate) fn atof(text: &str) -> f64 {
    let text = text.trim_start_matches(is_c_space);
    let (negative, body) = split_sign(text);
    let sign = if negative { -1.0 } else { 1.0 };
    let starts_with = |prefix: &str| {
        let start = body.get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if starts_with("inf") {
        return sign * f64::INFINITY;
    }
    if starts_with("nan") {
        return f64::NAN;
    }
    if starts_with("0x")
        && let Some(value) = parse_hexadecimal(&body[2..])
    {
        return sign * value;
    }
    decimal_prefix(text).map_or(0.0, |number| number.parse().unwrap_or(0.0))
}

/// The longest decimal number at the beginning of a text, with its sign; `None` if there is no digit.
pub(crate) fn decimal_prefix(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let digits = |start: usize| {
        let remaining = bytes.get(start..).unwrap_or_default();
        remaining
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let sign = |at: usize| usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
    let integer_digits = digits(sign(0));
    let mut end = sign(0) + integer_digits;
    let mut has_digits = integer_digits > 0;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        has_digits |= fraction > 0;
        end += 1 + fraction;
    }
    if !has_digits {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let first = end + 1 + sign(end + 1);
        if digits(first) > 0 {
            end = first + digits(first);
        }
    }
    Some(&text[..end])
}

/// Parses hexadecimal digits with an optional point and binary exponent; `None` if there is no digit.
fn parse_hexadecimal(body: &str) -> Option<f64> {
    let mut value = 0.0_f64;
    let mut exponent = 0_i32;
    let mut has_digit = false;
    let mut has_point = false;
    let mut remaining = body;
    while let Some(c) = remaining.chars().next() {
        match c.to_digit(16) {
            Some(digit) => {
                value = value * 16.0 + f64::from(digit);
                exponent -= if has_point { 4 } else { 0 };
                has_digit = true;
            }
            None if c == '.' && !has_point => has_point = true,
            None => break,
        }
        remaining = &remaining[c.len_utf8()..];
    }
    if let Some(exponent_text) = remaining.strip_prefix(['p', 'P']) {
        let power = strtol(exponent_text).value;
        let digits = exponent_text.trim_start_matches(['+', '-']);
        if digits.starts_with(|c: char| c.is_ascii_digit())
            && !exponent_text.starts_with(is_c_space)
        {
            exponent = exponent.saturating_add(power.clamp(-9999, 9999) as i32);
        }
    }
    has_digit.then(|| value * f64::powi(2.0, exponent))
}

/// Formats a number as PostgreSQL's `%.{decimals}f` does; the texts `NaN` and `Infinity` are PostgreSQL's.
pub(crate) fn format_fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        format!("{value:.decimals$}")
    }
}

/// `part` in per cent of `total`; NaN if `total` is 0.
pub(crate) fn format_percent(part: u64, total: u64, decimals: usize) -> String {
    format_fixed(100.0 * part as f64 / total as f64, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_parsed_like_strtol() {
        assert_eq!(parse_option_int(" 12 ", 1, 100), Ok(12));
        assert_eq!(parse_option_int("+5", 1, 100), Ok(5));
        assert_eq!(parse_option_int("", 1, 100), Err(InvalidInt::OutOfRange));
        assert_eq!(parse_option_int("", 0, 100), Ok(0));
        assert_eq!(parse_option_int("x", 1, 100), Err(InvalidInt::NotANumber));
        assert_eq!(parse_option_int("1x", 1, 100), Err(InvalidInt::NotANumber));
        assert_eq!(parse_option_int("-", 1, 100), Err(InvalidInt::NotANumber));
        assert_eq!(
            parse_option_int("99999999999999999999", 1, i32::MAX),
            Err(InvalidInt::OutOfRange)
        );
        assert_eq!(
            parse_option_int("2147483648", 1, i32::MAX),
            Err(InvalidInt::OutOfRange)
        );
        assert_eq!(atoi("12abc"), 12);
        assert_eq!(atoi("4294967297"), 1);
        assert_eq!(atoi("x"), 0);
    }

    #[test]
    fn weights_and_seeds_are_parsed_like_pgbench() {
        assert_eq!(parse_weight("3"), Some(3));
        assert_eq!(parse_weight("-1"), Some(-1));
        assert_eq!(parse_weight(""), None);
        assert_eq!(parse_weight("3x"), None);
        assert_eq!(parse_seed("42"), Some(42));
        assert_eq!(parse_seed("-1"), Some(u64::MAX));
        assert_eq!(parse_seed("99999999999999999999"), Some(u64::MAX));
        assert_eq!(parse_seed("42 "), None);
        assert_eq!(parse_seed(""), None);
    }

    #[test]
    fn floats_are_parsed_like_strtod() {
        assert_eq!(atof("1.5abc"), 1.5);
        assert_eq!(atof(".5"), 0.5);
        assert_eq!(atof("5."), 5.0);
        assert_eq!(atof("1e3"), 1000.0);
        assert_eq!(atof("1e"), 1.0);
        assert_eq!(atof("1e+"), 1.0);
        assert_eq!(atof("-2"), -2.0);
        assert_eq!(atof("0x10"), 16.0);
        assert_eq!(atof("0x.8p1"), 1.0);
        assert_eq!(atof("."), 0.0);
        assert_eq!(atof("abc"), 0.0);
        assert!(atof("inf").is_infinite());
        assert!(atof("nan").is_nan());
    }

    #[test]
    fn nan_is_printed_as_postgresql_prints_it() {
        assert_eq!(format_percent(0, 0, 3), "NaN");
        assert_eq!(format_fixed(f64::INFINITY, 1), "Infinity");
        assert_eq!(format_fixed(0.0005, 3), "0.001");
        assert_eq!(format_fixed(0.25, 1), "0.2");
    }
}
