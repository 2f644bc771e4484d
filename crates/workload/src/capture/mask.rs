//! Takes literals and comments, which may name people, out of a statement's text.

use super::tokens::{Token, TokenKind, is_one_of, tokens};
use prony_document::SqlDialect;
use std::borrow::Cow;

/// The text without its comments, which may name people; hints stay.
pub(super) fn without_comments(text: &str, dialect: SqlDialect) -> String {
    let mut clean = String::new();
    let mut start = 0;
    let ranges = tokens(text, dialect).map(|token| token.range);
    for range in ranges.chain(std::iter::once(text.len()..text.len())) {
        let gap = &text[start..range.start];
        let hint = gap.find("/*+").and_then(|hint| {
            let end = gap[hint..].find("*/")?;
            Some(&gap[hint..hint + end + 2])
        });
        if gap.trim().is_empty() {
            clean.push_str(gap);
        } else if let Some(hint) = hint {
            clean.extend([" ", hint, " "]);
        } else {
            clean.push(' ');
        }
        clean.push_str(&text[range.clone()]);
        start = range.end;
    }
    clean
}

/// The text without its comments and with a question mark in place of each literal.
pub(crate) fn masked(text: &str, dialect: SqlDialect) -> String {
    let (mut masked, mut end) = (String::new(), 0);
    let mut tokens = tokens(text, dialect).peekable();
    let mut previous: Option<Token<'_>> = None;
    while let Some(token) = tokens.next() {
        if token.range.start > end {
            masked.push(' ');
        }
        end = token.range.end;
        // A sign is part of its number: statements with numbers above and below zero are the same.
        let is_of_number =
            tokens.peek().is_some_and(is_number) && is_sign(previous.as_ref(), &token);
        if !is_of_number {
            let is_literal = token.kind == TokenKind::Literal || may_be_text(&token, text, dialect);
            masked.push_str(if is_literal { "?" } else { &text[token.range.clone()] });
        }
        previous = Some(token);
    }
    masked
}

fn is_number(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Literal && token.text.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether double quotes are around it, which SQL Server takes for those of a text under QUOTED_IDENTIFIER OFF.
pub(super) fn may_be_text(token: &Token<'_>, text: &str, dialect: SqlDialect) -> bool {
    dialect == SqlDialect::TransactSql && text[token.range.clone()].starts_with('"')
}

/// Makes placeholders of the literals that the statistics left in: of texts, and of numbers where a variable may stand.
/// PostgreSQL and MySQL replace most numbers themselves: there only those count that are compared or listed.
pub(super) fn mask_literals(tokens: &mut Vec<Token<'_>>, dialect: SqlDialect) {
    for index in (0..tokens.len()).rev() {
        if tokens[index].kind != TokenKind::Literal {
            continue;
        }
        let is_number = is_number(&tokens[index]);
        let takes_variable = match dialect {
            SqlDialect::TransactSql => !is_structure(tokens, index),
            SqlDialect::PostgreSql | SqlDialect::MySql => is_compared(tokens, index),
        };
        if is_number && !takes_variable {
            continue;
        }
        let sign = index.checked_sub(1).filter(|_| is_number);
        let sign = sign.filter(|sign| is_sign(before(tokens, *sign), &tokens[*sign]));
        // Each is a placeholder of its own.
        let kind = if is_number { "number" } else { "literal" };
        tokens[index].kind = TokenKind::Placeholder;
        tokens[index].text = Cow::Owned(format!("{kind} {index}"));
        if let Some(sign) = sign {
            tokens[index].range.start = tokens[sign].range.start;
            tokens.remove(sign);
        }
    }
}

fn before<'t, 'a>(tokens: &'t [Token<'a>], index: usize) -> Option<&'t Token<'a>> {
    index.checked_sub(1).map(|index| &tokens[index])
}

/// Whether a plus or minus belongs to the number after it and is no operator between two operands.
fn is_sign(previous: Option<&Token<'_>>, token: &Token<'_>) -> bool {
    const WORDS: &str =
        "and or between then else when select in like return set values case offset";
    matches!(&*token.text, "-" | "+")
        && previous.is_none_or(|token| match token.kind {
            TokenKind::Symbol => !matches!(&*token.text, ")" | "]"),
            TokenKind::Name => !token.is_quoted && is_one_of(&token.text, WORDS),
            TokenKind::Literal | TokenKind::Placeholder => false,
        })
}

fn is_compared(tokens: &[Token<'_>], index: usize) -> bool {
    match before(tokens, index).map(|token| &*token.text) {
        Some("=" | "<" | ">" | "between" | "and" | "limit" | "offset") => true,
        Some("(" | ",") => tokens[..index]
            .iter()
            .any(|token| matches!(&*token.text, "in" | "values")),
        _ => false,
    }
}

/// Whether a number is one where the grammar of SQL Server takes no variable: a column's position, a type's length, a
/// hint.
fn is_structure(tokens: &[Token<'_>], index: usize) -> bool {
    const BEFORE_LIST: &str = "\
        varchar nvarchar char nchar binary varbinary decimal numeric dec float time datetime2 \
        datetimeoffset index tablesample identity";
    let word = |index: Option<usize>| index.map_or("", |index| &*tokens[index].text);
    let before = word(index.checked_sub(1));
    if matches!(before, "by" | "top" | "maxdop" | "fast" | "maxrecursion") {
        return true;
    }
    let mut depth = 0;
    for position in (0..index).rev() {
        match word(Some(position)) {
            ")" => depth += 1,
            "(" if depth == 0 => return is_one_of(word(position.checked_sub(1)), BEFORE_LIST),
            "(" => depth -= 1,
            // In `order by x, 2` the number after a comma is a column's position; elsewhere it is part of an expression.
            "by" if depth == 0 => return before == ",",
            "select" | "where" | "having" | "set" | "offset" if depth == 0 => return false,
            _ => {}
        }
    }
    false
}
