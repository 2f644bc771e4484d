//! A client's branches, assignments, sleep times and shell command lines. Computes them, but never sleeps or runs a
//! shell command.

use super::ast::{
    AssignmentTarget, CommandKind, Script, ShellCommand, ShellWord, SleepAmount, SleepTime,
    StoreCommand,
};
use super::error::EvalError;
use super::eval::{CommandIndex, Evaluator};
use super::number::parse_leading_int;
use super::value::Value;
use super::variables::{VariableId, is_valid_name};
use std::borrow::Cow;

/// A shell command line must be shorter than this number of bytes.
const SHELL_LINE_BYTES_LIMIT: usize = 255;

impl Script {
    /// Evaluates the condition of the `\if` or `\elif` with this number, and those of the `\elif`s after it until one
    /// holds; returns the number of the command to continue with. For any other command that is the next one.
    ///
    /// An `\elif` that is reached from the branch above is not for this function: the run goes on after its `\endif`.
    ///
    /// `script` is this script's number in the run.
    pub fn next_after_condition(
        &self,
        number: usize,
        client: &mut Evaluator,
        script: u32,
    ) -> Result<usize, EvalError> {
        let mut current = number;
        loop {
            match self.commands.get(current).map(|command| &command.kind) {
                Some(
                    CommandKind::If {
                        condition,
                        else_target,
                    }
                    | CommandKind::Elif {
                        condition,
                        else_target,
                        ..
                    },
                ) => {
                    let command = current as u32;
                    if client
                        .eval(condition, CommandIndex { script, command })?
                        .is_truthy()
                    {
                        return Ok(current + 1);
                    }
                    current = *else_target;
                }
                _ => return Ok(current + 1),
            }
        }
    }
}

impl ShellCommand {
    pub(super) fn first_word(&self) -> &str {
        match self.words.first() {
            Some(ShellWord::Plain(word) | ShellWord::Variable(_, word)) => word,
            None => "",
        }
    }
}

impl Evaluator {
    /// Sets a command's variable to a value; `command_name` is for the error message.
    pub fn assign(
        &mut self,
        target: &AssignmentTarget,
        command_name: &str,
        value: Value,
    ) -> Result<(), EvalError> {
        match target.id {
            Some(id) => {
                self.variables.set(id, value);
                Ok(())
            }
            None => Err(invalid_name_error(command_name, &target.name)),
        }
    }

    /// Sets the variable of this name to a text. If no script uses the name, only validates it. `context` (`option`,
    /// `startup`) is for the error message.
    pub fn set_by_name(
        &mut self,
        context: &str,
        name: &str,
        text: &str,
        pgbench_version: u32,
    ) -> Result<(), EvalError> {
        if !is_valid_name(name, pgbench_version) {
            return Err(invalid_name_error(context, name));
        }
        if let Some(id) = self.names().find(name) {
            self.variables.set_text(id, text);
        }
        Ok(())
    }

    /// The variable in which `\gset` or `\aset` stores a column; `None` if no script uses the variable.
    pub fn column_variable(
        &self,
        store_command: &StoreCommand,
        column: &str,
        pgbench_version: u32,
    ) -> Result<Option<VariableId>, EvalError> {
        let name: Cow<'_, str> = match store_command.prefix.as_str() {
            "" => column.into(),
            prefix => format!("{prefix}{column}").into(),
        };
        if !is_valid_name(&name, pgbench_version) {
            return Err(invalid_name_error(store_command.name(), &name));
        }
        Ok(self.names().find(&name))
    }

    /// The time to sleep, in microseconds; zero or less for none. `command_name` is for the error message.
    pub fn sleep_us(&self, sleep: &SleepTime, command_name: &str) -> Result<i64, EvalError> {
        let amount = match &sleep.amount {
            SleepAmount::Constant(amount) => *amount,
            SleepAmount::Variable(id, name) => {
                let mut text = String::new();
                if !id.is_some_and(|id| self.variables.append_text(id, &mut text)) {
                    return Err(EvalError::new(format!(
                        "{command_name}: undefined variable \"{name}\""
                    )));
                }
                let amount = parse_leading_int(&text);
                if amount == 0 && !text.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(EvalError::new(format!(
                        "{command_name}: invalid sleep time \"{text}\" for variable \"{name}\""
                    )));
                }
                amount
            }
        };
        Ok(amount.saturating_mul(sleep.unit_us))
    }

    /// Writes the shell's command line to `out`, replacing its content.
    pub fn write_shell_line(
        &self,
        shell: &ShellCommand,
        out: &mut String,
    ) -> Result<(), EvalError> {
        out.clear();
        let name = shell.first_word();
        for (number, word) in shell.words.iter().enumerate() {
            if number > 0 {
                out.push(' ');
            }
            match word {
                ShellWord::Plain(word) => out.push_str(word),
                ShellWord::Variable(id, reference) => {
                    if !id.is_some_and(|id| self.variables.append_text(id, out)) {
                        return Err(EvalError::new(format!(
                            "{name}: undefined variable \"{reference}\""
                        )));
                    }
                }
            }
            if out.len() >= SHELL_LINE_BYTES_LIMIT {
                return Err(EvalError::new(format!("{name}: shell command is too long")));
            }
        }
        Ok(())
    }
}

fn invalid_name_error(context: &str, name: &str) -> EvalError {
    EvalError::new(format!("{context}: invalid variable name: \"{name}\""))
}
