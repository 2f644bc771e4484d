//! Formats figures as text.
//!
//! Must never: print more digits than a reader needs.

use std::borrow::Borrow;

/// A share as a percentage: `0.42 %`, `4.2 %`, `42 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        return "–".to_owned();
    }
    let size = percent.abs();
    if size == 0.0 {
        "0 %".to_owned()
    } else if size < 0.01 {
        "< 0.01 %".to_owned()
    } else if size < 0.995 {
        format!("{percent:.2} %")
    } else if size < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A time given in nanoseconds, with three significant digits: `870 ns`, `1.23 ms`, `12.3 s`.
pub fn time(ns: f64) -> String {
    const UNITS_NS: [(f64, &str); 3] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms")];
    if !ns.is_finite() {
        return "–".into();
    }
    if ns == 0.0 {
        return "0 s".into();
    }
    for (unit_ns, unit) in UNITS_NS {
        let value = ns / unit_ns;
        // Compare the rounded value: 999.7 µs is printed as `1.00 ms`, not `1000 µs`.
        if value < 999.5 {
            let is_whole = unit == "ns";
            let number = if is_whole { format!("{value:.0}") } else { three_digits(value) };
            return format!("{number} {unit}");
        }
    }
    let seconds = ns / 1e9;
    if seconds < 999.5 {
        format!("{} s", three_digits(seconds))
    } else {
        format!("{} s", thousands(seconds.round() as u64))
    }
}

/// A value below 1,000 with three significant digits.
pub fn three_digits(value: f64) -> String {
    if value >= 99.95 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Bytes in powers of ten: `34 MB`, `1.2 GB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 9.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// The first of these texts, and how many more there are: `a, b and 3 more`, with a semicolon `a; b; and 3 more`.
pub fn first_and_more(texts: &[impl Borrow<str>], max: usize, separator: &str) -> String {
    let first = texts[..texts.len().min(max)].join(separator);
    match texts.len().saturating_sub(max) as u64 {
        0 => first,
        more if separator == ", " => format!("{first} and {} more", thousands(more)),
        more => format!("{first}{separator}and {} more", thousands(more)),
    }
}

/// These texts with a separator between them.
pub fn joined(texts: impl IntoIterator<Item = impl ToString>, separator: &str) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| text.to_string()).collect();
    texts.join(separator)
}

/// A number with its noun and a regular plural: `1 client`, `2,000 clients`.
pub fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(number))
}

/// A number with thousands separators: `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The different values of a side's runs as one text: `1 s or 2 s`; `1 to 9 s` if they are more than two numbers of one
/// unit.
pub(crate) fn join_values(values: &[String]) -> String {
    let parse = |value: &String| {
        let (number, unit) = value.split_once(' ')?;
        Some((
            number.parse::<f64>().ok()?,
            number.to_owned(),
            unit.to_owned(),
        ))
    };
    let mut numbers: Vec<_> = values.iter().filter_map(parse).collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let are_all_numbers = numbers.len() == values.len();
    if let [(_, lowest, unit), _, .., (_, highest, _)] = &*numbers
        && are_all_numbers
        && numbers.iter().all(|(_, _, other)| other == unit)
    {
        format!("{lowest} to {highest} {unit}")
    } else {
        values.join(" or ")
    }
}

/// The ratio of two counts; 0 if the second is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.00001), "< 0.01 %");
        assert_eq!(percent(0.0042), "0.42 %");
        assert_eq!(percent(0.00997), "1.0 %");
        assert_eq!(percent(-0.0421), "-4.2 %");
        assert_eq!(percent(0.421), "42 %");
        assert_eq!(percent(f64::NAN), "–");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_234_567), "1.2 MB");
        assert_eq!(bytes(34_000_000), "34 MB");
        assert_eq!(bytes(6_000_000_000), "6.0 GB");
        assert_eq!(count(1, "client"), "1 client");
        assert_eq!(count(0, "client"), "0 clients");
        assert_eq!(count(1_234_567, "client"), "1,234,567 clients");
        assert_eq!(thousands(999), "999");
        assert_eq!(share(1, 0), 0.0);
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let cases = [
            (0.0, "0 s"),
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
    fn the_values_of_repeats_are_a_range_if_they_have_one_unit() {
        let joined = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            join_values(&values)
        };
        assert_eq!(joined(&["1.46 x", "1.44 x", "1.45 x"]), "1.44 to 1.46 x");
        assert_eq!(joined(&["10 x", "9 x", "8 x"]), "8 to 10 x");
        assert_eq!(joined(&["1.46 x", "1.44 x"]), "1.46 x or 1.44 x");
        assert_eq!(joined(&["1 GB", "2 GB", "3 MB"]), "1 GB or 2 GB or 3 MB");
        assert_eq!(joined(&["1 x", "2 x", "not set"]), "1 x or 2 x or not set");
        assert_eq!(joined(&["on"]), "on");
        assert_eq!(joined(&[]), "");
    }
}
