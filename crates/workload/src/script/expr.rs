//! Parses expressions into the instructions of a stack machine. The instructions are in pgbench's order of
//! evaluation, which decides which call draws the next random number. Never recurses deeper than `DEPTH_MAX`:
//! a long chain of operators is parsed in a loop.

use super::error::{ScriptError, SyntaxError};
use super::functions::{self, ARGUMENTS_MAX, Arity, Function};
use super::tokens::{BinaryOperator, Source, Token, TokenError};
use super::variables::{VariableId, VariableNames};

/// How deep parentheses, calls, signs, NOT and CASE may be nested in one expression.
pub const DEPTH_MAX: usize = 500;

/// An expression, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub(super) instructions: Box<[Instruction]>,
}

impl Expr {
    /// The variables that it reads, in its order of evaluation.
    pub(super) fn variables(&self) -> impl Iterator<Item = VariableId> {
        let instructions = self.instructions.iter();
        instructions.filter_map(|instruction| match instruction {
            Instruction::Variable(id) => Some(*id),
            _ => None,
        })
    }
}

/// An instruction of the stack machine. Jumps hold the number of instructions to skip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instruction {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Variable(VariableId),
    /// Pops two values and pushes one.
    Operator(Operator),
    Not,
    /// Pops two values and pushes whether they have the same type and are equal; for IS.
    IsSame,
    /// After the left operand of AND: skips the right one if the left is NULL or false; otherwise pops the
    /// left.
    And(u32),
    /// After the left operand of OR: skips the right one if the left is NULL or true; otherwise pops the
    /// left.
    Or(u32),
    /// After the right operand of AND and OR: fails unless that operand is a boolean or NULL.
    RequireBool,
    /// Pops a condition, and jumps if the condition does not hold.
    JumpUnless(u32),
    Jump(u32),
    Call(Function, u8),
    /// Fails: a call has too many arguments.
    TooManyArguments,
}

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

/// Precedence of the operators, lowest first.
mod precedence {
    pub const LOWEST: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const IS: u8 = 4;
    pub const COMPARISON: u8 = 5;
    pub const BITS: u8 = 6;
    pub const SUM: u8 = 7;
    pub const PRODUCT: u8 = 8;
    pub const SIGN: u8 = 9;
}

fn precedence_of(binary: BinaryOperator) -> u8 {
    let operator = match binary {
        BinaryOperator::Or => return precedence::OR,
        BinaryOperator::And => return precedence::AND,
        BinaryOperator::Operator(operator) | BinaryOperator::Swapped(operator) => operator,
    };
    match operator {
        Operator::Equal | Operator::NotEqual | Operator::Less | Operator::LessEqual => {
            precedence::COMPARISON
        }
        Operator::BitOr
        | Operator::BitXor
        | Operator::BitAnd
        | Operator::ShiftLeft
        | Operator::ShiftRight => precedence::BITS,
        Operator::Add | Operator::Subtract => precedence::SUM,
        Operator::Multiply | Operator::Divide | Operator::Modulo => precedence::PRODUCT,
    }
}

/// The position of the command whose expression is parsed, for messages.
pub(super) struct CommandLocation<'a> {
    /// The command's name as written.
    pub command: &'a str,
    /// The offset of its backslash in the script.
    pub start: usize,
    pub line: usize,
}

/// Parses an expression up to the end of its command.
pub(super) fn parse(
    source: &mut Source<'_>,
    location: &CommandLocation<'_>,
    names: &mut VariableNames,
) -> Result<Expr, ScriptError> {
    let mut parser = Parser {
        source,
        location,
        names,
        token: Token::End,
        instructions: Vec::new(),
        depth: 0,
    };
    parser.advance()?;
    parser.parse_expression(precedence::LOWEST)?;
    if parser.token != Token::End {
        return Err(parser.syntax_error());
    }
    Ok(Expr {
        instructions: parser.instructions.into_boxed_slice(),
    })
}

struct Parser<'a, 's, 'p> {
    source: &'p mut Source<'a>,
    location: &'p CommandLocation<'s>,
    names: &'p mut VariableNames,
    /// The next token; the source is positioned after it.
    token: Token<'a>,
    instructions: Vec<Instruction>,
    depth: usize,
}

