//! The `prony` command.
//!
//! In: the arguments. Out: calls of the other rooms, a result on stdout, everything else on stderr,
//! an exit code. Must never: hold logic of its own, or show a password.

mod args;
mod command;
mod exit;
mod run;
mod secrets;
mod signals;
mod title;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: other users must not read a password in the process list.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    title::hide_passwords(&arguments);
    // The place for dialects: the name this is called by (argv[0]) will pick who reads the rest. So
    // far every name speaks Prony's own.
    let ended = args::parse(&arguments).and_then(|asked| command::obey(asked, &arguments));
    exit::code(ended.map_err(|failure| failure.without_passwords(&arguments)))
}
