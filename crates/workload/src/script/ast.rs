//! A parsed script. Immutable, because all clients share it.

use super::expr::Expr;
use super::variables::VariableId;
use std::ops::Range;

/// A script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The name of its file, or `<builtin: ...>`.
    pub name: String,
    /// Its commands, at least one. Jumps hold indexes of this list.
    pub commands: Vec<Command>,
    /// The weight with which it is chosen among the scripts of the run.
    pub weight: u32,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its text in reports: the first line of a statement (at most 127 bytes), or a whole backslash command.
    pub first_line: String,
    /// The words of a backslash command as written, its name first; if it has an expression, only the words
    /// before it. Empty for a statement.
    pub words: Vec<String>,
    /// What it does.
    pub kind: CommandKind,
}

impl Command {
    /// The name of a backslash command as written, or `SQL`.
    pub fn name(&self) -> &str {
        self.words.first().map_or("SQL", String::as_str)
    }
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandKind {
    /// Sends a statement.
    Sql(SqlCommand),
    /// `\set`: sets a variable to the value of an expression.
    Set {
        /// The variable.
        target: AssignmentTarget,
        /// The expression.
        value: Expr,
    },
    /// `\setshell`: sets a variable to the number that a shell command prints.
    SetShell {
        /// The variable.
        target: AssignmentTarget,
        /// The command.
        command: ShellCommand,
    },
    /// `\shell`: runs a shell command.
    Shell(ShellCommand),
    /// `\sleep`: waits.
    Sleep(SleepTime),
    /// `\if`: continues with the next command if its condition holds.
    If {
        /// The condition.
        condition: Expr,
        /// The number of the command to continue at if the condition does not hold: an `\elif`, which is
        /// evaluated, or an `\else` or `\endif`, which is skipped.
        else_target: usize,
    },
    /// `\elif`: execution that reaches it from the branch above continues after `endif_target`.
    Elif {
        /// The condition, evaluated if none before it holds.
        condition: Expr,
        /// As in [`CommandKind::If`].
        else_target: usize,
        /// The number of the `\endif`.
        endif_target: usize,
    },
    /// `\else`: execution that reaches it from the branch above continues after `endif_target`.
    Else {
        /// The number of the `\endif`.
        endif_target: usize,
    },
    /// `\endif`.
    EndIf,
    /// `\startpipeline`.
    StartPipeline,
    /// `\syncpipeline`.
    SyncPipeline,
    /// `\endpipeline`.
    EndPipeline,
}

/// A variable that a command sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentTarget {
    /// Its name as written.
    pub name: String,
    /// `None` if the name is invalid, which is an error at run time, not of the script.
    pub id: Option<VariableId>,
}

/// A statement, or several that `\;` joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCommand {
    /// Its text as written, from its first word to its semicolon.
    pub text: String,
    /// Its text with `$1`, `$2`, ... for the variables.
    pub numbered_text: String,
    /// The `\gset` or `\aset` that stores its results in variables, if any.
    pub store_columns: Option<StoreColumns>,
    pub(super) pieces: Vec<Piece>,
    pub(super) parameters: Vec<VariableId>,
}

/// A part of a statement: plain text and the variable after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Range of the plain text before the variable.
    pub plain: Range<usize>,
    /// The variable and the range of its reference, colon included, which the next piece follows.
    pub variable: Option<(VariableId, Range<usize>)>,
}

/// `\gset` and `\aset`: store columns in variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreColumns {
    /// True for `\aset`, which stores the last row, if any, of each joined statement; false for `\gset`, which
    /// stores the only row of the last statement.
    pub stores_all_results: bool,
    /// Prefix of the variables' names, before the column name.
    pub prefix: String,
}

impl StoreColumns {
    /// The name of the command.
    pub fn name(&self) -> &'static str {
        if self.stores_all_results {
            "aset"
        } else {
            "gset"
        }
    }
}

/// A shell command: words, which are joined by single blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    pub(super) words: Vec<ShellWord>,
}

/// A word of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellWord {
    Plain(String),
    /// A variable (`None` if its name is invalid), and the word as written.
    Variable(Option<VariableId>, String),
}

/// The duration of a `\sleep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SleepTime {
    pub(super) amount: Amount,
    /// Microseconds per unit.
    pub(super) unit_us: i64,
}

/// A number or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Constant(i64),
    Variable(Option<VariableId>, String),
}
