//! Formats numbers for people, each with its unit.
//!
//! In: nanoseconds, counts, bytes. Out: short text. Must never: drop a unit.

/// A count with a noun that has a regular plural: `2 clients`.
pub use prony_judge::formatting::count as count_of;
/// A count with thousands separators: `1,234,567`.
pub use prony_judge::formatting::thousands as count;
pub use prony_judge::formatting::{bytes, percent, time};

use prony_judge::compare::Unit;
use prony_judge::formatting::three_digits;

/// A time given in seconds; see [`time`].
pub fn seconds(s: f64) -> String {
    time(s * 1e9)
}

/// The length of a run: `37.9 ms`, `7.3 s`, `60 s`, `2 min 5 s`, `1 h 2 min`.
pub fn span(s: f64) -> String {
    if s < 0.95 {
        return seconds(s);
    }
    if s < 99.95 {
        let text = format!("{s:.1}");
        return format!("{} s", text.strip_suffix(".0").unwrap_or(&text));
    }
    let seconds = s.round() as u64;
    let (h, min, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (h, min, s) {
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// A whole number with thousands separators: `1,234,567`.
pub fn whole(number: f64) -> String {
    count(number as u64)
}

/// A count with its noun: `1 retry`, `2,000 retries`; for a noun with a regular plural see [`count_of`].
pub fn count_with_noun(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A rate without its unit: whole numbers from 100 up, otherwise three significant digits.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "–".into();
    }
    if per_second >= 99.95 {
        count(per_second.round() as u64)
    } else {
        three_digits(per_second)
    }
}

/// A published value, whole if it was published so, or a published range: `20,359`, `9 to 10`.
pub fn value_or_range(value: f64, high: Option<f64>) -> String {
    let format = |value: f64| {
        if value.fract() == 0.0 && value >= 0.0 { count(value as u64) } else { rate(value) }
    };
    match high {
        Some(high) => format!("{} to {}", format(value), format(high)),
        None => format(value),
    }
}

/// A throughput: `27,700 transactions/s`.
pub fn transactions_per_second(tps: f64) -> String {
    format!("{} transactions/s", rate(tps))
}

/// A rate with its unit: `27,700 /s`.
pub fn per_second(per_second: f64) -> String {
    format!("{} /s", rate(per_second))
}

/// An amount of bytes in a second: `22.7 MB/s`.
pub fn bytes_per_second(per_second: f64) -> String {
    format!("{}/s", bytes(per_second as u64))
}

pub fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share with one decimal, so that 42.9 % does not become 43 %.
pub fn percent_with_tenths(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The function that formats figures of this unit.
pub fn format_of(unit: Unit) -> fn(f64) -> String {
    match unit {
        Unit::Rate => rate,
        Unit::Nanoseconds => time,
    }
}

/// A figure, or `unknown` if there is none.
pub fn or_unknown<T>(figure: Option<T>, show: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "unknown".to_owned(), show)
}

/// A figure for a table, or a dash if there is none.
pub fn or_dash<T>(figure: Option<T>, show: impl FnOnce(T) -> String) -> String {
    figure.map_or_else(|| "–".to_owned(), show)
}

/// A time in nanoseconds for a table; see [`time`].
pub fn time_or_dash(ns: Option<u64>) -> String {
    or_dash(ns, |ns| time(ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_formatted_for_people() {
        let cases = [
            (0.0, "0 s"),
            (0.0379, "37.9 ms"),
            (0.96, "1 s"),
            (7.34, "7.3 s"),
            (60.0, "60 s"),
            (120.0, "2 min"),
            (125.0, "2 min 5 s"),
            (3600.0, "1 h"),
            (3720.0, "1 h 2 min"),
        ];
        for (s, text) in cases {
            assert_eq!(span(s), text);
        }
    }

    #[test]
    fn counts_rates_bytes_and_shares_are_formatted_for_people() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count_with_noun(1, "client", "clients"), "1 client");
        assert_eq!(rate(12_345.6), "12,346");
        assert_eq!(rate(12.34), "12.3");
        assert_eq!(rate(0.0), "0");
    }
}