impl<'a> Parser<'a, '_, '_> {
    fn advance(&mut self) -> Result<(), ScriptError> {
        match self.source.next_token() {
            Ok(token) => {
                self.token = token;
                Ok(())
            }
            Err(TokenError { message, detail }) => {
                // Any token but `End`, so that `error` reads the remaining line.
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

    /// An error at the next token. Reads the command to its end; as in pgbench, a later invalid token
    /// replaces the error.
    #[cold]
    fn error(&mut self, message: &str, detail: Option<&str>) -> ScriptError {
        let (mut last_message, mut last_detail) = (message, detail);
        let mut error_end = self.source.position;
        while self.token != Token::End {
            match self.source.next_token() {
                Ok(token) => self.token = token,
                Err(later_error) => {
                    last_message = later_error.message;
                    last_detail = Some(later_error.detail);
                    error_end = self.source.position;
                }
            }
        }
        ScriptError::Syntax(Box::new(SyntaxError {
            script: self.source.name.to_owned(),
            line: self.location.line,
            message: last_message.to_owned(),
            detail: last_detail.map(str::to_owned),
            command: Some(self.location.command.to_owned()),
            text: Some(self.source.text_from(self.location.start).to_owned()),
            column: Some(error_end - 1 - self.location.start),
        }))
    }

    /// Parses operators that bind at least as strongly as `min_precedence`, with their operands.
    fn parse_expression(&mut self, min_precedence: u8) -> Result<(), ScriptError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let message =
                format!("expression is nested too deeply (maximum is {DEPTH_MAX} levels)");
            return Err(self.error(&message, None));
        }
        let start = self.instructions.len();
        self.parse_operand()?;
        loop {
            match self.token {
                Token::Is | Token::IsNull | Token::NotNull if min_precedence <= precedence::IS => {
                    self.parse_is()?;
                }
                Token::Binary(binary) if min_precedence <= precedence_of(binary) => {
                    self.advance()?;
                    self.parse_right_operand(binary, start)?;
                }
                _ => break,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Parses the operator in `x IS [NOT] NULL|TRUE|FALSE`, `x ISNULL`, `x NOTNULL`.
    fn parse_is(&mut self) -> Result<(), ScriptError> {
        let mut negated = self.token == Token::NotNull;
        let mut constant = Instruction::Null;
        if self.token == Token::Is {
            self.advance()?;
            if self.token == Token::Not {
                negated = true;
                self.advance()?;
            }
            constant = match self.token {
                Token::Null => Instruction::Null,
                Token::Bool(value) => Instruction::Bool(value),
                _ => return Err(self.syntax_error()),
            };
        }
        self.instructions.extend([constant, Instruction::IsSame]);
        if negated {
            self.instructions.push(Instruction::Not);
        }
        self.advance()
    }

    /// Parses the right operand of an operator; the instructions of the left operand begin at `start`.
    fn parse_right_operand(
        &mut self,
        binary: BinaryOperator,
        start: usize,
    ) -> Result<(), ScriptError> {
        let right_precedence = precedence_of(binary) + 1;
        let right_start = self.instructions.len();
        let operator = match binary {
            BinaryOperator::And => return self.parse_logical(right_precedence, Instruction::And),
            BinaryOperator::Or => return self.parse_logical(right_precedence, Instruction::Or),
            BinaryOperator::Operator(operator) | BinaryOperator::Swapped(operator) => operator,
        };
        self.parse_expression(right_precedence)?;
        if let BinaryOperator::Swapped(_) = binary {
            // Jumps are relative, so instructions can move.
            self.instructions[start..].rotate_left(right_start - start);
        }
        self.instructions.push(Instruction::Operator(operator));
        match self.token {
            // Comparisons do not chain.
            Token::Binary(next)
                if precedence_of(binary) == precedence::COMPARISON
                    && precedence_of(next) == precedence::COMPARISON =>
            {
                Err(self.syntax_error())
            }
            _ => Ok(()),
        }
    }

    /// Parses the right operand of AND or OR, which `skip` jumps over.
    fn parse_logical(
        &mut self,
        right_precedence: u8,
        skip: fn(u32) -> Instruction,
    ) -> Result<(), ScriptError> {
        let right_start = self.instructions.len();
        self.instructions.push(Instruction::Jump(0));
        self.parse_expression(right_precedence)?;
        self.instructions.push(Instruction::RequireBool);
        self.instructions[right_start] = skip(self.instructions_after(right_start));
        Ok(())
    }

    /// Number of instructions after the jump with this index.
    fn instructions_after(&self, jump: usize) -> u32 {
        // Each instruction needs at least one byte of script, and scripts are smaller than 4 GiB.
        (self.instructions.len() - jump - 1) as u32
    }

    /// Parses an operand and the prefix operators before it.
    fn parse_operand(&mut self) -> Result<(), ScriptError> {
        let instruction = match self.token {
            Token::Null => Instruction::Null,
            Token::Bool(value) => Instruction::Bool(value),
            Token::Int(value) => Instruction::Int(value),
            Token::Double(value) => Instruction::Double(value),
            Token::Variable(name) => Instruction::Variable(self.names.intern(name)),
            Token::OpenParenthesis => {
                self.advance()?;
                self.parse_expression(precedence::LOWEST)?;
                return self.expect(Token::CloseParenthesis);
            }
            Token::Word(name) => return self.parse_call(name),
            Token::Case => return self.parse_case(),
            _ => return self.parse_prefix_operator(),
        };
        self.instructions.push(instruction);
        self.advance()
    }

    fn parse_prefix_operator(&mut self) -> Result<(), ScriptError> {
        let token = self.token;
        match token {
            Token::Binary(BinaryOperator::Operator(Operator::Add)) => {
                self.advance()?;
                self.parse_expression(precedence::SIGN)
            }
            Token::Binary(BinaryOperator::Operator(Operator::Subtract)) => {
                self.advance()?;
                if self.token == Token::MinIntMagnitude {
                    self.instructions.push(Instruction::Int(i64::MIN));
                    return self.advance();
                }
                self.parse_negation()
            }
            Token::Tilde => {
                self.advance()?;
                self.instructions.push(Instruction::Int(-1));
                // Sums and products bind more strongly: ~1+2 is ~(1+2).
                self.parse_expression(precedence::BITS + 1)?;
                self.instructions
                    .push(Instruction::Operator(Operator::BitXor));
                Ok(())
            }
            Token::Not => {
                self.advance()?;
                self.parse_expression(precedence::IS)?;
                self.instructions.push(Instruction::Not);
                Ok(())
            }
            _ => Err(self.syntax_error()),
        }
    }

    /// Parses the operand of a unary minus. The instructions compute 0 - operand; a literal is negated here.
    fn parse_negation(&mut self) -> Result<(), ScriptError> {
        let start = self.instructions.len();
        self.instructions.push(Instruction::Int(0));
        self.parse_expression(precedence::SIGN)?;
        if let [Instruction::Int(0), Instruction::Int(value)] = self.instructions[start..]
            && let Some(negative) = value.checked_neg()
        {
            self.instructions.truncate(start);
            self.instructions.push(Instruction::Int(negative));
        } else {
            self.instructions
                .push(Instruction::Operator(Operator::Subtract));
        }
        Ok(())
    }

    fn parse_call(&mut self, word: &'a str) -> Result<(), ScriptError> {
        let Some((name, function, arity)) =
            functions::find_function(word, self.source.pgbench_version)
        else {
            return Err(self.error("unexpected function name", Some(word)));
        };
        self.advance()?;
        self.expect(Token::OpenParenthesis)?;
        let count = self.parse_arguments()?;
        // The source is positioned after the closing parenthesis, so messages about the arguments point to it.
        let mut argument_count = count;
        match arity {
            Arity::Exactly(expected) if count == expected => {}
            Arity::AtLeastOne if count > 0 => {}
            Arity::AtLeastOne => {
                return Err(self.error("at least one argument expected", Some(name)));
            }
            Arity::WithSeed(expected) if count == expected => {}
            Arity::WithSeed(expected) if count + 1 == expected => {
                self.instructions
                    .push(Instruction::Variable(VariableNames::DEFAULT_SEED));
                argument_count += 1;
            }
            _ => return Err(self.error("unexpected number of arguments", Some(name))),
        }
        self.instructions.push(if argument_count > ARGUMENTS_MAX {
            Instruction::TooManyArguments
        } else {
            Instruction::Call(function, argument_count as u8)
        });
        self.advance()
    }

    /// Parses the arguments of a call up to its closing parenthesis, and returns how many there are.
    ///
    /// As in pgbench, the first argument may be missing before a comma: `least(, 1)` has one argument.
    fn parse_arguments(&mut self) -> Result<usize, ScriptError> {
        let mut count = 0;
        if !matches!(self.token, Token::CloseParenthesis | Token::Comma) {
            self.parse_expression(precedence::LOWEST)?;
            count += 1;
        }
        while self.token == Token::Comma {
            self.advance()?;
            let start = self.instructions.len();
            self.parse_expression(precedence::LOWEST)?;
            count += 1;
            if count > ARGUMENTS_MAX {
                // Drop the argument: the call fails at run time, after the first arguments have been evaluated.
                self.instructions.truncate(start);
            }
        }
        if self.token != Token::CloseParenthesis {
            return Err(self.syntax_error());
        }
        Ok(count)
    }

    fn parse_case(&mut self) -> Result<(), ScriptError> {
        self.advance()?;
        if self.token != Token::When {
            return Err(self.syntax_error());
        }
        let mut branch_end_jumps = Vec::new();
        while self.token == Token::When {
            self.advance()?;
            self.parse_expression(precedence::LOWEST)?;
            let condition_jump = self.instructions.len();
            self.instructions.push(Instruction::JumpUnless(0));
            self.expect(Token::Then)?;
            self.parse_expression(precedence::LOWEST)?;
            branch_end_jumps.push(self.instructions.len());
            self.instructions.push(Instruction::Jump(0));
            self.instructions[condition_jump] =
                Instruction::JumpUnless(self.instructions_after(condition_jump));
        }
        if self.token == Token::Else {
            self.advance()?;
            self.parse_expression(precedence::LOWEST)?;
        } else {
            self.instructions.push(Instruction::Null);
        }
        for jump in branch_end_jumps {
            self.instructions[jump] = Instruction::Jump(self.instructions_after(jump));
        }
        self.expect(Token::EndCase)
    }
}
