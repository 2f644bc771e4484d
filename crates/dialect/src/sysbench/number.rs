//! Parses option values as sysbench does.
//!
//! Must never: be stricter than sysbench, or accept an integer that it rejects.

use crate::pgbench::number::atof;

/// Parses a decimal 32-bit integer without trailing text; the empty text is 0.
pub fn parse_int(text: &str) -> Option<i32> {
    if text.is_empty() {
        return Some(0);
    }
    // `parse` accepts one sign and digits, as strtol does.
    text.trim_start().parse().ok()
}

/// Parses a size: digits and an optional K, M, G or T. Returns 0 for any other text; callers reject 0.
pub fn parse_size(text: &str) -> u64 {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let power = match suffix {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        _ => return 0,
    };
    let number: u64 = digits.parse().unwrap_or(0);
    number.checked_mul(1 << (10 * power)).unwrap_or(0)
}

/// The number at the beginning of a text, or 0, as strtod returns it: `3x` is 3.
pub fn leading_number(text: &str) -> f64 {
    let number = atof(text);
    if number.is_finite() { number } else { 0.0 }
}

pub fn leading_integer(text: &str) -> i64 {
    leading_number(text) as i64
}

/// Parses a boolean on the command line, where an option without a value is on; `None` if the text is unknown.
pub fn parse_switch(text: Option<&str>) -> Option<bool> {
    match text {
        None | Some("on" | "true" | "1") => Some(true),
        Some("off" | "false" | "0") => Some(false),
        Some(_) => None,
    }
}

/// Parses a list; empty elements are omitted.
pub fn parse_list(text: &str) -> Vec<String> {
    let elements = text
        .split(',')
        .map(str::trim)
        .filter(|element| !element.is_empty());
    elements.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_with_trailing_text_are_invalid() {
        let parsed = ["", "0", "+3", "-5", " 7", "2147483647"].map(parse_int);
        assert_eq!(parsed, [0, 0, 3, -5, 7, i32::MAX].map(Some));
        for invalid in [
            "abc",
            "1x",
            "4k",
            "0x10",
            "1.9",
            "2147483648",
            "99999999999",
            "1 ",
            " ",
        ] {
            assert_eq!(parse_int(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn sizes_may_have_a_suffix() {
        assert_eq!(
            ["64K", "1k", "2M", "1G", "1T", "12"].map(parse_size),
            [65_536, 1_024, 2 << 20, 1 << 30, 1 << 40, 12]
        );
        assert_eq!(
            ["12Q", "12.5", "", "K", "99999999999999999999", "1KB"].map(parse_size),
            [0; 6]
        );
    }

    #[test]
    fn test_options_are_parsed_up_to_the_first_non_digit() {
        let numbers = [
            "3x", "1e1", "abc", "2k", "1.5", "-1", "", "1e", "--1", "é", "1e400",
        ];
        assert_eq!(
            numbers.map(leading_integer),
            [3, 10, 0, 2, 1, -1, 0, 1, 0, 0, 0]
        );
        assert_eq!(leading_number("0.2"), 0.2);
    }

    #[test]
    fn switches_and_lists_are_parsed() {
        assert_eq!(parse_switch(None), Some(true));
        assert_eq!(
            [Some("on"), Some("true"), Some("1")].map(parse_switch),
            [Some(true); 3]
        );
        assert_eq!(
            [Some("off"), Some("false"), Some("0")].map(parse_switch),
            [Some(false); 3]
        );
        for invalid in ["", "ON", "yes", "maybe", "True"] {
            assert_eq!(parse_switch(Some(invalid)), None);
        }
        assert_eq!(parse_list("a,,b, c"), ["a", "b", "c"]);
        assert!(parse_list("").is_empty());
    }
}
