//! Views of scenarios: the list, and one in detail.
//!
//! In: plain values. Out: one table per group, or all details of one scenario. Must never: show a figure
//! without its source.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::cut;
use crate::text::scenario::NO_FIGURE_NOTE;
use crate::units::{self, or_dash};
use std::io::{self, Write};

/// Scenarios of one kind.
pub struct ScenarioGroup {
    /// The title of the group.
    pub title: String,
    pub rows: Vec<ScenarioRow>,
}

/// A row of the list: one scenario.
pub struct ScenarioRow {
    pub id: String,
    /// CPUs and memory of the machine, abbreviated: `16 CPUs, 128 GB`.
    pub machine: String,
    /// Scale with its unit, abbreviated.
    pub data: String,
    pub clients: Option<u64>,
    /// The name and value of the main figure: `NOPM`, `428,316`.
    pub figure: Option<(String, String)>,
    /// The document that published the figures.
    pub source: String,
}

/// A suite in the list: scenarios of a document that are run together.
pub struct SuiteRow {
    pub id: String,
    /// Number of its rows.
    pub rows: u64,
    pub title: String,
    /// The document that published the figures.
    pub source: String,
}

/// Writes a table for each group, and one of the suites.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_list(
    out: &mut dyn Write,
    style: &Style,
    groups: &[ScenarioGroup],
    suites: &[SuiteRow],
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            out.line("")?;
        }
        write_group(out, group)?;
    }
    if !suites.is_empty() {
        out.heading("Suites: the rows of a document, run one after another")?;
        let mut table = Table::new(&["id", "rows"]).with_texts(&["what", "source"]);
        for suite in suites {
            table.row([
                suite.id.clone(),
                units::count(suite.rows),
                suite.title.clone(),
                suite.source.clone(),
            ]);
        }
        out.table(&table)?;
    }
    out.line("")?;
    out.wrapped(
        Style::dim,
        "prony scenarios ID shows one in full; prony reproduce ID --url URL runs it. The figures are from \
         the named documents.",
    )
}

fn write_group(out: &mut Printer<'_>, group: &ScenarioGroup) -> io::Result<()> {
    out.line(out.style.bold(&group.title))?;
    let mut table = Table::new(&["id"])
        .with_texts(&["machine", "data"])
        .with_numbers(&["clients", "published", ""])
        .with_texts(&["source"]);
    for row in &group.rows {
        let figure = row.figure.as_ref();
        table.row([
            row.id.clone(),
            row.machine.clone(),
            row.data.clone(),
            or_dash(row.clients, units::count),
            or_dash(figure, |(_, value)| value.clone()),
            figure.map_or(String::new(), |(name, _)| name.clone()),
            row.source.clone(),
        ]);
    }
    out.table(&table)
}

/// Writes the rows of a suite in their order, with its source and its notes.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_suite(
    out: &mut dyn Write,
    style: &Style,
    group: &ScenarioGroup,
    id: &str,
    source: &str,
    notes: &[String],
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    write_group(out, group)?;
    out.paragraph(&format!("Source: {source}."))?;
    out.paragraphs(notes.iter().cloned())?;
    out.line("")?;
    out.wrapped(
        Style::dim,
        &format!(
            "prony reproduce {id} --url URL runs all of them; with --estimate, it only says how long that takes."
        ),
    )
}

