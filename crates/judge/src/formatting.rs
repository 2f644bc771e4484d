//! Formats figures as text.
//!
//! Must never: print more digits than a reader needs.

/// A share as a percentage: `0.4 %`, `12 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        size if size < 0.01 => "less than 0.01 %".to_owned(),
        size if size < 1.0 => format!("{percent:.2} %"),
        size if size < 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// A time in its natural unit: `170 µs`, `2.3 ms`, `15.0 s`.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.0} µs", ns / 1e3),
        ns if ns < 1e7 => format!("{:.2} ms", ns / 1e6),
        ns if ns < 1e9 => format!("{:.1} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// A size in its natural unit: `512 kB`, `6.0 GB`.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        size if size < 1e3 => format!("{size:.0} bytes"),
        size if size < 1e6 => format!("{:.0} kB", size / 1e3),
        size if size < 1e9 => format!("{:.0} MB", size / 1e6),
        size => format!("{:.1} GB", size / 1e9),
    }
}

/// A number with its noun: `1 client`, `2,000 clients`.
pub(crate) fn count(number: u64, noun: &str) -> String {
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
        assert_eq!(percent(0.00001), "less than 0.01 %");
        assert_eq!(percent(0.0042), "0.42 %");
        assert_eq!(percent(0.0421), "4.2 %");
        assert_eq!(percent(0.421), "42 %");
        assert_eq!(time(250.0), "250 ns");
        assert_eq!(time(170_000.0), "170 µs");
        assert_eq!(time(2_300_000.0), "2.30 ms");
        assert_eq!(time(23_000_000.0), "23.0 ms");
        assert_eq!(time(15e9), "15.0 s");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(6_000_000_000), "6.0 GB");
        assert_eq!(count(1, "client"), "1 client");
        assert_eq!(count(0, "client"), "0 clients");
        assert_eq!(count(1_234_567, "client"), "1,234,567 clients");
        assert_eq!(thousands(999), "999");
        assert_eq!(share(1, 0), 0.0);
    }
}
