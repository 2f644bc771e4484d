//! Three or more sides in a terminal: one table with a row for each side, and the differences that matter.
//!
//! In: `judge`'s comparison. Out: at most a screen for four sides. Must never: give a ratio for a side that is not
//! comparable, or hide why it is not.

use super::{COMMITTED, MAX_CELL_CHARS};
use crate::printer::Printer;
use crate::table::Table;
use crate::text::comparison::{change_interval_text, format_figure, ratio_as_change};
use crate::text::{cut, plain};
use crate::units::{self, count_with_noun};
use prony_judge::compare::sides::{
    FigureComparison, FigureSample, SideComparison, SideSummary, SidesComparison,
};
use prony_judge::compare::{Difference, Verdict};
use prony_judge::formatting::first_and_more;
use prony_store::Severity;
use std::io;

/// Maximum number of differences of one side that are listed.
const MAX_DIFFERENCES: usize = 3;

/// Writes the table, the reasons of sides that are not comparable, and the caveats.
pub(super) fn write(out: &mut Printer<'_>, comparison: &SidesComparison) -> io::Result<()> {
    write_table(out, comparison)?;
    let sides = &comparison.side_comparisons;
    for side in sides {
        let (severity, kind) = match side.verdict {
            Verdict::NotComparable => (Severity::Invalid, "not comparable"),
            _ => (Severity::Caveat, "caveat"),
        };
        // A difference of all sides is written once, below.
        let is_own = |found: &&Difference| found.severity == severity && !is_of_all(sides, found);
        let differences: Vec<&Difference> = side.differences.iter().filter(is_own).collect();
        if !differences.is_empty() {
            let label = plain(&side.labels[1]);
            out.paragraph(&format!("{label}: {kind}: {}.", describe(&differences)))?;
        }
    }
    if let Some(first) = sides.first() {
        let shared = first.differences.iter().filter(|difference| {
            difference.severity > Severity::Note && is_of_all(sides, difference)
        });
        let shared: Vec<&Difference> = shared.collect();
        if !shared.is_empty() {
            let label = plain(&first.labels[0]);
            out.paragraph(&format!("All against {label}: {}.", describe(&shared)))?;
        }
    }
    let differences = sides.iter().flat_map(|side| &side.differences);
    let notes = differences.filter(|difference| difference.severity == Severity::Note);
    match notes.count() as u64 {
        0 => Ok(()),
        number => out.paragraph(&format!(
            "{}: --json lists them, and so does a comparison of two sides.",
            count_with_noun(number, "note on differences", "notes on differences")
        )),
    }
}

/// Whether all sides differ from the first in the same way.
fn is_of_all(sides: &[SideComparison], difference: &Difference) -> bool {
    let mut sides = sides.iter();
    sides.all(|side| side.differences.contains(difference))
}

fn describe(differences: &[&Difference]) -> String {
    let texts = differences.iter().map(|difference| {
        let [what, a, b] = [&difference.what, &difference.a, &difference.b]
            .map(|text| cut(&plain(text), MAX_CELL_CHARS));
        format!("{what} {b}, not {a} ({})", difference.why)
    });
    first_and_more(&texts.collect::<Vec<_>>(), MAX_DIFFERENCES, "; ")
}

fn write_table(out: &mut Printer<'_>, comparison: &SidesComparison) -> io::Result<()> {
    let with_figures = |side: &&SideComparison| !side.figures.is_empty();
    let Some(example) = comparison.side_comparisons.iter().find(with_figures) else {
        return Ok(());
    };
    let headline = comparison.headline_figures(example);
    let [primary, others @ ..] = &headline[..] else {
        return Ok(());
    };
    let label = |side: &SideSummary| plain(&side.label);
    let names: Vec<String> = headline.iter().map(|figure| plain(&figure.name)).collect();
    let mut titles = vec!["", "runs", &*names[0], "change", "interval"];
    for name in &names[1..] {
        titles.extend([name.as_str(), "change"]);
    }
    let mut table = Table::new(&titles);
    let runs = |side: &SideSummary| units::count(side.runs.len() as u64);
    let value = |figure: &FigureComparison, sample: &FigureSample| {
        format_figure(figure.unit, sample.median)
    };
    let first = &comparison.sides[0];
    let mut row = vec![label(first), runs(first), value(primary, &primary.a)];
    row.extend([String::new(), String::new()]);
    for figure in others {
        row.extend([value(figure, &figure.a), String::new()]);
    }
    table.row(row);
    for (summary, side) in comparison.sides[1..]
        .iter()
        .zip(&comparison.side_comparisons)
    {
        let mut row = vec![label(summary), runs(summary)];
        let figures = comparison.headline_figures(side);
        for (index, name) in names.iter().enumerate() {
            let found = figures.iter().find(|figure| plain(&figure.name) == *name);
            let change = found.map(|figure| ratio_as_change(figure.ratio));
            row.push(found.map_or_else(dash, |figure| value(figure, &figure.b)));
            row.push(change.unwrap_or_else(dash));
            if index == 0 {
                row.push(found.map_or_else(dash, |figure| change_interval_text(figure)));
            }
        }
        table.row(row);
    }
    out.line("")?;
    out.table(&table)?;
    if headline.iter().any(|figure| figure.is_of_committed()) {
        out.paragraph(COMMITTED)?;
    }
    Ok(())
}

fn dash() -> String {
    "–".to_owned()
}
