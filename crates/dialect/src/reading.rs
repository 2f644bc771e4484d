//! Reads results from the output of other tools.
//!
//! In: text of pgbench, sysbench or HammerDB, complete or not. Out: a [`ReportedRun`] for each run. Must
//! never: trust the text, or add what it does not contain.
//!
//! The reader of each tool is in the tool's module; this module contains their common code.

use crate::{hammerdb, pgbench, sysbench};
use prony_store::{Relation, RelationKind, ReportedRun};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// The text is not output of a known tool.
    #[error("this is not output of pgbench, sysbench or HammerDB that Prony can read")]
    UnknownFormat,
}

/// Reads a tool's output: one entry per run, in order; at least one.
pub fn read(text: &str) -> Result<Vec<ReportedRun>, ReadingError> {
    let readers: [fn(&str) -> Vec<ReportedRun>; 3] = [
        hammerdb::read_output,
        sysbench::read_output,
        pgbench::read_output,
    ];
    readers
        .iter()
        .map(|reader| reader(text))
        .find(|runs| !runs.is_empty())
        .ok_or(ReadingError::UnknownFormat)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PrintedNumber {
    pub value: f64,
    /// Half a unit of the last printed digit.
    pub tolerance: f64,
}

/// The maximum length of a number, in characters; the largest 64-bit count has 20.
const MAX_NUMBER_CHARS: usize = 30;

/// The maximum number of unreadable lines to record: one says that the output is damaged, some say where.
const MAX_UNREADABLE_LINES: usize = 5;

/// Parses a decimal number without sign and exponent.
pub(crate) fn parse_printed(text: &str) -> Option<PrintedNumber> {
    let text = text.trim();
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_plain || text.len() > MAX_NUMBER_CHARS || !text.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    Some(PrintedNumber {
        value: text.parse().ok()?,
        tolerance: 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?),
    })
}

/// Splits a text such as `12.5 ms` into the number at its beginning and the remaining text.
pub(crate) fn leading_number(text: &str) -> Option<(PrintedNumber, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    // A full stop that ends a sentence, as in `60.`, is no decimal point.
    let number = text[..end].trim_end_matches('.');
    Some((parse_printed(number)?, &text[end..]))
}

/// Splits a text into the count at its beginning and the remaining text.
pub(crate) fn leading_count(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The number at the beginning of a text, whatever follows.
pub(crate) fn number(text: &str) -> Option<PrintedNumber> {
    leading_number(text).map(|(number, _)| number)
}

/// The count at the beginning of a text, whatever follows.
pub(crate) fn count(text: &str) -> Option<u64> {
    leading_count(text).map(|(count, _)| count)
}

/// The count at the beginning of a text as a 32-bit number, if it fits.
pub(crate) fn small_count(text: &str) -> Option<u32> {
    count(text).and_then(|count| u32::try_from(count).ok())
}

/// The text between `before` and the next `after`.
pub(crate) fn text_between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, text) = text.split_once(before)?;
    let (text, _) = text.split_once(after)?;
    Some(text)
}

/// Records that a printed figure must agree with the same figure computed from others. `figure` and `computed_from` name them.
pub(crate) fn add_relation(
    run: &mut ReportedRun,
    kind: RelationKind,
    [figure, computed_from]: [&str; 2],
    [printed, computed]: [f64; 2],
    tolerance: f64,
) {
    run.relations.push(Relation {
        kind,
        figure: figure.to_owned(),
        computed_from: computed_from.to_owned(),
        printed,
        computed,
        tolerance,
    });
}

/// Records the parts of the output that are missing. `parts`: whether a part is present, and its name.
pub(crate) fn add_missing_parts(run: &mut ReportedRun, parts: &[(bool, &'static str)]) {
    let missing = parts.iter().filter(|(is_present, _)| !is_present);
    run.missing_parts.extend(missing.map(|(_, part)| part));
}

/// Records a line with an unreadable number, up to [`MAX_UNREADABLE_LINES`] lines.
pub(crate) fn record_unreadable(run: &mut ReportedRun, line: &str) {
    if run.messages.len() < MAX_UNREADABLE_LINES {
        let line: String = line.trim().chars().take(60).collect();
        run.messages.push(format!("unreadable line: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_precision() {
        let number = |value, tolerance| Some(PrintedNumber { value, tolerance });
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
            leading_number("12.5 ms").map(|(number, remaining)| (number.value, remaining)),
            Some((12.5, " ms"))
        );
        assert_eq!(
            leading_number("60.").map(|(number, _)| number.value),
            Some(60.0)
        );
        assert_eq!(leading_count("7/10"), Some((7, "/10")));
        assert_eq!(leading_count("99999999999999999999999"), None);
    }

    #[test]
    fn unknown_text_is_an_error() {
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
