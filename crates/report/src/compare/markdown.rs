//! A comparison as Markdown, for a pull request.
//!
//! In: documents, and `judge`'s comparison of them. Out: GitHub's Markdown. Must never: let a name
//! of a document become markup, a link or a mention, or end a cell.

use super::{
    MAX_CELL_CHARS, SideAnswers, describe_workload, remarks, side_name, sides_of_mixed_runs,
};
use crate::answer::named_lines;
use crate::text::comparison::{
    cautions, column_titles, figure_cells, group_by_severity, labels, no_ratio_notice,
};
use crate::text::difference::{answers, label_below};
use crate::text::{cut, plain};
use prony_judge::compare::Difference;
use prony_judge::compare::sides::{SideComparison, SidesComparison};
use prony_store::{Run, Severity};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the comparison as Markdown. `runs` are the documents of each side.
pub fn write_markdown(
    out: &mut dyn Write,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    sides: &SideAnswers,
) -> io::Result<()> {
    for line in named_lines(&sides.answers) {
        writeln!(out, "- {}", escape_markdown(&line))?;
    }
    if !sides.answers.is_empty() {
        writeln!(out)?;
    }
    for answer in answers(comparison) {
        writeln!(out, "**{}**\n", escape_markdown(&answer))?;
    }
    if let Some(label) = label_below(comparison) {
        writeln!(out, "{}\n", escape_markdown(&label))?;
    }
    let remarks = remarks(comparison);
    for line in &remarks {
        writeln!(out, "- {}", escape_markdown(line))?;
    }
    if !remarks.is_empty() {
        writeln!(out)?;
    }
    for (side, runs) in comparison.sides.iter().zip(runs) {
        let name = code_element(&side_name(runs, side));
        let what = runs
            .first()
            .map_or(String::new(), |run| describe_workload(run));
        let label = escape_markdown(&plain(&side.label));
        writeln!(out, "- {label}: {name}: {}", code_element(&what))?;
    }
    for (heading, mixed_differences) in sides_of_mixed_runs(comparison) {
        write_differences(out, &heading, &mixed_differences, ["one", "another"])?;
    }
    for compared_side in &comparison.side_comparisons {
        write_side(out, compared_side)?;
    }
    if let Some(no_ratio) = no_ratio_notice(comparison) {
        writeln!(out, "\n{no_ratio}: these are not comparable.")?;
    }
    for note in cautions(comparison) {
        writeln!(out, "\n{}", escape_markdown(&note))?;
    }
    Ok(())
}

fn write_side(out: &mut dyn Write, compared_side: &SideComparison) -> io::Result<()> {
    let labels = labels(compared_side).map(|label| code_element(&label));
    let sides = labels.each_ref().map(String::as_str);
    if !compared_side.figures.is_empty() {
        let titles = column_titles(compared_side);
        let [first, second, change] = titles.map(|title| escape_markdown(&title));
        writeln!(out, "\n| | {first} | {second} | {change} | interval |")?;
        writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
        for compared in &compared_side.figures {
            let name = escape_markdown(&cut(&plain(&compared.name), MAX_CELL_CHARS));
            let cells = figure_cells(compared).join(" | ");
            writeln!(out, "| {name} | {cells} |")?;
        }
    }
    for (heading, severity, matching) in group_by_severity(&compared_side.differences) {
        // Omit notes: they would hide the differences that matter.
        if severity != Severity::Note {
            write_differences(out, heading, &matching, sides)?;
        }
    }
    Ok(())
}

fn write_differences(
    out: &mut dyn Write,
    heading: &str,
    differences: &[&Difference],
    sides: [&str; 2],
) -> io::Result<()> {
    writeln!(out, "\n{heading}:\n")?;
    writeln!(out, "| | {} | {} | because |", sides[0], sides[1])?;
    writeln!(out, "| --- | --- | --- | --- |")?;
    for difference in differences {
        let [what, a, b] = [&difference.what, &difference.a, &difference.b]
            .map(|text| code_element(&cut(&plain(text), MAX_CELL_CHARS)));
        writeln!(
            out,
            "| {what} | {a} | {b} | {} |",
            escape_markdown(difference.why)
        )?;
    }
    Ok(())
}

/// Formats text of a document as code, in which GitHub finds neither mentions nor issue numbers.
fn code_element(text: &str) -> String {
    format!("<code>{}</code>", escape_markdown(text))
}

/// Text without any markup: all special characters of Markdown and HTML are written as character
/// references, and so are characters that would begin a URL.
fn escape_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let text = plain(text);
    for (index, c) in text.char_indices() {
        let follows_www = || text[..index].to_ascii_lowercase().ends_with("www");
        match c {
            '.' if follows_www() => safe.push_str("&#46;"),
            ' ' | '.' | ',' | ';' | '-' | '+' | '%' | '/' | '(' | ')' | '=' | '\'' => safe.push(c),
            // A colon before a space is not part of a URL; a colon before a slash may be.
            ':' if text[index + 1..].starts_with(' ') => safe.push(c),
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
