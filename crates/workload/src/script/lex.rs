//! Splits a script into statements, by the rules of psql's lexer. A semicolon or backslash inside quotes,
//! comments, parentheses or a function body never ends a statement. Variables are not handled here; they
//! are found in the finished text.

use super::tokens::Source;

/// What ended a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatementEnd {
    /// A semicolon, which is part of the statement.
    Semicolon,
    /// A backslash, which has been consumed.
    Backslash,
    /// The end of the script.
    End,
}

/// A statement and where it starts in the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawStatement {
    /// Its text, without the blanks and comments before it.
    pub text: String,
    /// Where in the script it begins.
    pub start: usize,
}

/// State that decides what a semicolon means. Backslash commands do not change it.
#[derive(Clone, Debug, Default)]
pub(super) struct SqlLexer {
    parentheses: usize,
    /// Open BEGIN and CASE blocks in a function body.
    begins: usize,
    /// First letters of the statement's first words, for words that can begin a function definition; 0 for
    /// others.
    words: [u8; 4],
    word_count: usize,
}

impl SqlLexer {
    /// Reads up to the end of a statement.
    pub fn statement(&mut self, source: &mut Source<'_>) -> (RawStatement, StatementEnd) {
        let mut raw = RawStatement::default();
        loop {
            let start = source.position;
            let rest = source.rest();
            let Some(first) = rest.first() else {
                return (raw, StatementEnd::End);
            };
            let length = match (*first, rest.get(1)) {
                (b'\\', Some(second @ (b';' | b':'))) => {
                    if *second == b';' {
                        self.word_count = 0;
                    }
                    // Keep the character without its backslash.
                    source.position += 1;
                    push(&mut raw, source, 1);
                    continue;
                }
                (b'\\', _) => {
                    source.position += 1;
                    return (raw, StatementEnd::Backslash);
                }
                (c, second)
                    if is_blank(c, source.level) || (c == b'-' && second == Some(&b'-')) =>
                {
                    let comment = c == b'-';
                    let length = if comment { comment_length(rest) } else { 1 };
                    // Since version 15, comments inside a statement are sent to the server.
                    if raw.text.is_empty() || (comment && source.level < 15) {
                        source.position += length;
                        continue;
                    }
                    length
                }
                (b';', _) => {
                    push(&mut raw, source, 1);
                    if self.parentheses == 0 && self.begins == 0 {
                        self.word_count = 0;
                        return (raw, StatementEnd::Semicolon);
                    }
                    continue;
                }
                _ => self.token_length(rest),
            };
            source.position = start;
            push(&mut raw, source, length);
        }
    }

    /// Length of the element that `rest` begins with: a quoted text, a comment, a word, a number, or one
    /// byte.
    fn token_length(&mut self, rest: &[u8]) -> usize {
        match (rest[0], rest.get(1), rest.get(2)) {
            (b'(', ..) => self.parentheses += 1,
            (b')', ..) => self.parentheses = self.parentheses.saturating_sub(1),
            (b'\'', ..) => return quoted(rest, 1, false),
            (b'e' | b'E', Some(b'\''), _) => return quoted(rest, 2, true),
            (b'b' | b'B' | b'x' | b'X', Some(b'\''), _) => return quoted(rest, 2, false),
            // The letter alone; the quote is the next element.
            (b'n' | b'N', Some(b'\''), _) => {}
            (b'u' | b'U', Some(b'&'), Some(b'\'')) => return quoted(rest, 3, false),
            (b'u' | b'U', Some(b'&'), Some(b'"')) => return 2 + quoted_identifier(&rest[2..]),
            (b'"', ..) => return quoted_identifier(rest),
            (b'/', Some(b'*'), _) => return nested_comment(rest),
            (b'$', ..) => return dollar_quoted(rest),
            (b':', ..) => return variable(rest),
            (b'0'..=b'9', ..) => return number(rest),
            (b'.', Some(b'0'..=b'9'), _) => return number(rest),
            (c, ..) if is_word_start(c) => return self.word(rest),
            _ => {}
        }
        1
    }

    /// A word outside quotes. In `CREATE [OR REPLACE] FUNCTION|PROCEDURE`, the words that open and close
    /// the blocks of an SQL body are counted.
    fn word(&mut self, rest: &[u8]) -> usize {
        let length = count(rest, |c| {
            is_word_start(c) || c.is_ascii_digit() || c == b'$'
        });
        let word = &rest[..length];
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        if self.word_count == 0 {
            self.words = [0; 4];
        }
        if let Some(slot) = self.words.get_mut(self.word_count)
            && ["create", "function", "procedure", "or", "replace"]
                .into_iter()
                .any(is)
        {
            *slot = word[0].to_ascii_lowercase();
        }
        self.word_count += 1;
        let defines = matches!(
            self.words,
            [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']
        );
        if defines && self.parentheses == 0 {
            if is("begin") || (is("case") && self.begins > 0) {
                self.begins += 1;
            } else if is("end") {
                self.begins = self.begins.saturating_sub(1);
            }
        }
        length
    }
}

/// Moves `length` bytes from the script to the statement.
fn push(raw: &mut RawStatement, source: &mut Source<'_>, length: usize) {
    let start = source.position;
    let mut end = (start + length).min(source.text.len());
    // Elements end at ASCII bytes, so this changes nothing; it only ensures that no input can cause a
    // panic.
    while !source.text.is_char_boundary(end) {
        end += 1;
    }
    if raw.text.is_empty() {
        raw.start = start;
    }
    raw.text.push_str(&source.text[start..end]);
    source.position = end;
}

fn count(bytes: &[u8], matches: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|c| matches(**c)).count()
}

