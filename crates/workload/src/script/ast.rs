//! A parsed script. Never changes after it is parsed: all clients share it.

use super::expr::Expr;
use super::variables::VariableId;
use std::ops::Range;

/// A script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The name of its file, or `<builtin: ...>`.
    pub name: String,
    /// Its commands, at least one. Jumps count from 0.
    pub commands: Vec<Command>,
    /// The weight with which it is chosen among the scripts of the run.
    pub weight: u32,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Its text in reports: the first line of a statement (at most 127 bytes), or the whole of a backslash
    /// command.
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
        /// Where to continue otherwise: at an `\elif`, which is then evaluated, or after an `\else` or
        /// `\endif`.
        otherwise: usize,
    },
    /// `\elif`: execution that reaches it from the branch above continues after `end`.
    Elif {
        /// The condition, evaluated if those before it did not hold.
        condition: Expr,
        /// As in `If`.
        otherwise: usize,
        /// The `\endif`.
        end: usize,
    },
    /// `\else`: execution that reaches it from the branch above continues after `end`.
    Else {
        /// The `\endif`.
        end: usize,
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
    /// `None` if no variable can have that name, which is an error at run time, not of the script.
    pub id: Option<VariableId>,
}

/// A statement, or several that `\;` joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCommand {
    /// Its text as written, from its first word to its semicolon.
    pub text: String,
    /// Its text with `$1`, `$2`, ... for the variables.
    pub numbered: String,
    /// What happens to its results.
    pub results: Option<StoreColumns>,
    pub(super) pieces: Vec<Piece>,
    pub(super) parameters: Vec<VariableId>,
}

/// A piece of a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Plain text before the variable.
    pub plain: Range<usize>,
    /// The variable, colon included. It ends where the next piece begins.
    pub variable: Option<(VariableId, Range<usize>)>,
}

/// `\gset` and `\aset`: store columns in variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreColumns {
    /// True for `\aset`, which stores the last row of each of the joined statements, if there is one; false
    /// for `\gset`, which stores the last statement's only row.
    pub all: bool,
    /// Prefix of the variables' names, before the column name.
    pub prefix: String,
}

impl StoreColumns {
    /// The name of the command.
    pub fn name(&self) -> &'static str {
        if self.all { "aset" } else { "gset" }
    }
}

/// A shell command: words that are joined by single blanks when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    pub(super) words: Vec<ShellWord>,
}

/// A word of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellWord {
    Plain(String),
    /// A variable with the word as written; `None` if no variable can have that name.
    Variable(Option<VariableId>, String),
}

/// A waiting time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SleepTime {
    pub(super) amount: Amount,
    /// Microseconds of the unit.
    pub(super) unit_us: i64,
}

/// A number or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Fixed(i64),
    Variable(Option<VariableId>, String),
}
