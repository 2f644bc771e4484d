//! The `prony` command.
//!
//! In: the arguments. Out: calls of the other rooms, a result on stdout, everything else on stderr,
//! an exit code. Must never: hold logic of its own, or show a password.

mod args;
mod command;
mod exit;
mod pgbench;
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
    // The name this is called by picks who reads the rest.
    if let Some((argv0, rest)) = pgbench::called(&arguments) {
        return pgbench::main(&argv0, rest);
    }
    let ended = args::parse(&arguments).and_then(|asked| command::obey(asked, &arguments));
    exit::code(ended.map_err(|failure| failure.without_passwords(&arguments)))
}
