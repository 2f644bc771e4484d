//! What the commands of a script ask of a client, apart from expressions.
//!
//! In: commands, results of the server and of the shell. Out: variables, waiting times, command
//! lines. Must never: wait, or run anything.

use super::ast::{Amount, CommandKind, Results, Script, Shell, ShellWord, Sleep, Target};
use super::error::EvalError;
use super::eval::{Evaluator, Place};
use super::number::leading_int;
use super::value::Value;
use super::variables::{VariableId, is_valid_name};
use std::borrow::Cow;

/// Bytes of a shell command, from which on it is too long.
const SHELL_COMMAND_MAX: usize = 255;

impl Script {
    /// Decides the condition that begins with the `\if` of this number: the number of the command to
    /// go on with. The `\elif`s are evaluated as far as they are needed, as numbers of their own.
    ///
    /// A command that is no `\if` is passed over. `script` is this script's number in the run.
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
                        .eval(condition, Place { script, command })?
                        .is_truth()
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

impl Shell {
    /// Its first word as written: what messages call it.
    pub(super) fn first_word(&self) -> &str {
        match self.words.first() {
            Some(ShellWord::Plain(word) | ShellWord::Variable(_, word)) => word,
            None => "",
        }
    }
}

impl Evaluator {
    /// Gives a command's variable a value; `word` is the command's name for the message.
    pub fn assign(&mut self, target: &Target, word: &str, value: Value) -> Result<(), EvalError> {
        match target.id {
            Some(id) => {
                self.variables.set(id, value);
                Ok(())
            }
            None => Err(invalid_name(word, &target.name)),
        }
    }

    /// Gives a variable a text by its name, as an option does; `context` (`option`, `startup`) is for
    /// the message. A name that no script uses is only checked.
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

    /// The variable that a column becomes by `\gset` or `\aset`; none if no script uses it. It is the
    /// same for all clients and rows, so it is worth keeping.
    pub fn column(
        &self,
        results: &Results,
        column: &str,
        level: u32,
    ) -> Result<Option<VariableId>, EvalError> {
        let name: Cow<'_, str> = match results.prefix.as_str() {
            "" => column.into(),
            prefix => format!("{prefix}{column}").into(),
        };
        if !is_valid_name(&name, level) {
            return Err(invalid_name(results.word(), &name));
        }
        Ok(self.names().find(&name))
    }

    /// How long to wait, in microseconds; zero or less is not at all. `word` is the command's name.
    pub fn sleep_us(&self, sleep: &Sleep, word: &str) -> Result<i64, EvalError> {
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

    /// The line for the shell, in place of what `out` held.
    pub fn shell_line(&self, shell: &Shell, out: &mut String) -> Result<(), EvalError> {
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
