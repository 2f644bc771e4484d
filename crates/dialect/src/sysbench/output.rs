//! The output of parsing a command line, and its error.
//!
//! The caller prints the output.

/// Texts to print, in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Warnings for standard error, which sysbench prints while it reads the command line.
    pub warnings: String,
    /// For standard output, which is also sysbench's log.
    pub stdout: String,
    /// For standard error: the last line of an error.
    pub stderr: String,
}

/// sysbench's error about a command line: the complete output, earlier warnings included. The exit status is 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{}", .0.warnings, .0.stdout, .0.stderr)]
pub struct UsageError(pub Output);

impl Output {
    /// An error with its last line in the log.
    pub(crate) fn fatal(mut self, text: &str) -> UsageError {
        self.stdout += &fatal_line(text);
        UsageError(self)
    }

    /// An error with its last line on standard error.
    pub(crate) fn usage_error(mut self, text: &str) -> UsageError {
        self.stderr += text;
        self.stderr.push('\n');
        UsageError(self)
    }
}

/// A log line with the reason why a run ends.
pub fn fatal_line(text: &str) -> String {
    format!("FATAL: {text}\n")
}

pub fn warning_line(text: &str) -> String {
    format!("WARNING: {text}\n")
}

pub fn debug_line(text: &str) -> String {
    format!("DEBUG: {text}\n")
}

/// The level of a log line. Lines up to the level of `--verbosity` are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogLevel {
    /// The reason why a run ends.
    Fatal = 0,
    Alert = 1,
    Warning = 2,
    /// Headers, progress and reports.
    Notice = 3,
    Info = 4,
    Debug = 5,
}

impl LogLevel {
    /// Whether `--verbosity` is high enough to print lines of this level.
    pub fn is_printed_at(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }
}
