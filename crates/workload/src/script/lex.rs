//! Splits a script into statements, by the rules of psql's lexer; quotes and comments are those of the source's dialect. A
//! semicolon or backslash inside quotes, comments, parentheses or a function body never ends a statement. `sql.rs` finds the
//! variables in the resulting texts.

use super::tokens::Source;
use prony_document::SqlDialect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementEnd {
    /// A semicolon, which is part of the statement.
    Semicolon,
    /// A backslash, which has been consumed.
    Backslash,
    /// The end of the script.
    End,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawStatement {
    /// Its text, without the blanks and comments before it.
    pub text: String,
    /// Its offset in the script, in bytes.
    pub start: usize,
}

/// The state that decides whether a semicolon ends a statement. Backslash commands do not change it.
#[derive(Clone, Debug, Default)]
pub(super) struct SqlLexer {
    open_parentheses: usize,
    /// Open BEGIN and CASE blocks in a function body.
    open_blocks: usize,
    /// First letters of the statement's first words, if they are words that can begin a function definition; 0 for other
    /// words.
    definition_letters: [u8; 4],
    word_count: usize,
}

impl SqlLexer {
    /// Reads the next statement, and what ends it. The statement is empty if there is none before its end.
    pub fn next_statement(&mut self, source: &mut Source<'_>) -> (RawStatement, StatementEnd) {
        let mut raw = RawStatement::default();
        loop {
            let start = source.position;
            let input = source.remaining();
            let Some(first) = input.first() else {
                return (raw, StatementEnd::End);
            };
            let length = match (*first, input.get(1)) {
                (b'\\', Some(second @ (b';' | b':'))) => {
                    if *second == b';' {
                        self.word_count = 0;
                    }
                    // Keep the character without its backslash.
                    source.position += 1;
                    append(&mut raw, source, 1);
                    continue;
                }
                (b'\\', _) => {
                    source.position += 1;
                    return (raw, StatementEnd::Backslash);
                }
                (c, _)
                    if is_blank(c, source.pgbench_version)
                        || begins_line_comment(input, source.dialect) =>
                {
                    let is_comment = !is_blank(c, source.pgbench_version);
                    let length = if is_comment { comment_length(input) } else { 1 };
                    // Since version 15, comments inside a statement are sent to the server.
                    if raw.text.is_empty() || (is_comment && source.pgbench_version < 15) {
                        source.position += length;
                        continue;
                    }
                    length
                }
                (b';', _) => {
                    append(&mut raw, source, 1);
                    if self.open_parentheses == 0 && self.open_blocks == 0 {
                        self.word_count = 0;
                        return (raw, StatementEnd::Semicolon);
                    }
                    continue;
                }
                _ => self.token_length(input, source.dialect),
            };
            source.position = start;
            append(&mut raw, source, length);
        }
    }

    /// Length of the token at the start of `input`: a quoted text, a comment, a word, a number, or one byte.
    fn token_length(&mut self, input: &[u8], dialect: Option<SqlDialect>) -> usize {
        if let Some(length) = quoted_or_comment_length(input, dialect) {
            return length;
        }
        match (input[0], input.get(1)) {
            (b'(', _) => self.open_parentheses += 1,
            (b')', _) => self.open_parentheses = self.open_parentheses.saturating_sub(1),
            // The token is only the letter; the quoted text is the next token.
            (b'n' | b'N', Some(b'\'')) => {}
            (b':', _) => return variable_length(input),
            (b'0'..=b'9', _) => return number_length(input),
            (b'.', Some(b'0'..=b'9')) => return number_length(input),
            (c, _) if is_word_start(c) => return self.word_token_length(input),
            _ => {}
        }
        1
    }

    /// Length of a word outside quotes. In `CREATE [OR REPLACE] FUNCTION|PROCEDURE`, also counts the words
    /// that open and close the blocks of an SQL body.
    fn word_token_length(&mut self, input: &[u8]) -> usize {
        let length = count_leading(input, |c| {
            is_word_start(c) || c.is_ascii_digit() || c == b'$'
        });
        let word = &input[..length];
        let is_keyword = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        if self.word_count == 0 {
            self.definition_letters = [0; 4];
        }
        if let Some(slot) = self.definition_letters.get_mut(self.word_count)
            && ["create", "function", "procedure", "or", "replace"]
                .into_iter()
                .any(is_keyword)
        {
            *slot = word[0].to_ascii_lowercase();
        }
        self.word_count += 1;
        let defines_function = matches!(
            self.definition_letters,
            [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']
        );
        if defines_function && self.open_parentheses == 0 {
            if is_keyword("begin") || (is_keyword("case") && self.open_blocks > 0) {
                self.open_blocks += 1;
            } else if is_keyword("end") {
                self.open_blocks = self.open_blocks.saturating_sub(1);
            }
        }
        length
    }
}

/// Length of the quoted text, quoted name or comment at the start of `input`, if there is one.
fn quoted_or_comment_length(input: &[u8], dialect: Option<SqlDialect>) -> Option<usize> {
    Some(
        match (dialect, input[0], input.get(1).copied(), input.get(2)) {
            (Some(SqlDialect::MySql), quote @ (b'\'' | b'"' | b'`'), ..) => {
                mysql_quoted_length(input, quote)
            }
            (Some(SqlDialect::MySql), b'/', Some(b'*'), _) => {
                find_bytes(input, b"*/").map_or(input.len(), |end| end + 2)
            }
            (Some(SqlDialect::TransactSql), b'[', ..) => {
                find_bytes(input, b"]").map_or(input.len(), |end| end + 1)
            }
            (_, b'\'', ..) => quoted_length(input, 1, false),
            (_, b'"', ..) => quoted_identifier_length(input).min(input.len()),
            (_, b'/', Some(b'*'), _) => nested_comment_length(input),
            (Some(SqlDialect::MySql | SqlDialect::TransactSql), ..) => return None,
            (_, b'e' | b'E', Some(b'\''), _) => quoted_length(input, 2, true),
            (_, b'b' | b'B' | b'x' | b'X', Some(b'\''), _) => quoted_length(input, 2, false),
            (_, b'u' | b'U', Some(b'&'), Some(b'\'')) => quoted_length(input, 3, false),
            (_, b'u' | b'U', Some(b'&'), Some(b'"')) => {
                (2 + quoted_identifier_length(&input[2..])).min(input.len())
            }
            (_, b'$', ..) => dollar_quoted_length(input),
            _ => return None,
        },
    )
}

/// Length of the token at the start of `input`, which is not empty.
pub(crate) fn token_length(input: &[u8], dialect: SqlDialect) -> usize {
    if begins_line_comment(input, Some(dialect)) {
        return comment_length(input);
    }
    let quoted = quoted_or_comment_length(input, Some(dialect));
    quoted.unwrap_or_else(|| word_length(input).max(1))
}

/// Whether a comment begins that ends with the line.
fn begins_line_comment(input: &[u8], dialect: Option<SqlDialect>) -> bool {
    match (dialect, input.first(), input.get(1), input.get(2)) {
        // MySQL subtracts a negative number otherwise.
        (Some(SqlDialect::MySql), Some(b'-'), Some(b'-'), after) => {
            after.is_none_or(u8::is_ascii_whitespace)
        }
        (Some(SqlDialect::MySql), Some(b'#'), ..) => true,
        (_, Some(b'-'), Some(b'-'), _) => true,
        _ => false,
    }
}

/// Length of a text or name of MySQL in these quotes. A doubled quote is treated as the end of one text and the start of
/// the next.
fn mysql_quoted_length(input: &[u8], quote: u8) -> usize {
    let mut offset = 1;
    while let Some(byte) = input.get(offset) {
        match byte {
            b'\\' if quote != b'`' => offset += 1,
            byte if *byte == quote => return offset + 1,
            _ => {}
        }
        offset += 1;
    }
    input.len()
}

/// Appends the next `length` bytes of the script to the statement.
fn append(raw: &mut RawStatement, source: &mut Source<'_>, length: usize) {
    let start = source.position;
    let mut end = (start + length).min(source.text.len());
    // Tokens end at ASCII bytes, so the loop never runs; it only guarantees that no input causes a panic.
    while !source.text.is_char_boundary(end) {
        end += 1;
    }
    if raw.text.is_empty() {
        raw.start = start;
    }
    raw.text.push_str(&source.text[start..end]);
    source.position = end;
}

fn count_leading(bytes: &[u8], matches: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|c| matches(**c)).count()
}

fn is_blank(c: u8, pgbench_version: u32) -> bool {
    // Since version 16, the vertical tab is a blank.
    matches!(c, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') || (c == b'\x0b' && pgbench_version >= 16)
}

fn is_word_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_' || c >= 0x80
}

fn is_line_end(c: u8) -> bool {
    matches!(c, b'\n' | b'\r')
}

fn comment_length(input: &[u8]) -> usize {
    count_leading(input, |c| !is_line_end(c))
}

/// Length of a single-quoted text with its continuations on further lines; `start` is the offset after the
/// opening quote. If the text does not end, it is as long as `input`.
fn quoted_length(input: &[u8], start: usize, has_escapes: bool) -> usize {
    let mut offset = start;
    loop {
        match input.get(offset) {
            None => return input.len(),
            Some(b'\\') if has_escapes => offset += 2,
            Some(b'\'') if input.get(offset + 1) == Some(&b'\'') => offset += 2,
            Some(b'\'') => match continuation_length(&input[offset + 1..]) {
                Some(length) => offset += 1 + length,
                None => return offset + 1,
            },
            Some(_) => offset += 1,
        }
        offset = offset.min(input.len());
    }
}

/// Length up to and including the quote that continues a text, after comments and blanks with at least one
/// newline; `None` if the text is not continued.
fn continuation_length(input: &[u8]) -> Option<usize> {
    let mut offset = 0;
    let mut has_newline = false;
    loop {
        match (input.get(offset)?, input.get(offset + 1)) {
            (b'\n' | b'\r', _) => {
                has_newline = true;
                offset += 1;
            }
            (b' ' | b'\t' | b'\x0c', _) => offset += 1,
            (b'-', Some(b'-')) => offset += comment_length(&input[offset..]),
            (b'\'', _) if has_newline => return Some(offset + 1),
            _ => return None,
        }
    }
}

/// Length of a double-quoted name at the start of `input`. A doubled quote inside is treated as the end of
/// one name and the start of the next, with the same total length.
fn quoted_identifier_length(input: &[u8]) -> usize {
    1 + count_leading(&input[1..], |c| c != b'"') + 1
}

/// Length of a comment between `/*` and `*/`, with nested ones.
fn nested_comment_length(input: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut offset = 0;
    while offset < input.len() {
        match (input[offset], input.get(offset + 1)) {
            (b'/', Some(b'*')) => {
                depth += 1;
                offset += 2;
            }
            (b'*', Some(b'/')) => {
                depth -= 1;
                offset += 2;
                if depth == 0 {
                    return offset;
                }
            }
            _ => offset += 1,
        }
    }
    input.len()
}

/// Length of a text between `$tag$` and `$tag$`, of a parameter `$1`, or of a lone dollar.
fn dollar_quoted_length(input: &[u8]) -> usize {
    let digits = count_leading(&input[1..], |c| c.is_ascii_digit());
    if digits > 0 {
        return 1 + digits + word_length(&input[1 + digits..]);
    }
    let tag_length = count_leading(&input[1..], |c| is_word_start(c) || c.is_ascii_digit());
    if input.get(1 + tag_length) != Some(&b'$') {
        return 1;
    }
    let (open, body) = input.split_at(tag_length + 2);
    match find_bytes(body, open) {
        Some(end) => 2 * open.len() + end,
        None => input.len(),
    }
}

/// The first position of `needle` in `text`.
fn find_bytes(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|part| part == needle)
}

