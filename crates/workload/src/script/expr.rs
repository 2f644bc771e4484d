//! Expressions: from text to steps of a stack machine.
//!
//! In: a source that stands behind a command's name. Out: the steps, in the order in which pgbench
//! evaluates (which decides who draws the next random number). Must never: recurse deeper than
//! `DEPTH_MAX`; a long chain of operators is a loop here, and evaluation never recurses.

use super::error::{ScriptError, SyntaxError};
use super::functions::{self, ARGUMENTS_MAX, Arity, Function};
use super::tokens::{Binary, Source, Token, Unreadable};
use super::variables::{Names, VariableId};

/// How deep parentheses, calls, signs, NOT and CASE may be nested in one expression.
pub const DEPTH_MAX: usize = 500;

/// An expression, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub(super) steps: Box<[Step]>,
}

/// A step of the stack machine. Jumps count the steps to pass over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Variable(VariableId),
    /// Takes two values, gives one.
    Operator(Operator),
    Not,
    /// Whether the two values are of one type and equal; for IS.
    Same,
    /// Left side of AND: decides (NULL, false), or is dropped for the right side.
    And(u32),
    /// Left side of OR: decides (NULL, true), or is dropped for the right side.
    Or(u32),
    /// Right side of AND and OR: a boolean or NULL.
    Boolean,
    /// Takes a condition, and jumps if it does not hold.
    Unless(u32),
    Jump(u32),
    Call(Function, u8),
    /// A call with more arguments than a call may have.
    TooManyArguments,
}

/// An operator of the stack machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// How strongly operators bind, weakest first.
mod binding {
    pub const ANY: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const IS: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const BITS: u8 = 6;
    pub const SUM: u8 = 7;
    pub const PRODUCT: u8 = 8;
    pub const SIGN: u8 = 9;
}

fn binding_of(binary: Binary) -> u8 {
    match binary {
        Binary::Or => binding::OR,
        Binary::And => binding::AND,
        Binary::Equal
        | Binary::NotEqual
        | Binary::Less
        | Binary::LessEqual
        | Binary::Greater
        | Binary::GreaterEqual => binding::COMPARISON,
        Binary::BitOr
        | Binary::BitXor
        | Binary::BitAnd
        | Binary::ShiftLeft
        | Binary::ShiftRight => binding::BITS,
        Binary::Plus | Binary::Minus => binding::SUM,
        Binary::Times | Binary::Over | Binary::Modulo => binding::PRODUCT,
    }
}

/// Where the command stands whose expression is read, for messages.
pub(super) struct Place<'a> {
    pub command: &'a str,
    pub start: usize,
    pub line: usize,
}

/// Reads an expression up to the end of its command.
pub(super) fn parse(
    source: &mut Source<'_>,
    place: &Place<'_>,
    names: &mut Names,
) -> Result<Expr, ScriptError> {
    let mut parser = Parser {
        source,
        place,
        names,
        token: Token::End,
        steps: Vec::new(),
        depth: 0,
    };
    parser.advance()?;
    parser.expression(binding::ANY)?;
    if parser.token != Token::End {
        return Err(parser.syntax_error());
    }
    Ok(Expr {
        steps: parser.steps.into_boxed_slice(),
    })
}

struct Parser<'a, 's, 'p> {
    source: &'p mut Source<'a>,
    place: &'p Place<'s>,
    names: &'p mut Names,
    /// The symbol that comes next; the source stands behind it.
    token: Token<'a>,
    steps: Vec<Step>,
    depth: usize,
}

impl<'a> Parser<'a, '_, '_> {
    fn advance(&mut self) -> Result<(), ScriptError> {
        match self.source.token() {
            Ok(token) => {
                self.token = token;
                Ok(())
            }
            Err(Unreadable { message, detail }) => {
                // Behind an unreadable symbol the line goes on.
                self.token = Token::Comma;
                Err(self.error(message, Some(detail)))
            }
        }
    }

    fn expect(&mut self, token: Token<'_>) -> Result<(), ScriptError> {
        if self.token != token {
            return Err(self.syntax_error());
        }
        self.advance()
    }

    #[cold]
    fn syntax_error(&mut self) -> ScriptError {
        self.error("syntax error", None)
    }

