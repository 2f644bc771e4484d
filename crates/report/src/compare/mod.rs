//! Comparison of two or more sides of runs, each with the first.
//!
//! In: documents, and `judge`'s comparison of them. Out: the verdict, how the sides differ, how far chance
//! explains the difference, caveats, and the figures: for a person, as JSON, Markdown or JUnit XML. Must
//! never: print a ratio that the verdict forbids, or speak of a difference between single runs.

mod json;
mod junit;
mod markdown;
mod several;

pub use json::{document, write_json};
pub use junit::write_junit;
pub use markdown::write_markdown;

use crate::answer;
use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::comparison::{
    cautions, column_titles, figure_cells, group_by_severity, labels, left_out_sentences,
    no_ratio_notice, too_short_sentence,
};
use crate::text::difference::{answers, label_below};
use crate::text::setup::options_suffix;
use crate::text::verdict::TOO_SHORT;
use crate::text::{cut, plain, wrap};
use crate::units::{self, count_of};
use prony_judge::compare::sides::{SideComparison, SideSummary, SidesComparison};
use prony_judge::compare::{Difference, Verdict};
use prony_judge::noise::is_cpu_figure;
use prony_store::{Answer, Run, Severity};
use std::io::{self, Write};

/// Maximum length of a cell with a difference, in characters. Longer text is cut; the document has all of it.
const MAX_CELL_CHARS: usize = 28;

/// Maximum number of notes that are listed. Two engines have hundreds of settings that the other lacks.
const MAX_NOTES: usize = 20;

/// The population of the percentiles whose names do not say one.
const COMMITTED: &str = "p50 to p99.9 and the mean: of committed transactions.";

const CPU_TIME: &str = "client CPU, server CPU: CPU time for each committed transaction.";

/// Maximum length of a line that describes a run, in characters.
const MAX_LINE_CHARS: usize = 95;

/// Whether the sides meet what was required of them.
#[derive(Clone, Debug, Default)]
pub struct SideAnswers {
    /// The answer of each side except the first, with what the side is called.
    pub answers: Vec<(String, Answer)>,
    /// Whether a side passes if its runs do not decide it.
    pub pass_undecided: bool,
}

/// What is said below the answer: repeats that are left out, and runs that are too short.
fn remarks(comparison: &SidesComparison) -> Vec<String> {
    let left_out = comparison.sides.iter().flat_map(left_out_sentences);
    let are_all_too_short = comparison.sides.len() > 2
        && comparison
            .sides
            .iter()
            .all(|side| side.too_short.len() == side.runs.len());
    let too_short: Vec<String> = if are_all_too_short {
        vec![format!("All runs are {TOO_SHORT}.")]
    } else {
        let sentences = comparison.sides.iter().filter_map(too_short_sentence);
        sentences.map(|text| format!("{text}.")).collect()
    };
    left_out.chain(too_short).collect()
}

/// For each side whose runs are not repeats of one another, a heading and the differences among its runs.
fn sides_of_mixed_runs(
    comparison: &SidesComparison,
) -> impl Iterator<Item = (String, Vec<&Difference>)> {
    let sides = comparison.sides.iter();
    let mixed = sides.filter(|side| !side.repeat_differences.is_empty());
    mixed.map(|side| {
        let label = plain(&side.label);
        let heading = format!("The runs of {label} are not repeats of each other");
        (heading, side.repeat_differences.iter().collect())
    })
}

fn describe_workload(run: &Run) -> String {
    let workload = &run.workload;
    plain(&format!(
        "{}, scale {}, {}{}",
        workload.display_name(),
        units::count(workload.scale.into()),
        count_of(run.drive.clients.into(), "client"),
        options_suffix(workload),
    ))
}

/// The runs of a side: the id of its only one, or their number, with the variant unless that is what the side is called.
fn side_name(runs: &[&Run], side: &SideSummary) -> String {
    let run_count = count_of(side.runs.len() as u64, "run");
    if side.label == side.name {
        return run_count;
    }
    if !side.name.is_empty() {
        return format!("{}, {run_count}", plain(&side.name));
    }
    match runs {
        [only] => plain(&only.id),
        _ => run_count,
    }
}

/// Writes the answer for each side, and how it may be used.
fn write_answers(out: &mut Printer<'_>, comparison: &SidesComparison) -> io::Result<()> {
    for answer in answers(comparison) {
        out.wrapped(Style::bold, &answer)?;
    }
    let format = match comparison.verdict {
        Verdict::Comparable => Style::dim,
        _ => Style::caution,
    };
    match label_below(comparison) {
        Some(label) => out.wrapped(format, &label),
        None => Ok(()),
    }
}

pub(crate) fn write_answer(out: &mut Printer<'_>, comparison: &SidesComparison) -> io::Result<()> {
    write_answers(out, comparison)?;
    out.paragraphs(remarks(comparison))
}

