//! Tables with aligned columns.
//!
//! In: rows of cells. Out: lines, the first column left-aligned and the others right-aligned unless
//! marked otherwise. Must never: cut a cell.

use crate::style::Style;
use std::io::{self, Write};

/// A table with a header line.
pub struct Table {
    left_aligned: Vec<bool>,
    rows: Vec<Vec<String>>,
    /// Lines below rows, with the index of the row; they do not affect column widths.
    below: Vec<(usize, String)>,
}

impl Table {
    /// Creates a table with this header. The first column and each column with a title that ends in `<`
    /// (not printed) are left-aligned.
    pub fn new(header: &[&str]) -> Table {
        let left_aligned = header
            .iter()
            .enumerate()
            .map(|(i, title)| i == 0 || title.ends_with('<'))
            .collect();
        let titles = header
            .iter()
            .map(|title| title.trim_end_matches('<').to_owned())
            .collect();
        Table {
            left_aligned,
            rows: vec![titles],
            below: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a line below the last row.
    pub fn below(&mut self, line: String) {
        self.below.push((self.rows.len() - 1, line));
    }

    /// Whether the table has no rows below the header.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Writes the table, each line indented by `indent` characters and without trailing spaces.
    pub fn write(&self, out: &mut dyn Write, style: &Style, indent: usize) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.left_aligned.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = " ".repeat(indent);
            for (column, cell) in row.iter().enumerate() {
                let gap = " ".repeat(widths[column] - cell.chars().count());
                if column > 0 {
                    line.push_str("  ");
                }
                if self.left_aligned[column] {
                    line.push_str(cell);
                    line.push_str(&gap);
                } else {
                    line.push_str(&gap);
                    line.push_str(cell);
                }
            }
            let line = line.trim_end();
            if number == 0 {
                writeln!(out, "{}", style.dim(line))?;
            } else {
                writeln!(out, "{line}")?;
            }
            for (_, line) in self.below.iter().filter(|(row, _)| *row == number) {
                writeln!(out, "{}{}", " ".repeat(indent), style.dim(line))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_characters() {
        let mut table = Table::new(&["kind", "p50", "note<"]);
        table.row(["all".into(), "1.23 ms".into(), "x".into()]);
        table.row(["µ".into(), "5 µs".into()]);
        let mut out = Vec::new();
        table.write(&mut out, &Style::plain(), 2).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "  kind      p50  note\n  all   1.23 ms  x\n  µ        5 µs\n"
        );
    }
}
