//! Parses the expressions of `expr`.
//!
//! In: an expression's text. Out: its tree. Must never: nest deeper than [`MAX_NESTING`].

use super::number::{TOO_LARGE, Value, parse_bool};
use super::parse::{Part, TextParser};

const MAX_NESTING: usize = 100;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Value(Value),
    /// Text with substitutions.
    Parts(Vec<Part>),
    Unary(char, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
    Ternary(Box<Node>, Box<Node>, Box<Node>),
    Call(String, Vec<Node>),
}

/// Operators by precedence, the lowest level first. Within a level, an operator comes before its own prefixes
/// (`<=` before `<`), because the first match applies.
const PRECEDENCE: [&[&str]; 11] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["eq", "ne", "in", "ni"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

pub(crate) fn parse(text: &str) -> Result<Node, String> {
    let mut parser = Parser {
        reader: TextParser::new(text),
        nesting: 0,
        text,
    };
    let node = parser.parse_ternary()?;
    parser.skip_whitespace();
    if parser.reader.peek().is_some() {
        return Err(parser.syntax_error());
    }
    Ok(node)
}

struct Parser<'a> {
    reader: TextParser<'a>,
    nesting: usize,
    text: &'a str,
}

impl Parser<'_> {
    fn enter_level(&mut self) -> Result<(), String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("expression too deeply nested".to_owned());
        }
        Ok(())
    }

    fn syntax_error(&self) -> String {
        if self.reader.peek().is_none() {
            format!("missing operand at _@_\nin expression \"{}_@_\"", self.text)
        } else {
            let (before, after) = self.text.split_at(self.reader.position());
            format!("syntax error in expression \"{before}_@_{after}\"")
        }
    }

    fn skip_whitespace(&mut self) {
        while self.reader.skip_blank() || self.skip_token("\n") {}
    }

    /// Skips a token if it is next. Returns whether it was.
    fn skip_token(&mut self, token: &str) -> bool {
        let is_next = self.reader.remaining().starts_with(token);
        if is_next {
            self.reader
                .set_position(self.reader.position() + token.len());
        }
        is_next
    }

    fn parse_ternary(&mut self) -> Result<Node, String> {
        self.enter_level()?;
        let mut node = self.parse_level(0)?;
        self.skip_whitespace();
        if self.skip_token("?") {
            let yes = self.parse_ternary()?;
            self.skip_whitespace();
            if !self.skip_token(":") {
                return Err(self.syntax_error());
            }
            let no = self.parse_ternary()?;
            node = Node::Ternary(Box::new(node), Box::new(yes), Box::new(no));
        }
        self.nesting -= 1;
        Ok(node)
    }

    /// Parses an operator of a precedence level; `None` if another token is next.
    fn parse_operator(&mut self, level: usize) -> Option<&'static str> {
        self.skip_whitespace();
        let text = self.reader.remaining();
        let operator = PRECEDENCE[level].iter().find(|op| text.starts_with(**op))?;
        let after = text[operator.len()..].chars().next();
        let continues_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_longer = match *operator {
            "|" => after == Some('|'),
            "&" => after == Some('&'),
            "<" => after == Some('<'),
            ">" => after == Some('>'),
            "*" => after == Some('*'),
            "eq" | "ne" | "in" | "ni" => after.is_some_and(continues_word),
            _ => false,
        };
        if is_longer {
            return None;
        }
        self.reader
            .set_position(self.reader.position() + operator.len());
        Some(operator)
    }

    fn parse_level(&mut self, level: usize) -> Result<Node, String> {
        if level == PRECEDENCE.len() {
            return self.parse_power();
        }
        let mut left = self.parse_level(level + 1)?;
        // Operators of a level are left-associative, so the tree is as deep as a chain of them is long.
        let mut chain_length = 0;
        while let Some(operator) = self.parse_operator(level) {
            chain_length += 1;
            if chain_length > 4 * MAX_NESTING {
                return Err("expression too long".to_owned());
            }
            let right = self.parse_level(level + 1)?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn parse_power(&mut self) -> Result<Node, String> {
        let left = self.parse_unary()?;
        self.skip_whitespace();
        if !self.skip_token("**") {
            return Ok(left);
        }
        self.enter_level()?;
        let right = self.parse_power()?;
        self.nesting -= 1;
        Ok(Node::Binary("**", Box::new(left), Box::new(right)))
    }

    fn parse_unary(&mut self) -> Result<Node, String> {
        self.skip_whitespace();
        let Some(sign) = self.reader.peek().filter(|c| "+-!~".contains(*c)) else {
            return self.parse_primary();
        };
        self.enter_level()?;
        self.reader.set_position(self.reader.position() + 1);
        let operand = self.parse_unary()?;
        self.nesting -= 1;
        Ok(Node::Unary(sign, Box::new(operand)))
    }

    fn parse_primary(&mut self) -> Result<Node, String> {
        let message_of = |error: super::parse::SyntaxError| error.message;
        match self.reader.peek() {
            None => Err(self.syntax_error()),
            Some('(') => {
                self.reader.set_position(self.reader.position() + 1);
                let node = self.parse_ternary()?;
                self.skip_whitespace();
                if !self.skip_token(")") {
                    return Err(format!(
                        "unbalanced open paren\nin expression \"{}\"",
                        self.text
                    ));
                }
                Ok(node)
            }
            Some('$') => match self.reader.parse_dollar().map_err(message_of)? {
                Some(part) => Ok(Node::Parts(vec![part])),
                None => Err(self.syntax_error()),
            },
            Some('[') => Ok(Node::Parts(vec![
                self.reader.parse_bracket().map_err(message_of)?,
            ])),
            Some('"') => Ok(Node::Parts(self.reader.parse_quoted().map_err(message_of)?)),
            Some('{') => Ok(Node::Parts(vec![Part::Text(
                self.reader.parse_braced().map_err(message_of)?,
            )])),
            Some(c) if c.is_ascii_digit() || c == '.' => self.parse_number(),
            Some(c) if c.is_ascii_alphabetic() => self.parse_name(),
            Some(_) => Err(self.syntax_error()),
        }
    }

    fn parse_number(&mut self) -> Result<Node, String> {
        let remaining = self.reader.remaining();
        let mut length = 0;
        let mut previous = ' ';
        let is_hex = remaining.starts_with("0x") || remaining.starts_with("0X");
        for c in remaining.chars() {
            let is_exponent_sign =
                (c == '+' || c == '-') && matches!(previous, 'e' | 'E') && !is_hex;
            if !(c.is_ascii_alphanumeric() || c == '.' || is_exponent_sign) {
                break;
            }
            previous = c;
            length += 1;
        }
        let text = &remaining[..length];
        let value = Value::parse(text);
        match value {
            Value::Text(_) => Err(self.syntax_error()),
            // An integer beyond 64 bits parses as a real number: report an error rather than lose digits.
            Value::Real(_) if text.bytes().all(|b| b.is_ascii_digit()) => Err(TOO_LARGE.to_owned()),
            value => {
                self.reader.set_position(self.reader.position() + length);
                Ok(Node::Value(value))
            }
        }
    }

    /// Parses a function call, or a word that is a value, such as `true`.
    fn parse_name(&mut self) -> Result<Node, String> {
        let remaining = self.reader.remaining();
        let length = (remaining.bytes())
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count();
        let name = &remaining[..length];
        self.reader.set_position(self.reader.position() + length);
        self.skip_whitespace();
        if !self.skip_token("(") {
            if parse_bool(name).is_some() || name.eq_ignore_ascii_case("inf") {
                return Ok(Node::Value(Value::parse(name)));
            }
            return Err(format!(
                "invalid bareword \"{name}\"\nin expression \"{}\";\nshould be \"${name}\" or \"{{{name}}}\" or \"{name}(...)\" or ...",
                self.text
            ));
        }
        let mut args = Vec::new();
        self.skip_whitespace();
        if self.skip_token(")") {
            return Ok(Node::Call(name.to_owned(), args));
        }
        loop {
            args.push(self.parse_ternary()?);
            self.skip_whitespace();
            if self.skip_token(")") {
                return Ok(Node::Call(name.to_owned(), args));
            }
            if !self.skip_token(",") {
                return Err(self.syntax_error());
            }
        }
    }
}
