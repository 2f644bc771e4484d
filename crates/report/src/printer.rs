//! Text for a terminal: headings, paragraphs and lists that fit its width.
//!
//! In: text without control characters. Out: lines. Must never: cut a word.

use crate::style::Style;
use crate::table::Table;
use crate::text::wrap;
use std::fmt::Display;
use std::io::{self, Write};

/// A stream and its style.
pub(crate) struct Printer<'a> {
    out: &'a mut dyn Write,
    pub style: &'a Style,
}

impl<'a> Printer<'a> {
    pub fn new(out: &'a mut dyn Write, style: &'a Style) -> Printer<'a> {
        Printer { out, style }
    }

    /// One line, however long.
    pub fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    /// Writes lines over the whole width, each in this look, such as [`Style::bold`].
    pub fn wrapped(&mut self, look: fn(&Style, &str) -> String, text: &str) -> io::Result<()> {
        for line in wrap(text, self.style.width) {
            writeln!(self.out, "{}", look(self.style, &line))?;
        }
        Ok(())
    }

    /// An empty line, and a title.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line("")?;
        self.wrapped(Style::bold, text)
    }

    /// Indented lines.
    pub fn paragraph(&mut self, text: &str) -> io::Result<()> {
        self.item("", 0, text)
    }

    /// Indented lines after a label that takes `columns` without its escape codes; later lines are
    /// indented by the same width.
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

    /// One item per text, each after a name `columns` wide.
    pub fn named(&mut self, columns: usize, items: &[(&str, String)]) -> io::Result<()> {
        for (name, text) in items {
            let name = self.style.dim(&format!("{name:<columns$}"));
            self.item(&name, columns, text)?;
        }
        Ok(())
    }

    /// An indented table.
    pub fn table(&mut self, table: &Table) -> io::Result<()> {
        table.write(self.out, self.style, 2)
    }
}
