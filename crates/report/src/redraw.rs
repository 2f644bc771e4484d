//! Lines at the bottom of a terminal that are redrawn repeatedly.
//!
//! In: lines, the width of the terminal. Out: escape codes that replace the previous lines. Must never: be
//! used on a stream that is not a terminal; change a terminal mode, because the process can be killed at
//! any moment.

use crate::style::Style;
use crate::text::visible_width;
use crate::visible::visible_line;
use std::io::{self, Write};

/// The lines currently drawn on the terminal.
#[derive(Debug, Default)]
pub struct Redraw {
    /// Their widths, in characters.
    drawn_widths: Vec<usize>,
}

impl Redraw {
    /// Replaces the lines; the terminal is `columns` characters wide now.
    pub fn draw(
        &mut self,
        out: &mut dyn Write,
        lines: &[String],
        columns: usize,
        style: &Style,
    ) -> io::Result<()> {
        // Write each frame at once, so that a half-drawn frame is never visible.
        let old = self.rows(columns);
        let mut frame = cursor_up(old);
        self.drawn_widths.clear();
        for line in lines {
            let line = visible_line(line, style);
            self.drawn_widths.push(visible_width(&line));
            frame.push_str(ERASE_LINE);
            frame.push_str(&line);
            frame.push('\n');
        }
        frame.push_str(&erase_rows(old.saturating_sub(lines.len())));
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Removes the lines.
    pub fn clear(&mut self, out: &mut dyn Write, columns: usize) -> io::Result<()> {
        let old = self.rows(columns);
        let frame = cursor_up(old) + &erase_rows(old);
        self.drawn_widths.clear();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// The number of terminal rows that the lines take: a terminal that became narrower has wrapped the
    /// lines that no longer fit.
    fn rows(&self, columns: usize) -> usize {
        let rows = |width: &usize| width.div_ceil(columns.max(1)).max(1);
        self.drawn_widths.iter().map(rows).sum()
    }
}

/// Moves to the first column and erases the line (ECMA-48 EL).
const ERASE_LINE: &str = "\r\x1b[2K";

/// Moves up `rows` rows (ECMA-48 CUU).
fn cursor_up(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("\x1b[{rows}A"),
    }
}

/// Erases `rows` rows, starting with the current one, and returns to it. ED ("erase to the end of the
/// screen") is not used: if the view begins at the top of the screen, tmux treats ED as a cleared screen
/// and adds a copy to its history each time.
fn erase_rows(rows: usize) -> String {
    match rows {
        0 => String::new(),
        rows => format!("{ERASE_LINE}\n").repeat(rows) + &cursor_up(rows) + "\r",
    }
}

#[cfg(test)]
mod tests {
    use super::Redraw;
    use crate::style::Style;

    const PLAIN: Style = Style {
        color: false,
        terminal: true,
        width: 80,
        unicode: true,
    };

    #[test]
    fn a_hostile_line_cannot_move_the_cursor() {
        let (mut view, mut out) = (Redraw::default(), Vec::new());
        let lines = ["tpcb\x1b[2J\x1b]0;x\x07\n\x1b[1mb\tc\r".to_owned()];
        view.draw(&mut out, &lines, 80, &PLAIN).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = "tpcb\\x1b[2J\\x1b]0;x\\x07\\x0a\\x1b[1mb\\x09c\\x0d";
        assert_eq!(text, format!("\r\x1b[2K{line}\n"));
        // The escaped line takes one row.
        out = Vec::new();
        view.clear(&mut out, 80).unwrap();
        assert!(out.starts_with(b"\x1b[1A\r"), "{out:?}");
    }

    #[test]
    fn a_frame_replaces_exactly_the_lines_of_the_previous_frame() {
        let (mut view, mut out) = (Redraw::default(), Vec::new());
        view.draw(&mut out, &["a".into(), "b".into()], 80, &PLAIN)
            .unwrap();
        view.draw(&mut out, &["c".into()], 80, &PLAIN).unwrap();
        view.clear(&mut out, 80).unwrap();
        view.clear(&mut out, 80).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\r\x1b[2Ka\n\r\x1b[2Kb\n\
             \x1b[2A\r\x1b[2Kc\n\r\x1b[2K\n\x1b[1A\r\
             \x1b[1A\r\x1b[2K\n\x1b[1A\r"
        );
    }

    /// The content of a terminal of `columns` columns, row by row.
    fn screen(bytes: &[u8], columns: usize) -> Vec<String> {
        let (mut rows, mut row, mut column) = (vec![String::new()], 0_usize, 0);
        let mut characters = std::str::from_utf8(bytes).unwrap().chars();
        while let Some(c) = characters.next() {
            match c {
                // The terminal driver adds the carriage return.
                '\n' => (row, column) = (row + 1, 0),
                '\r' => column = 0,
                '\x1b' => {
                    let mut code = String::new();
                    while !code.ends_with(char::is_alphabetic) {
                        code.extend(characters.next());
                    }
                    match code.trim_start_matches('[').split_at(code.len() - 2) {
                        ("2", "K") => rows[row].clear(),
                        (up, "A") => row -= up.parse::<usize>().unwrap(),
                        // Weight and colour.
                        (_, command) => assert_eq!(command, "m", "{code}"),
                    }
                }
                c => {
                    if column == columns {
                        (row, column) = (row + 1, 0);
                    }
                    rows.resize(rows.len().max(row + 1), String::new());
                    rows[row].push(c);
                    column += 1;
                }
            }
            rows.resize(rows.len().max(row + 1), String::new());
        }
        rows
    }

    #[test]
    fn a_frame_is_removed_without_clearing_the_screen() {
        let (mut view, mut out) = (Redraw::default(), Vec::new());
        let long = "x".repeat(15);
        view.draw(&mut out, &[long, "b".into(), "c".into()], 20, &PLAIN)
            .unwrap();
        // In a narrower terminal, the line of one row takes two.
        let narrow = out.clone();
        view.draw(&mut out, &["d".into()], 20, &PLAIN).unwrap();
        assert_eq!(screen(&out, 20), ["d", "", "", ""]);
        view.clear(&mut out, 20).unwrap();
        out.extend(b"end\n");
        assert_eq!(screen(&out, 20)[0], "end");
        assert_eq!(screen(&narrow, 10)[..2], ["x".repeat(10), "x".repeat(5)]);
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains('J'), "{text:?}");
    }

    #[test]
    fn lines_wrapped_by_a_narrower_terminal_are_removed() {
        let (mut view, mut out) = (Redraw::default(), Vec::new());
        let colored = Style {
            color: true,
            ..PLAIN
        };
        let lines = ["x".repeat(79), "\x1b[1mshort\x1b[0m".into(), String::new()];
        view.draw(&mut out, &lines, 80, &colored).unwrap();
        out.clear();
        view.clear(&mut out, 40).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\x1b[4A"), "{text:?}");
        assert_eq!(text.matches("\x1b[2K").count(), 4, "{text:?}");
    }
}
