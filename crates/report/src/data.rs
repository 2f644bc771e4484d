//! The tables of a workload: findings of checks, and sizes.
//!
//! Must never: evaluate the values.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::text::plain;
use crate::units::{self, bytes, count, or_dash};
use prony_store::{ConsistencyFinding, FindingState, TableFacts};
use std::io::{self, Write};

pub fn write_findings(
    out: &mut dyn Write,
    style: &Style,
    findings: &[ConsistencyFinding],
) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    for finding in findings {
        let label = match finding.state {
            FindingState::Ok => "ok   ".to_owned(),
            FindingState::Note => style.caution("note "),
            FindingState::Wrong => style.alarm("WRONG"),
        };
        let text = format!("{}: {}", plain(&finding.id), plain(&finding.text));
        out.item(&format!("{label}  "), 7, &text)?;
    }
    Ok(())
}

pub fn write_table_sizes(
    out: &mut dyn Write,
    style: &Style,
    tables: &[TableFacts],
) -> io::Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    // A table with rows has a size, so zeros mean that the server does not report it.
    let any = |is_reported: &dyn Fn(&TableFacts) -> bool| tables.iter().any(is_reported);
    let has_sizes = any(&|table| table.table_bytes > 0 || table.index_bytes > 0);
    let is_empty = !any(&|table| table.rows > 0);
    // Only PostgreSQL reports dead rows and marks pages.
    let has_dead_rows = any(&|table| table.dead_rows > 0 || table.all_visible_share.is_some());
    let shown = [
        ("table", true),
        ("rows", true),
        ("size", has_sizes || is_empty),
        ("indexes", has_sizes || is_empty),
        ("dead rows", has_dead_rows),
        ("all-visible", has_dead_rows),
    ];
    let select = |cells: Vec<String>| {
        let cells = cells.into_iter().zip(shown);
        cells.filter_map(|(cell, (_, is_shown))| is_shown.then_some(cell))
    };
    let headings: Vec<&str> = shown
        .iter()
        .filter_map(|(heading, is_shown)| is_shown.then_some(*heading))
        .collect();
    let mut columns = Table::new(&headings);
    let mut total = TableFacts {
        name: "all".to_owned(),
        ..TableFacts::default()
    };
    let cells = |size: &TableFacts| {
        vec![
            plain(&size.name),
            count(size.rows),
            bytes(size.table_bytes),
            bytes(size.index_bytes),
            count(size.dead_rows),
        ]
    };
    for table in tables {
        let mut row = cells(table);
        row.push(or_dash(table.all_visible_share, units::percent));
        columns.row(select(row));
        total.rows += table.rows;
        total.table_bytes += table.table_bytes;
        total.index_bytes += table.index_bytes;
        total.dead_rows += table.dead_rows;
    }
    if tables.len() > 1 {
        // The total has no cell for a share of all-visible pages.
        columns.row(select(cells(&total)));
    }
    writeln!(out)?;
    columns.write(out, style, 2)?;
    match tables.iter().find_map(|table| table.sizes_unknown.as_ref()) {
        Some(reason) => writeln!(out, "  sizes not read: {}", plain(reason)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::written;
    use prony_assertions::TextAssertions;

    #[test]
    fn wrong_findings_stand_out_without_colour() {
        let wrong = [ConsistencyFinding {
            state: FindingState::Wrong,
            id: "accounts-rows".into(),
            text: "99 rows, expected 100".into(),
        }];
        let mut out = Vec::new();
        write_findings(&mut out, &Style::plain(), &wrong).unwrap();
        assert_eq!(out, b"  WRONG  accounts-rows: 99 rows, expected 100\n");
    }

    #[test]
    fn sizes_are_summed() {
        let table = |name: &str| TableFacts {
            name: name.into(),
            rows: 600,
            table_bytes: 1_500_000,
            index_bytes: 500_000,
            ..TableFacts::default()
        };
        let text =
            written(|out| write_table_sizes(out, &Style::plain(), &[table("a"), table("b")]));
        text.assert_contains("1,200");
        text.assert_contains("3.0 MB").assert_contains("1.0 MB");
        text.assert_lacks("dead rows");
    }

    #[test]
    fn only_what_the_server_reports_is_shown() {
        let headings = |table: TableFacts| {
            let text = written(|out| write_table_sizes(out, &Style::plain(), &[table]));
            let line = text.lines().find(|line| line.contains("table")).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let without_sizes = TableFacts {
            rows: 600,
            ..TableFacts::default()
        };
        assert_eq!(headings(without_sizes.clone()), "table rows");
        assert_eq!(headings(TableFacts::default()), "table rows size indexes");
        let on_postgres = TableFacts {
            table_bytes: 8_192,
            all_visible_share: Some(1.0),
            ..without_sizes
        };
        assert_eq!(
            headings(on_postgres),
            "table rows size indexes dead rows all-visible"
        );
    }
}
