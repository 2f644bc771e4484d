//! Cuts a script into statements, by the rules of psql's lexer.
//!
//! In: a script's text. Out: the text of one statement at a time, and what ended it. Must never:
//! take a semicolon or a backslash inside quotes, comments, parentheses or the body of a function for
//! an end; look for variables, which is done on the finished text.

use super::tokens::Source;

/// What ended a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// A semicolon, which is part of the statement.
    Semicolon,
    /// A backslash, which has been read.
    Backslash,
    /// The end of the script.
    End,
}

/// A statement as it was cut out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// Its text, without the blanks and comments before it.
    pub text: String,
    /// Where in the script it begins.
    pub start: usize,
}

/// What a semicolon means depends on what came before it. Backslash commands leave that untouched.
#[derive(Clone, Debug, Default)]
pub(super) struct SqlLexer {
    parentheses: usize,
    /// BEGIN and CASE that wait for their END in the body of a function.
    begins: usize,
    /// First letters of the statement's first words, of those words that can begin the definition of
    /// a function; 0 for others.
    words: [u8; 4],
    word_count: usize,
}

impl SqlLexer {
    /// Reads up to the end of a statement.
    pub fn statement(&mut self, source: &mut Source<'_>) -> (Cut, Ended) {
        let mut cut = Cut::default();
        loop {
            let start = source.position;
            let rest = source.rest();
            let Some(first) = rest.first() else {
                return (cut, Ended::End);
            };
            let length = match (*first, rest.get(1)) {
                (b'\\', Some(second @ (b';' | b':'))) => {
                    if *second == b';' {
                        self.word_count = 0;
                    }
                    // The character without its backslash.
                    source.position += 1;
                    push(&mut cut, source, 1);
                    continue;
                }
                (b'\\', _) => {
                    source.position += 1;
                    return (cut, Ended::Backslash);
                }
                (c, second)
                    if is_blank(c, source.level) || (c == b'-' && second == Some(&b'-')) =>
                {
                    let comment = c == b'-';
                    let length = if comment { comment_length(rest) } else { 1 };
                    // Comments inside a statement reach the server since version 15.
                    if cut.text.is_empty() || (comment && source.level < 15) {
                        source.position += length;
                        continue;
                    }
                    length
                }
                (b';', _) => {
                    push(&mut cut, source, 1);
                    if self.parentheses == 0 && self.begins == 0 {
                        self.word_count = 0;
                        return (cut, Ended::Semicolon);
                    }
                    continue;
                }
                _ => self.element(rest),
            };
            source.position = start;
            push(&mut cut, source, length);
        }
    }

    /// Length of what begins `rest`: a quoted text, a comment, a word, a number, or one byte.
    fn element(&mut self, rest: &[u8]) -> usize {
        match (rest[0], rest.get(1), rest.get(2)) {
            (b'(', ..) => self.parentheses += 1,
            (b')', ..) => self.parentheses = self.parentheses.saturating_sub(1),
            (b'\'', ..) => return quoted(rest, 1, false),
            (b'e' | b'E', Some(b'\''), _) => return quoted(rest, 2, true),
            (b'b' | b'B' | b'x' | b'X', Some(b'\''), _) => return quoted(rest, 2, false),
            // The letter alone; the quote comes next.
            (b'n' | b'N', Some(b'\''), _) => {}
            (b'u' | b'U', Some(b'&'), Some(b'\'')) => return quoted(rest, 3, false),
            (b'u' | b'U', Some(b'&'), Some(b'"')) => return 2 + delimited(&rest[2..]),
            (b'"', ..) => return delimited(rest),
            (b'/', Some(b'*'), _) => return nested_comment(rest),
            (b'$', ..) => return dollar(rest),
            (b':', ..) => return variable(rest),
            (b'0'..=b'9', ..) => return number(rest),
            (b'.', Some(b'0'..=b'9'), _) => return number(rest),
            (c, ..) if is_word_start(c) => return self.word(rest),
            _ => {}
        }
        1
    }

    /// A word outside quotes. In `CREATE [OR REPLACE] FUNCTION|PROCEDURE` those count that open and
    /// close the blocks of a body in SQL.
    fn word(&mut self, rest: &[u8]) -> usize {
        let length = count(rest, |c| {
            is_word_start(c) || c.is_ascii_digit() || c == b'$'
        });
        let word = &rest[..length];
        let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
        if self.word_count == 0 {
            self.words = [0; 4];
        }
        if let Some(place) = self.words.get_mut(self.word_count)
            && ["create", "function", "procedure", "or", "replace"]
                .into_iter()
                .any(is)
        {
            *place = word[0].to_ascii_lowercase();
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
fn push(cut: &mut Cut, source: &mut Source<'_>, length: usize) {
    let start = source.position;
    let mut end = (start + length).min(source.text.len());
    // Elements end at ASCII bytes, so this moves nothing; but no input may make it fail.
    while !source.text.is_char_boundary(end) {
        end += 1;
    }
    if cut.text.is_empty() {
        cut.start = start;
    }
    cut.text.push_str(&source.text[start..end]);
    source.position = end;
}

fn count(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|c| wanted(**c)).count()
}

fn is_blank(c: u8, level: u32) -> bool {
    // The vertical tab has been a blank since version 16.
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

/// A text in single quotes that open before `start`, with the pieces that continue it on other
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

/// Length up to and with the quote that continues a text: blanks with a newline among them, and
/// comments.
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

/// A name in double quotes, the first byte of `rest`; two of them inside stand for one, which for
/// finding the end is the same as two names.
fn delimited(rest: &[u8]) -> usize {
    1 + count(&rest[1..], |c| c != b'"') + 1
}

/// A comment between `/*` and `*/`, with those in it.
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

/// A text between `$tag$` and `$tag$`, or a parameter `$1`, or a dollar.
fn dollar(rest: &[u8]) -> usize {
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

/// Where `wanted`, which begins with the only `$` but its last byte, first stands.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

/// A variable, or the colons of a cast. A variable's name is not a word that could open a block,
/// and holds no dollar.
fn variable(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b':') {
        return 2;
    }
    1 + count(&rest[1..], |c| is_word_start(c) || c.is_ascii_digit())
}

/// A number, with the word that may stick to it: its last letter begins no quoted text.
fn number(rest: &[u8]) -> usize {
    let digits = |from: usize| count(rest.get(from..).unwrap_or_default(), |c| c.is_ascii_digit());
    let mut at = digits(0);
    // Two dots make a range of a loop.
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
