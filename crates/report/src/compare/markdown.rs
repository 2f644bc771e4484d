//! A comparison as Markdown, for a pull request.
//!
//! In: documents, and `judge`'s comparison of them. Out: GitHub's Markdown. Must never: let a name
//! of a document become markup, a link or a mention, or end a cell.

use super::sentence::{cautions, headings, no_ratio, sentences};
use super::{
    Limits, MAX_CELL_WIDTH, by_severity, describe_workload, figure, interval, mixed_sides,
    side_name, signed,
};
use crate::text::{cut, plain};
use prony_judge::compare::Difference;
use prony_judge::compare::sides::{SideComparison, SidesComparison};
use prony_store::{Run, Severity};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the comparison as Markdown. `runs` are the documents of each side.
pub fn write(
    out: &mut dyn Write,
    runs: &[Vec<&Run>],
    found: &SidesComparison,
    limits: &Limits,
) -> io::Result<()> {
    writeln!(out, "**{}**\n", found.label())?;
    for line in sentences(found, limits) {
        writeln!(out, "- {}", escape(&line))?;
    }
    if !found.against.is_empty() {
        writeln!(out)?;
    }
    for (side, runs) in found.sides.iter().zip(runs) {
        let name = code(&side_name(runs, side));
        let what = runs
            .first()
            .map_or(String::new(), |run| describe_workload(run));
        writeln!(out, "- {}: {name}: {}", side.letter, code(&what))?;
    }
    for (heading, unlike) in mixed_sides(found) {
        differences(out, &heading, &unlike, ["one", "another"])?;
    }
    for one in &found.against {
        write_side(out, one)?;
    }
    if let Some(no_ratio) = no_ratio(found) {
        writeln!(out, "\n{no_ratio}: these do not compare.")?;
    }
    for note in cautions(found) {
        writeln!(out, "\n{}", escape(&note))?;
    }
    Ok(())
}

fn write_side(out: &mut dyn Write, one: &SideComparison) -> io::Result<()> {
    let letter = one.letter.to_string();
    if !one.figures.is_empty() {
        let [first, second, change] = headings(one);
        writeln!(out, "\n| | {first} | {second} | {change} | interval |")?;
        writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
        for of in &one.figures {
            let name = escape(&cut(&plain(&of.name), MAX_CELL_WIDTH));
            let [a, b] = [&of.a, &of.b].map(|side| figure(of.unit, side.median));
            let (change, interval) = (signed(of.ratio), interval(of));
            writeln!(out, "| {name} | {a} | {b} | {change} | {interval} |")?;
        }
    }
    for (heading, severity, matching) in by_severity(&one.differences) {
        // Notes would bury the rest.
        if severity != Severity::Note {
            differences(out, heading, &matching, ["A", &letter])?;
        }
    }
    Ok(())
}

fn differences(
    out: &mut dyn Write,
    heading: &str,
    of: &[&Difference],
    sides: [&str; 2],
) -> io::Result<()> {
    writeln!(out, "\n{heading}:\n")?;
    writeln!(out, "| | {} | {} | because |", sides[0], sides[1])?;
    writeln!(out, "| --- | --- | --- | --- |")?;
    for one in of {
        let [what, a, b] =
            [&one.what, &one.a, &one.b].map(|of| code(&cut(&plain(of), MAX_CELL_WIDTH)));
        writeln!(out, "| {what} | {a} | {b} | {} |", escape(one.why))?;
    }
    Ok(())
}

/// Text of a document, as code: GitHub finds neither mentions nor issue numbers there.
fn code(of: &str) -> String {
    format!("<code>{}</code>", escape(of))
}

/// Text without any markup: all special characters of Markdown and HTML are written as character
/// references, and so are characters that would begin a URL.
fn escape(of: &str) -> String {
    let mut safe = String::with_capacity(of.len());
    let of = plain(of);
    for (at, c) in of.char_indices() {
        let www = || of[..at].to_ascii_lowercase().ends_with("www");
        match c {
            '.' if www() => safe.push_str("&#46;"),
            ' ' | '.' | ',' | ';' | '-' | '+' | '%' | '/' | '(' | ')' | '=' | '\'' => safe.push(c),
            // A colon followed by a space does not belong to a URL; one before a slash may.
            ':' if of[at + 1..].starts_with(' ') => safe.push(c),
            c if c.is_ascii_alphanumeric() => safe.push(c),
            // GitHub looks for mentions and issue numbers in the rendered text, too.
            '@' | '#' => {
                let _ = write!(safe, "&#{};&#8203;", u32::from(c));
            }
            c if c.is_ascii() => {
                let _ = write!(safe, "&#{};", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}
