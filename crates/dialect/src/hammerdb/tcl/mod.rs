//! As much of Tcl as the scripts of hammerdbcli use.
//!
//! In: a script's text. Out: its result; through [`Host`], what it prints and the commands that are
//! not Tcl's own. Must never: touch a file, a clock, a terminal or a server by itself; recurse or
//! grow without a bound; panic, whatever the text.
//!
//! Values are texts, as in Tcl. Error messages are Tcl 8.6's where it has one. Not here: namespaces,
//! regular expressions, `upvar` beyond variables of callers, integers beyond 64 bits.

mod arithmetic;
mod control;
mod data;
mod expr;
mod format;
mod interp;
mod io;
mod list;
mod lists;
mod number;
mod parse;
mod pattern;
mod strings;
mod variables;

pub use interp::{Interp, MAX_DEPTH};
pub use list::{join as join_list, split as split_list};
pub use parse::is_complete;

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing that can be seen.
    Missing,
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// Where `puts` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// How a script or a command ended, other than with a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// An error, which `catch` can take.
    Error(String),
    /// `return` with its value, on its way to the end of the procedure.
    Return(String),
    /// `break`, on its way to the loop.
    Break,
    /// `continue`, on its way to the loop.
    Continue,
    /// `exit` or `quit`, with the exit status.
    Exit(u8),
    /// The caller asked for the end, or the allowance of steps is used up: `catch` cannot take it.
    Stopped(String),
}

/// What a command gives.
pub type Outcome = Result<String, Flow>;

/// What lies outside of the language.
pub trait Host {
    /// A command that is not Tcl's own; none if there is no such command. It may block for as long
    /// as it likes.
    fn call(&mut self, name: &str, args: &[String]) -> Option<Outcome>;

    /// Text for a terminal, line ends included.
    fn put(&mut self, channel: Channel, text: &str);

    /// An environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// Waits that many milliseconds (`after MS`).
    fn sleep(&mut self, ms: u64);

    /// Whether the script shall end now (a signal came). Asked before each command.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Milliseconds since 1970, UTC.
    fn now_ms(&self) -> i64;

    /// A time as text: seconds since 1970, and a strftime format or none for the usual form
    /// (`Fri Nov 20 22:21:44 UTC 2026`).
    ///
    /// # Errors
    /// Why it cannot be written so.
    fn date(&self, seconds: i64, format: Option<&str>) -> Result<String, String>;

    /// The text of a file.
    ///
    /// # Errors
    /// The system's reason, in lower case as Tcl has it (`no such file or directory`).
    fn read_file(&mut self, path: &str) -> Result<String, String>;

    /// Writes text to a file: at its end, or in place of what is there.
    ///
    /// # Errors
    /// The system's reason, in lower case.
    fn write_file(&mut self, path: &str, text: &str, at_end: bool) -> Result<(), String>;

    /// What a path leads to.
    fn path_kind(&self, path: &str) -> PathKind;
}
