//! Durations as text: `500ms`, `60s`, `5m`, `1h30m`.
//!
//! Text and [`Duration`] are converted exactly, to the nanosecond, and never rounded.

use crate::user_error::{ErrorParts, UserError};
use std::time::Duration;

/// Units with their length in nanoseconds, longest first.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The error for text that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub struct DurationError(pub(crate) String);

impl UserError for DurationError {
    fn parts(&self) -> ErrorParts {
        ErrorParts::new(&self.0).with_hint(
            "write a duration as 500ms, 60s, 5m, 1h or 1m30s (a plain number is in seconds)",
        )
    }
}

/// Reads a duration: whole numbers with the units `d`, `h`, `m`, `s`, `ms`, `us` or `ns`, the longest first
/// and each at most once (`1m30s`), or a plain whole number of seconds.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(DurationError("the duration is empty".to_owned()));
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse::<u64>() {
            Ok(seconds) => Ok(Duration::from_secs(seconds)),
            Err(_) => Err(too_long_error(text)),
        };
    }
    let mut remaining = text;
    let mut next_unit = 0;
    let mut total = Duration::ZERO;
    while !remaining.is_empty() {
        let (amount, after_amount) = split_amount(text, remaining)?;
        let Some(index) = UNITS.iter().position(|(name, _)| *name == amount.unit) else {
            return Err(unknown_unit_error(text, amount.unit));
        };
        if index < next_unit {
            return Err(DurationError(format!(
                "'{}' does not have its units in order, longest first and each once",
                shorten(text)
            )));
        }
        next_unit = index + 1;
        total = checked_duration(amount.number, UNITS[index].1)
            .and_then(|length| total.checked_add(length))
            .ok_or_else(|| too_long_error(text))?;
        remaining = after_amount;
    }
    Ok(total)
}

struct Amount<'a> {
    number: u64,
    unit: &'a str,
}

/// Splits the first number with its unit off from `remaining`; returns them and the text after them. `text` is the whole
/// duration, for messages.
fn split_amount<'a>(
    text: &str,
    remaining: &'a str,
) -> Result<(Amount<'a>, &'a str), DurationError> {
    let digit_count = remaining
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(remaining.len());
    let (digits, after_number) = remaining.split_at(digit_count);
    if digits.is_empty() {
        return Err(DurationError(format!(
            "'{}' is not a duration",
            shorten(text)
        )));
    }
    let number = digits.parse::<u64>().map_err(|_| too_long_error(text))?;
    let unit_length = after_number
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(after_number.len());
    let (unit, after_unit) = after_number.split_at(unit_length);
    if unit.is_empty() {
        return Err(DurationError(format!(
            "'{}' ends in a number without a unit",
            shorten(text)
        )));
    }
    Ok((Amount { number, unit }, after_unit))
}

/// A number of units of this many nanoseconds; `None` if it is too long for a [`Duration`].
fn checked_duration(number: u64, unit_ns: u64) -> Option<Duration> {
    if unit_ns >= 1_000_000_000 {
        let seconds = number.checked_mul(unit_ns / 1_000_000_000)?;
        return Some(Duration::from_secs(seconds));
    }
    Some(Duration::from_nanos(number.checked_mul(unit_ns)?))
}

fn unknown_unit_error(text: &str, unit: &str) -> DurationError {
    let text = shorten(text);
    if unit.contains('.') {
        return DurationError(format!("'{text}' has a fraction"));
    }
    if unit.contains(char::is_whitespace) {
        return DurationError(format!("'{text}' has a space in it"));
    }
    let unit = shorten(unit);
    DurationError(format!("'{unit}' in '{text}' is not a unit of time"))
}

fn too_long_error(text: &str) -> DurationError {
    DurationError(format!("'{}' is too long", shorten(text)))
}

/// The user's text for a message: with control characters escaped, and truncated.
pub(crate) fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let escape = |c: char| {
        if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
    };
    let escaped: String = text.chars().map(escape).collect();
    if escaped.chars().count() <= MAX_CHARS {
        return escaped;
    }
    escaped
        .chars()
        .take(MAX_CHARS)
        .chain("...".chars())
        .collect()
}

/// Formats a number for messages: in exponential form if it has many digits, `1e300`.
pub(crate) fn format_number(value: f64) -> String {
    let has_many_digits = value.abs() >= 1e15 || (value != 0.0 && value.abs() < 1e-6);
    if has_many_digits && value.is_finite() {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

/// Formats a duration so that [`parse_duration`] returns the same value: `1m30s`, `500ms`, `0s`.
/// Does not use days, because `24h` is as readable as `1d`.
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let nanos = u64::from(duration.subsec_nanos());
    let amounts = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
        (nanos / 1_000_000, "ms"),
        (nanos / 1000 % 1000, "us"),
        (nanos % 1000, "ns"),
    ];
    let text: String = amounts
        .iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount}{unit}"))
        .collect();
    // Under two minutes, seconds alone are easier to read and match what users type.
    if text.is_empty() {
        "0s".to_owned()
    } else if (60..120).contains(&seconds) && nanos == 0 {
        format!("{seconds}s")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use proptest::prelude::*;

    #[test]
    fn durations_are_parsed() {
        let cases = [
            ("500ms", 500),
            ("60s", 60_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("1m30s", 90_000),
            ("1d", 86_400_000),
            ("1s500ms", 1_500),
            ("15", 15_000),
            (" 0 ", 0),
        ];
        for (text, expected_ms) in cases {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(expected_ms)),
                "{text}"
            );
        }
    }

    #[test]
    fn text_that_is_no_duration_is_rejected() {
        for text in [
            "",
            "s",
            "-5s",
            "1.5s",
            "10x",
            "1m1m",
            "30s1m",
            "1m30",
            "99999999999999999999",
            "99999999999999999d",
            "1h 30m",
            "٣s",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        let fraction = parse_duration("1.5s").unwrap_err().to_string();
        fraction.assert_starts_with("'1.5s' has a fraction; write");
    }

    #[test]
    fn durations_are_formatted() {
        let cases = [(0, "0s"), (60_000, "60s"), (90_500, "1m30s500ms")];
        for (ms, expected) in cases {
            assert_eq!(format_duration(Duration::from_millis(ms)), expected);
        }
        assert_eq!(format_duration(Duration::from_secs(5400)), "1h30m");
    }

    proptest! {
        #[test]
        fn a_formatted_duration_parses_as_the_same(seconds in any::<u64>(), nanos in 0u32..1_000_000_000) {
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn parsing_never_panics(text in "[0-9dhmsun. µ-]{0,40}") {
            let _ = parse_duration(&text);
        }
    }

    #[test]
    fn very_large_and_small_numbers_have_an_exponent() {
        let texts = [1e300, -1e300, 1e-300, 2e9, 0.25, 0.0, f64::INFINITY].map(format_number);
        assert_eq!(
            texts,
            [
                "1e300",
                "-1e300",
                "1e-300",
                "2000000000",
                "0.25",
                "0",
                "inf"
            ]
        );
    }
}
