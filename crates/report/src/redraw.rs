//! Lines at the bottom of a terminal that are redrawn repeatedly.
//!
//! In: lines, the size of the terminal. Out: escape codes that replace the previous lines. Must never: be
//! used on a stream that is not a terminal; change a terminal mode, because the process can be killed at
//! any moment.

use crate::style::{Size, Style};
use crate::text::visible_width;
use crate::visible::visible_line;
use std::io::{self, Write};

/// A stream with lines that are redrawn, and other text above them.
pub struct Redraw<W> {
    pub out: W,
    pub style: Style,
    size: Box<dyn Fn() -> Option<Size> + Send>,
    /// Widths of the lines that are drawn, in characters.
    drawn_widths: Vec<usize>,
}

impl<W: Write> Redraw<W> {
    pub fn new(out: W, style: Style) -> Redraw<W> {
        Redraw {
            out,
            style,
            size: Box::new(|| None),
            drawn_widths: Vec::new(),
        }
    }

    /// Asks this function for the size of the terminal before each drawing, because it may change.
    pub fn set_size_from(&mut self, size: impl Fn() -> Option<Size> + Send + 'static) {
        self.size = Box::new(size);
    }

    pub fn size(&self) -> Size {
        (self.size)().unwrap_or(Size {
            columns: self.style.width,
            rows: 24,
        })
    }

    pub fn draw(&mut self, lines: &[String]) -> io::Result<()> {
        // Write each frame at once, so that a half-drawn frame is never visible.
        let old = self.rows();
        let mut frame = cursor_up(old);
        self.drawn_widths.clear();
        for line in lines {
            let line = visible_line(line, &self.style);
            self.drawn_widths.push(visible_width(&line));
            frame.push_str(ERASE_LINE);
            frame.push_str(&line);
            frame.push('\n');
        }
        frame.push_str(&erase_rows(old.saturating_sub(lines.len())));
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    pub fn clear(&mut self) -> io::Result<()> {
        let old = self.rows();
        let frame = cursor_up(old) + &erase_rows(old);
        self.drawn_widths.clear();
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }

    /// The number of terminal rows that the lines take: a terminal that became narrower has wrapped the
    /// lines that no longer fit.
    fn rows(&self) -> usize {
        let columns = self.size().columns.max(1);
        let rows = |width: &usize| width.div_ceil(columns).max(1);
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
    use crate::style::{Size, Style};
    use prony_assertions::TextAssertions;

    const PLAIN: Style = Style {
        color: false,
        terminal: true,
        width: 80,
        unicode: true,
    };

    /// A terminal of `columns` columns that has drawn these lines.
    fn drawn(lines: &[&str], columns: usize, style: Style) -> Redraw<Vec<u8>> {
        let mut view = Redraw::new(Vec::new(), style);
        resize(&mut view, columns);
        draw(&mut view, lines);
        view
    }

    fn resize(view: &mut Redraw<Vec<u8>>, columns: usize) {
        view.set_size_from(move || Some(Size { columns, rows: 24 }));
    }

    fn draw(view: &mut Redraw<Vec<u8>>, lines: &[&str]) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        view.draw(&lines).unwrap();
    }

    /// What was written since the last call.
    fn take(view: &mut Redraw<Vec<u8>>) -> String {
        String::from_utf8(std::mem::take(&mut view.out)).unwrap()
    }

    #[test]
    fn a_hostile_line_cannot_move_the_cursor() {
        let hostile = "tpcb\x1b[2J\x1b]0;x\x07\n\x1b[1mb\tc\r";
        let mut view = drawn(&[hostile], 80, PLAIN);
        let line = "tpcb\\x1b[2J\\x1b]0;x\\x07\\x0a\\x1b[1mb\\x09c\\x0d";
        assert_eq!(take(&mut view), format!("\r\x1b[2K{line}\n"));
        // The escaped line takes one row.
        view.clear().unwrap();
        take(&mut view).assert_starts_with("\x1b[1A\r");
    }

    #[test]
    fn a_frame_replaces_exactly_the_lines_of_the_previous_frame() {
        let mut view = drawn(&["a", "b"], 80, PLAIN);
        draw(&mut view, &["c"]);
        view.clear().unwrap();
        view.clear().unwrap();
        assert_eq!(
            take(&mut view),
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
        let mut view = drawn(&[&"x".repeat(15), "b", "c"], 20, PLAIN);
        // In a narrower terminal, the line of one row takes two.
        let narrow = view.out.clone();
        draw(&mut view, &["d"]);
        assert_eq!(screen(&view.out, 20), ["d", "", "", ""]);
        view.clear().unwrap();
        view.out.extend(b"end\n");
        assert_eq!(screen(&view.out, 20)[0], "end");
        assert_eq!(screen(&narrow, 10)[..2], ["x".repeat(10), "x".repeat(5)]);
        assert!(!take(&mut view).contains('J'));
    }

    #[test]
    fn lines_wrapped_by_a_narrower_terminal_are_removed() {
        let colored = Style {
            color: true,
            ..PLAIN
        };
        let mut view = drawn(&[&"x".repeat(79), "\x1b[1mshort\x1b[0m", ""], 80, colored);
        take(&mut view);
        resize(&mut view, 40);
        view.clear().unwrap();
        let text = take(&mut view);
        text.assert_starts_with("\x1b[4A");
        assert_eq!(text.matches("\x1b[2K").count(), 4, "{text:?}");
    }
}
