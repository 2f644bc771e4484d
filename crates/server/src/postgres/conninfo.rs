//! `keyword=value` connection strings.
//!
//! In: text. Out: keyword and value pairs. Must never: repeat the text in an error, because a
//! password without quotes breaks up into what look like keywords.

use super::options::{self, Keyword};
use crate::error::Error;
use std::iter::Peekable;
use std::str::CharIndices;

/// What C's `isspace` takes for a blank.
pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// Splits a conninfo string as libpq does ("Keyword/Value Connection Strings").
///
/// # Errors
///
/// A keyword that is unknown or without `=`, a quote that does not end. Places are counted in
/// characters from 1.
pub(crate) fn parse(text: &str) -> Result<Vec<(&'static Keyword, String)>, Error> {
    let mut pairs: Vec<(&'static Keyword, String)> = Vec::new();
    let mut chars = text.char_indices().peekable();
    loop {
        skip_blanks(&mut chars);
        let Some(&(start, _)) = chars.peek() else {
            return Ok(pairs);
        };
        let place = text[..start].chars().count() + 1;
        let name = keyword(text, start, &mut chars);
        skip_blanks(&mut chars);
        if chars.next_if(|&(_, c)| c == '=').is_none() {
            let before = match pairs.last() {
                Some((last, _)) => format!(", after the value of \"{}\"", last.name),
                None => String::new(),
            };
            return Err(Error::conninfo(
                format!("missing \"=\" after the word at character {place}{before}"),
                "write keyword=value, and put a value that has blanks in single quotes",
            ));
        }
        skip_blanks(&mut chars);
        let value = value(&mut chars).ok_or_else(|| {
            Error::conninfo(
                format!(
                    "unterminated quoted string after the \"=\" that follows character {place}"
                ),
                "close the single quote; inside quotes write \\' and \\\\",
            )
        })?;
        match options::find(name) {
            Some(keyword) => pairs.push((keyword, value)),
            None => match options::obsolete(name, &value) {
                Some(pair) => pairs.push(pair),
                None => return Err(unknown(name, place, pairs.last())),
            },
        }
    }
}

/// The error for a keyword that is not one; it is named unless it may be a piece of a password.
fn unknown(name: &str, place: usize, before: Option<&(&'static Keyword, String)>) -> Error {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let suspicious = before.is_some_and(|(last, _)| last.secret);
    if plain && !suspicious {
        return Error::UnknownOption {
            name: name.to_owned(),
            origin: format!("the connection string, at character {place}"),
            hint: options::suggestion(name),
        };
    }
    Error::conninfo(
        format!("invalid connection option at character {place}"),
        "put a value that has blanks in single quotes, with \\' for a quote inside",
    )
}

type Chars<'a> = Peekable<CharIndices<'a>>;

fn skip_blanks(chars: &mut Chars<'_>) {
    while chars.next_if(|&(_, c)| is_blank(c)).is_some() {}
}

/// Up to a blank or `=`.
fn keyword<'a>(text: &'a str, start: usize, chars: &mut Chars<'_>) -> &'a str {
    while chars.next_if(|&(_, c)| c != '=' && !is_blank(c)).is_some() {}
    let end = chars.peek().map_or(text.len(), |&(at, _)| at);
    &text[start..end]
}

/// A bare or quoted value; `None` when its quote does not end.
fn value(chars: &mut Chars<'_>) -> Option<String> {
    let quoted = chars.next_if(|&(_, c)| c == '\'').is_some();
    let mut value = String::new();
    loop {
        match chars.next() {
            None if quoted => return None,
            None => return Some(value),
            Some((_, '\'')) if quoted => return Some(value),
            Some((_, c)) if !quoted && is_blank(c) => return Some(value),
            Some((_, '\\')) => value.extend(chars.next().map(|(_, c)| c)),
            Some((_, c)) => value.push(c),
        }
    }
}
