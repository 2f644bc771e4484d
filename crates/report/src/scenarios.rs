//! The scenarios that there are, and one of them whole.
//!
//! In: plain values. Out: a table in groups, or all that is known of one. Must never: show a figure
//! without its source.

use crate::style::Style;
use crate::table::Table;
use crate::terminal::{heading, paragraph};
use crate::text::{cut, wrap};
use crate::units;
use std::io::{self, Write};

/// Scenarios of one kind.
pub struct Group {
    /// What they have in common.
    pub title: String,
    /// They themselves.
    pub rows: Vec<Row>,
}

/// One scenario in a line.
pub struct Row {
    /// Its id.
    pub id: String,
    /// CPUs and memory of the machine, short: `16 CPUs, 128 GB`.
    pub machine: String,
    /// Scale with its unit, short.
    pub data: String,
    /// Clients.
    pub clients: Option<u64>,
    /// The leading figure with its name: `NOPM`, 428,316.
    pub figure: Option<(String, f64)>,
    /// The document.
    pub source: String,
}

/// Writes the list.
pub fn list(out: &mut dyn Write, style: &Style, groups: &[Group]) -> io::Result<()> {
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", style.bold(&group.title))?;
        let header = [
            "id",
            "machine<",
            "data<",
            "clients",
            "published",
            "",
            "source<",
        ];
        let mut table = Table::new(&header);
        for row in &group.rows {
            let (name, value) = match &row.figure {
                Some((name, value)) => (name.clone(), units::rate(*value)),
                None => (String::new(), "–".to_owned()),
            };
            table.row([
                row.id.clone(),
                row.machine.clone(),
                row.data.clone(),
                row.clients.map_or("–".to_owned(), units::count),
                value,
                name,
                row.source.clone(),
            ]);
        }
        table.write(out, style, 2)?;
    }
    writeln!(out)?;
    let more = "prony scenarios ID shows one whole; prony reproduce ID --url URL runs it. Figures are \
                those of the documents named.";
    for line in wrap(more, style.width) {
        writeln!(out, "{}", style.dim(&line))?;
    }
    Ok(())
}

/// All that is known of one scenario.
pub struct Whole {
    /// Its id.
    pub id: String,
    /// One line in words.
    pub title: String,
    /// What is known, name and value.
    pub facts: Vec<(&'static str, String)>,
    /// Figures: name, value, unit.
    pub figures: Vec<(String, f64, String)>,
    /// The document's title, and where in it.
    pub source: String,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// What is done, in order.
    pub steps: Vec<String>,
    /// The same as commands.
    pub commands: Vec<String>,
    /// A script that they need: its file and its text.
    pub script: Option<(String, String)>,
}

/// Writes it.
pub fn whole(out: &mut dyn Write, style: &Style, one: &Whole) -> io::Result<()> {
    writeln!(out, "{}", style.bold(&one.id))?;
    for line in wrap(&one.title, style.width) {
        writeln!(out, "{}", style.dim(&line))?;
    }
    writeln!(out)?;
    let widest = one.facts.iter().map(|(name, _)| name.len()).max();
    let indent = widest.unwrap_or(0) + 4;
    for (name, value) in &one.facts {
        for (number, line) in wrap(value, style.width - indent).iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            writeln!(out, "  {name:width$}{line}", width = indent - 2)?;
        }
    }
    heading(out, style, "Published")?;
    if one.figures.is_empty() {
        paragraph(out, style, "The document has no figure for this row.")?;
    } else {
        let mut table = Table::new(&["", "", "<"]);
        for (name, value, unit) in &one.figures {
            table.row([name.clone(), units::rate(*value), unit.clone()]);
        }
        table.write(out, style, 2)?;
    }
    paragraph(out, style, &format!("Source: {}.", one.source))?;
    for note in &one.notes {
        paragraph(out, style, note)?;
    }
    if !one.steps.is_empty() {
        heading(out, style, "What prony reproduce does")?;
        for (number, step) in one.steps.iter().enumerate() {
            for (row, line) in wrap(step, style.width - 5).iter().enumerate() {
                let number = if row == 0 {
                    format!("{}.", number + 1)
                } else {
                    String::new()
                };
                writeln!(out, "  {number:<3}{line}")?;
            }
        }
    }
    if !one.commands.is_empty() {
        heading(out, style, "The same by hand")?;
        for command in &one.commands {
            writeln!(out, "  {command}")?;
        }
    }
    if let Some((file, text)) = &one.script {
        heading(out, style, file)?;
        for line in text.lines() {
            writeln!(out, "  {}", cut(line, 200))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(view: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        view(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_list_has_figure_and_source_in_each_line() {
        let row = |figure| Row {
            id: "tpcb-cached".to_owned(),
            machine: "16 CPUs, 128 GB".to_owned(),
            data: "4,000 branches".to_owned(),
            clients: Some(256),
            figure,
            source: "AlloyDB-2023".to_owned(),
        };
        let groups = [Group {
            title: "pgbench".to_owned(),
            rows: vec![row(Some(("TPS".to_owned(), 20_359.0))), row(None)],
        }];
        let shown = text(|out| list(out, &Style::plain(), &groups));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines[2].contains("20,359  TPS") && lines[2].contains("AlloyDB-2023"),
            "{shown}"
        );
        assert!(lines[3].contains('–'), "{shown}");
    }

    #[test]
    fn one_is_shown_with_steps_commands_and_script() {
        let one = Whole {
            id: "x".to_owned(),
            title: "a title".to_owned(),
            facts: vec![
                ("machine", "16 CPUs".to_owned()),
                ("data", "much".to_owned()),
            ],
            figures: vec![("TPS".to_owned(), 1.5, "transactions/s".to_owned())],
            source: "a document: a page".to_owned(),
            notes: vec!["a note".to_owned()],
            steps: vec!["load".to_owned(), "run".to_owned()],
            commands: vec!["prony load tpcb".to_owned()],
            script: Some(("a.sql".to_owned(), "SELECT 1;\n".to_owned())),
        };
        let shown = text(|out| whole(out, &Style::plain(), &one));
        for part in [
            "  machine  16 CPUs\n  data     much\n",
            "Source: a document: a page.",
            "  1. load\n  2. run\n",
            "  prony load tpcb\n",
            "a.sql\n  SELECT 1;\n",
        ] {
            assert!(shown.contains(part), "{part:?}: {shown}");
        }
    }
}
