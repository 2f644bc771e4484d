//! The grammar of `expr`.
//!
//! In: an expression's text. Out: its tree. Must never: nest without a bound.

use super::number::{Value, truth};
use super::parse::{Part, Reader};

/// How deep parentheses may lie in one another.
const MAX_NESTING: usize = 100;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Value(Value),
    Parts(Vec<Part>),
    Unary(char, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    Call(String, Vec<Node>),
}

/// Operators, the loosest first; those of a row bind alike. A longer one stands before its prefix.
const LEVELS: [&[&str]; 11] = [
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

/// Reads an expression.
pub(crate) fn read(text: &str) -> Result<Node, String> {
    let mut parser = Parser {
        reader: Reader::new(text),
        nesting: 0,
        text,
    };
    let node = parser.choice()?;
    parser.skip();
    if parser.reader.peek().is_some() {
        return Err(parser.complaint());
    }
    Ok(node)
}

struct Parser<'a> {
    reader: Reader<'a>,
    nesting: usize,
    text: &'a str,
}

impl Parser<'_> {
    fn complaint(&self) -> String {
        if self.reader.peek().is_none() {
            format!("missing operand at _@_\nin expression \"{}_@_\"", self.text)
        } else {
            let (before, after) = self.text.split_at(self.reader.at());
            format!("syntax error in expression \"{before}_@_{after}\"")
        }
    }

    fn skip(&mut self) {
        while self.reader.skip_blank() || self.eat("\n") {}
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.reader.rest().starts_with(token);
        if found {
            self.reader.set_at(self.reader.at() + token.len());
        }
        found
    }

    fn choice(&mut self) -> Result<Node, String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("expression too deeply nested".to_owned());
        }
        let mut node = self.level(0)?;
        self.skip();
        if self.eat("?") {
            let yes = self.choice()?;
            self.skip();
            if !self.eat(":") {
                return Err(self.complaint());
            }
            let no = self.choice()?;
            node = Node::Choice(Box::new(node), Box::new(yes), Box::new(no));
        }
        self.nesting -= 1;
        Ok(node)
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.skip();
        let rest = self.reader.rest();
        let found = LEVELS[level].iter().find(|op| rest.starts_with(**op))?;
        let after = rest[found.len()..].chars().next();
        let runs_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_other = match *found {
            "|" => after == Some('|'),
            "&" => after == Some('&'),
            "<" => after == Some('<'),
            ">" => after == Some('>'),
            "*" => after == Some('*'),
            "eq" | "ne" | "in" | "ni" => after.is_some_and(runs_on),
            _ => false,
        };
        if is_other {
            return None;
        }
        self.reader.set_at(self.reader.at() + found.len());
        Some(found)
    }

    fn level(&mut self, level: usize) -> Result<Node, String> {
        if level == LEVELS.len() {
            return self.power();
        }
        let mut left = self.level(level + 1)?;
        // A chain leans left and so is as deep as it is long.
        let mut length = 0;
        while let Some(operator) = self.operator(level) {
            length += 1;
            if length > 4 * MAX_NESTING {
                return Err("expression too long".to_owned());
            }
            let right = self.level(level + 1)?;
            left = Node::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Node, String> {
        let left = self.unary()?;
        self.skip();
        if !self.eat("**") {
            return Ok(left);
        }
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("expression too deeply nested".to_owned());
        }
        let right = self.power()?;
        self.nesting -= 1;
        Ok(Node::Binary("**", Box::new(left), Box::new(right)))
    }

    fn unary(&mut self) -> Result<Node, String> {
        self.skip();
        let Some(sign) = self.reader.peek().filter(|c| "+-!~".contains(*c)) else {
            return self.primary();
        };
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("expression too deeply nested".to_owned());
        }
        self.reader.set_at(self.reader.at() + 1);
        let inner = self.unary()?;
        self.nesting -= 1;
        Ok(Node::Unary(sign, Box::new(inner)))
    }

    fn primary(&mut self) -> Result<Node, String> {
        let bad = |bad: super::parse::Bad| bad.message;
        match self.reader.peek() {
            None => Err(self.complaint()),
            Some('(') => {
                self.reader.set_at(self.reader.at() + 1);
                let node = self.choice()?;
                self.skip();
                if !self.eat(")") {
                    return Err(format!(
                        "unbalanced open paren\nin expression \"{}\"",
                        self.text
                    ));
                }
                Ok(node)
            }
            Some('$') => match self.reader.dollar().map_err(bad)? {
                Some(part) => Ok(Node::Parts(vec![part])),
                None => Err(self.complaint()),
            },
            Some('[') => Ok(Node::Parts(vec![self.reader.bracket().map_err(bad)?])),
            Some('"') => Ok(Node::Parts(self.reader.quoted().map_err(bad)?)),
            Some('{') => Ok(Node::Parts(vec![Part::Text(
                self.reader.braced().map_err(bad)?,
            )])),
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.name(),
            Some(_) => Err(self.complaint()),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        let rest = self.reader.rest();
        let mut length = 0;
        let mut previous = ' ';
        let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
        for c in rest.chars() {
            let is_exponent_sign =
                (c == '+' || c == '-') && matches!(previous, 'e' | 'E') && !is_hex;
            if !(c.is_ascii_alphanumeric() || c == '.' || is_exponent_sign) {
                break;
            }
            previous = c;
            length += 1;
        }
        let text = &rest[..length];
        let value = Value::read(text);
        match value {
            Value::Text(_) => Err(self.complaint()),
            // An integer beyond 64 bits reads as a real number: say so, do not lose digits.
            Value::Real(_) if text.bytes().all(|b| b.is_ascii_digit()) => {
                Err("integer value too large to represent".to_owned())
            }
            value => {
                self.reader.set_at(self.reader.at() + length);
                Ok(Node::Value(value))
            }
        }
    }

    fn name(&mut self) -> Result<Node, String> {
        let rest = self.reader.rest();
        let length = (rest.bytes())
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count();
        let name = &rest[..length];
        self.reader.set_at(self.reader.at() + length);
        self.skip();
        if !self.eat("(") {
            if truth(name).is_some() || name.eq_ignore_ascii_case("inf") {
                return Ok(Node::Value(Value::read(name)));
            }
            return Err(format!(
                "invalid bareword \"{name}\"\nin expression \"{}\";\nshould be \"${name}\" or \"{{{name}}}\" or \"{name}(...)\" or ...",
                self.text
            ));
        }
        let mut args = Vec::new();
        self.skip();
        if self.eat(")") {
            return Ok(Node::Call(name.to_owned(), args));
        }
        loop {
            args.push(self.choice()?);
            self.skip();
            if self.eat(")") {
                return Ok(Node::Call(name.to_owned(), args));
            }
            if !self.eat(",") {
                return Err(self.complaint());
            }
        }
    }
}
