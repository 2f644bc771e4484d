//! Words and symbols of backslash commands.
//!
//! In: a script's text and a place in it. Out: words for most commands, symbols for expressions, up
//! to the end of the line; a backslash at the end of a line continues it. Must never: look behind
//! the newline that ends the command.

use super::number::parse_double;
use super::variables::is_name_byte;

/// A script's text and how much of it has been read.
pub(super) struct Source<'a> {
    /// The script's name.
    pub name: &'a str,
    /// The whole text.
    pub text: &'a str,
    /// First byte that has not been read.
    pub position: usize,
    /// Major version of pgbench whose language this is.
    pub level: u32,
}

/// A symbol of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Newline or end of the script.
    End,
    Int(i64),
    /// 9223372036854775808, which is a number only after a minus.
    BeyondInt,
    Double(f64),
    Bool(bool),
    Null,
    /// A variable's name, without the colon.
    Variable(&'a str),
    /// A function's name, if it is one.
    Word(&'a str),
    Open,
    Close,
    Comma,
    Tilde,
    Not,
    Is,
    IsNull,
    NotNull,
    Case,
    When,
    Then,
    Else,
    EndCase,
    Binary(Binary),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

/// What cannot be a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable<'a> {
    pub message: &'static str,
    pub detail: &'a str,
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

impl<'a> Source<'a> {
    pub fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.position..]
    }

    /// What was read from `start` on, without newlines at its end.
    pub fn since(&self, start: usize) -> &'a str {
        self.text[start..self.position].trim_end_matches(['\n', '\r'])
    }

    /// Length of a backslash-newline at the start of `rest`, 0 if there is none.
    fn continuation(rest: &[u8]) -> usize {
        match rest {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            _ => 0,
        }
    }

    /// Skips blanks and continued line ends; true if that leads to the end of the command, which is
    /// read too.
    fn skip_to_word(&mut self) -> bool {
        loop {
            let rest = self.rest();
            match rest.first() {
                None => return true,
                Some(b'\n') => {
                    self.position += 1;
                    return true;
                }
                Some(c) if is_space(*c) => self.position += 1,
                Some(_) => match Self::continuation(rest) {
                    0 => return false,
                    length => self.position += length,
                },
            }
        }
    }

    /// The next word of the command and where it stands, none at the end of the command.
    ///
    /// The place is the one that pgbench shows: a continued line end behind the word shifts it.
    pub fn word(&mut self) -> Option<(&'a str, usize)> {
        if self.skip_to_word() {
            return None;
        }
        let start = self.position;
        let length = self
            .rest()
            .iter()
            .take_while(|c| !is_space(**c) && **c != b'\n')
            .count();
        let end = start + length;
        self.position = end;
        let mut word = &self.text[start..end];
        if let Some(shorter) = word.strip_suffix('\\') {
            let joined = Self::continuation(&self.text.as_bytes()[end - 1..]);
            if joined > 0 {
                word = shorter;
                self.position = end - 1 + joined;
            }
        }
        Some((word, self.position - word.len()))
    }

    /// The next symbol of an expression.
    pub fn token(&mut self) -> Result<Token<'a>, Unreadable<'a>> {
        if self.skip_to_word() {
            return Ok(Token::End);
        }
        let rest = self.rest();
        let (length, token) = match rest[0] {
            b'(' => (1, Token::Open),
            b')' => (1, Token::Close),
            b',' => (1, Token::Comma),
            b'~' => (1, Token::Tilde),
            b':' => return self.variable(),
            b'0'..=b'9' => return self.number(),
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit) => return self.number(),
            c if is_name_byte(c) => return Ok(self.name()),
            _ => match operator(rest) {
                Some((length, binary)) => (length, Token::Binary(binary)),
                None => return Err(self.unexpected()),
            },
        };
        self.position += length;
        Ok(token)
    }

    /// Takes `length` bytes; the caller knows that they end between two characters.
    fn take(&mut self, length: usize) -> &'a str {
        let start = self.position;
        self.position += length;
        &self.text[start..self.position]
    }

    fn unexpected(&mut self) -> Unreadable<'a> {
        // Every byte that comes here is ASCII: the others are parts of names.
        Unreadable {
            message: "unexpected character",
            detail: self.take(1),
        }
    }

    fn variable(&mut self) -> Result<Token<'a>, Unreadable<'a>> {
        let name = &self.rest()[1..];
        match name.iter().take_while(|c| is_name_byte(**c)).count() {
            0 => Err(self.unexpected()),
            length => Ok(Token::Variable(&self.take(1 + length)[1..])),
        }
    }

    fn number(&mut self) -> Result<Token<'a>, Unreadable<'a>> {
        let (length, whole) = number_length(self.rest());
        let text = self.take(length);
        if text == "9223372036854775808" {
            return Ok(Token::BeyondInt);
        }
        let (token, message) = if whole {
            (
                text.parse().ok().map(Token::Int),
                "bigint constant overflow",
            )
        } else {
            (
                parse_double(text).map(Token::Double),
                "double constant overflow",
            )
        };
        token.ok_or(Unreadable {
            message,
            detail: text,
        })
    }

    fn name(&mut self) -> Token<'a> {
        let length = self.rest().iter().take_while(|c| is_name_byte(**c)).count();
        let word = self.take(length);
        keyword(word).unwrap_or(Token::Word(word))
    }
}

