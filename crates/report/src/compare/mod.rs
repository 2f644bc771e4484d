//! Comparison of two or more sides of runs, each with the first.
//!
//! In: documents, and `judge`'s comparison of them. Out: the verdict, how the sides differ, how far
//! chance explains it, caveats, and the figures: for a person, as JSON, Markdown or JUnit XML. Must
//! never: print a ratio that the verdict forbids, or speak of a difference between single runs.

mod json;
mod junit;
mod limits;
mod markdown;
mod sentence;

pub use json::write as json;
pub use junit::write as junit;
pub use limits::Limits;
pub use markdown::write as markdown;
use sentence::{cautions, format_interval, headings, no_ratio, sentences};
pub(crate) use sentence::{one_run_each, sentence};

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::{cut, plain, wrap};
use crate::units::{self, count_with_noun};
use prony_judge::compare::sides::{FigureComparison, SideComparison, SideSummary, SidesComparison};
use prony_judge::compare::{Difference, FigurePair, Unit};
use prony_store::{Run, Severity};
use std::io::{self, Write};

/// Maximum width of a cell with a difference: longer text is cut; the document has all of it.
const MAX_CELL_WIDTH: usize = 28;

/// The population of the percentiles whose names do not say one.
const COMMITTED: &str = "p50 to p99.9 and the mean: of committed transactions.";

/// Maximum width of a line that describes a run.
const MAX_LINE_WIDTH: usize = 95;

/// Severities with their headings, the worst first.
const HEADINGS: [(Severity, &str); 3] = [
    (Severity::Invalid, "Why they do not compare"),
    (Severity::Caveat, "Caveats"),
    (Severity::Note, "Notes"),
];

/// The differences of each severity under its heading, the worst first.
pub(crate) fn by_severity(
    differences: &[Difference],
) -> impl Iterator<Item = (&'static str, Severity, Vec<&Difference>)> {
    let each = HEADINGS.into_iter().map(|(severity, heading)| {
        let matching = differences
            .iter()
            .filter(|difference| difference.severity == severity);
        (heading, severity, matching.collect::<Vec<_>>())
    });
    each.filter(|(_, _, matching)| !matching.is_empty())
}

/// The sides whose runs are not repeats of one another: a heading, and the differences among the
/// runs.
fn mixed_sides(comparison: &SidesComparison) -> impl Iterator<Item = (String, Vec<&Difference>)> {
    let mixed = comparison
        .sides
        .iter()
        .filter(|side| !side.repeat_differences.is_empty());
    mixed.map(|side| {
        let heading = format!("The runs of {} are not repeats of each other", side.letter);
        (heading, side.repeat_differences.iter().collect())
    })
}

/// The workload of a run, on one line.
fn describe_workload(run: &Run) -> String {
    let workload = &run.workload;
    let settings = workload
        .settings
        .iter()
        .map(|setting| format!(", {setting}"));
    plain(&format!(
        "{}, scale {}, {}{}",
        workload.name,
        units::count(workload.scale.into()),
        count_with_noun(run.drive.clients.into(), "client", "clients"),
        settings.collect::<String>(),
    ))
}

/// The name of a side: its variant, the id of its only run, or the number of its runs.
fn side_name(runs: &[&Run], side: &SideSummary) -> String {
    let number = count_with_noun(side.runs.len() as u64, "run", "runs");
    match (runs, side.name.as_str()) {
        ([only], "") => plain(&only.id),
        (_, "") => number,
        (_, variant) => format!("{}, {number}", plain(variant)),
    }
}

/// Writes the comparison for a person. `runs` are the documents of each side.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    limits: &Limits,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    out.line(style.bold(&comparison.label()))?;
    for (side, runs) in comparison.sides.iter().zip(runs) {
        let workload = runs
            .first()
            .map_or(String::new(), |run| describe_workload(run));
        let line = format!("{}: {workload}", side_name(runs, side));
        out.line(format!("  {}  {}", side.letter, cut(&line, MAX_LINE_WIDTH)))?;
        if runs.len() > 1 {
            for line in wrap(&plain(&side.runs.join(", ")), MAX_LINE_WIDTH) {
                out.line(format!("     {}", style.dim(&line)))?;
            }
        }
    }
    let sentences = sentences(comparison, limits);
    if !sentences.is_empty() {
        out.line("")?;
    }
    sentences.iter().try_for_each(|line| out.paragraph(line))?;
    for (heading, unlike) in mixed_sides(comparison) {
        out.heading(&heading)?;
        differences(out, &unlike, ["one<", "another<"])?;
    }
    for compared_side in &comparison.against {
        if comparison.against.len() > 1 {
            out.heading(&format!(
                "{} against A: {}",
                compared_side.letter,
                compared_side.verdict.label()
            ))?;
        }
        write_side(out, compared_side)?;
    }
    if let Some(no_ratio) = no_ratio(comparison) {
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

fn write_side(out: &mut Printer<'_>, compared_side: &SideComparison) -> io::Result<()> {
    let second = format!("{}<", compared_side.letter);
    for (heading, _, matching) in by_severity(&compared_side.differences) {
        out.heading(heading)?;
        differences(out, &matching, ["A<", &second])?;
    }
    if compared_side.figures.is_empty() {
        return Ok(());
    }
    out.heading("Figures")?;
    let [first, second, change] = headings(compared_side);
    let mut table = Table::new(&["", &first, &second, &change, "interval"]);
    for compared in &compared_side.figures {
        table.row([
            cut(&plain(&compared.name), MAX_CELL_WIDTH),
            figure(compared.unit, compared.a.median),
            figure(compared.unit, compared.b.median),
            signed(compared.ratio),
            interval(compared),
        ]);
    }
    out.table(&table)?;
    let has_percentile = compared_side
        .figures
        .iter()
        .any(|figure| figure.is_of_committed());
    match has_percentile {
        true => out.paragraph(COMMITTED),
        false => Ok(()),
    }
}

fn differences(
    out: &mut Printer<'_>,
    differences: &[&Difference],
    sides: [&str; 2],
) -> io::Result<()> {
    let mut table = Table::new(&["", sides[0], sides[1]]);
    let mut reasons: Vec<&str> = Vec::new();
    for difference in differences {
        table.row(
            [&difference.what, &difference.a, &difference.b]
                .map(|text| cut(&plain(text), MAX_CELL_WIDTH)),
        );
        if !reasons.contains(&difference.why) {
            reasons.push(difference.why);
        }
    }
    out.table(&table)?;
    out.paragraph(&format!("Because {}.", reasons.join("; ")))
}

/// A figure with its unit, unless its name includes the unit.
pub(crate) fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Rate => units::rate(value),
        Unit::Nanoseconds => units::time(value),
    }
}

/// The interval of the change.
pub(crate) fn interval(compared: &FigureComparison) -> String {
    compared
        .significance
        .map_or("none".to_owned(), |significance| {
            format_interval(&significance)
        })
}

/// The change relative to the first side.
pub(crate) fn change(pair: &FigurePair) -> String {
    signed(pair.b / pair.a)
}

/// A ratio as a change: `+3.5 %`, `over +1,000 %`.
pub(crate) fn signed(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("{} %", sentence::format_change(ratio)),
        false => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests;
