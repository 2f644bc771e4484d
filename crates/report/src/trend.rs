//! The history of a workload's runs in a terminal.
//!
//! In: a [`Trend`]. Out: a drawing of the runs in their order with the median of each level, the changes with
//! what differs at each, the runs left out, and the method. Must never: draw a change that the trend does not
//! have.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::comparison::format_figure;
use crate::text::trend::{answer, change_text, method, minute, reasons, title};
use crate::text::{cut, plain};
use crate::units::count_of;
use prony_judge::trend::{LevelChange, Trend};
use prony_store::Answer;
use std::io::{self, Write};

/// Height of the drawing, in rows.
const HEIGHT: usize = 10;
/// Maximum number of differences that are listed for a change.
const MAX_DIFFERENCES: usize = 4;
/// Maximum number of reasons that are listed for runs left out; JSON has all of them.
const MAX_REASONS: usize = 8;

pub fn write(out: &mut dyn Write, style: &Style, trend: &Trend) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    out.wrapped(Style::bold, &answer(trend))?;
    out.wrapped(Style::dim, &title(trend))?;
    if !trend.runs.is_empty() {
        out.line("")?;
        drawing(trend, style.width)
            .iter()
            .try_for_each(|line| out.line(line))?;
        out.line("")?;
        write_changes(out, trend)?;
    }
    write_left_out(out, trend)?;
    out.line("")?;
    out.paragraph(&method(trend))
}

pub fn json(out: &mut dyn Write, trend: &Trend, answer: Option<&Answer>) -> io::Result<()> {
    let mut document = serde_json::to_value(trend)?;
    if let Some(answer) = answer {
        document["answer"] = serde_json::to_value(answer)?;
    }
    crate::json::write_pretty(out, &document)
}

/// The drawing: an `o` for each run, and a line at the median of each level. The runs are in order, at equal
/// distances; if there are more than columns, neighbours share one.
fn drawing(trend: &Trend, width: usize) -> Vec<String> {
    let values = || trend.runs.iter().map(|run| run.value);
    let lowest = values().fold(f64::INFINITY, f64::min);
    let highest = values().fold(0.0, f64::max);
    // Runs that are all alike are drawn in the middle, on an axis of 2 % of them.
    let margin = ((highest - lowest) * 0.05).max(highest * 0.01);
    let (low, high) = ((lowest - margin).max(0.0), highest + margin);
    let row_of = |value: f64| {
        let share = ((high - value) / (high - low)).clamp(0.0, 1.0);
        (share * (HEIGHT - 1) as f64).round() as usize
    };
    let label_of = |row: usize| {
        let share = row as f64 / (HEIGHT - 1) as f64;
        format_figure(trend.unit, high - share * (high - low))
    };
    let labels: Vec<String> = (0..HEIGHT)
        .map(|row| match row % 3 {
            0 => label_of(row),
            _ => String::new(),
        })
        .collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max();
    let label_width = label_width.unwrap_or(0);
    let count = trend.runs.len();
    let columns = width.saturating_sub(label_width + 4).max(1);
    // Few runs are spread, so that the levels are visible.
    let spread = (columns / count).clamp(1, 4);
    let used = columns.min(count * spread);
    let column_of = |index: usize| index * used / count;
    let mut cells = vec![vec![' '; used]; HEIGHT];
    for level in &trend.levels {
        let end = column_of(level.first + level.runs);
        cells[row_of(level.median)][column_of(level.first)..end].fill('─');
    }
    for (index, value) in values().enumerate() {
        cells[row_of(value)][column_of(index)] = 'o';
    }
    let mut lines: Vec<String> = cells
        .iter()
        .zip(&labels)
        .map(|(row, label)| {
            let row: String = row.iter().collect();
            format!("  {label:>label_width$} │{row}")
                .trim_end()
                .to_owned()
        })
        .collect();
    let numbers = change_numbers(trend, used, column_of);
    if !numbers.is_empty() {
        lines.push(format!("  {:label_width$}  {numbers}", ""));
    }
    lines
}

/// The number of each change below its first run; a number that has no space is left out.
fn change_numbers(trend: &Trend, used: usize, column_of: impl Fn(usize) -> usize) -> String {
    let mut line = String::new();
    for (number, change) in trend.changes.iter().enumerate() {
        let (column, text) = (column_of(change.index), (number + 1).to_string());
        if column >= line.len() && column + text.len() <= used.max(column + 1) {
            line = format!("{line:column$}{text}");
        }
    }
    line
}

fn write_changes(out: &mut Printer<'_>, trend: &Trend) -> io::Result<()> {
    if trend.changes.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["change", "from", "old", "new", ""]).with_texts(&["first run"]);
    for (number, change) in trend.changes.iter().enumerate() {
        let run = &trend.runs[change.index];
        let level_of = |index: usize| trend.levels.get(index).map_or(0.0, |level| level.median);
        table.row([
            (number + 1).to_string(),
            minute(&run.started_at),
            format_figure(trend.unit, level_of(number)),
            format_figure(trend.unit, level_of(number + 1)),
            change_text(change),
            plain(&run.run),
        ]);
        for line in difference_lines(change) {
            table.below(cut(&format!("       {line}"), out.style.width));
        }
    }
    out.table(&table)
}

/// What differs at a change, the worst first.
fn difference_lines(change: &LevelChange) -> Vec<String> {
    let all = &change.differences;
    let mut lines: Vec<String> = all
        .iter()
        .take(MAX_DIFFERENCES)
        .map(|found| {
            let [a, b] = [&found.a, &found.b].map(|text| cut(&plain(text), 28));
            format!("{}: {a} → {b}", plain(&found.what))
        })
        .collect();
    match all.len().saturating_sub(MAX_DIFFERENCES) {
        0 if lines.is_empty() => lines.push("no difference is known".to_owned()),
        0 => {}
        more => lines.push(format!(
            "and {more} more: prony compare of both runs lists them"
        )),
    }
    lines
}

/// Writes how many runs are left out, and why.
fn write_left_out(out: &mut Printer<'_>, trend: &Trend) -> io::Result<()> {
    if trend.left_out.is_empty() {
        return Ok(());
    }
    let count = count_of(trend.left_out.len() as u64, "run");
    out.heading(&format!(
        "Not comparable with {} and left out: {count}",
        plain(&trend.reference)
    ))?;
    let reasons = reasons(trend);
    for (reason, runs) in reasons.iter().take(MAX_REASONS) {
        let reason = plain(reason);
        let text = match &runs[..] {
            [only] => format!("{reason} ({})", plain(only)),
            [newest, ..] => format!("{reason} ({} runs, such as {})", runs.len(), plain(newest)),
            [] => reason,
        };
        out.item("- ", 2, &text)?;
    }
    match reasons.len().saturating_sub(MAX_REASONS) {
        0 => Ok(()),
        more => out.paragraph(&format!("and {more} more reasons: --json lists all.")),
    }
}

#[cfg(test)]
pub(crate) mod tests;
