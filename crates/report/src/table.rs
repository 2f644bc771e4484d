//! Tables of a terminal and of a page.
//!
//! In: rows of cells. Out: on a terminal lines, with texts left-aligned and numbers right-aligned; `html::table` writes the
//! same table into a page. Must never: cut a cell.

use crate::style::Style;
use crate::text::wrap;
use std::io::{self, Write};

struct Column {
    title: String,
    /// Whether its cells are texts; otherwise they are numbers.
    is_text: bool,
}

pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Lines below rows, with the index of the row; they do not affect column widths.
    below: Vec<(usize, String)>,
}

impl Table {
    /// Creates a table with a first column of texts; the other columns have numbers.
    pub fn new(titles: &[&str]) -> Table {
        let table = Table {
            columns: Vec::new(),
            rows: Vec::new(),
            below: Vec::new(),
        };
        match titles {
            [] => table,
            [first, others @ ..] => table.with_texts(&[first]).with_numbers(others),
        }
    }

    #[must_use]
    pub fn with_texts(self, titles: &[&str]) -> Table {
        self.with_columns(titles, true)
    }

    #[must_use]
    pub fn with_numbers(self, titles: &[&str]) -> Table {
        self.with_columns(titles, false)
    }

    fn with_columns(mut self, titles: &[&str], is_text: bool) -> Table {
        self.columns.extend(titles.iter().map(|title| Column {
            title: (*title).to_owned(),
            is_text,
        }));
        self
    }

    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.title.as_str())
    }

    /// Whether the cells of each column are texts.
    pub fn are_texts(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().map(|column| column.is_text)
    }

    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a row with texts behind its name, which are wrapped to `width` characters.
    pub fn wrapped_row(&mut self, name: &str, texts: &[String], width: usize) {
        let texts = texts.iter().map(|text| wrap(text, width));
        let texts: Vec<Vec<String>> = texts.collect();
        let lines = texts.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..lines.max(1) {
            let name = if line == 0 { name } else { "" };
            let texts = texts.iter();
            let texts = texts.map(|text| text.get(line).cloned().unwrap_or_default());
            self.row(std::iter::once(name.to_owned()).chain(texts));
        }
    }

    /// Adds a line below the last row.
    pub fn below(&mut self, line: String) {
        self.below.push((self.rows.len().saturating_sub(1), line));
    }

    /// Whether the table has no rows below the header.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes the table, each line indented by `indent` characters and without trailing spaces.
    pub fn write(&self, out: &mut dyn Write, style: &Style, indent: usize) -> io::Result<()> {
        let titles: Vec<String> = self.titles().map(str::to_owned).collect();
        let widths: Vec<usize> = (0..titles.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let cells = cells.chain(titles.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let format_row = |cells: &[String]| {
            let mut line = " ".repeat(indent);
            for (index, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                if index > 0 {
                    line.push_str("  ");
                }
                line += &if self.columns[index].is_text {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                };
            }
            line.trim_end().to_owned()
        };
        writeln!(out, "{}", style.dim(&format_row(&titles)))?;
        for (index, row) in self.rows.iter().enumerate() {
            writeln!(out, "{}", format_row(row))?;
            for (_, line) in self.below.iter().filter(|(row, _)| *row == index) {
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
        let mut table = Table::new(&["kind", "p50"]).with_texts(&["note"]);
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
