//! Parses and formats numbers exactly as C's `strtod`, `%.15g` and `%f` do, independently of the locale.

use std::fmt::{self, Write as _};

/// Formats as `%.15g`: 15 significant digits without trailing zeros.
pub(super) struct FormattedDouble(pub f64);

/// The number of significant digits of `%.15g`.
const SIGNIFICANT_DIGITS: usize = 15;

impl fmt::Display for FormattedDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if !value.is_finite() {
            return f.write_str(non_finite_text(value));
        }
        // Round only once, to 15 digits. The longest text is "d.dddddddddddddde-308".
        let mut buffer = NumberBuffer::default();
        write!(buffer, "{:.*e}", SIGNIFICANT_DIGITS - 1, value.abs())?;
        let text = buffer.as_str();
        let (mantissa, exponent) = text.split_once('e').ok_or(fmt::Error)?;
        let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
        if value.is_sign_negative() {
            f.write_char('-')?;
        }
        let (first_digit, decimals) = mantissa.split_once('.').ok_or(fmt::Error)?;
        let trimmed_decimals = decimals.trim_end_matches('0');
        if exponent < -4 || exponent >= SIGNIFICANT_DIGITS as i32 {
            f.write_str(first_digit)?;
            if !trimmed_decimals.is_empty() {
                write!(f, ".{trimmed_decimals}")?;
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            return write!(f, "e{sign}{:02}", exponent.abs());
        }
        if exponent < 0 {
            f.write_str("0.")?;
            for _ in 1..-exponent {
                f.write_char('0')?;
            }
            return write!(f, "{first_digit}{trimmed_decimals}");
        }
        // The exponent is now 0 to 14, and `decimals` has 14 digits.
        let (integer_digits, _) = decimals.split_at(exponent as usize);
        write!(f, "{first_digit}{integer_digits}")?;
        match trimmed_decimals.get(exponent as usize..) {
            Some(fraction) if !fraction.is_empty() => write!(f, ".{fraction}"),
            _ => Ok(()),
        }
    }
}

/// Formats as `%.Nf`, where N is `decimals`.
pub(super) fn format_fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() {
        format!("{value:.decimals$}")
    } else {
        non_finite_text(value).to_owned()
    }
}

/// pgbench's text for infinity and NaN, the same on all systems; NaN has no sign.
fn non_finite_text(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

#[derive(Default)]
struct NumberBuffer {
    bytes: [u8; 32],
    len: usize,
}

impl NumberBuffer {
    fn as_str(&self) -> &str {
        // Never fails, because the buffer contains only complete `str`s.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Write for NumberBuffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let target = self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?;
        target.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// `text` without the leading characters that C counts as blank.
pub(super) fn trim_start(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

/// Parses `text` as C's `strtod` does. `None` if it would stop before the end or report a range error
/// (overflow, or an underflow that loses digits).
pub(super) fn parse_double(text: &str) -> Option<f64> {
    let text = trim_start(text);
    let (negative, magnitude) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = magnitude.to_ascii_lowercase();
    let value = if lower == "inf" || lower == "infinity" {
        f64::INFINITY
    } else if is_nan(&lower) {
        f64::NAN
    } else if let Some(hex) = lower.strip_prefix("0x") {
        parse_hex(hex)?
    } else {
        parse_decimal(&lower)?
    };
    Some(if negative { -value } else { value })
}

/// Whether the text is `nan` or `nan(characters)`.
fn is_nan(lower: &str) -> bool {
    let Some(suffix) = lower.strip_prefix("nan") else {
        return false;
    };
    let inner = suffix
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    suffix.is_empty()
        || inner.is_some_and(|inner| {
            inner
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'_')
        })
}

fn parse_decimal(lower: &str) -> Option<f64> {
    let mantissa = lower.split('e').next().unwrap_or_default();
    // Rust also accepts words such as "infinity"; the caller has handled those that C accepts.
    let has_only_digits_and_points = mantissa.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    if !has_only_digits_and_points || !mantissa.bytes().any(|c| c.is_ascii_digit()) {
        return None;
    }
    let value: f64 = lower.parse().ok()?;
    reject_range_error(value, mantissa.bytes().any(|c| (b'1'..=b'9').contains(&c)))
}

/// Parses `hh.hhp±d`, with or without point and exponent.
fn parse_hex(lower: &str) -> Option<f64> {
    let (mantissa, exponent) = match lower.split_once('p') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (lower, 0),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || integer.chars().chain(fraction.chars());
    if digits().next().is_none() || !digits().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let mut value = 0.0_f64;
    for digit in digits() {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    // In two steps, because 2^shift may be out of range although the product is not.
    let half = shift / 2;
    let scaled = value * 2.0_f64.powi(half) * 2.0_f64.powi(shift - half);
    reject_range_error(scaled, value != 0.0)
}

/// Returns the value; `None` if C would report `ERANGE` for it.
fn reject_range_error(value: f64, has_nonzero_digit: bool) -> Option<f64> {
    let is_underflow = has_nonzero_digit && value.abs() < f64::MIN_POSITIVE;
    (value.is_finite() && !is_underflow).then_some(value)
}

/// Parses the integer at the start of `text` as C's `atoi` does, but saturates instead of overflowing.
pub(super) fn parse_leading_int(text: &str) -> i64 {
    let text = trim_start(text);
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let magnitude = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0_i64, |sum, c| {
            sum.saturating_mul(10).saturating_add(i64::from(c - b'0'))
        });
    sign * magnitude
}
