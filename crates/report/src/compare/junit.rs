//! A comparison as JUnit's XML, for a CI server.
//!
//! In: documents, and what `judge` made of them. Out: a suite for each side against the first: one case
//! for whether the two compare, and one for each figure. Must never: let a name of a document end the
//! attribute or element that it stands in.

use super::sentence::{held, of_letter};
use super::{Limit, side_name};
use crate::text::plain;
use prony_judge::compare::Verdict;
use prony_judge::compare::sides::{Against, Sides};
use prony_store::{Run, Severity};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

/// A case: its name, what it says, and whether it failed.
struct Case {
    name: String,
    says: String,
    failed: bool,
}

/// Writes it as XML. `runs` are the documents of each side.
pub fn write(
    out: &mut dyn Write,
    runs: &[Vec<&Run>],
    found: &Sides,
    limit: Option<Limit>,
) -> io::Result<()> {
    let name = |side: usize| match (runs.get(side), found.sides.get(side)) {
        (Some(runs), Some(side)) => side_name(runs, &side.name),
        _ => String::new(),
    };
    let suites: Vec<(String, Vec<Case>)> = found
        .against
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let title = format!(
                "{} ({}) against A ({})",
                one.letter,
                name(place + 1),
                name(0)
            );
            (title, cases(found, one, limit))
        })
        .collect();
    let document = document(&suites).map_err(io::Error::other)?;
    out.write_all(document.as_bytes())
}

fn cases(found: &Sides, one: &Against, limit: Option<Limit>) -> Vec<Case> {
    let grave = |severity| severity == Severity::Invalid;
    let unlike = found.sides.iter().filter(|side| {
        let concerned = side.letter == 'A' || side.letter == one.letter;
        concerned && !side.unlike.is_empty()
    });
    let why: Vec<String> = unlike
        .map(|side| format!("the runs of {} are not repeats of one thing", side.letter))
        .chain(one.differences.iter().filter_map(|of| {
            let say = grave(of.severity) || of.severity == Severity::Caveat;
            say.then(|| format!("{}: {} | {}: {}", of.what, of.a, of.b, of.why))
        }))
        .collect();
    let mut cases = vec![Case {
        name: "comparable".to_owned(),
        says: match why.is_empty() {
            true => one.verdict.words().to_owned(),
            false => format!("{}: {}", one.verdict.words(), why.join("; ")),
        },
        failed: one.verdict == Verdict::NotComparable,
    }];
    let leading = found.leading(one).first().map(|of| of.name.clone());
    for figure in &one.figures {
        let mut case = Case {
            name: figure.name.clone(),
            says: of_letter(one.letter, figure),
            failed: false,
        };
        let limit = limit.filter(|_| leading.as_ref() == Some(&figure.name));
        if let Some((held, text)) = limit.and_then(|limit| held(found, one, limit)) {
            case.failed = !held;
            case.says = format!("{text} {}", case.says);
        }
        cases.push(case);
    }
    cases
}

fn document(suites: &[(String, Vec<Case>)]) -> Result<String, fmt::Error> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let count = |cases: &[Case]| {
        let failed = cases.iter().filter(|case| case.failed).count();
        format!(
            "tests=\"{}\" failures=\"{failed}\" errors=\"0\"",
            cases.len()
        )
    };
    out.push_str("<testsuites name=\"prony compare\">\n");
    for (title, cases) in suites {
        let title = xml(title);
        writeln!(
            out,
            "  <testsuite name=\"{title}\" {} skipped=\"0\">",
            count(cases)
        )?;
        for case in cases {
            let (name, says) = (xml(&case.name), xml(&case.says));
            writeln!(out, "    <testcase classname=\"{title}\" name=\"{name}\">")?;
            match case.failed {
                true => writeln!(out, "      <failure message=\"{says}\"/>")?,
                false => writeln!(out, "      <system-out>{says}</system-out>")?,
            }
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    Ok(out)
}

/// Text as it may stand in an element and in an attribute; what XML cannot hold is left out.
fn xml(text: &str) -> String {
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
