//! Texts that a command line brings forth, and how it is refused.
//!
//! In: texts. Out: what to print where. Must never: print.

/// Texts for both streams, in the order in which they arose within each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// For standard output, where sysbench's log goes.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
}

/// sysbench's refusal of a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", printed.stderr, printed.stdout)]
pub struct Refused {
    /// What is printed, all of it: warnings that came before too.
    pub printed: Printed,
    /// The exit status.
    pub exit_status: u8,
}

impl Printed {
    /// A refusal whose last words go to the log.
    pub(crate) fn fatal(mut self, text: &str) -> Refused {
        self.stdout += &fatal(text);
        self.refused()
    }

    /// A refusal whose last words go to standard error.
    pub(crate) fn refuse(mut self, text: &str) -> Refused {
        self.stderr += text;
        self.stderr.push('\n');
        self.refused()
    }

    pub(crate) fn refused(self) -> Refused {
        Refused {
            printed: self,
            exit_status: 1,
        }
    }
}

/// A line of the log that says why a run ends.
pub fn fatal(text: &str) -> String {
    format!("FATAL: {text}\n")
}

/// A line of the log that warns.
pub fn warning(text: &str) -> String {
    format!("WARNING: {text}\n")
}

/// A line of the log for those who look for mistakes.
pub fn debug(text: &str) -> String {
    format!("DEBUG: {text}\n")
}

/// Weight of a line of the log: it appears where `--verbosity` is at least this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The reason of an end.
    Fatal = 0,
    /// An alert.
    Alert = 1,
    /// A warning.
    Warning = 2,
    /// Headers, progress and reports.
    Notice = 3,
    /// What happens behind.
    Info = 4,
    /// Everything.
    Debug = 5,
}

impl Level {
    /// Whether lines of this weight appear.
    pub fn shows_at(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }
}