/// Writes the comparison for a person. `runs` are the documents of each side.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    sides: &SideAnswers,
) -> io::Result<()> {
    answer::write(out, style, &sides.answers)?;
    let out = &mut Printer::new(out, style);
    if !sides.answers.is_empty() {
        out.line("")?;
    }
    write_answers(out, comparison)?;
    write_sides(out, runs, comparison)?;
    let remarks = remarks(comparison);
    if !remarks.is_empty() {
        out.line("")?;
    }
    out.paragraphs(remarks)?;
    for (heading, mixed_differences) in sides_of_mixed_runs(comparison) {
        out.heading(&heading)?;
        write_differences(out, &mixed_differences, ["one", "another"])?;
    }
    match &comparison.side_comparisons[..] {
        [only] => write_side(out, only)?,
        _ => several::write(out, comparison)?,
    }
    if let Some(no_ratio) = no_ratio_notice(comparison) {
        out.line(format!(
            "\n  {no_ratio}: prony show has the figures of each."
        ))?;
    }
    for note in cautions(comparison) {
        out.line("")?;
        out.paragraph(&note)?;
    }
    Ok(())
}

fn write_sides(
    out: &mut Printer<'_>,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
) -> io::Result<()> {
    let sides = comparison.sides.iter();
    let labels: Vec<String> = sides.map(|side| plain(&side.label)).collect();
    let longest_label = labels.iter().map(|label| label.chars().count()).max();
    let label_width = longest_label.unwrap_or(0);
    let text_width = MAX_LINE_CHARS.saturating_sub(label_width);
    for ((side, runs), label) in comparison.sides.iter().zip(runs).zip(&labels) {
        let workload = runs
            .first()
            .map_or(String::new(), |run| describe_workload(run));
        let text = cut(
            &format!("{}: {workload}", side_name(runs, side)),
            text_width,
        );
        out.line(format!("  {label:label_width$}  {text}"))?;
        // The ids of many sides would hide their figures.
        if runs.len() > 1 && comparison.sides.len() == 2 {
            let indent = " ".repeat(label_width + 4);
            for ids in wrap(&plain(&side.runs.join(", ")), text_width) {
                out.line(format!("{indent}{}", out.style.dim(&ids)))?;
            }
        }
    }
    Ok(())
}

fn write_side(out: &mut Printer<'_>, compared_side: &SideComparison) -> io::Result<()> {
    let labels = labels(compared_side);
    let sides = labels.each_ref().map(String::as_str);
    for (heading, severity, matching) in group_by_severity(&compared_side.differences) {
        out.heading(heading)?;
        let listed = match severity {
            Severity::Note => matching.len().min(MAX_NOTES),
            _ => matching.len(),
        };
        write_differences(out, &matching[..listed], sides)?;
        if listed < matching.len() {
            let omitted = units::count((matching.len() - listed) as u64);
            out.paragraph(&format!(
                "{omitted} more: --json lists them all, and prony diff-settings all settings."
            ))?;
        }
    }
    if compared_side.figures.is_empty() {
        return Ok(());
    }
    out.heading("Figures")?;
    let [first, second, change] = column_titles(compared_side);
    let mut table = Table::new(&["", &first, &second, &change, "interval"]);
    for compared in &compared_side.figures {
        let name = cut(&plain(&compared.name), MAX_CELL_CHARS);
        table.row(std::iter::once(name).chain(figure_cells(compared)));
    }
    out.table(&table)?;
    let figures = &compared_side.figures;
    if figures.iter().any(|figure| figure.is_of_committed()) {
        out.paragraph(COMMITTED)?;
    }
    if figures.iter().any(|figure| is_cpu_figure(&figure.name)) {
        out.paragraph(CPU_TIME)?;
    }
    Ok(())
}

fn write_differences(
    out: &mut Printer<'_>,
    differences: &[&Difference],
    sides: [&str; 2],
) -> io::Result<()> {
    let mut table = Table::new(&[""]).with_texts(&sides);
    // The reasons, each with the properties that differ for it.
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for difference in differences {
        let cells = [&difference.what, &difference.a, &difference.b]
            .map(|text| cut(&plain(text), MAX_CELL_CHARS));
        let property = cells[0].clone();
        table.row(cells);
        match reasons.iter_mut().find(|(why, _)| *why == difference.why) {
            Some((_, properties)) => properties.push(property),
            None => reasons.push((difference.why, vec![property])),
        }
    }
    out.table(&table)?;
    if let [(why, _)] = &reasons[..] {
        return out.paragraph(&format!("Because {why}."));
    }
    reasons.iter().try_for_each(|(why, properties)| {
        out.paragraph(&format!("{}: {why}.", list_properties(properties)))
    })
}

/// Maximum number of properties that are listed with their reason.
const MAX_LISTED_PROPERTIES: usize = 3;

/// The properties, separated by commas; of many only the first and the number of the others.
fn list_properties(properties: &[String]) -> String {
    if properties.len() <= MAX_LISTED_PROPERTIES {
        return properties.join(", ");
    }
    let (listed, others) = properties.split_at(MAX_LISTED_PROPERTIES - 1);
    let others = units::count(others.len() as u64);
    format!("{} and {others} others", listed.join(", "))
}

#[cfg(test)]
mod tests;
