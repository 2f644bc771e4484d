//! A script that has been read.
//!
//! In: what the parser found. Out: the commands, for whoever runs them. Must never: change after it
//! is read: all clients share it.

use super::expr::Expr;
use super::variables::VariableId;
use std::ops::Range;

/// A script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Its name: that of its file, or `<builtin: ...>`.
    pub name: String,
    /// Its commands, at least one. Jumps count from 0.
    pub commands: Vec<Command>,
    /// How often it is chosen, against the other scripts of the run.
    pub weight: u32,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Line on which it begins, from 1.
    pub line: usize,
    /// What reports call it: the first line of a statement (at most 127 bytes), all of a backslash
    /// command.
    pub first_line: String,
    /// The words of a backslash command as written, its name first; of those with an expression only
    /// the words before that. None for a statement.
    pub words: Vec<String>,
    /// What it does.
    pub kind: CommandKind,
}

impl Command {
    /// The name of a backslash command as written, or `SQL`.
    pub fn word(&self) -> &str {
        self.words.first().map_or("SQL", String::as_str)
    }
}

/// What a command does.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandKind {
    /// Sends a statement.
    Sql(SqlCommand),
    /// `\set`: gives a variable the value of an expression.
    Set {
        /// The variable.
        target: Target,
        /// The expression.
        value: Expr,
    },
    /// `\setshell`: gives a variable the number that a shell command prints.
    SetShell {
        /// The variable.
        target: Target,
        /// The command.
        command: Shell,
    },
    /// `\shell`: runs a shell command.
    Shell(Shell),
    /// `\sleep`: waits.
    Sleep(Sleep),
    /// `\if`: goes on with the next command where its condition holds.
    If {
        /// The condition.
        condition: Expr,
        /// The `\elif`, `\else` or `\endif` to go on with elsewhere: an `\elif` is to be evaluated
        /// then, behind the others one goes on.
        otherwise: usize,
    },
    /// `\elif`: when it is reached from above, a branch has ended: go on behind `end`.
    Elif {
        /// The condition, for when it is reached because those before it did not hold.
        condition: Expr,
        /// As for `If`.
        otherwise: usize,
        /// The `\endif`.
        end: usize,
    },
    /// `\else`: when it is reached from above, a branch has ended: go on behind `end`.
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
pub struct Target {
    /// Its name as written.
    pub name: String,
    /// None where no variable can have that name: an error of the run, not of the script.
    pub id: Option<VariableId>,
}

/// A statement, or several that `\;` joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCommand {
    /// Its text as written, from its first word to its semicolon.
    pub text: String,
    /// Its text with `$1`, `$2`, ... for the variables.
    pub numbered: String,
    /// What becomes of its results.
    pub results: Option<Results>,
    pub(super) pieces: Vec<Piece>,
    pub(super) parameters: Vec<VariableId>,
}

/// A piece of a statement's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Plain text before the variable.
    pub plain: Range<usize>,
    /// The variable, colon included; it ends where the next piece begins.
    pub variable: Option<(VariableId, Range<usize>)>,
}

/// `\gset` and `\aset`: columns become variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// `\aset`: each of the joined statements' last row, if there is one. Else `\gset`: the last
    /// statement's only row.
    pub all: bool,
    /// Goes before the columns' names.
    pub prefix: String,
}

impl Results {
    /// The name of the command.
    pub fn word(&self) -> &'static str {
        if self.all { "aset" } else { "gset" }
    }
}

/// A shell command: its words, joined by one blank each when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    pub(super) words: Vec<ShellWord>,
}

/// A word of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellWord {
    Plain(String),
    /// With the word as written. No variable can have the name if there is no number.
    Variable(Option<VariableId>, String),
}

/// How long to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleep {
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
