//! Makes text safe for a terminal: control characters become visible.
//!
//! In: text that may contain names and messages of servers, files and plans. Out: the same text, with
//! control characters escaped. Must never: pass an escape sequence other than those of [`Style`];
//! change text that has no control characters.
//!
//! All output of Prony passes through this module, because a hostile server could otherwise clear the
//! screen, set the window title or disguise a figure. C0 characters are escaped as `\x1b`. DEL, C1 and the
//! bidirectional marks are escaped as `\u009b`: JSON strings may contain them unescaped, and in JSON this
//! escape means the same character.

use crate::style::{CODES, Style};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Whether a terminal may interpret this character as a command or reorder text because of it.
pub fn is_control(c: char) -> bool {
    let reorders = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || reorders
}

/// Appends the visible form of a control character.
pub fn push_escaped(text: &mut String, c: char) {
    // Writing to a String never fails.
    let _ = match c {
        '\0'..='\x1f' => write!(text, "\\x{:02x}", u32::from(c)),
        _ => write!(text, "\\u{:04x}", u32::from(c)),
    };
}

/// The text with its control characters visible. Line breaks and tabs stay, and so does a carriage
/// return at the end of a line or of the text: load progress is redrawn from there.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.contains(is_control) {
        Cow::Owned(escape_controls(text, false))
    } else {
        Cow::Borrowed(text)
    }
}

/// Like [`visible`], for bytes in any encoding; a byte that is not UTF-8 is shown as `\x9b`.
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(&escape_controls(chunk.valid(), false));
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Like [`visible_bytes`], for the output of a user's own script: it may colour its text, but only with
/// codes that hide nothing (SGR, ECMA-48 8.3.117).
pub fn visible_colored(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut remaining = bytes;
    while let Some(start) = remaining.iter().position(|byte| *byte == b'\x1b') {
        let end = start + color_code_length(&remaining[start..]);
        text.push_str(&visible_bytes(&remaining[..start]));
        if end == start {
            push_escaped(&mut text, '\x1b');
            remaining = &remaining[start + 1..];
        } else {
            text.push_str(std::str::from_utf8(&remaining[start..end]).unwrap_or_default());
            remaining = &remaining[end..];
        }
    }
    text.push_str(&visible_bytes(remaining));
    text
}

/// The length of the colour code at the start of these bytes; 0 if there is none, or if it hides text.
fn color_code_length(bytes: &[u8]) -> usize {
    let Some(inner) = bytes.strip_prefix(b"\x1b[") else {
        return 0;
    };
    let is_parameter = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let end = inner.iter().take_while(|byte| is_parameter(byte)).count();
    let parameters = inner[..end].split(|byte| *byte == b';');
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u32>().ok();
    // 38 and 48 are followed by a colour number, which may be 8.
    let mut is_color = false;
    for value in parameters.map(number) {
        if value == Some(8) && !is_color {
            return 0;
        }
        is_color |= matches!(value, Some(38 | 48));
    }
    match inner.get(end) {
        Some(b'm') => 2 + end + 1,
        _ => 0,
    }
}

/// Like [`visible`], for one line that [`Style`] may have coloured: line breaks, tabs and carriage returns are escaped
/// too, so that the line takes one row and its width is its number of characters.
pub fn visible_line(text: &str, style: &Style) -> String {
    let mut line = String::with_capacity(text.len());
    for c in escape_controls(text, style.color).chars() {
        match c {
            '\n' | '\t' | '\r' => push_escaped(&mut line, c),
            _ => line.push(c),
        }
    }
    line
}

/// Escapes control characters; keeps the codes of [`Style`] if `color`.
fn escape_controls(text: &str, color: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut remaining = text;
    while let Some(position) = remaining.find(is_control) {
        let (before, tail) = remaining.split_at(position);
        out.push_str(before);
        let code = CODES.iter().find(|code| color && tail.starts_with(*code));
        if let Some(code) = code {
            out.push_str(code);
            remaining = &tail[code.len()..];
            continue;
        }
        let mut characters = tail.chars();
        let c = characters.next().unwrap_or_default();
        remaining = characters.as_str();
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if remaining.starts_with('\n') || remaining.is_empty() => out.push(c),
            _ => push_escaped(&mut out, c),
        }
    }
    out.push_str(remaining);
    out
}

/// A stream that escapes control characters, except the codes of a [`Style`].
pub struct Visible<W: Write> {
    out: W,
    color: bool,
    /// The trailing bytes: an incomplete character, code or line end.
    pending: Vec<u8>,
}

impl<W: Write> Visible<W> {
    /// Wraps `out`; the codes of this style pass unchanged.
    pub fn new(out: W, style: &Style) -> Visible<W> {
        Visible {
            out,
            color: style.color,
            pending: Vec::new(),
        }
    }