/// Length of a variable, or of a cast's colons. A variable's name never opens a block, and contains no dollar
/// sign.
fn variable_length(input: &[u8]) -> usize {
    if input.get(1) == Some(&b':') {
        return 2;
    }
    1 + count_leading(&input[1..], |c| is_word_start(c) || c.is_ascii_digit())
}

/// Length of a number and of a word that directly follows it, so that the word's last letter does not begin a
/// quoted text such as `e'...'`.
fn number_length(input: &[u8]) -> usize {
    let digits = |from: usize| {
        count_leading(input.get(from..).unwrap_or_default(), |c| {
            c.is_ascii_digit()
        })
    };
    let mut offset = digits(0);
    // Two dots are PL/pgSQL's range operator.
    if input.get(offset) == Some(&b'.') && input.get(offset + 1) != Some(&b'.') {
        offset += 1 + digits(offset + 1);
    }
    if let Some(b'e' | b'E') = input.get(offset) {
        let sign_length = usize::from(matches!(input.get(offset + 1), Some(b'+' | b'-')));
        let exponent_digits = digits(offset + 1 + sign_length);
        if exponent_digits > 0 {
            offset += 1 + sign_length + exponent_digits;
        } else if sign_length > 0 {
            // An incomplete exponent; its sign does not begin a comment.
            return offset + 2;
        }
    }
    offset + word_length(&input[offset..])
}

/// Length of a word outside quotes at the start of `input`; 0 if there is none.
fn word_length(input: &[u8]) -> usize {
    if !input.first().is_some_and(|c| is_word_start(*c)) {
        return 0;
    }
    count_leading(input, |c| {
        is_word_start(c) || c.is_ascii_digit() || c == b'$'
    })
}
