//! Columns that line up.
//!
//! In: rows of cells. Out: lines, the first column left-aligned and the others right-aligned unless
//! said otherwise. Must never: cut a cell.

use crate::style::Style;
use std::io::{self, Write};

/// A table with a header line.
pub struct Table {
    left: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this header; a column whose title ends in `<` is left-aligned (the sign is not
    /// shown), and so is the first.
    pub fn new(header: &[&str]) -> Table {
        let left = header
            .iter()
            .enumerate()
            .map(|(i, title)| i == 0 || title.ends_with('<'))
            .collect();
        let titles = header
            .iter()
            .map(|title| title.trim_end_matches('<').to_owned())
            .collect();
        Table {
            left,
            rows: vec![titles],
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no row below its header.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Writes it, each line indented by `indent` characters and without trailing spaces.
    pub fn write(&self, out: &mut dyn Write, style: &Style, indent: usize) -> io::Result<()> {
        let widths: Vec<usize> = (0..self.left.len())
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
                if self.left[column] {
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
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_characters() {
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
