//! Parses `keyword=value` connection strings.
//!
//! In: text. Out: keyword and value pairs. Must never: repeat the text in an error, because parts
//! of an unquoted password look like keywords.

use super::options::{self, Keyword};
use crate::error::Error;
use std::iter::Peekable;
use std::str::CharIndices;

/// Whether C's `isspace` accepts the character.
pub(crate) fn is_whitespace(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Splits a conninfo string as libpq does ("Keyword/Value Connection Strings").
///
/// # Errors
///
/// A keyword that is unknown or has no `=`, or an unterminated quote. Positions are in characters
/// from 1.
pub(crate) fn parse(text: &str) -> Result<Vec<(&'static Keyword, String)>, Error> {
    let mut pairs: Vec<(&'static Keyword, String)> = Vec::new();
    let mut chars = text.char_indices().peekable();
    loop {
        skip_whitespace(&mut chars);
        let Some(&(start, _)) = chars.peek() else {
            return Ok(pairs);
        };
        let position = text[..start].chars().count() + 1;
        let name = read_keyword(text, start, &mut chars);
        skip_whitespace(&mut chars);
        if chars.next_if(|&(_, c)| c == '=').is_none() {
            let context = match pairs.last() {
                Some((last, _)) => format!(", after the value of \"{}\"", last.name),
                None => String::new(),
            };
            return Err(Error::conninfo(
                format!("missing \"=\" after the word at character {position}{context}"),
                "write keyword=value, and put a value that contains spaces in single quotes",
            ));
        }
        skip_whitespace(&mut chars);
        let value = read_value(&mut chars).ok_or_else(|| {
            Error::conninfo(
                format!(
                    "unterminated quoted string after the \"=\" that follows character {position}"
                ),
                "close the single quote; inside quotes write \\' and \\\\",
            )
        })?;
        match options::find(name) {
            Some(keyword) => pairs.push((keyword, value)),
            None => match options::translate_obsolete(name, &value) {
                Some(pair) => pairs.push(pair),
                None => return Err(unknown_keyword_error(name, position, pairs.last())),
            },
        }
    }
}

/// The error for an unknown keyword. It shows the keyword, unless the keyword may be part of a password.
fn unknown_keyword_error(
    name: &str,
    position: usize,
    previous: Option<&(&'static Keyword, String)>,
) -> Error {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let follows_secret = previous.is_some_and(|(keyword, _)| keyword.secret);
    if is_plain && !follows_secret {
        return Error::UnknownOption {
            name: name.to_owned(),
            origin: format!("the connection string, at character {position}"),
            hint: options::suggestion(name),
        };
    }
    Error::conninfo(
        format!("invalid connection option at character {position}"),
        "put a value that contains spaces in single quotes, with \\' for a quote inside",
    )
}

pub(super) type Chars<'a> = Peekable<CharIndices<'a>>;

pub(super) fn skip_whitespace(chars: &mut Chars<'_>) {
    while chars.next_if(|&(_, c)| is_whitespace(c)).is_some() {}
}

/// Reads a keyword, up to a space or `=`.
pub(super) fn read_keyword<'a>(text: &'a str, start: usize, chars: &mut Chars<'_>) -> &'a str {
    while chars
        .next_if(|&(_, c)| c != '=' && !is_whitespace(c))
        .is_some()
    {}
    let end = chars.peek().map_or(text.len(), |&(at, _)| at);
    &text[start..end]
}

/// Reads a bare or quoted value; `None` if the quote is not terminated.
pub(super) fn read_value(chars: &mut Chars<'_>) -> Option<String> {
    let quoted = chars.next_if(|&(_, c)| c == '\'').is_some();
    let mut value = String::new();
    loop {
        match chars.next() {
            None if quoted => return None,
            None => return Some(value),
            Some((_, '\'')) if quoted => return Some(value),
            Some((_, c)) if !quoted && is_whitespace(c) => return Some(value),
            Some((_, '\\')) => value.extend(chars.next().map(|(_, c)| c)),
            Some((_, c)) => value.push(c),
        }
    }
}
