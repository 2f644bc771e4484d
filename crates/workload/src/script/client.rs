//! A client's part of each command other than evaluating expressions: conditions, variables, waiting times
//! and shell command lines. Never waits, and never runs a command.

use super::ast::{
    Amount, AssignmentTarget, CommandKind, Script, ShellCommand, ShellWord, SleepTime, StoreColumns,
};
use super::error::EvalError;
use super::eval::{CommandIndex, Evaluator};
use super::number::leading_int;
use super::value::Value;
use super::variables::{VariableId, is_valid_name};
use std::borrow::Cow;

/// From this length in bytes on, a shell command is too long.
const SHELL_COMMAND_MAX: usize = 255;

impl Script {
    /// Evaluates the condition of the `\if` with this number and returns the number of the command to
    /// continue with. The `\elif`s are evaluated as needed, with their own command numbers.
    ///
    /// Skips a command that is not an `\if`. `script` is this script's number in the run.
    pub fn branch(
        &self,
        number: usize,
        client: &mut Evaluator,
        script: u32,
    ) -> Result<usize, EvalError> {
        let mut at = number;
        loop {
            match self.commands.get(at).map(|command| &command.kind) {
                Some(
                    CommandKind::If {
                        condition,
                        otherwise,
                    }
                    | CommandKind::Elif {
                        condition,
                        otherwise,
                        ..
                    },
                ) => {
                    let command = at as u32;
                    if client
                        .eval(condition, CommandIndex { script, command })?
                        .is_truthy()
                    {
                        return Ok(at + 1);
                    }
                    at = *otherwise;
                }
                _ => return Ok(at + 1),
            }
        }
    }
}

impl ShellCommand {
    /// Its first word as written, for messages.
    pub(super) fn first_word(&self) -> &str {
        match self.words.first() {
            Some(ShellWord::Plain(word) | ShellWord::Variable(_, word)) => word,
            None => "",
        }
    }
}

impl Evaluator {
    /// Sets a command's variable to a value; `word` is the command's name, for the error message.
    pub fn assign(
        &mut self,
        target: &AssignmentTarget,
        word: &str,
        value: Value,
    ) -> Result<(), EvalError> {
        match target.id {
            Some(id) => {
                self.variables.set(id, value);
                Ok(())
            }
            None => Err(invalid_name(word, &target.name)),
        }
    }

    /// Sets a variable by its name to a text, as an option does; `context` (`option`, `startup`) is for the
    /// error message. If no script uses the name, it is only checked.
    pub fn define(
        &mut self,
        context: &str,
        name: &str,
        text: &str,
        level: u32,
    ) -> Result<(), EvalError> {
        if !is_valid_name(name, level) {
            return Err(invalid_name(context, name));
        }
        if let Some(id) = self.names().find(name) {
            self.variables.set_text(id, text);
        }
        Ok(())
    }

    /// The variable that `\gset` or `\aset` stores a column in; `None` if no script uses it. It is the same
    /// for all clients and rows, so the result can be cached.
    pub fn column_variable(
        &self,
        results: &StoreColumns,
        column: &str,
        level: u32,
    ) -> Result<Option<VariableId>, EvalError> {
        let name: Cow<'_, str> = match results.prefix.as_str() {
            "" => column.into(),
            prefix => format!("{prefix}{column}").into(),
        };
        if !is_valid_name(&name, level) {
            return Err(invalid_name(results.name(), &name));
        }
        Ok(self.names().find(&name))
    }

    /// How long to wait, in microseconds; zero or less means not at all. `word` is the command's name.
    pub fn sleep_us(&self, sleep: &SleepTime, word: &str) -> Result<i64, EvalError> {
        let amount = match &sleep.amount {
            Amount::Fixed(amount) => *amount,
            Amount::Variable(id, name) => {
                let mut text = String::new();
                if !id.is_some_and(|id| self.variables.append_text(id, &mut text)) {
                    return Err(EvalError::new(format!(
                        "{word}: undefined variable \"{name}\""
                    )));
                }
                let amount = leading_int(&text);
                if amount == 0 && !text.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(EvalError::new(format!(
                        "{word}: invalid sleep time \"{text}\" for variable \"{name}\""
                    )));
                }
                amount
            }
        };
        Ok(amount.saturating_mul(sleep.unit_us))
    }

    /// Writes the shell's command line to `out`, replacing its content.
    pub fn shell_line(&self, shell: &ShellCommand, out: &mut String) -> Result<(), EvalError> {
        out.clear();
        let name = shell.first_word();
        for (number, word) in shell.words.iter().enumerate() {
            if number > 0 {
                out.push(' ');
            }
            match word {
                ShellWord::Plain(word) => out.push_str(word),
                ShellWord::Variable(id, written) => {
                    if !id.is_some_and(|id| self.variables.append_text(id, out)) {
                        return Err(EvalError::new(format!(
                            "{name}: undefined variable \"{written}\""
                        )));
                    }
                }
            }
            if out.len() >= SHELL_COMMAND_MAX {
                return Err(EvalError::new(format!("{name}: shell command is too long")));
            }
        }
        Ok(())
    }
}

fn invalid_name(context: &str, name: &str) -> EvalError {
    EvalError::new(format!("{context}: invalid variable name: \"{name}\""))
}
