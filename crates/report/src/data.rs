//! The tables of a workload: what a check found, how large they are.
//!
//! In: plain values of the workload room, which this one does not know. Out: lines and a table.
//! Must never: judge.

use crate::style::Style;
use crate::table::Table as Columns;
use crate::text::{plain, wrap};
use crate::units;
use std::io::{self, Write};

/// How a thing that was looked at stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should.
    Ok,
    /// Worth knowing.
    Note,
    /// Not as it should.
    Wrong,
}

/// One thing that a check looked at.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How it stands.
    pub state: State,
    /// Short stable name.
    pub id: String,
    /// In words, with figures.
    pub text: String,
}

/// One table of the database.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Without its indexes, bytes.
    pub table_bytes: u64,
    /// Its indexes, bytes.
    pub index_bytes: u64,
    /// Dead rows, by the server's statistics.
    pub dead_rows: u64,
    /// Share of its pages that are marked all-visible, 0 to 1; absent for an empty table.
    pub all_visible: Option<f64>,
}

/// Writes what was found, in its order.
pub fn findings(out: &mut dyn Write, style: &Style, findings: &[Finding]) -> io::Result<()> {
    for finding in findings {
        let label = match finding.state {
            State::Ok => "ok   ".to_owned(),
            State::Note => style.caution("note "),
            State::Wrong => style.alarm("WRONG"),
        };
        let text = format!("{}: {}", plain(&finding.id), plain(&finding.text));
        for (row, line) in wrap(&text, style.width - 9).iter().enumerate() {
            let label = if row == 0 { &label } else { "     " };
            writeln!(out, "  {label}  {line}")?;
        }
    }
    Ok(())
}

/// Writes the sizes, with their sum where there are several.
pub fn tables(out: &mut dyn Write, style: &Style, tables: &[Table]) -> io::Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let mut columns = Columns::new(&[
        "table",
        "rows",
        "size",
        "indexes",
        "dead rows",
        "all-visible",
    ]);
    for table in tables {
        columns.row([
            plain(&table.name),
            units::count(table.rows),
            units::bytes(table.table_bytes),
            units::bytes(table.index_bytes),
            units::count(table.dead_rows),
            table.all_visible.map_or("–".into(), units::percent),
        ]);
    }
    if tables.len() > 1 {
        let sum = |of: fn(&Table) -> u64| tables.iter().map(of).sum();
        columns.row([
            "all".to_owned(),
            units::count(sum(|table| table.rows)),
            units::bytes(sum(|table| table.table_bytes)),
            units::bytes(sum(|table| table.index_bytes)),
            units::count(sum(|table| table.dead_rows)),
        ]);
    }
    writeln!(out)?;
    columns.write(out, style, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_stands_out_without_colour() {
        let found = [Finding {
            state: State::Wrong,
            id: "accounts-rows".into(),
            text: "99 rows, expected 100".into(),
        }];
        let mut out = Vec::new();
        findings(&mut out, &Style::plain(), &found).unwrap();
        assert_eq!(out, b"  WRONG  accounts-rows: 99 rows, expected 100\n");
    }

    #[test]
    fn sizes_are_summed() {
        let table = |name: &str| Table {
            name: name.into(),
            rows: 600,
            table_bytes: 1_500_000,
            index_bytes: 500_000,
            ..Table::default()
        };
        let mut out = Vec::new();
        tables(&mut out, &Style::plain(), &[table("a"), table("b")]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("1,200"), "{text}");
        assert!(text.contains("3.0 MB") && text.contains("1.0 MB"), "{text}");
    }
}
