//! Bytes of a log that are not UTF-8, such as those of an image in a statement of MySQL.
//!
//! A text has each such byte as a character of the last private use area, which nothing else uses.

use crate::capture::{TokenKind, tokens};
use prony_document::SqlDialect;
use std::borrow::Cow;
use std::fmt::Write;

/// The character of byte 0.
const FIRST: u32 = 0x0010_ff00;

/// The text of bytes.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        let raw = chunk.invalid().iter();
        text.extend(raw.filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    }
    Cow::Owned(text)
}

fn raw_byte(letter: char) -> Option<u8> {
    u8::try_from(u32::from(letter).checked_sub(FIRST)?).ok()
}

pub(super) fn has_raw_bytes(text: &str) -> bool {
    // The first byte of such a character in UTF-8.
    text.as_bytes().contains(&0xf4) && text.chars().any(|letter| raw_byte(letter).is_some())
}

/// The text of MySQL with its literals that have such bytes in hexadecimal; `None` if other parts have some.
pub(super) fn with_hex_literals(text: &str) -> Option<String> {
    let (mut out, mut end) = (String::new(), 0);
    let mut tokens = tokens(text, SqlDialect::MySql).peekable();
    let mut literal_end = None;
    while let Some(token) = tokens.next() {
        // A doubled quote ends one token and begins the next.
        let next = tokens.peek().map(|next| next.range.start);
        let is_doubled = next == Some(token.range.end) && text[token.range.end..].starts_with('\'');
        let is_whole = literal_end != Some(token.range.start) && !is_doubled;
        literal_end = (token.kind == TokenKind::Literal).then_some(token.range.end);
        let literal = &text[token.range.clone()];
        let quoted = literal
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''));
        let Some(quoted) = quoted.filter(|text| has_raw_bytes(text)) else {
            continue;
        };
        if !is_whole {
            return None;
        }
        out.push_str(&text[end..token.range.start]);
        out.push_str(" X'");
        for byte in unescaped(quoted) {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02X}");
        }
        out.push('\'');
        end = token.range.end;
    }
    out.push_str(&text[end..]);
    (!has_raw_bytes(&out)).then_some(out)
}

/// The bytes of a literal of MySQL, without its quotes.
fn unescaped(quoted: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(quoted.len());
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' => match letters.next() {
                // Both letters stay, for LIKE.
                Some(wildcard @ ('%' | '_')) => {
                    bytes.push(b'\\');
                    wildcard
                }
                Some('0') => '\0',
                Some('b') => '\x08',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('Z') => '\x1a',
                Some(other) => other,
                None => break,
            },
            letter => letter,
        };
        match raw_byte(letter) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_with_raw_bytes_become_hexadecimal() {
        let text =
            decode(b"insert into t values ('\xc3\xa4', _binary'\xff\\0\\'\x80\xc3\xa4\\%', 'a')");
        assert!(has_raw_bytes(&text));
        assert_eq!(
            with_hex_literals(&text).as_deref(),
            Some("insert into t values ('ä', _binary X'FF002780C3A45C25', 'a')")
        );
        for text in [
            &b"select \xe4 from t"[..],
            b"select 'a\xe4''b'",
            b"select 'b''\xe4'",
            b"select \"\xe4\"",
        ] {
            assert_eq!(with_hex_literals(&decode(text)), None);
        }
        assert!(!has_raw_bytes("\u{fffd} \u{1f600}"));
    }
}
