//! Text for a terminal: headings, paragraphs and lists that fit its width.
//!
//! In: text without control characters. Out: lines. Must never: cut a word.

use crate::style::Style;
use crate::table::Table;
use crate::text::wrap;
use std::fmt::Display;
use std::io::{self, Write};

/// Writes formatted text to a stream in its style.
pub(crate) struct Printer<'a> {
    out: &'a mut dyn Write,
    pub style: &'a Style,
}

impl<'a> Printer<'a> {
    /// Creates a printer on `out`.
    pub fn new(out: &'a mut dyn Write, style: &'a Style) -> Printer<'a> {
        Printer { out, style }
    }

    /// Writes one line without wrapping it.
    pub fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// Writes text wrapped to the full width, each line formatted by `format`, such as [`Style::bold`].
    pub fn wrapped(&mut self, format: fn(&Style, &str) -> String, text: &str) -> io::Result<()> {
        for line in wrap(text, self.style.width) {
            writeln!(self.out, "{}", format(self.style, &line))?;
        }
        Ok(())
    }

    /// Writes an empty line and a heading.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        self.wrapped(Style::bold, text)
    }

    pub fn paragraph(&mut self, text: &str) -> io::Result<()> {
        self.item("", 0, text)
    }

    pub fn paragraphs(&mut self, texts: impl IntoIterator<Item: AsRef<str>>) -> io::Result<()> {
        let mut texts = texts.into_iter();
        texts.try_for_each(|text| self.paragraph(text.as_ref()))
    }

    /// Writes indented, wrapped text after a label of `columns` characters, not counting escape codes; later
    /// lines are indented by the same width.
    pub fn item(&mut self, label: &str, columns: usize, text: &str) -> io::Result<()> {
        let lines = wrap(text, self.style.width.saturating_sub(columns + 2));
        for (row, line) in lines.iter().enumerate() {
            match row {
                0 => writeln!(self.out, "  {label}{line}")?,
                _ => writeln!(self.out, "  {:columns$}{line}", "")?,
            }
        }
        Ok(())
    }

    /// Writes items with names in a column of `columns` characters.
    pub fn named(&mut self, columns: usize, items: &[(&str, String)]) -> io::Result<()> {
        for (name, text) in items {
            let name = self.style.dim(&format!("{name:<columns$}"));
            self.item(&name, columns, text)?;
        }
        Ok(())
    }

    pub fn table(&mut self, table: &Table) -> io::Result<()> {
        table.write(self.out, self.style, 2)
    }
}
