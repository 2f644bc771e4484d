//! The words of backslash commands and the tokens of their expressions. A command ends at the end of its
//! line, unless a backslash continues the line. Never reads past that newline.

use super::expr::Operator;
use super::number::parse_double;
use super::variables::is_name_byte;
use prony_document::SqlDialect;

/// A script's text and the position up to which it has been read.
pub(super) struct Source<'a> {
    pub name: &'a str,
    pub text: &'a str,
    /// Offset of the first unread byte.
    pub position: usize,
    /// The major version of pgbench whose language is used.
    pub pgbench_version: u32,
    /// The SQL of the statements, which has its own quotes; `None`: pgbench's rules.
    pub dialect: Option<SqlDialect>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Newline or end of the script.
    End,
    Int(i64),
    /// 9223372036854775808, which is valid only after a minus.
    MinIntMagnitude,
    Double(f64),
    Bool(bool),
    Null,
    /// A variable's name, without the colon.
    Variable(&'a str),
    /// A word, perhaps a function's name.
    Word(&'a str),
    OpenParenthesis,
    CloseParenthesis,
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
    Binary(BinaryOperator),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Or,
    And,
    Operator(Operator),
    /// An operator of swapped operands: `a > b` is `b < a`, with b evaluated first.
    Swapped(Operator),
}

/// Text that is not a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenError<'a> {
    pub message: &'static str,
    pub detail: &'a str,
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\r' | b'\x0b' | b'\x0c')
}

impl<'a> Source<'a> {
    pub fn remaining(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.position..]
    }

    /// The text from `start` up to the position, without trailing newlines.
    pub fn text_from(&self, start: usize) -> &'a str {
        self.text[start..self.position].trim_end_matches(['\n', '\r'])
    }

    /// Length of a backslash and newline at the start of `input`, which continue the command on the next line; 0 if
    /// there are none.
    fn line_continuation_length(input: &[u8]) -> usize {
        match input {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            _ => 0,
        }
    }

    /// Skips blanks and continued line ends; returns whether the command ends there, and then consumes the
    /// newline.
    fn is_at_end_after_blanks(&mut self) -> bool {
        loop {
            let input = self.remaining();
            match input.first() {
                None => return true,
                Some(b'\n') => {
                    self.position += 1;
                    return true;
                }
                Some(c) if is_space(*c) => self.position += 1,
                Some(_) => match Self::line_continuation_length(input) {
                    0 => return false,
                    length => self.position += length,
                },
            }
        }
    }

    /// The next word of the command and its position; `None` at the end of the command.
    ///
    /// The position is the one that pgbench prints in errors: if the line is continued after the word, it is larger by
    /// the length of the continuation.
    pub fn next_word(&mut self) -> Option<(&'a str, usize)> {
        if self.is_at_end_after_blanks() {
            return None;
        }
        let start = self.position;
        let length = self
            .remaining()
            .iter()
            .take_while(|c| !is_space(**c) && **c != b'\n')
            .count();
        let end = start + length;
        self.position = end;
        let mut word = &self.text[start..end];
        if let Some(without_backslash) = word.strip_suffix('\\') {
            let continuation_length =
                Self::line_continuation_length(&self.text.as_bytes()[end - 1..]);
            if continuation_length > 0 {
                word = without_backslash;
                self.position = end - 1 + continuation_length;
            }
        }
        Some((word, self.position - word.len()))
    }

    pub fn next_token(&mut self) -> Result<Token<'a>, TokenError<'a>> {
        if self.is_at_end_after_blanks() {
            return Ok(Token::End);
        }
        let input = self.remaining();
        let (length, token) = match input[0] {
            b'(' => (1, Token::OpenParenthesis),
            b')' => (1, Token::CloseParenthesis),
            b',' => (1, Token::Comma),
            b'~' => (1, Token::Tilde),
            b':' => return self.read_variable_token(),
            b'0'..=b'9' => return self.read_number_token(),
            b'.' if input.get(1).is_some_and(u8::is_ascii_digit) => {
                return self.read_number_token();
            }
            c if is_name_byte(c) => return Ok(self.read_name_token()),
            _ => match operator_at_start(input) {
                Some((length, binary)) => (length, Token::Binary(binary)),
                None => return Err(self.unexpected_character_error()),
            },
        };
        self.position += length;
        Ok(token)
    }

    /// Consumes `length` bytes, which must end at a character boundary.
    fn consume(&mut self, length: usize) -> &'a str {
        let start = self.position;
        self.position += length;
        &self.text[start..self.position]
    }

    fn unexpected_character_error(&mut self) -> TokenError<'a> {
        // The byte is ASCII, because non-ASCII bytes are part of names.
        TokenError {
            message: "unexpected character",
            detail: self.consume(1),
        }
    }

    fn read_variable_token(&mut self) -> Result<Token<'a>, TokenError<'a>> {
        let name = &self.remaining()[1..];
        match name.iter().take_while(|c| is_name_byte(**c)).count() {
            0 => Err(self.unexpected_character_error()),
            length => Ok(Token::Variable(&self.consume(1 + length)[1..])),
        }
    }

    fn read_number_token(&mut self) -> Result<Token<'a>, TokenError<'a>> {
        let (length, is_integer) = number_length(self.remaining());
        let text = self.consume(length);
        if text == "9223372036854775808" {
            return Ok(Token::MinIntMagnitude);
        }
        let (token, message) = if is_integer {
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
        token.ok_or(TokenError {
            message,
            detail: text,
        })
    }

    fn read_name_token(&mut self) -> Token<'a> {
        let length = self
            .remaining()
            .iter()
            .take_while(|c| is_name_byte(**c))
            .count();
        let word = self.consume(length);
        keyword_token(word).unwrap_or(Token::Word(word))
    }
}

