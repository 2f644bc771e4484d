//! The command `format`.
//!
//! Must never: pad a value beyond [`super::interp::MAX_VALUE_BYTES`].

use super::interp::check_length;
use super::number::{Value, require_integer};

/// A format specifier, such as `%-8.3f`, without its letter.
#[derive(Default)]
struct FormatSpec {
    left_aligned: bool,
    zero_padded: bool,
    plus_sign: bool,
    space_sign: bool,
    /// `#`: with a prefix such as `0x`, or with all zeros at the end.
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// Formats values as C's printf does.
pub(super) fn format(text: &str, args: &[String]) -> Result<String, String> {
    let mut out = String::new();
    let mut args = args.iter();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let mut next_arg = || {
            args.next()
                .ok_or_else(|| "not enough arguments for all format specifiers".to_owned())
        };
        let mut spec = FormatSpec::default();
        while let Some(flag) = chars.next_if(|c| "-0+ #".contains(*c)) {
            match flag {
                '-' => spec.left_aligned = true,
                '0' => spec.zero_padded = true,
                '+' => spec.plus_sign = true,
                ' ' => spec.space_sign = true,
                _ => spec.alternate = true,
            }
        }
        let mut parse_size =
            |chars: &mut std::iter::Peekable<std::str::Chars>| -> Result<usize, String> {
                if chars.next_if_eq(&'*').is_some() {
                    let arg = next_arg()?;
                    let width = require_integer(arg)?;
                    // As the flag `-` before its absolute value.
                    spec.left_aligned |= width < 0;
                    return Ok(usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX));
                }
                let mut width = 0_usize;
                while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
                    chars.next();
                    width = width.saturating_mul(10).saturating_add(digit as usize);
                }
                Ok(width)
            };
        let width = parse_size(&mut chars)?;
        let precision = match chars.next_if_eq(&'.') {
            Some(_) => Some(parse_size(&mut chars)?),
            None => None,
        };
        spec.width = width;
        spec.precision = precision;
        check_length(width.max(precision.unwrap_or(0)))?;
        while chars.next_if(|c| "lhLqjzt".contains(*c)).is_some() {}
        let Some(kind) = chars.next() else {
            return Err("format string ended in middle of field specifier".to_owned());
        };
        let value = next_arg()?;
        out.push_str(&format_value(&spec, kind, value)?);
        check_length(out.len())?;
    }
    Ok(out)
}

fn format_value(spec: &FormatSpec, kind: char, value: &str) -> Result<String, String> {
    match kind {
        's' => {
            let truncated: String = value
                .chars()
                .take(spec.precision.unwrap_or(usize::MAX))
                .collect();
            Ok(pad(spec, "", &truncated, false))
        }
        'c' => {
            let c = u32::try_from(require_integer(value)?)
                .ok()
                .and_then(char::from_u32)
                .unwrap_or('\u{fffd}');
            Ok(pad(spec, "", &c.to_string(), false))
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'b' => format_integer(spec, kind, value),
        'e' | 'E' | 'f' | 'g' | 'G' => format_real(spec, kind, value),
        other => Err(format!("bad field specifier \"{other}\"")),
    }
}

fn format_integer(spec: &FormatSpec, kind: char, value: &str) -> Result<String, String> {
    let number = require_integer(value)?;
    // Other bases than ten show the bits of a negative number, and no sign.
    let (sign, mut digits) = match kind {
        'x' => ("", format!("{number:x}")),
        'X' => ("", format!("{number:X}")),
        'o' => ("", format!("{number:o}")),
        'b' => ("", format!("{number:b}")),
        _ => (
            sign_text(spec, number < 0),
            number.unsigned_abs().to_string(),
        ),
    };
    if let Some(min_digits) = spec.precision {
        digits = "0".repeat(min_digits.saturating_sub(digits.len())) + &digits;
    }
    let prefix = match kind {
        'x' | 'X' if spec.alternate && number != 0 => "0x",
        'o' if spec.alternate && number != 0 => "0",
        'b' if spec.alternate && number != 0 => "0b",
        _ => "",
    };
    let sign_and_prefix = format!("{sign}{prefix}");
    Ok(pad(
        spec,
        &sign_and_prefix,
        &digits,
        spec.precision.is_none(),
    ))
}

fn sign_text(spec: &FormatSpec, negative: bool) -> &'static str {
    if negative {
        "-"
    } else if spec.plus_sign {
        "+"
    } else if spec.space_sign {
        " "
    } else {
        ""
    }
}

fn format_real(spec: &FormatSpec, kind: char, value: &str) -> Result<String, String> {
    let number = Value::parse(value).as_real()?;
    let sign = sign_text(spec, number.is_sign_negative());
    let magnitude = number.abs();
    // A double has at most 1,074 decimals: all further digits are zeros.
    let precision = spec.precision.unwrap_or(6).min(1100);
    let mut digits = match kind {
        _ if !magnitude.is_finite() => super::number::real_text(magnitude),
        'f' => format!("{magnitude:.precision$}"),
        'e' | 'E' => format_exponential(magnitude, precision),
        _ => format_general(magnitude, precision.max(1), spec.alternate),
    };
    if kind.is_ascii_uppercase() {
        digits = digits.to_uppercase();
    }
    Ok(pad(spec, sign, &digits, magnitude.is_finite()))
}

/// Formats as `%e`, with at least two digits in the exponent.
fn format_exponential(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// Formats as `%g`: as `%f` or `%e`, depending on the exponent.
fn format_general(magnitude: f64, precision: usize, keep_zeros: bool) -> String {
    let rounded = format!("{magnitude:.*e}", precision - 1);
    let exponent: i32 = rounded
        .rsplit('e')
        .next()
        .and_then(|exponent| exponent.parse().ok())
        .unwrap_or(0);
    let is_fixed = (-4..precision as i32).contains(&exponent);
    let text = if is_fixed {
        let decimals = usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0);
        format!("{magnitude:.decimals$}")
    } else {
        format_exponential(magnitude, precision - 1)
    };
    if keep_zeros || !text.contains('.') {
        return text;
    }
    match text.split_once('e') {
        None => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        Some((digits, exponent)) => format!(
            "{}e{exponent}",
            digits.trim_end_matches('0').trim_end_matches('.')
        ),
    }
}

/// Pads a value to the width of its specifier. `prefix`: a sign, or `0x`; zeros come after it.
fn pad(spec: &FormatSpec, prefix: &str, digits: &str, allows_zero_padding: bool) -> String {
    let length = prefix.len() + digits.chars().count();
    let padding = spec.width.saturating_sub(length);
    if spec.left_aligned {
        format!("{prefix}{digits}{}", " ".repeat(padding))
    } else if spec.zero_padded && allows_zero_padding {
        format!("{prefix}{}{digits}", "0".repeat(padding))
    } else {
        format!("{}{prefix}{digits}", " ".repeat(padding))
    }
}
