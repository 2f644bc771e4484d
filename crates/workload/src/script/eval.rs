//! Evaluates expressions.
//!
//! In: an expression, the variables and the random numbers of a client. Out: a value, or why there
//! is none; the lines that `debug()` writes. Must never: recurse, or allocate once it is warm.

use super::error::EvalError;
use super::expr::{Expr, Operator, Step};
use super::functions::{self, Function};
use super::value::Value;
use super::variables::{Names, Variables};
use crate::random::Random;
use std::fmt::Write as _;
use std::sync::Arc;

/// What one client computes with.
#[derive(Clone, Debug)]
pub struct Evaluator {
    /// The client's variables.
    pub variables: Variables,
    /// The client's random numbers.
    pub random: Random,
    names: Arc<Names>,
    stack: Vec<Value>,
    debug: String,
}

/// Which command is evaluated, for `debug()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the script in the run, from 0.
    pub script: u32,
    /// Number of the command in the script, from 0.
    pub command: u32,
}

impl Evaluator {
    /// A client without variables; `names` are those of all scripts of the run.
    pub fn new(names: Arc<Names>, random: Random) -> Self {
        Evaluator {
            variables: Variables::new(&names),
            random,
            names,
            stack: Vec::new(),
            debug: String::new(),
        }
    }

    /// The names of the variables.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// What `debug()` has written since the last call, in whole lines; for standard error, before
    /// any error of the evaluation itself.
    pub fn take_debug(&mut self) -> Option<String> {
        (!self.debug.is_empty()).then(|| std::mem::take(&mut self.debug))
    }

    /// The value of an expression.
    pub fn eval(&mut self, expr: &Expr, place: Place) -> Result<Value, EvalError> {
        self.stack.clear();
        let mut next = 0;
        while let Some(step) = expr.steps.get(next) {
            next += 1;
            match *step {
                Step::Null => self.stack.push(Value::Null),
                Step::Bool(value) => self.stack.push(Value::Bool(value)),
                Step::Int(value) => self.stack.push(Value::Int(value)),
                Step::Double(value) => self.stack.push(Value::Double(value)),
                Step::Variable(id) => {
                    let value = self.variables.value(id, &self.names)?;
                    self.stack.push(value);
                }
                Step::Operator(operator) => {
                    let right = self.pop();
                    let left = self.pop();
                    self.stack.push(operate(operator, left, right)?);
                }
                Step::Not => {
                    let value = match self.pop() {
                        Value::Null => Value::Null,
                        value => Value::Bool(!value.to_bool()?),
                    };
                    self.stack.push(value);
                }
                Step::Same => {
                    let right = self.pop();
                    let left = self.pop();
                    self.stack.push(Value::Bool(left == right));
                }
                Step::And(over) => next += self.decide(false, over)?,
                Step::Or(over) => next += self.decide(true, over)?,
                Step::Boolean => {
                    let value = match self.pop() {
                        Value::Null => Value::Null,
                        value => Value::Bool(value.to_bool()?),
                    };
                    self.stack.push(value);
                }
                Step::Unless(over) => {
                    if !self.pop().is_truth() {
                        next += over as usize;
                    }
                }
                Step::Jump(over) => next += over as usize,
                Step::Call(Function::Debug, _) => self.show(place),
                Step::Call(function, count) => {
                    let first = self.stack.len().saturating_sub(usize::from(count));
                    let value = functions::call(function, &self.stack[first..], &mut self.random)?;
                    self.stack.truncate(first);
                    self.stack.push(value);
                }
                Step::TooManyArguments => {
                    return Err(EvalError::new(format!(
                        "too many function arguments, maximum is {}",
                        functions::ARGUMENTS_MAX
                    )));
                }
            }
        }
        Ok(self.pop())
    }

    #[inline]
    fn pop(&mut self) -> Value {
        // The parser has seen to it that every step finds its operands.
        self.stack.pop().unwrap_or(Value::Null)
    }

