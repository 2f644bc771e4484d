//! The tokens of a statement's text, one at a time: a text of a log may have 64 MB.

use crate::script::token_length;
use prony_document::SqlDialect;
use std::borrow::Cow;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word or a quoted name.
    Name,
    Literal,
    Placeholder,
    Symbol,
}

#[derive(Clone, Debug)]
pub(crate) struct Token<'a> {
    pub kind: TokenKind,
    pub range: Range<usize>,
    /// A name in lower case, or without its quotes; otherwise the text.
    pub text: Cow<'a, str>,
    pub is_quoted: bool,
}

/// Whether a word is in a list, in which blanks separate the words.
pub(crate) fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// The tokens of a text, without its comments.
#[derive(Clone)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    dialect: SqlDialect,
    at: usize,
}

pub(crate) fn tokens(text: &str, dialect: SqlDialect) -> Tokens<'_> {
    Tokens {
        text,
        dialect,
        at: 0,
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while self.at < self.text.len() {
            let token = self.token();
            self.at = token.range.end;
            let text = &self.text[token.range.clone()];
            let is_comment = text.starts_with("--")
                || text.starts_with("/*")
                || (self.dialect == SqlDialect::MySql && text.starts_with('#'));
            if !is_comment && !text.trim().is_empty() {
                return Some(token);
            }
        }
        None
    }
}

impl<'a> Tokens<'a> {
    /// The token, comment or blank at this position.
    fn token(&self) -> Token<'a> {
        let (dialect, start) = (self.dialect, self.at);
        let rest = &self.text.as_bytes()[start..];
        let digits = |from: usize| {
            let digits = rest.iter().skip(from).take_while(|c| c.is_ascii_digit());
            digits.count()
        };
        let is_parameter = match (dialect, rest[0]) {
            (SqlDialect::PostgreSql, b'$') => digits(1) > 0,
            (SqlDialect::MySql, b'?') => true,
            (SqlDialect::TransactSql, b'@') => rest.get(1) != Some(&b'@'),
            _ => false,
        };
        let length = match rest[0] {
            b'$' if is_parameter => 1 + digits(1),
            b'@' if rest.len() > 1 => 1 + token_length(&rest[1..], dialect),
            b'0'..=b'9' => {
                let number = rest
                    .iter()
                    .take_while(|c| c.is_ascii_alphanumeric() || **c == b'.');
                number.count()
            }
            b'N' | b'n' if rest.get(1) == Some(&b'\'') => 1 + token_length(&rest[1..], dialect),
            _ => token_length(rest, dialect),
        };
        let mut end = (start + length.max(1)).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        let token = &self.text[start..end];
        let is_quoted = token.len() > 1
            && (token.starts_with(['`', '['])
                || (token.starts_with('"') && dialect != SqlDialect::MySql));
        let is_literal = token.len() > 1
            && (token.contains('\'') || token.contains('"') || token.starts_with('$'))
            || rest[0].is_ascii_digit();
        let is_word = rest[0].is_ascii_alphabetic() || matches!(rest[0], b'_' | b'@' | 0x80..);
        let kind = match () {
            () if is_parameter => TokenKind::Placeholder,
            () if is_quoted => TokenKind::Name,
            () if is_literal => TokenKind::Literal,
            () if is_word => TokenKind::Name,
            () => TokenKind::Symbol,
        };
        let is_lower = |byte: u8| !byte.is_ascii_uppercase() && byte.is_ascii();
        let text = if is_quoted {
            // The server may have cut the text before the last quote.
            let name = token[1..].strip_suffix(['"', '`', ']']);
            Cow::Borrowed(name.unwrap_or(&token[1..]))
        } else if kind == TokenKind::Literal || token.bytes().all(is_lower) {
            Cow::Borrowed(token)
        } else {
            Cow::Owned(token.to_lowercase())
        };
        Token {
            kind,
            range: start..end,
            text,
            is_quoted,
        }
    }
}
