//! A parsed script. Immutable, because all clients share it.

use super::expr::Expr;
use super::variables::VariableId;
use prony_wire::ParameterType;
use std::ops::Range;
use std::sync::Arc;

/// Maximum length of a statement's first line in reports, in bytes.
const FIRST_LINE_BYTES_MAX: usize = 127;

#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The name of the script's file, or `<builtin: ...>`.
    pub name: String,
    /// The commands, at least one. Jumps hold indexes of this list.
    pub commands: Vec<Command>,
    /// The weight with which the script is chosen among the scripts of the run.
    pub weight: u32,
    /// Whether the user says that it only reads.
    pub only_reads: bool,
}

/// A command. Small, because a script may have a million of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The line on which the command begins, from 1.
    pub line: usize,
    /// A backslash command as written; `None` for a statement.
    pub(super) backslash_text: Option<Box<BackslashText>>,
    pub kind: CommandKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackslashText {
    pub(super) text: Box<str>,
    /// Its words, its name first, without its expression.
    pub(super) words: Box<[String]>,
}

impl Command {
    /// The name of a backslash command as written, or `SQL`.
    pub fn name(&self) -> &str {
        self.words().first().map_or("SQL", String::as_str)
    }

    /// The words of a backslash command as written, its name first, without the command's expression. Empty
    /// for a statement.
    pub fn words(&self) -> &[String] {
        self.backslash_text.as_ref().map_or(&[], |text| &text.words)
    }

    /// The command's text in reports: the first line of a statement (at most 127 bytes), or a whole backslash
    /// command.
    pub fn first_line(&self) -> &str {
        let CommandKind::Sql(sql) = &self.kind else {
            return self.backslash_text.as_ref().map_or("", |text| &text.text);
        };
        let line = sql.text.split(['\n', '\r']).next().unwrap_or_default();
        // Cut between characters; pgbench may cut inside one.
        &line[..line.floor_char_boundary(FIRST_LINE_BYTES_MAX)]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum CommandKind {
    /// Sends a statement.
    Sql(SqlCommand),
    /// `\set`: sets a variable to the value of an expression.
    Set {
        target: AssignmentTarget,
        value: Expr,
    },
    /// `\setshell`: sets a variable to the number that a shell command prints.
    SetShell {
        target: AssignmentTarget,
        command: ShellCommand,
    },
    /// `\sample`: sets variables to the columns of a random row of a sample. Only in own SQL.
    Sample(SampleCommand),
    /// `\shell`: runs a shell command.
    Shell(ShellCommand),
    /// `\sleep`: waits.
    Sleep(SleepTime),
    /// `\if`: continues with the next command if its condition holds.
    If {
        condition: Expr,
        /// The number of the command to continue at if the condition does not hold: an `\elif`, which is
        /// evaluated, or an `\else` or `\endif`, which is skipped.
        else_target: usize,
    },
    /// `\elif`: execution that reaches it from the branch above continues after `endif_target`.
    Elif {
        /// The condition, evaluated if none before it holds.
        condition: Expr,
        else_target: usize,
        /// The number of the `\endif`.
        endif_target: usize,
    },
    /// `\else`: execution that reaches it from the branch above continues after `endif_target`.
    Else {
        /// The number of the `\endif`.
        endif_target: usize,
    },
    EndIf,
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// A variable that a command sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentTarget {
    pub name: Box<str>,
    /// `None` if the name is invalid, which is an error only when the command is executed.
    pub id: Option<VariableId>,
}

/// A statement, or several that `\;` joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCommand {
    /// The statement's text as written, from the first word to the semicolon.
    pub text: Arc<str>,
    /// The `\gset` or `\aset` that stores the results in variables, if any.
    pub store_command: Option<Box<StoreCommand>>,
    /// Its variables; `None` if there are none.
    pub(super) variables: Option<Box<SqlVariables>>,
}

/// The variables of a statement, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SqlVariables {
    /// The text with `$1`, `$2`, ... for the variables.
    pub(super) numbered_text: Arc<str>,
    pub(super) parameters: Box<[VariableId]>,
    pub(super) references: Box<[Range<usize>]>,
    /// The types to declare for the parameters; empty if none is known.
    pub(super) types: Box<[Option<ParameterType>]>,
}

/// A `\gset` or `\aset`, which stores the columns of results in variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreCommand {
    /// True for `\aset`, which stores the last row, if any, of each joined statement; false for `\gset`, which
    /// stores the only row of the last statement.
    pub stores_all_results: bool,
    /// Prefix of the variables' names, before the column name.
    pub prefix: String,
}

impl StoreCommand {
    pub fn name(&self) -> &'static str {
        if self.stores_all_results { "aset" } else { "gset" }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleCommand {
    pub(super) name: Box<str>,
    /// The sample's number in the plan, which is set when the plan is read.
    pub(super) sample: usize,
    /// The variables of the first columns.
    pub(super) targets: Box<[VariableId]>,
}

/// A shell command: words, which are joined by single blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    pub(super) words: Vec<ShellWord>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShellWord {
    Plain(String),
    /// A variable (`None` if its name is invalid), and the word as written, colon included.
    Variable(Option<VariableId>, String),
}

/// The duration of a `\sleep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SleepTime {
    pub(super) amount: SleepAmount,
    /// Microseconds per unit.
    pub(super) unit_us: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SleepAmount {
    Constant(i64),
    /// A variable (`None` if its name is invalid), and its name as written.
    Variable(Option<VariableId>, String),
}