fn is_blank(c: u8, level: u32) -> bool {
    // The vertical tab counts as a blank since version 16.
    matches!(c, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') || (c == b'\x0b' && level >= 16)
}

fn is_word_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || c == b'_' || c >= 0x80
}

fn is_line_end(c: u8) -> bool {
    matches!(c, b'\n' | b'\r')
}

fn comment_length(rest: &[u8]) -> usize {
    count(rest, |c| !is_line_end(c))
}

/// Length of a single-quoted text whose quote opens before `start`, with its continuations on further
/// lines; all of `rest` if it does not end.
fn quoted(rest: &[u8], start: usize, escapes: bool) -> usize {
    let mut at = start;
    loop {
        match rest.get(at) {
            None => return rest.len(),
            Some(b'\\') if escapes => at += 2,
            Some(b'\'') if rest.get(at + 1) == Some(&b'\'') => at += 2,
            Some(b'\'') => match continuation(&rest[at + 1..]) {
                Some(length) => at += 1 + length,
                None => return at + 1,
            },
            Some(_) => at += 1,
        }
        at = at.min(rest.len());
    }
}

/// Length up to and including the quote that continues a text, after comments and blanks with at least one
/// newline.
fn continuation(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut newline = false;
    loop {
        match (rest.get(at)?, rest.get(at + 1)) {
            (b'\n' | b'\r', _) => {
                newline = true;
                at += 1;
            }
            (b' ' | b'\t' | b'\x0c', _) => at += 1,
            (b'-', Some(b'-')) => at += comment_length(&rest[at..]),
            (b'\'', _) if newline => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Length of a double-quoted name at the start of `rest`. A doubled quote inside ends one name and begins
/// another, which leads to the same end.
fn quoted_identifier(rest: &[u8]) -> usize {
    1 + count(&rest[1..], |c| c != b'"') + 1
}

/// Length of a comment between `/*` and `*/`, with nested ones.
fn nested_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            (b'/', Some(b'*')) => {
                depth += 1;
                at += 2;
            }
            (b'*', Some(b'/')) => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of a text between `$tag$` and `$tag$`, of a parameter `$1`, or of a lone dollar.
fn dollar_quoted(rest: &[u8]) -> usize {
    let digits = count(&rest[1..], |c| c.is_ascii_digit());
    if digits > 0 {
        return 1 + digits + word_length(&rest[1 + digits..]);
    }
    let tag = count(&rest[1..], |c| is_word_start(c) || c.is_ascii_digit());
    if rest.get(1 + tag) != Some(&b'$') {
        return 1;
    }
    let (open, body) = rest.split_at(tag + 2);
    match find(body, open) {
        Some(at) => 2 * open.len() + at,
        None => rest.len(),
    }
}

/// The first position of `needle`, whose only `$` are its first and last bytes.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|part| part == needle)
}

/// Length of a variable, or of a cast's colons. A variable's name cannot open a block, and contains no
/// dollar.
fn variable(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b':') {
        return 2;
    }
    1 + count(&rest[1..], |c| is_word_start(c) || c.is_ascii_digit())
}

/// Length of a number and a word that directly follows it, whose last letter begins no quoted text.
fn number(rest: &[u8]) -> usize {
    let digits = |from: usize| count(rest.get(from..).unwrap_or_default(), |c| c.is_ascii_digit());
    let mut at = digits(0);
    // Two dots are the range of a loop.
    if rest.get(at) == Some(&b'.') && rest.get(at + 1) != Some(&b'.') {
        at += 1 + digits(at + 1);
    }
    if let Some(b'e' | b'E') = rest.get(at) {
        let signed = usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + signed);
        if exponent > 0 {
            at += 1 + signed + exponent;
        } else if signed > 0 {
            // Half a number, but its minus does not begin a comment.
            return at + 2;
        }
    }
    at + word_length(&rest[at..])
}

/// Length of a word outside quotes at the start of `rest`; 0 if there is none.
fn word_length(rest: &[u8]) -> usize {
    if !rest.first().is_some_and(|c| is_word_start(*c)) {
        return 0;
    }
    count(rest, |c| {
        is_word_start(c) || c.is_ascii_digit() || c == b'$'
    })
}
