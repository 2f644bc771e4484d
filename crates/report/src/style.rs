//! The style of an output stream: colour, width, character set.
//!
//! In: a stream, NO_COLOR, TERM, the locale. Out: text with or without escape codes. Must never: put
//! an escape code into a pipe or a file.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// All escape codes that a [`Style`] writes.
pub const CODES: [&str; 5] = ["\x1b[0m", BOLD, DIM, CAUTION, ALARM];
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const CAUTION: &str = "\x1b[33m";
const ALARM: &str = "\x1b[1;31m";

/// The formatting that a stream supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Escape codes for colour and weight are allowed.
    pub color: bool,
    /// The stream is a terminal whose lines can be redrawn.
    pub terminal: bool,
    /// Line width, 60 to 100 characters.
    pub width: usize,
    /// The locale supports more than ASCII.
    pub unicode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// The size of the terminal behind a stream; `None` if it is not a terminal or does not report
    /// its size.
    pub fn of(stream: &impl AsFd) -> Option<Size> {
        let (columns, rows) = terminal_size::terminal_size_of(stream)?;
        let (columns, rows) = (usize::from(columns.0), usize::from(rows.0));
        (columns > 0 && rows > 0).then_some(Size { columns, rows })
    }
}

/// Whether the locale's character set is UTF-8, by the first locale variable that is not empty (POSIX,
/// 8.2). If all are empty, the POSIX locale applies, which is ASCII.
fn is_locale_utf8() -> bool {
    let value = |name: &&str| std::env::var_os(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(value);
    locale.is_some_and(|locale| is_utf8(&locale.to_string_lossy()))
}

/// Whether this is the name of a UTF-8 locale, such as `C.UTF-8` or `de_DE.utf8`.
fn is_utf8(locale: &str) -> bool {
    let name = locale.to_ascii_lowercase();
    name.contains("utf-8") || name.contains("utf8")
}

impl Style {
    /// The style for a stream: plain if it is not a terminal or is a `dumb` one, without colour if NO_COLOR
    /// is not empty (<https://no-color.org>).
    pub fn of(stream: &(impl IsTerminal + AsFd)) -> Style {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let terminal = stream.is_terminal() && !dumb;
        let width = terminal_size::terminal_size_of(stream)
            .map_or(80, |(columns, _)| usize::from(columns.0));
        Style {
            color: terminal && !no_color,
            terminal,
            width: width.clamp(60, 100),
            unicode: is_locale_utf8(),
        }
    }

    /// The style for error messages on a terminal of this size, if it is one. Elsewhere they have lines of 100
    /// characters: three of them suffice for the problem, the place and the hint.
    #[must_use]
    pub fn for_messages(self, size: Option<Size>) -> Style {
        let width = size.map_or(100, |size| size.columns.clamp(20, 100));
        Style { width, ..self }
    }

    /// The style for files, pipes and tests: no escape codes, 80 characters.
    pub fn plain() -> Style {
        Style {
            color: false,
            terminal: false,
            width: 80,
            unicode: true,
        }
    }

    /// Formats the most important figure or a title.
    pub fn bold(&self, text: &str) -> String {
        self.code(BOLD, text)
    }

    pub fn dim(&self, text: &str) -> String {
        self.code(DIM, text)
    }

    pub fn caution(&self, text: &str) -> String {
        self.code(CAUTION, text)
    }

    pub fn alarm(&self, text: &str) -> String {
        self.code(ALARM, text)
    }

    fn code(&self, code: &str, text: &str) -> String {
        if self.color { format!("{code}{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Size, Style, is_utf8};

    #[test]
    fn sizes_and_encodings_are_detected() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(Size::of(&file), None);
        assert!(is_utf8("C.UTF-8") && is_utf8("de_DE.utf8"));
        assert!(!is_utf8("C") && !is_utf8("de_DE.ISO-8859-1"));
    }

    #[test]
    fn a_file_gets_no_escape_codes() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let style = Style::of(&file);
        assert!(!style.color && !style.terminal);
        assert_eq!(style.alarm("x"), "x");
    }

    #[test]
    fn colour_is_reset_after_the_text() {
        let style = Style {
            color: true,
            ..Style::plain()
        };
        assert_eq!(style.bold("x"), "\x1b[1mx\x1b[0m");
    }
}
