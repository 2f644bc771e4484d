//! Two or more sides of runs, each against the first.
//!
//! In: documents, and what `judge` made of them. Out: the verdict, then how the sides differ and what
//! chance explains of it, then what is to be weighed, and the figures: for a person, as JSON, as Markdown
//! or as JUnit's XML. Must never: print a ratio that the verdict forbids, or call a difference certain
//! that rests on single runs.

mod json;
mod junit;
mod markdown;
mod sentence;

pub use json::write as json;
pub use junit::write as junit;
pub use markdown::write as markdown;
pub(crate) use sentence::{ONE_RUN_EACH, sentence};
use sentence::{between, caution, headings, no_ratio, told};

use crate::style::Style;
use crate::table::Table;
use crate::terminal::paragraph;
use crate::text::{cut, plain, wrap};
use crate::units;
use prony_judge::compare::sides::{Against, Contrast, Sides};
use prony_judge::compare::{Difference, Pair, Unit};
use prony_store::{Run, Severity};
use std::io::{self, Write};

/// The widest cell of a difference: long ones are cut, the document has them whole.
const CELL: usize = 28;

/// The longest line that names a run.
const LINE: usize = 95;

/// By how much a side may be slower than the first, as asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// A share of the first side's figure.
    pub allowed: f64,
    /// It is held only where the runs can tell that it is.
    pub surely: bool,
}

/// Severities with their headings, the worst first.
const HEADINGS: [(Severity, &str); 3] = [
    (Severity::Invalid, "Why not"),
    (Severity::Caveat, "To be weighed"),
    (Severity::Note, "To be known"),
];

/// What a run is of, in a line.
fn work(run: &Run) -> String {
    let workload = &run.workload;
    let settings: String = workload
        .settings
        .iter()
        .map(|one| format!(", {one}"))
        .collect();
    plain(&format!(
        "{}, scale {}, {}{settings}",
        workload.name,
        units::count(workload.scale.into()),
        units::counted(run.drive.clients.into(), "client", "clients"),
    ))
}

/// The name of a side: its variant, the id of its one run, or how many it has.
fn side_name(runs: &[&Run], variant: &str) -> String {
    let (variant, runs) = match runs {
        [only] if variant.is_empty() => return plain(&only.id),
        runs => (plain(variant), runs.len() as u64),
    };
    let runs = units::counted(runs, "run", "runs");
    match variant.is_empty() {
        true => runs,
        false => format!("{variant}, {runs}"),
    }
}

/// Writes it for a person. `runs` are the documents of each side.
pub fn write(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Vec<&Run>],
    found: &Sides,
    limit: Option<Limit>,
) -> io::Result<()> {
    writeln!(out, "{}", style.bold(&found.words()))?;
    for (side, runs) in found.sides.iter().zip(runs) {
        let what = runs.first().map_or(String::new(), |run| work(run));
        let line = format!("{}: {what}", side_name(runs, &side.name));
        writeln!(out, "  {}  {}", side.letter, cut(&line, LINE))?;
        if runs.len() > 1 {
            for line in wrap(&plain(&side.runs.join(", ")), LINE) {
                writeln!(out, "     {}", style.dim(&line))?;
            }
        }
    }
    let told = told(found, limit);
    if !told.is_empty() {
        writeln!(out)?;
    }
    for line in told {
        paragraph(out, style, &line)?;
    }
    for side in found.sides.iter().filter(|side| !side.unlike.is_empty()) {
        let heading = format!("The runs of {} are not repeats of one thing", side.letter);
        writeln!(out, "\n{}", style.bold(&heading))?;
        let like: Vec<&Difference> = side.unlike.iter().collect();
        differences(out, style, &like, ["one<", "another<"])?;
    }
    for one in &found.against {
        if found.against.len() > 1 {
            let heading = format!("{} against A: {}", one.letter, one.verdict.words());
            writeln!(out, "\n{}", style.bold(&heading))?;
        }
        against(out, style, one)?;
    }
    if let Some(no_ratio) = no_ratio(found) {
        writeln!(out, "\n  {no_ratio}: prony show has the figures of each.")?;
    }
    for note in caution(found) {
        writeln!(out)?;
        paragraph(out, style, &note)?;
    }
    Ok(())
}

fn against(out: &mut dyn Write, style: &Style, one: &Against) -> io::Result<()> {
    let second = format!("{}<", one.letter);
    for (severity, heading) in HEADINGS {
        let of_it = one.differences.iter();
        let of_it: Vec<&Difference> = of_it.filter(|one| one.severity == severity).collect();
        if !of_it.is_empty() {
            writeln!(out, "\n{}", style.bold(heading))?;
            differences(out, style, &of_it, ["A<", &second])?;
        }
    }
    if !one.figures.is_empty() {
        writeln!(out, "\n{}", style.bold("Figures"))?;
        figures(out, style, one)?;
    }
    Ok(())
}

fn differences(
    out: &mut dyn Write,
    style: &Style,
    of: &[&Difference],
    sides: [&str; 2],
) -> io::Result<()> {
    let mut table = Table::new(&["", sides[0], sides[1]]);
    for one in of {
        let cell = |text: &str| cut(&plain(text), CELL);
        table.row([cell(&one.what), cell(&one.a), cell(&one.b)]);
    }
    table.write(out, style, 2)?;
    let mut whys: Vec<&str> = Vec::new();
    for one in of {
        if !whys.contains(&one.why) {
            whys.push(one.why);
        }
    }
    for line in wrap(&format!("Because {}.", whys.join("; ")), 78) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

fn figures(out: &mut dyn Write, style: &Style, of: &Against) -> io::Result<()> {
    let [first, second, change] = headings(of);
    let mut table = Table::new(&["", &first, &second, &change, "interval"]);
    for one in &of.figures {
        table.row([
            cut(&plain(&one.name), CELL),
            figure(one.unit, one.a.median),
            figure(one.unit, one.b.median),
            signed(one.ratio),
            interval(one),
        ]);
    }
    table.write(out, style, 2)
}

/// A figure with its unit, as far as its name does not say it.
fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Rate => units::rate(value),
        Unit::Nanoseconds => units::time(value),
    }
}

/// From where to where the change may be.
fn interval(of: &Contrast) -> String {
    of.found.map_or("none".to_owned(), |found| between(&found))
}

/// How much more or less, of the first.
pub(crate) fn change(pair: &Pair) -> String {
    signed(pair.b / pair.a)
}

/// How much more or less a ratio is: `+3.5 %`, `over +1,000 %`.
pub(crate) fn signed(ratio: f64) -> String {
    match ratio.is_finite() {
        true => format!("{} %", sentence::in_percent(ratio)),
        false => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests;
