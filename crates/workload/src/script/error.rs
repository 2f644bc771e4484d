//! What can be wrong with a script, and with a value while it runs, in pgbench's words.
//!
//! In: facts. Out: messages, and the lines that show where. Must never: print.

use std::fmt;

/// Why a script cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A backslash command cannot be read.
    #[error("{}", .0.headline())]
    Syntax(Box<SyntaxError>),
    /// `\if`, `\elif`, `\else` and `\endif` do not nest.
    #[error("condition error in script \"{script}\" command {command}: {problem}")]
    Condition {
        /// The script's name.
        script: String,
        /// Number of the command, from 1; one past the last where an end is missing.
        command: usize,
        /// What does not fit.
        problem: &'static str,
    },
    /// There is nothing to run.
    #[error("empty command list for script \"{script}\"")]
    Empty {
        /// The script's name.
        script: String,
    },
    /// A statement takes more variables than the extended protocol's messages may carry here.
    #[error("statement has too many arguments (maximum is {maximum}): {statement}")]
    TooManyArguments {
        /// The most there may be.
        maximum: usize,
        /// Text of the statement.
        statement: String,
    },
    /// No builtin script's name starts so, or more than one does.
    #[error("{problem}")]
    Builtin {
        /// What is wrong with the name.
        problem: String,
    },
}

/// Where a backslash command stops making sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyntaxError {
    /// The script's name, usually that of its file.
    pub script: String,
    /// Line of the command's backslash, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// The word that is wrong.
    pub detail: Option<String>,
    /// The command's name as written.
    pub command: Option<String>,
    /// The whole command as written.
    pub text: Option<String>,
    /// Byte in `text` at which the problem showed itself, from 0.
    pub column: Option<usize>,
}

impl SyntaxError {
    /// `file:line: problem (word) in command "name"`.
    pub fn headline(&self) -> String {
        use fmt::Write as _;
        let mut line = format!("{}:{}: {}", self.script, self.line, self.message);
        // Writing to a String cannot fail.
        if let Some(detail) = &self.detail {
            let _ = write!(line, " ({detail})");
        }
        if let (Some(column), None) = (self.column, &self.text) {
            let _ = write!(line, " at column {}", column + 1);
        }
        if let Some(command) = &self.command {
            let _ = write!(line, " in command \"{command}\"");
        }
        line
    }
}

impl ScriptError {
    /// All that pgbench of this major version says on its standard error, newline included;
    /// `program` is the name it was called by.
    pub fn as_pgbench(&self, program: &str, level: u32) -> String {
        let word = if level >= 15 { "error" } else { "fatal" };
        // The one message that has always been an error.
        let word = match self {
            ScriptError::TooManyArguments { .. } => "error",
            _ => word,
        };
        let mut out = format!("{program}: {word}: {self}\n");
        if let ScriptError::Syntax(error) = self
            && let Some(text) = &error.text
        {
            out.push_str(text);
            out.push('\n');
            if let Some(column) = error.column {
                // Not by a width in the format, which has a limit that a long line can pass.
                out.push_str(&" ".repeat(column));
                out.push_str("^ error found here\n");
            }
        }
        out
    }
}

/// Why an expression has no value, or a command cannot be run. The text is pgbench's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// What is wrong.
    #[error("{0}")]
    Message(String),
    /// pgbench says nothing here but that the command failed: a variable holds an empty text.
    #[error("")]
    Silent,
}

impl EvalError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        EvalError::Message(message.into())
    }
}