pub struct ScenarioDetails {
    pub id: String,
    /// Title, one line.
    pub title: String,
    /// Facts: name and value.
    pub facts: Vec<(&'static str, String)>,
    /// Figures: name, value, unit.
    pub figures: Vec<(String, String, String)>,
    /// Title of the document, and the section or page in it.
    pub source: String,
    /// Remarks.
    pub notes: Vec<String>,
    /// The steps of a reproduction, in order.
    pub steps: Vec<String>,
    /// The same steps as commands.
    pub commands: Vec<String>,
    /// A script that the commands need: its file name and its text.
    pub script: Option<(String, String)>,
}

pub fn write_details(
    out: &mut dyn Write,
    style: &Style,
    scenario: &ScenarioDetails,
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    out.line(style.bold(&scenario.id))?;
    out.wrapped(Style::dim, &scenario.title)?;
    out.line("")?;
    let widest = scenario.facts.iter().map(|(name, _)| name.len()).max();
    let columns = widest.unwrap_or(0) + 2;
    for (name, value) in &scenario.facts {
        out.item(&format!("{name:columns$}"), columns, value)?;
    }
    out.heading("Published")?;
    if scenario.figures.is_empty() {
        out.paragraph(NO_FIGURE_NOTE)?;
    } else {
        let mut table = Table::new(&["", ""]).with_texts(&[""]);
        for (name, value, unit) in &scenario.figures {
            table.row([name.clone(), value.clone(), unit.clone()]);
        }
        out.table(&table)?;
    }
    out.paragraph(&format!("Source: {}.", scenario.source))?;
    scenario
        .notes
        .iter()
        .try_for_each(|note| out.paragraph(note))?;
    if !scenario.steps.is_empty() {
        out.heading("What prony reproduce does")?;
        for (number, step) in scenario.steps.iter().enumerate() {
            let number = format!("{}.", number + 1);
            out.item(&format!("{number:<3}"), 3, step)?;
        }
    }
    if !scenario.commands.is_empty() {
        out.heading("The same commands by hand")?;
        for command in &scenario.commands {
            out.line(format!("  {command}"))?;
        }
    }
    if let Some((file, text)) = &scenario.script {
        out.heading(file)?;
        for line in text.lines() {
            out.line(format!("  {}", cut(line, 200)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;

    #[test]
    fn each_row_of_the_list_has_figure_and_source() {
        let row = |figure| ScenarioRow {
            id: "tpcb-cached".to_owned(),
            machine: "16 CPUs, 128 GB".to_owned(),
            data: "4,000 branches".to_owned(),
            clients: Some(256),
            figure,
            source: "AlloyDB-2023".to_owned(),
        };
        let groups = [ScenarioGroup {
            title: "pgbench".to_owned(),
            rows: vec![
                row(Some(("TPS".to_owned(), "20,359".to_owned()))),
                row(None),
            ],
        }];
        let suites = [SuiteRow {
            id: "alloydb-16".to_owned(),
            rows: 5,
            title: "all of it".to_owned(),
            source: "AlloyDB-2023".to_owned(),
        }];
        let shown = written(|out| write_list(out, &Style::plain(), &groups, &suites));
        shown.assert_contains("  alloydb-16     5  all of it  AlloyDB-2023\n");
        let lines: Vec<&str> = shown.lines().collect();
        lines[2].assert_contains("20,359  TPS");
        lines[2].assert_contains("AlloyDB-2023");
        assert!(lines[3].contains('–'), "{shown}");
    }

    #[test]
    fn details_show_steps_commands_and_script() {
        let scenario = ScenarioDetails {
            id: "x".to_owned(),
            title: "a title".to_owned(),
            facts: vec![
                ("machine", "16 CPUs".to_owned()),
                ("data", "much".to_owned()),
            ],
            figures: vec![("TPS", "1.50", "transactions/s")]
                .into_iter()
                .map(|(name, value, unit)| (name.to_owned(), value.to_owned(), unit.to_owned()))
                .collect(),
            source: "a document: a page".to_owned(),
            notes: vec!["a note".to_owned()],
            steps: vec!["load".to_owned(), "run".to_owned()],
            commands: vec!["prony load tpcb".to_owned()],
            script: Some(("a.sql".to_owned(), "SELECT 1;\n".to_owned())),
        };
        let shown = written(|out| write_details(out, &Style::plain(), &scenario));
        for part in [
            "  machine  16 CPUs\n  data     much\n",
            "Source: a document: a page.",
            "  1. load\n  2. run\n",
            "  prony load tpcb\n",
            "a.sql\n  SELECT 1;\n",
        ] {
            shown.assert_contains(part);
        }
    }
}
