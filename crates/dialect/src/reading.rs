//! Reads results from the output of other tools.
//!
//! In: text of pgbench, sysbench or HammerDB, complete or not. Out: a [`ReportedRun`] for each run. Must never:
//! trust the text, or add what it does not contain.
//!
//! Each tool's reader is beside its writer; this module holds their common code.

use crate::{hammerdb, pgbench, sysbench};
use prony_store::{Relation, RelationKind, ReportedRun};

/// The text is not from one of these tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// Nothing in it is recognised.
    #[error("this is not output of pgbench, sysbench or HammerDB that Prony can read")]
    UnknownFormat,
}

/// Reads a tool's output: one entry per run, in order; at least one.
///
/// # Errors
///
/// The text is not from one of the known tools.
pub fn read(text: &str) -> Result<Vec<ReportedRun>, ReadingError> {
    let readers: [fn(&str) -> Vec<ReportedRun>; 3] = [
        hammerdb::read_output,
        sysbench::read_output,
        pgbench::read_output,
    ];
    let found = readers.iter().map(|reader| reader(text));
    found
        .into_iter()
        .find(|runs| !runs.is_empty())
        .ok_or(ReadingError::UnknownFormat)
}

/// A printed number with its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PrintedNumber {
    /// The number.
    pub value: f64,
    /// Half a unit of its last digit.
    pub slack: f64,
}

/// Longest number to parse, in characters: the largest 64-bit count has 20.
const MAX_NUMBER_CHARS: usize = 30;

/// Parses a plain decimal number without a sign.
pub(crate) fn parse_printed(text: &str) -> Option<PrintedNumber> {
    let text = text.trim();
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !plain || text.len() > MAX_NUMBER_CHARS || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let places = text.split_once('.').map_or(0, |(_, places)| places.len());
    Some(PrintedNumber {
        value: text.parse().ok()?,
        slack: 0.5 * 10_f64.powi(-i32::try_from(places).ok()?),
    })
}

/// The number at the beginning of a text such as `12.5 ms`, and the rest.
pub(crate) fn leading_number(text: &str) -> Option<(PrintedNumber, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    // A full stop after the number is not a decimal point.
    let number = text[..end].trim_end_matches('.');
    Some((parse_printed(number)?, &text[end..]))
}

/// The count at the beginning of a text, and the rest.
pub(crate) fn count(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The text between two others.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    let (found, _) = rest.split_once(after)?;
    Some(found)
}

/// A count as a plan's 32-bit number, if it fits.
pub(crate) fn to_u32(count: u64) -> Option<u32> {
    u32::try_from(count).ok()
}

/// Adds a pair of figures that must agree.
pub(crate) fn relation(
    kind: RelationKind,
    [figure, computed_from]: [&str; 2],
    printed: f64,
    computed: f64,
    tolerance: f64,
) -> Relation {
    Relation {
        kind,
        figure: figure.to_owned(),
        computed_from: computed_from.to_owned(),
        printed,
        computed,
        tolerance,
    }
}

/// Records a line with an unreadable number; at most a few lines.
pub(crate) fn record_unreadable(run: &mut ReportedRun, line: &str) {
    const MOST: usize = 5;
    if run.messages.len() < MOST {
        let line: String = line.trim().chars().take(60).collect();
        run.messages.push(format!("unreadable line: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_precision() {
        let number = |value, slack| Some(PrintedNumber { value, slack });
        assert_eq!(parse_printed("12.57"), number(12.57, 0.005));
        assert_eq!(parse_printed(" 7 "), number(7.0, 0.5));
        for text in [
            "",
            ".5",
            "-1",
            "1e5",
            "nan",
            "1.2.3",
            "1,000",
            &"9".repeat(31),
        ] {
            assert_eq!(parse_printed(text), None, "{text}");
        }
        assert_eq!(
            leading_number("12.5 ms").map(|(number, rest)| (number.value, rest)),
            Some((12.5, " ms"))
        );
        assert_eq!(
            leading_number("60.").map(|(number, _)| number.value),
            Some(60.0)
        );
        assert_eq!(count("7/10"), Some((7, "/10")));
        assert_eq!(count("99999999999999999999999"), None);
    }

    #[test]
    fn unknown_text_is_refused() {
        for text in [
            "",
            "hello",
            "\u{0}\u{1}",
            "{\"tps\": 7}",
            "transactions: lots",
        ] {
            assert_eq!(read(text), Err(ReadingError::UnknownFormat), "{text}");
        }
    }
}