    /// An error at the symbol that comes next, with the whole command read. As in pgbench, an
    /// unreadable symbol further on takes the place of the error.
    #[cold]
    fn error(&mut self, message: &str, detail: Option<&str>) -> ScriptError {
        let (mut message, mut detail) = (message, detail);
        let mut end = self.source.position;
        while self.token != Token::End {
            match self.source.token() {
                Ok(token) => self.token = token,
                Err(worse) => {
                    message = worse.message;
                    detail = Some(worse.detail);
                    end = self.source.position;
                }
            }
        }
        ScriptError::Syntax(Box::new(SyntaxError {
            script: self.source.name.to_owned(),
            line: self.place.line,
            message: message.to_owned(),
            detail: detail.map(str::to_owned),
            command: Some(self.place.command.to_owned()),
            text: Some(self.source.since(self.place.start).to_owned()),
            column: Some(end - 1 - self.place.start),
        }))
    }

    /// An expression of operators that bind at least as strongly as `weakest`.
    fn expression(&mut self, weakest: u8) -> Result<(), ScriptError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message =
                format!("expression is nested too deeply (maximum is {DEPTH_MAX} levels)");
            return Err(self.error(&message, None));
        }
        let start = self.steps.len();
        self.operand()?;
        loop {
            match self.token {
                Token::Is | Token::IsNull | Token::NotNull if weakest <= binding::IS => {
                    self.is()?;
                }
                Token::Binary(binary) if weakest <= binding_of(binary) => {
                    self.advance()?;
                    self.binary(binary, start)?;
                }
                _ => break,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The rest of `x IS [NOT] NULL|TRUE|FALSE`, `x ISNULL`, `x NOTNULL`.
    fn is(&mut self) -> Result<(), ScriptError> {
        let mut negated = self.token == Token::NotNull;
        let mut than = Step::Null;
        if self.token == Token::Is {
            self.advance()?;
            if self.token == Token::Not {
                negated = true;
                self.advance()?;
            }
            than = match self.token {
                Token::Null => Step::Null,
                Token::Bool(value) => Step::Bool(value),
                _ => return Err(self.syntax_error()),
            };
        }
        self.steps.extend([than, Step::Same]);
        if negated {
            self.steps.push(Step::Not);
        }
        self.advance()
    }

    /// The right side of an operator; the steps of the left side begin at `start`.
    fn binary(&mut self, binary: Binary, start: usize) -> Result<(), ScriptError> {
        let stronger = binding_of(binary) + 1;
        let middle = self.steps.len();
        if let Binary::And | Binary::Or = binary {
            self.steps.push(Step::Jump(0));
            self.expression(stronger)?;
            self.steps.push(Step::Boolean);
            let over = self.distance(middle);
            self.steps[middle] = match binary {
                Binary::And => Step::And(over),
                _ => Step::Or(over),
            };
            return Ok(());
        }
        self.expression(stronger)?;
        let operator = match binary {
            Binary::Plus => Operator::Add,
            Binary::Minus => Operator::Subtract,
            Binary::Times => Operator::Multiply,
            Binary::Over => Operator::Divide,
            Binary::Modulo => Operator::Modulo,
            Binary::Equal => Operator::Equal,
            Binary::NotEqual => Operator::NotEqual,
            Binary::Less | Binary::Greater => Operator::Less,
            Binary::LessEqual | Binary::GreaterEqual => Operator::LessEqual,
            Binary::BitOr => Operator::BitOr,
            Binary::BitXor => Operator::BitXor,
            Binary::BitAnd => Operator::BitAnd,
            Binary::ShiftLeft => Operator::ShiftLeft,
            _ => Operator::ShiftRight,
        };
        if let Binary::Greater | Binary::GreaterEqual = binary {
            // a > b is b < a, and b is evaluated first. Jumps are relative, so steps can move.
            self.steps[start..].rotate_left(middle - start);
        }
        self.steps.push(Step::Operator(operator));
        match self.token {
            // Comparisons do not chain.
            Token::Binary(next)
                if binding_of(binary) == binding::COMPARISON
                    && binding_of(next) == binding::COMPARISON =>
            {
                Err(self.syntax_error())
            }
            _ => Ok(()),
        }
    }

    /// Steps between the jump at `from` and the end.
    fn distance(&self, from: usize) -> u32 {
        // A step takes at least a byte of script, and scripts are below 4 GiB.
        (self.steps.len() - from - 1) as u32
    }

    /// An operand with the operators before it.
    fn operand(&mut self) -> Result<(), ScriptError> {
        let step = match self.token {
            Token::Null => Step::Null,
            Token::Bool(value) => Step::Bool(value),
            Token::Int(value) => Step::Int(value),
            Token::Double(value) => Step::Double(value),
            Token::Variable(name) => Step::Variable(self.names.intern(name)),
            Token::Open => {
                self.advance()?;
                self.expression(binding::ANY)?;
                return self.expect(Token::Close);
            }
            Token::Word(name) => return self.call(name),
            Token::Case => return self.case(),
            _ => return self.prefix(),
        };
        self.steps.push(step);
        self.advance()
    }

    fn prefix(&mut self) -> Result<(), ScriptError> {
        let token = self.token;
        match token {
            Token::Binary(Binary::Plus) => {
                self.advance()?;
                self.expression(binding::SIGN)
            }
            Token::Binary(Binary::Minus) => {
                self.advance()?;
                if self.token == Token::BeyondInt {
                    self.steps.push(Step::Int(i64::MIN));
                    return self.advance();
                }
                self.minus()
            }
            Token::Tilde => {
                self.advance()?;
                self.steps.push(Step::Int(-1));
                // Sums and products belong to the operand: ~1+2 is ~(1+2).
                self.expression(binding::BITS + 1)?;
                self.steps.push(Step::Operator(Operator::BitXor));
                Ok(())
            }
            Token::Not => {
                self.advance()?;
                self.expression(binding::IS)?;
                self.steps.push(Step::Not);
                Ok(())
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// The operand of a minus: 0 - operand, worked out at once for a plain number.
    fn minus(&mut self) -> Result<(), ScriptError> {
        let start = self.steps.len();
        self.steps.push(Step::Int(0));
        self.expression(binding::SIGN)?;
        if let [Step::Int(0), Step::Int(value)] = self.steps[start..]
            && let Some(negative) = value.checked_neg()
        {
            self.steps.truncate(start);
            self.steps.push(Step::Int(negative));
        } else {
            self.steps.push(Step::Operator(Operator::Subtract));
        }
        Ok(())
    }

    fn call(&mut self, word: &'a str) -> Result<(), ScriptError> {
        let Some((name, function, arity)) = functions::find(word, self.source.level) else {
            return Err(self.error("unexpected function name", Some(word)));
        };
        self.advance()?;
        self.expect(Token::Open)?;
        let count = self.arguments()?;
        // The source stands behind the closing parenthesis, which is where messages point.
        let mut given = count;
        match arity {
            Arity::Exactly(wanted) if count == wanted => {}
            Arity::AtLeastOne if count > 0 => {}
            Arity::AtLeastOne => {
                return Err(self.error("at least one argument expected", Some(name)));
            }
            Arity::WithSeed(wanted) if count == wanted => {}
            Arity::WithSeed(wanted) if count + 1 == wanted => {
                self.steps.push(Step::Variable(Names::DEFAULT_SEED));
                given += 1;
            }
            _ => return Err(self.error("unexpected number of arguments", Some(name))),
        }
        self.steps.push(if given > ARGUMENTS_MAX {
            Step::TooManyArguments
        } else {
            Step::Call(function, given as u8)
        });
        self.advance()
    }

    /// The arguments of a call up to its closing parenthesis, and how many there are.
    ///
    /// pgbench lets the first one be missing before a comma: `least(, 1)` has one argument.
    fn arguments(&mut self) -> Result<usize, ScriptError> {
        let mut count = 0;
        if !matches!(self.token, Token::Close | Token::Comma) {
            self.expression(binding::ANY)?;
            count += 1;
        }
        while self.token == Token::Comma {
            self.advance()?;
            let start = self.steps.len();
            self.expression(binding::ANY)?;
            count += 1;
            if count > ARGUMENTS_MAX {
                // It is an error of the run, after the first ones have been evaluated.
                self.steps.truncate(start);
            }
        }
        if self.token != Token::Close {
            return Err(self.syntax_error());
        }
        Ok(count)
    }

    fn case(&mut self) -> Result<(), ScriptError> {
        self.advance()?;
        if self.token != Token::When {
            return Err(self.syntax_error());
        }
        let mut ends = Vec::new();
        while self.token == Token::When {
            self.advance()?;
            self.expression(binding::ANY)?;
            let unless = self.steps.len();
            self.steps.push(Step::Unless(0));
            self.expect(Token::Then)?;
            self.expression(binding::ANY)?;
            ends.push(self.steps.len());
            self.steps.push(Step::Jump(0));
            self.steps[unless] = Step::Unless(self.distance(unless));
        }
        if self.token == Token::Else {
            self.advance()?;
            self.expression(binding::ANY)?;
        } else {
            self.steps.push(Step::Null);
        }
        for end in ends {
            self.steps[end] = Step::Jump(self.distance(end));
        }
        self.expect(Token::EndCase)
    }
}
