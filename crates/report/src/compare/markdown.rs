//! A comparison as Markdown, for a pull request.
//!
//! In: documents, and what `judge` made of them. Out: GitHub's Markdown. Must never: let a name of a
//! document become markup, a link, a mention, or the end of a cell.

use super::sentence::{caution, headings, no_ratio, told};
use super::{CELL, HEADINGS, Limit, figure, interval, side_name, signed, work};
use crate::text::{cut, plain};
use prony_judge::compare::Difference;
use prony_judge::compare::sides::{Against, Sides};
use prony_store::{Run, Severity};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes it as Markdown. `runs` are the documents of each side.
pub fn write(
    out: &mut dyn Write,
    runs: &[Vec<&Run>],
    found: &Sides,
    limit: Option<Limit>,
) -> io::Result<()> {
    writeln!(out, "**{}**\n", found.words())?;
    for line in told(found, limit) {
        writeln!(out, "- {}", text(&line))?;
    }
    if !found.against.is_empty() {
        writeln!(out)?;
    }
    for (side, runs) in found.sides.iter().zip(runs) {
        let name = foreign(&side_name(runs, &side.name));
        let what = runs.first().map_or(String::new(), |run| work(run));
        writeln!(out, "- {}: {name}: {}", side.letter, foreign(&what))?;
    }
    for side in found.sides.iter().filter(|side| !side.unlike.is_empty()) {
        let heading = format!("The runs of {} are not repeats of one thing", side.letter);
        let unlike: Vec<&Difference> = side.unlike.iter().collect();
        differences(out, &heading, &unlike, ["one", "another"])?;
    }
    for one in &found.against {
        against(out, one)?;
    }
    if let Some(no_ratio) = no_ratio(found) {
        writeln!(out, "\n{no_ratio}: these do not compare.")?;
    }
    for note in caution(found) {
        writeln!(out, "\n{}", text(&note))?;
    }
    Ok(())
}

fn against(out: &mut dyn Write, one: &Against) -> io::Result<()> {
    let letter = one.letter.to_string();
    if !one.figures.is_empty() {
        let [first, second, change] = headings(one);
        writeln!(out, "\n| | {first} | {second} | {change} | interval |")?;
        writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
        for figure_of in &one.figures {
            let (unit, name) = (figure_of.unit, text(&cut(&plain(&figure_of.name), CELL)));
            writeln!(
                out,
                "| {name} | {} | {} | {} | {} |",
                figure(unit, figure_of.a.median),
                figure(unit, figure_of.b.median),
                signed(figure_of.ratio),
                interval(figure_of),
            )?;
        }
    }
    for (severity, heading) in HEADINGS {
        let of_it = one.differences.iter();
        let of_it: Vec<&Difference> = of_it.filter(|one| one.severity == severity).collect();
        // What is only for reference would hide the rest.
        if !of_it.is_empty() && severity != Severity::Note {
            differences(out, heading, &of_it, ["A", &letter])?;
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
        let cell = |text: &str| foreign(&cut(&plain(text), CELL));
        writeln!(
            out,
            "| {} | {} | {} | {} |",
            cell(&one.what),
            cell(&one.a),
            cell(&one.b),
            text(one.why),
        )?;
    }
    Ok(())
}

/// What a document says, as code: there GitHub sees neither a mention nor a number of an issue.
fn foreign(of: &str) -> String {
    format!("<code>{}</code>", text(of))
}

/// Text that is nothing but text: all marks of Markdown and HTML are written as their numbers, and so
/// is what would begin an address.
fn text(of: &str) -> String {
    let mut safe = String::with_capacity(of.len());
    let of = plain(of);
    for (at, c) in of.char_indices() {
        let www = || of[..at].to_ascii_lowercase().ends_with("www");
        match c {
            '.' if www() => safe.push_str("&#46;"),
            ' ' | '.' | ',' | ';' | '-' | '+' | '%' | '/' | '(' | ')' | '=' | '\'' => safe.push(c),
            // A colon after a word is no address; one before a slash may begin one.
            ':' if of[at + 1..].starts_with(' ') => safe.push(c),
            c if c.is_ascii_alphanumeric() => safe.push(c),
            // A mention and the number of an issue are looked for in what is shown, too.
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
