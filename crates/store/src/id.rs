//! Ids of runs.
//!
//! An id is made of the start and the workload; it sorts by time and is safe as a file name. A
//! workload's name never reaches the file system unchecked.

use std::hash::{BuildHasher, Hasher, RandomState};

const MAX_ID_CHARS: usize = 100;
const MAX_WORKLOAD_CHARS: usize = 40;

/// A new id, such as `20261120-233342-tpcb-7f3a`: local time of the start as in `started_at`
/// (RFC 3339), workload, four random hexadecimal digits.
pub(crate) fn new_id(started_at: &str, workload: &str) -> String {
    let date_and_time = started_at
        .chars()
        .take("2026-11-20T23:33:42".len())
        .filter(char::is_ascii_digit);
    let digits: String = date_and_time.collect();
    let time = match digits.len() {
        14 => format!("{}-{}", &digits[..8], &digits[8..]),
        _ => jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string(),
    };
    // Each process keys its RandomState with random numbers of the system.
    let random = RandomState::new().build_hasher().finish() & 0xffff;
    format!("{time}-{}-{random:04x}", path_safe(workload))
}

/// The current time as a run's `started_at`: RFC 3339, milliseconds, local offset.
pub fn started_now() -> String {
    jiff::Zoned::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.3f%:z")
        .to_string()
}

/// A workload's name in letters, digits and single dashes, at most [`MAX_WORKLOAD_CHARS`]; `run` if it has none of them.
fn path_safe(workload: &str) -> String {
    let mut name = String::new();
    for c in workload.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => name.push(c),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() == MAX_WORKLOAD_CHARS {
            break;
        }
    }
    match name.trim_end_matches('-') {
        "" => "run".into(),
        name => name.into(),
    }
}

/// Whether a text can be the id of a run: only characters that are safe in a path.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_ID_CHARS
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Nanoseconds since 1970 of a run's `started_at`; 0 if it is not a time.
pub(crate) fn epoch_ns(started_at: &str) -> i64 {
    let time: Option<jiff::Timestamp> = started_at.parse().ok();
    time.and_then(|time| i64::try_from(time.as_nanosecond()).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn ids_sort_by_time_and_are_safe() {
        let id = new_id("2026-11-20T23:33:42.125+01:00", "tpcb");
        id.assert_starts_with("20261120-233342-tpcb-");
        assert_eq!(id.len(), "20261120-233342-tpcb-7f3a".len());
        let hostile = new_id("../../etc", "../../x \u{1b}[2J/ÄÖ");
        assert!(is_id(&hostile) && hostile.contains("-x-2j-"), "{hostile}");
        new_id("", "///").assert_contains("-run-");
        for invalid in ["", ".hidden", "a/b", "-n", "a\nb", "ä", &"x".repeat(101)] {
            assert!(!is_id(invalid), "{invalid}");
        }
    }

    #[test]
    fn started_now_is_a_time_with_an_offset() {
        let text = started_now();
        assert!(epoch_ns(&text) > 1_700_000_000_000_000_000, "{text}");
        assert!(is_id(&new_id(&text, "x")));
        assert_eq!(epoch_ns("yesterday"), 0);
        let (utc, berlin) = ("2026-11-20T22:33:42Z", "2026-11-20T23:33:42+01:00");
        assert_eq!(epoch_ns(utc), epoch_ns(berlin));
    }
}