    /// Writes the pending bytes that are complete, or all of them if `is_end`.
    fn write_pending(&mut self, is_end: bool) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.pending);
        let length = if is_end { bytes.len() } else { complete_length(&bytes) };
        for chunk in bytes[..length].utf8_chunks() {
            let text = escape_controls(chunk.valid(), self.color);
            self.out.write_all(text.as_bytes())?;
            for byte in chunk.invalid() {
                write!(self.out, "\\x{byte:02x}")?;
            }
        }
        self.pending = bytes[length..].to_vec();
        Ok(())
    }
}

/// The number of leading bytes that can be escaped without knowing the bytes after them.
fn complete_length(bytes: &[u8]) -> usize {
    let longest = CODES.iter().map(|code| code.len()).max().unwrap_or(1);
    let tail_start = bytes.len().saturating_sub(longest - 1);
    let starts_incomplete = |start: &usize| {
        let tail = &bytes[*start..];
        let is_code_prefix =
            |code: &&str| code.len() > tail.len() && code.as_bytes().starts_with(tail);
        let is_character_prefix =
            |error: std::str::Utf8Error| error.valid_up_to() == 0 && error.error_len().is_none();
        tail == b"\r"
            || CODES.iter().any(is_code_prefix)
            || std::str::from_utf8(tail).is_err_and(is_character_prefix)
    };
    (tail_start..bytes.len())
        .find(starts_incomplete)
        .unwrap_or(bytes.len())
}

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        self.write_pending(false)?;
        Ok(bytes.len())
    }

    /// Callers flush between lines, or at the end.
    fn flush(&mut self) -> io::Result<()> {
        self.write_pending(true)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLORED: Style = Style {
        color: true,
        terminal: true,
        width: 80,
        unicode: true,
    };

    #[test]
    fn control_characters_are_escaped_and_other_text_is_unchanged() {
        let hostile = "a\x1b]0;title\x07\x1b[2Jb\r\nc\td\x7f\u{9b}2J\u{202e}12\rx é 表";
        let shown = visible(hostile);
        assert_eq!(
            shown,
            "a\\x1b]0;title\\x07\\x1b[2Jb\r\nc\td\\u007f\\u009b2J\\u202e12\\x0dx é 表"
        );
        assert!(matches!(visible("µ, 表"), Cow::Borrowed("µ, 表")));
        assert_eq!(visible("5 of 10\r"), "5 of 10\r");
        assert_eq!(visible_bytes(b"a\x9b2J\x1b \xc3\xa9"), "a\\x9b2J\\x1b é");
    }

    #[test]
    fn a_script_may_colour_its_text_but_not_control_the_terminal() {
        let colors = "\x1b[1;31mred\x1b[0m \x1b[38;5;8mgrey\x1b[m \u{e9}\n";
        assert_eq!(visible_colored(colors.as_bytes()), colors);
        assert_eq!(
            visible_colored(b"\x1b]0;title\x07\x1b[2J \x1b[8mhidden\x1b[1\x9b1m \x1b"),
            "\\x1b]0;title\\x07\\x1b[2J \\x1b[8mhidden\\x1b[1\\x9b1m \\x1b"
        );
    }

    #[test]
    fn only_codes_of_a_coloured_style_pass() {
        let text = format!("{} \x1b[8mhidden\x1b[1", COLORED.alarm("x"));
        let plain = "\\x1b[1;31mx\\x1b[0m \\x1b[8mhidden\\x1b[1";
        assert_eq!(
            escape_controls(&text, true),
            "\x1b[1;31mx\x1b[0m \\x1b[8mhidden\\x1b[1"
        );
        assert_eq!(escape_controls(&text, false), plain);
    }

    #[test]
    fn a_stream_escapes_independently_of_chunk_size() {
        let text = format!("{} é\u{9b}\r\n表\x1b[2J\rx\x1b[1", COLORED.bold("b"));
        let expected = escape_controls(&text, true);
        for size in 1..text.len() {
            let mut out = Vec::new();
            let mut stream = Visible::new(&mut out, &COLORED);
            for part in text.as_bytes().chunks(size) {
                stream.write_all(part).unwrap();
            }
            stream.flush().unwrap();
            assert_eq!(
                String::from_utf8(out).unwrap(),
                expected,
                "chunks of {size} bytes"
            );
        }
    }

    #[test]
    fn bidirectional_marks_are_escaped() {
        for mark in [
            '\u{61c}', '\u{200e}', '\u{200f}', '\u{202e}', '\u{2066}', '\u{2069}',
        ] {
            let shown = format!("a\\u{:04x}1", u32::from(mark));
            assert_eq!(visible(&format!("a{mark}1")), shown);
        }
        // Joiners are part of words and emoji.
        assert_eq!(visible("a\u{200d}b"), "a\u{200d}b");
    }

    #[test]
    fn escaped_json_parses_to_the_same_value() {
        let value = serde_json::json!({ "name": "a\x1b\x7f\u{9b}\u{202e}\n" });
        let mut out = Vec::new();
        let mut stream = Visible::new(&mut out, &Style::plain());
        serde_json::to_writer_pretty(&mut stream, &value).unwrap();
        stream.flush().unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            !text.chars().any(|c| c != '\n' && is_control(c)),
            "{text:?}"
        );
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back, value);
    }
}