/// How many bytes of `rest` are a number without sign, and whether it is a whole one.
fn number_length(rest: &[u8]) -> (usize, bool) {
    let digits = |from: usize| {
        let tail = rest.get(from..).unwrap_or_default();
        tail.iter().take_while(|c| c.is_ascii_digit()).count()
    };
    let mut length = digits(0);
    let mut whole = true;
    if rest.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
        whole = false;
    }
    if let Some(b'e' | b'E') = rest.get(length) {
        let signed = matches!(rest.get(length + 1), Some(b'+' | b'-'));
        let start = length + 1 + usize::from(signed);
        // Without digits the letter begins a word.
        if digits(start) > 0 {
            length = start + digits(start);
            whole = false;
        }
    }
    (length, whole)
}

/// The longest operator at the start of `rest`.
fn operator(rest: &[u8]) -> Option<(usize, Binary)> {
    Some(match rest {
        [b'<', b'>', ..] | [b'!', b'=', ..] => (2, Binary::NotEqual),
        [b'<', b'=', ..] => (2, Binary::LessEqual),
        [b'>', b'=', ..] => (2, Binary::GreaterEqual),
        [b'<', b'<', ..] => (2, Binary::ShiftLeft),
        [b'>', b'>', ..] => (2, Binary::ShiftRight),
        [b'<', ..] => (1, Binary::Less),
        [b'>', ..] => (1, Binary::Greater),
        [b'=', ..] => (1, Binary::Equal),
        [b'|', ..] => (1, Binary::BitOr),
        [b'&', ..] => (1, Binary::BitAnd),
        [b'#', ..] => (1, Binary::BitXor),
        [b'+', ..] => (1, Binary::Plus),
        [b'-', ..] => (1, Binary::Minus),
        [b'*', ..] => (1, Binary::Times),
        [b'/', ..] => (1, Binary::Over),
        [b'%', ..] => (1, Binary::Modulo),
        _ => return None,
    })
}

fn keyword(word: &str) -> Option<Token<'static>> {
    const KEYWORDS: [(&str, Token<'static>); 14] = [
        ("and", Token::Binary(Binary::And)),
        ("or", Token::Binary(Binary::Or)),
        ("not", Token::Not),
        ("is", Token::Is),
        ("isnull", Token::IsNull),
        ("notnull", Token::NotNull),
        ("null", Token::Null),
        ("true", Token::Bool(true)),
        ("false", Token::Bool(false)),
        ("case", Token::Case),
        ("when", Token::When),
        ("then", Token::Then),
        ("else", Token::Else),
        ("end", Token::EndCase),
    ];
    KEYWORDS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(word))
        .map(|(_, token)| *token)
}