    /// The left side of AND (`decisive` false) or OR (true): how many steps of the right side to
    /// pass over. NULL decides too, other than in SQL.
    fn decide(&mut self, decisive: bool, over: u32) -> Result<usize, EvalError> {
        let left = self.pop();
        let decided = left == Value::Null || left.to_bool()? == decisive;
        if decided {
            self.stack.push(left);
            return Ok(over as usize);
        }
        Ok(0)
    }

    /// Writes out the value on top.
    fn show(&mut self, place: Place) {
        let value = self.stack.last().copied().unwrap_or(Value::Null);
        let Place { script, command } = place;
        let command = u64::from(command) + 1;
        let kind = value.type_name();
        let out = &mut self.debug;
        // Writing to a String cannot fail.
        let _ = match value {
            Value::Null => writeln!(out, "debug(script={script},command={command}): null"),
            _ => writeln!(
                out,
                "debug(script={script},command={command}): {kind} {value}"
            ),
        };
    }
}

#[inline]
fn operate(operator: Operator, left: Value, right: Value) -> Result<Value, EvalError> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(left), Value::Int(right)) => whole(operator, left, right),
        (Value::Double(_), _) | (_, Value::Double(_)) if takes_doubles(operator) => {
            Ok(doubles(operator, left.to_double()?, right.to_double()?))
        }
        _ => whole(operator, left.to_int()?, right.to_int()?),
    }
}

/// `left % right`, also as a function.
pub(super) fn modulo(left: Value, right: Value) -> Result<Value, EvalError> {
    operate(Operator::Modulo, left, right)
}

/// Whether an operator works on doubles where one of its operands is one.
fn takes_doubles(operator: Operator) -> bool {
    match operator {
        Operator::Add
        | Operator::Subtract
        | Operator::Multiply
        | Operator::Divide
        | Operator::Equal
        | Operator::NotEqual
        | Operator::Less
        | Operator::LessEqual => true,
        Operator::Modulo
        | Operator::BitAnd
        | Operator::BitOr
        | Operator::BitXor
        | Operator::ShiftLeft
        | Operator::ShiftRight => false,
    }
}

fn doubles(operator: Operator, left: f64, right: f64) -> Value {
    match operator {
        Operator::Add => Value::Double(left + right),
        Operator::Subtract => Value::Double(left - right),
        Operator::Multiply => Value::Double(left * right),
        Operator::Divide => Value::Double(left / right),
        Operator::Equal => Value::Bool(left == right),
        Operator::NotEqual => Value::Bool(left != right),
        Operator::Less => Value::Bool(left < right),
        _ => Value::Bool(left <= right),
    }
}

#[inline]
fn whole(operator: Operator, left: i64, right: i64) -> Result<Value, EvalError> {
    let checked = |result: Option<i64>, word: &str| match result {
        Some(value) => Ok(Value::Int(value)),
        None => Err(EvalError::new(format!("bigint {word} out of range"))),
    };
    match operator {
        Operator::Add => checked(left.checked_add(right), "add"),
        Operator::Subtract => checked(left.checked_sub(right), "sub"),
        Operator::Multiply => checked(left.checked_mul(right), "mul"),
        Operator::Divide | Operator::Modulo if right == 0 => {
            Err(EvalError::new("division by zero"))
        }
        Operator::Divide => checked(left.checked_div(right), "div"),
        // Wrapping: the smallest number modulo -1 is 0.
        Operator::Modulo => Ok(Value::Int(left.wrapping_rem(right))),
        Operator::Equal => Ok(Value::Bool(left == right)),
        Operator::NotEqual => Ok(Value::Bool(left != right)),
        Operator::Less => Ok(Value::Bool(left < right)),
        Operator::LessEqual => Ok(Value::Bool(left <= right)),
        Operator::BitAnd => Ok(Value::Int(left & right)),
        Operator::BitOr => Ok(Value::Int(left | right)),
        Operator::BitXor => Ok(Value::Int(left ^ right)),
        // The processor's rule, which is what pgbench gets: the distance counts modulo 64.
        Operator::ShiftLeft => Ok(Value::Int(left.wrapping_shl(right as u32))),
        Operator::ShiftRight => Ok(Value::Int(left.wrapping_shr(right as u32))),
    }
}
