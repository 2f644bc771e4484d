//! A comparison as JUnit XML, for a CI server.
//!
//! In: documents, and `judge`'s comparison of them. Out: a suite for each side against the first: one
//! case for comparability, one for each figure, and one for each limit. Must never: let a name of a
//! document end its attribute or element.

use super::{Limits, side_name};
use crate::text::comparison::{side_figure_sentence, too_short_sentence};
use crate::text::plain;
use prony_judge::compare::sides::{Gate, SideComparison, SidesComparison};
use prony_judge::compare::{Difference, Verdict};
use prony_store::{Run, Severity};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// A test case: name, message, and whether it failed.
struct TestCase {
    name: String,
    message: String,
    failed: bool,
}

/// Writes the comparison as XML. `runs` are the documents of each side.
pub fn write_junit(
    out: &mut dyn Write,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    limits: &Limits,
) -> io::Result<()> {
    let name = |side: usize| match (runs.get(side), comparison.sides.get(side)) {
        (Some(runs), Some(side)) => side_name(runs, side),
        _ => String::new(),
    };
    let suite = |(index, compared_side): (usize, &SideComparison)| {
        let (second, first) = (name(index + 1), name(0));
        let title = format!("{} ({second}) against A ({first})", compared_side.letter);
        (title, test_cases(comparison, compared_side, limits))
    };
    let suites: Vec<_> = comparison
        .side_comparisons
        .iter()
        .enumerate()
        .map(suite)
        .collect();
    let document = junit_document(&suites).map_err(io::Error::other)?;
    out.write_all(document.as_bytes())
}

fn test_cases(
    comparison: &SidesComparison,
    compared_side: &SideComparison,
    limits: &Limits,
) -> Vec<TestCase> {
    let sides = comparison
        .sides
        .iter()
        .filter(|side| side.letter == 'A' || side.letter == compared_side.letter);
    let mixed = sides
        .clone()
        .filter(|side| !side.repeat_differences.is_empty());
    let mixed =
        mixed.map(|side| format!("the runs of {} are not repeats of each other", side.letter));
    let serious = compared_side
        .differences
        .iter()
        .filter(|difference| difference.severity != Severity::Note);
    let reasons_of_differences = serious.map(|difference| {
        let Difference {
            what, a, b, why, ..
        } = difference;
        format!("{what}: {a} | {b}: {why}")
    });
    let too_short = sides.filter_map(too_short_sentence);
    let reasons: Vec<String> = mixed
        .chain(reasons_of_differences)
        .chain(too_short)
        .collect();
    let mut cases = vec![TestCase {
        name: "comparable".to_owned(),
        message: if reasons.is_empty() {
            compared_side.verdict.label().to_owned()
        } else {
            format!("{}: {}", compared_side.verdict.label(), reasons.join("; "))
        },
        failed: compared_side.verdict == Verdict::NotComparable,
    }];
    cases.extend(compared_side.figures.iter().map(|figure| TestCase {
        name: figure.name.clone(),
        message: side_figure_sentence(compared_side.letter, figure),
        failed: false,
    }));
    cases.extend(limits.results(comparison, compared_side).map(|result| {
        TestCase {
            name: match result.finding.gate {
                Gate::Slower(_) => "limit: slower",
                Gate::P99Slower(_) => "limit: p99 slower",
                Gate::P99Above(_) => "limit: p99",
            }
            .to_owned(),
            message: result.text,
            failed: !result.passed,
        }
    }));
    cases
}

fn junit_document(suites: &[(String, Vec<TestCase>)]) -> Result<String, fmt::Error> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str("<testsuites name=\"prony compare\">\n");
    for (title, cases) in suites {
        let title = escape_xml(title);
        let (total, failed) = (cases.len(), cases.iter().filter(|case| case.failed).count());
        writeln!(
            out,
            "  <testsuite name=\"{title}\" tests=\"{total}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">"
        )?;
        for case in cases {
            let (name, message) = (escape_xml(&case.name), escape_xml(&case.message));
            writeln!(out, "    <testcase classname=\"{title}\" name=\"{name}\">")?;
            if case.failed {
                writeln!(out, "      <failure message=\"{message}\"/>")?
            } else {
                writeln!(out, "      <system-out>{message}</system-out>")?
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    Ok(out)
}

/// Text escaped for elements and attributes; characters that XML does not allow are left out.
fn escape_xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => safe.push(c),
        }
    }
    safe
}
