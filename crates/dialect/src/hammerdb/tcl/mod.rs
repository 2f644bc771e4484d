//! The part of Tcl that hammerdbcli's scripts use.
//!
//! In: a script's text. Out: its result; through [`Host`], its output and commands that are not Tcl's. Must
//! never: access a file, a clock, a terminal or a server by itself; recurse or grow without a limit; panic,
//! for any text.
//!
//! All values are texts, as in Tcl. Error messages are Tcl 8.6's if it has one. Not supported: `exec`,
//! `upvar` except for callers' variables, integers beyond 64 bits. `regex` documents how regular expressions
//! differ.

mod arithmetic;
mod commands;
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
mod paths;
mod pattern;
mod regex;
mod scan;
mod strings;
mod variables;

pub use interp::{Interp, MAX_DEPTH};
pub use list::{join as join_list, split as split_list};
pub use parse::is_complete;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// It does not exist, or is not accessible.
    Missing,
    File,
    Directory,
}

/// The output channel of `puts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// Why a script or a command ended without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// An error, which `catch` catches.
    Error(String),
    /// `return` with its value: ends the procedure.
    Return(String),
    /// `break`: ends the loop.
    Break,
    /// `continue`: starts the next iteration of the loop.
    Continue,
    /// `exit` or `quit`, with the exit status.
    Exit(u8),
    /// The caller requested the end, for this reason; `catch` does not catch it.
    Stopped(String),
}

impl From<String> for Flow {
    fn from(message: String) -> Flow {
        Flow::Error(message)
    }
}

pub type TclResult = Result<String, Flow>;

/// The name of a command and its arguments.
type Call<'a> = (&'a str, &'a [String]);

/// What a module's commands return; `None` if it has no command with this name.
type CommandResult = Option<TclResult>;

/// What a program adds to the language.
pub trait Host {
    /// Runs a command that is not Tcl's; `None` if there is no such command. May block without a time limit.
    fn call_command(&mut self, name: &str, args: &[String]) -> Option<TclResult>;

    fn has_command(&self, name: &str) -> bool;

    fn system(&self) -> &dyn System;

    fn system_mut(&mut self) -> &mut dyn System;
}

/// Access to everything outside of the language. Reasons of errors are the system's, in lower case as Tcl has them (`no
/// such file or directory`).
pub trait System {
    /// Prints text, line feeds included.
    fn put(&mut self, channel: Channel, text: &str);

    /// From now on captures text for standard output instead of printing it.
    fn start_capture(&mut self);

    /// Ends the capture. Returns the captured text, one entry for each call of [`System::put`].
    fn end_capture(&mut self) -> Vec<String>;

    fn env_var(&self, name: &str) -> Option<String>;

    /// Sets an environment variable for this session.
    fn set_env_var(&mut self, _name: &str, _value: &str) {}

    /// Sleeps for `ms` milliseconds (`after MS`).
    fn sleep(&mut self, ms: u64);

    /// Whether the script must end now, because of a signal. Called before each command.
    fn is_stopped(&self) -> bool;

    /// Milliseconds since 1970, UTC.
    fn now_ms(&self) -> i64;

    /// Microseconds since 1970, UTC.
    fn now_us(&self) -> i64 {
        self.now_ms().saturating_mul(1000)
    }

    /// Formats a time in seconds since 1970. `utc`: in UTC instead of the local time zone; `format`: a
    /// strftime format, or `None` for Tcl's default (`Fri Nov 20 22:21:44 UTC 2026`).
    fn format_date(&self, seconds: i64, format: Option<&str>, utc: bool) -> Result<String, String>;

    /// Parses a time to seconds since 1970, by a strptime format or in a common form.
    fn parse_date(&self, text: &str, _format: Option<&str>, _utc: bool) -> Result<i64, String> {
        Err(format!("unable to convert date-time string \"{text}\""))
    }

    fn read_file(&mut self, path: &str) -> Result<String, String>;

    /// Writes text to a file: appends, or replaces the contents.
    fn write_file(&mut self, path: &str, text: &str, append: bool) -> Result<(), String>;

    fn path_kind(&self, path: &str) -> PathKind;

    fn list_directory(&self, path: &str) -> Result<Vec<String>, String>;

    /// Creates a directory and its parents; an existing directory is not an error.
    fn create_directory(&mut self, path: &str) -> Result<(), String>;

    /// Deletes a file or an empty directory; with `force`, a directory and its contents. A path that does not
    /// exist is not an error.
    fn delete_path(&mut self, path: &str, force: bool) -> Result<(), String>;

    fn working_directory(&self) -> String;

    fn change_directory(&mut self, path: &str) -> Result<(), String>;

    fn process_id(&self) -> u32;

    fn host_name(&self) -> String {
        "localhost".to_owned()
    }
}
