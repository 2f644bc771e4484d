//! Formats numbers for people, each with its unit.
//!
//! In: nanoseconds, counts, bytes. Out: short text. Must never: drop a unit.

/// A count with thousands separators: `1,234,567`.
pub use prony_judge::formatting::thousands as count;

/// A time given in nanoseconds, with three significant digits: `870 ns`, `1.23 ms`, `12.3 s`.
pub fn time(ns: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1e3, "ns"), (1e6, "µs"), (1e9, "ms")];
    if !ns.is_finite() {
        return "–".into();
    }
    for (limit, unit) in STEPS {
        let value = ns / (limit / 1e3);
        // Compare the rounded value: 999.7 µs is printed as `1.00 ms`, not `1000 µs`.
        if value < 999.5 {
            return format!("{} {unit}", three_digits(value, unit == "ns"));
        }
    }
    let seconds = ns / 1e9;
    if seconds < 999.5 {
        format!("{} s", three_digits(seconds, false))
    } else {
        format!("{} s", count(seconds.round() as u64))
    }
}

/// A time given in seconds; see [`time`].
pub fn seconds(s: f64) -> String {
    if s == 0.0 {
        return "0 s".into();
    }
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

/// A value below 1,000 with three significant digits, or without decimals if `integer`.
fn three_digits(value: f64, integer: bool) -> String {
    if integer || value >= 99.95 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// A count with its noun: `1 client`, `2,000 clients`.
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
        three_digits(per_second, false)
    }
}

/// Bytes in powers of ten: `34 MB`, `1.2 GB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 9.95);
    format!("{value:.decimals$} {}", UNITS[unit])
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

/// A share from 0 to 1 as a percentage: `7 %`, `0.3 %`, `0 %`.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 || value >= 9.95 {
        format!("{value:.0} %")
    } else if value < 0.05 {
        "< 0.1 %".into()
    } else {
        format!("{value:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let cases = [
            (0.0, "0 ns"),
            (870.0, "870 ns"),
            (999.6, "1.00 µs"),
            (9_999.0, "10.0 µs"),
            (99_960.0, "100 µs"),
            (999_700.0, "1.00 ms"),
            (1_234_000.0, "1.23 ms"),
            (12_340_000.0, "12.3 ms"),
            (2.5e9, "2.50 s"),
            (1.5e12, "1,500 s"),
            (f64::NAN, "–"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text, "{ns} ns");
        }
    }

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
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_234_567), "1.2 MB");
        assert_eq!(bytes(34_000_000), "34 MB");
        assert_eq!(percent(0.07), "7.0 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
        assert_eq!(percent(1.0), "100 %");
    }
}
