//! Evaluates expressions with a client's variables and random numbers, and collects the output of
//! `debug()`. Never recurses; once warm, never allocates.

use super::error::EvalError;
use super::expr::{Expr, Instruction, Operator};
use super::functions::{self, Function};
use super::value::Value;
use super::variables::{VariableNames, Variables};
use crate::random::Random;
use std::fmt::Write as _;
use std::sync::Arc;

/// The state in which one client evaluates expressions.
#[derive(Clone, Debug)]
pub struct Evaluator {
    pub variables: Variables,
    pub random: Random,
    names: Arc<VariableNames>,
    stack: Vec<Value>,
    /// The lines of `debug()` that have not been taken yet.
    debug_output: String,
}

/// The position of the evaluated command, for `debug()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandIndex {
    /// Number of the script in the run, from 0.
    pub script: u32,
    /// Number of the command in the script, from 0.
    pub command: u32,
}

impl Evaluator {
    /// Creates a client's evaluator, in which no variable is defined. `names` are those of all scripts of the
    /// run.
    pub fn new(names: Arc<VariableNames>, random: Random) -> Self {
        Evaluator {
            variables: Variables::new(&names),
            random,
            names,
            stack: Vec::new(),
            debug_output: String::new(),
        }
    }

    pub fn names(&self) -> &VariableNames {
        &self.names
    }

    /// Takes the lines that `debug()` has written since the last call; `None` if there are none. Print them
    /// to standard error before any error of the evaluation.
    pub fn take_debug_output(&mut self) -> Option<String> {
        (!self.debug_output.is_empty()).then(|| std::mem::take(&mut self.debug_output))
    }

    pub fn eval(&mut self, expr: &Expr, position: CommandIndex) -> Result<Value, EvalError> {
        self.stack.clear();
        let mut next = 0;
        while let Some(instruction) = expr.instructions.get(next) {
            next += 1;
            match *instruction {
                Instruction::Null => self.stack.push(Value::Null),
                Instruction::Bool(value) => self.stack.push(Value::Bool(value)),
                Instruction::Int(value) => self.stack.push(Value::Int(value)),
                Instruction::Double(value) => self.stack.push(Value::Double(value)),
                Instruction::Variable(id) => {
                    let value = self.variables.value(id, &self.names)?;
                    self.stack.push(value);
                }
                Instruction::Operator(operator) => {
                    let right = self.pop();
                    let left = self.pop();
                    self.stack.push(operate(operator, left, right)?);
                }
                Instruction::Not => {
                    let value = match self.pop() {
                        Value::Null => Value::Null,
                        value => Value::Bool(!value.to_bool()?),
                    };
                    self.stack.push(value);
                }
                Instruction::IsSame => {
                    let right = self.pop();
                    let left = self.pop();
                    self.stack.push(Value::Bool(left == right));
                }
                Instruction::And(skip) => next += self.skip_if_decided(false, skip)?,
                Instruction::Or(skip) => next += self.skip_if_decided(true, skip)?,
                Instruction::RequireBool => {
                    let value = match self.pop() {
                        Value::Null => Value::Null,
                        value => Value::Bool(value.to_bool()?),
                    };
                    self.stack.push(value);
                }
                Instruction::JumpUnless(skip) => {
                    if !self.pop().is_truthy() {
                        next += skip as usize;
                    }
                }
                Instruction::Jump(skip) => next += skip as usize,
                Instruction::Call(Function::Debug, _) => self.record_debug_line(position),
                Instruction::Call(function, count) => {
                    let arguments_start = self.stack.len().saturating_sub(usize::from(count));
                    let arguments = &self.stack[arguments_start..];
                    let value = functions::call(function, arguments, &mut self.random)?;
                    self.stack.truncate(arguments_start);
                    self.stack.push(value);
                }
                Instruction::TooManyArguments => {
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
        // The parser guarantees that every instruction has its operands.
        self.stack.pop().unwrap_or(Value::Null)
    }

    /// Checks the left operand of AND (`deciding_value` is false) or OR (true), and returns how many
    /// instructions of the right operand to skip. Unlike in SQL, a NULL also decides the result.
    fn skip_if_decided(&mut self, deciding_value: bool, skip: u32) -> Result<usize, EvalError> {
        let left = self.pop();
        let is_decided = left == Value::Null || left.to_bool()? == deciding_value;
        if is_decided {
            self.stack.push(left);
            return Ok(skip as usize);
        }
        Ok(0)
    }

    /// Adds the line of `debug()` for the value on top of the stack.
    fn record_debug_line(&mut self, position: CommandIndex) {
        let value = self.stack.last().copied().unwrap_or(Value::Null);
        let CommandIndex { script, command } = position;
        let command = u64::from(command) + 1;
        let type_name = value.type_name();
        let out = &mut self.debug_output;
        // Writing to a String cannot fail.
        let _ = match value {
            Value::Null => writeln!(out, "debug(script={script},command={command}): null"),
            _ => writeln!(
                out,
                "debug(script={script},command={command}): {type_name} {value}"
            ),
        };
    }
}

#[inline]
pub(super) fn operate(operator: Operator, left: Value, right: Value) -> Result<Value, EvalError> {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Int(left), Value::Int(right)) => operate_on_ints(operator, left, right),
        (Value::Double(_), _) | (_, Value::Double(_)) if takes_doubles(operator) => Ok(
            operate_on_doubles(operator, left.to_double()?, right.to_double()?),
        ),
        _ => operate_on_ints(operator, left.to_int()?, right.to_int()?),
    }
}

/// Whether an operator computes with doubles if an operand is a double.
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

fn operate_on_doubles(operator: Operator, left: f64, right: f64) -> Value {
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
fn operate_on_ints(operator: Operator, left: i64, right: i64) -> Result<Value, EvalError> {
    let checked = |result: Option<i64>, operation: &str| match result {
        Some(value) => Ok(Value::Int(value)),
        None => Err(EvalError::new(format!("bigint {operation} out of range"))),
    };
    match operator {
        Operator::Add => checked(left.checked_add(right), "add"),
        Operator::Subtract => checked(left.checked_sub(right), "sub"),
        Operator::Multiply => checked(left.checked_mul(right), "mul"),
        Operator::Divide | Operator::Modulo if right == 0 => {
            Err(EvalError::new("division by zero"))
        }
        Operator::Divide => checked(left.checked_div(right), "div"),
        // Wrapping, so that the smallest integer modulo -1 is 0.
        Operator::Modulo => Ok(Value::Int(left.wrapping_rem(right))),
        Operator::Equal => Ok(Value::Bool(left == right)),
        Operator::NotEqual => Ok(Value::Bool(left != right)),
        Operator::Less => Ok(Value::Bool(left < right)),
        Operator::LessEqual => Ok(Value::Bool(left <= right)),
        Operator::BitAnd => Ok(Value::Int(left & right)),
        Operator::BitOr => Ok(Value::Int(left | right)),
        Operator::BitXor => Ok(Value::Int(left ^ right)),
        // The distance is taken modulo 64, as processors do and pgbench relies on.
        Operator::ShiftLeft => Ok(Value::Int(left.wrapping_shl(right as u32))),
        Operator::ShiftRight => Ok(Value::Int(left.wrapping_shr(right as u32))),
    }
}
