//! The inverse of the writers: what another tool's output says.
//!
//! In: text of pgbench, sysbench or HammerDB, whole or in part. Out: a [`Reported`] for each run in it.
//! Must never: trust it, or fill in what it does not say.
//!
//! The reader of each tool stands beside its writer; here is what they share.

use crate::{hammerdb, pgbench, sysbench};
use prony_store::{Relation, RelationKind, Reported};

/// A text of none of these tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// Nothing in it is known.
    #[error("this is no output of pgbench, sysbench or HammerDB that Prony knows")]
    Foreign,
}

/// Reads what a tool printed: one entry a run, in their order; there is at least one.
///
/// # Errors
/// If it is of none of the known tools.
pub fn read(text: &str) -> Result<Vec<Reported>, ReadingError> {
    let readers: [fn(&str) -> Vec<Reported>; 3] = [
        hammerdb::read_output,
        sysbench::read_output,
        pgbench::read_output,
    ];
    let found = readers.iter().map(|reader| reader(text));
    found
        .into_iter()
        .find(|runs| !runs.is_empty())
        .ok_or(ReadingError::Foreign)
}

/// A number as it was printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Printed {
    /// The number.
    pub value: f64,
    /// Half a unit of its last digit.
    pub slack: f64,
}

/// Longest number that is read, characters: the largest count of 64 bits has 20.
const LONGEST: usize = 30;

/// Reads a plain decimal number, not negative.
pub(crate) fn printed(text: &str) -> Option<Printed> {
    let text = text.trim();
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !plain || text.len() > LONGEST || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let places = text.split_once('.').map_or(0, |(_, places)| places.len());
    Some(Printed {
        value: text.parse().ok()?,
        slack: 0.5 * 10_f64.powi(-i32::try_from(places).ok()?),
    })
}

/// The number at the beginning of a text, such as that of `12.5 ms`, and the rest.
pub(crate) fn leading(text: &str) -> Option<(Printed, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    // A sentence's full stop is no decimal point.
    let number = text[..end].trim_end_matches('.');
    Some((printed(number)?, &text[end..]))
}

/// The count at the beginning of a text, and the rest.
pub(crate) fn count(text: &str) -> Option<(u64, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// What stands between two texts.
pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    let (found, _) = rest.split_once(after)?;
    Some(found)
}

/// A count that fits the plan's.
pub(crate) fn small(count: u64) -> Option<u32> {
    u32::try_from(count).ok()
}

/// Two figures that must agree.
pub(crate) fn relation(
    kind: RelationKind,
    [what, from]: [&str; 2],
    says: f64,
    follows: f64,
    slack: f64,
) -> Relation {
    Relation {
        kind,
        what: what.to_owned(),
        from: from.to_owned(),
        says,
        follows,
        slack,
    }
}

/// Notes a line whose number cannot be read; at most a few of them.
pub(crate) fn unreadable(run: &mut Reported, line: &str) {
    const MOST: usize = 5;
    if run.troubles.len() < MOST {
        let line: String = line.trim().chars().take(60).collect();
        run.troubles
            .push(format!("a line that cannot be read: {line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_know_how_exact_they_are() {
        let number = |value, slack| Some(Printed { value, slack });
        assert_eq!(printed("12.57"), number(12.57, 0.005));
        assert_eq!(printed(" 7 "), number(7.0, 0.5));
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
            assert_eq!(printed(text), None, "{text}");
        }
        assert_eq!(
            leading("12.5 ms").map(|(number, rest)| (number.value, rest)),
            Some((12.5, " ms"))
        );
        assert_eq!(leading("60.").map(|(number, _)| number.value), Some(60.0));
        assert_eq!(count("7/10"), Some((7, "/10")));
        assert_eq!(count("99999999999999999999999"), None);
    }

    #[test]
    fn a_foreign_text_is_refused() {
        for text in [
            "",
            "hello",
            "\u{0}\u{1}",
            "{\"tps\": 7}",
            "transactions: lots",
        ] {
            assert_eq!(read(text), Err(ReadingError::Foreign), "{text}");
        }
    }
}