/// Length of an unsigned number at the start of `input`, and whether it is an integer.
fn number_length(input: &[u8]) -> (usize, bool) {
    let digits = |from: usize| {
        let tail = input.get(from..).unwrap_or_default();
        tail.iter().take_while(|c| c.is_ascii_digit()).count()
    };
    let mut length = digits(0);
    let mut is_integer = true;
    if input.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
        is_integer = false;
    }
    if let Some(b'e' | b'E') = input.get(length) {
        let has_sign = matches!(input.get(length + 1), Some(b'+' | b'-'));
        let start = length + 1 + usize::from(has_sign);
        // Without digits, the letter begins a word.
        if digits(start) > 0 {
            length = start + digits(start);
            is_integer = false;
        }
    }
    (length, is_integer)
}

/// The longest operator at the start of `input`, and its length.
fn operator_at_start(input: &[u8]) -> Option<(usize, BinaryOperator)> {
    let (length, operator) = match input {
        [b'<', b'>', ..] | [b'!', b'=', ..] => (2, Operator::NotEqual),
        [b'<', b'=', ..] => (2, Operator::LessEqual),
        [b'>', b'=', ..] => return Some((2, BinaryOperator::Swapped(Operator::LessEqual))),
        [b'<', b'<', ..] => (2, Operator::ShiftLeft),
        [b'>', b'>', ..] => (2, Operator::ShiftRight),
        [b'<', ..] => (1, Operator::Less),
        [b'>', ..] => return Some((1, BinaryOperator::Swapped(Operator::Less))),
        [b'=', ..] => (1, Operator::Equal),
        [b'|', ..] => (1, Operator::BitOr),
        [b'&', ..] => (1, Operator::BitAnd),
        [b'#', ..] => (1, Operator::BitXor),
        [b'+', ..] => (1, Operator::Add),
        [b'-', ..] => (1, Operator::Subtract),
        [b'*', ..] => (1, Operator::Multiply),
        [b'/', ..] => (1, Operator::Divide),
        [b'%', ..] => (1, Operator::Modulo),
        _ => return None,
    };
    Some((length, BinaryOperator::Operator(operator)))
}

fn keyword_token(word: &str) -> Option<Token<'static>> {
    const KEYWORDS: [(&str, Token<'static>); 14] = [
        ("and", Token::Binary(BinaryOperator::And)),
        ("or", Token::Binary(BinaryOperator::Or)),
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
        .find(|(keyword, _)| keyword.eq_ignore_ascii_case(word))
        .map(|(_, token)| *token)
}
