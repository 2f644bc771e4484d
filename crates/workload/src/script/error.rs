//! Errors of scripts, and of evaluation at run time, in pgbench's wording, with the lines that show the
//! position.

use std::fmt;

/// Why a script cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A backslash command is malformed.
    #[error("{}", .0.headline())]
    Syntax(Box<SyntaxError>),
    /// `\if`, `\elif`, `\else` and `\endif` do not nest.
    #[error("condition error in script \"{script}\" command {command}: {problem}")]
    Condition {
        script: String,
        /// Number of the command, from 1; one past the last if an `\endif` is missing.
        command: usize,
        problem: &'static str,
    },
    /// The script has no commands.
    #[error("empty command list for script \"{script}\"")]
    Empty { script: String },
    /// A statement has more variables than the extended protocol supports here.
    #[error("statement has too many arguments (maximum is {maximum}): {statement}")]
    TooManyArguments { maximum: usize, statement: String },
    /// No builtin script's name starts with this text, or more than one does.
    #[error("{problem}")]
    Builtin { problem: String },
}

/// The position and reason of a syntax error in a backslash command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyntaxError {
    /// The script's name, usually that of its file.
    pub script: String,
    /// Line of the command's backslash, from 1.
    pub line: usize,
    pub message: String,
    /// The word or command that the message quotes, if any.
    pub detail: Option<String>,
    /// The name of the command; `None` if it is not part of the message.
    pub command: Option<String>,
    /// The whole command as written; `None` if the error does not show it.
    pub text: Option<String>,
    /// Offset in the command at which the error was detected, in bytes.
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
    /// The complete standard error output of this major version of pgbench, newline included; `program` is
    /// the name under which pgbench was called.
    pub fn pgbench_stderr(&self, program: &str, pgbench_version: u32) -> String {
        let severity = if pgbench_version >= 15 { "error" } else { "fatal" };
        // Every version reports too many arguments as an error.
        let severity = match self {
            ScriptError::TooManyArguments { .. } => "error",
            _ => severity,
        };
        let mut out = format!("{program}: {severity}: {self}\n");
        if let ScriptError::Syntax(error) = self
            && let Some(text) = &error.text
        {
            out.push_str(text);
            out.push('\n');
            if let Some(column) = error.column {
                // `repeat`, because a long line can exceed the maximum width of a format string.
                out.push_str(&" ".repeat(column));
                out.push_str("^ error found here\n");
            }
        }
        out
    }
}

/// Why an expression has no value, or a command cannot run. The text is pgbench's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// What is wrong.
    #[error("{0}")]
    Message(String),
    /// A failure without a message, as in pgbench: a variable's text is empty.
    #[error("")]
    Silent,
}

impl EvalError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        EvalError::Message(message.into())
    }
}
