//! The `prony` command.
//!
//! In: the arguments. Out: calls of the other rooms, a result on stdout, everything else on stderr,
//! an exit code. Must never: hold logic of its own, or show a password.

mod args;
mod command;
mod exit;
mod experiment;
mod hammerdb;
mod pgbench;
mod run;
mod secrets;
mod shell;
mod signals;
mod sysbench;
mod title;

use args::Command;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: other users must not read a password in the process list.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    title::hide_passwords(&arguments);
    // The name that it is called by picks whose command line this is.
    let argv0 = arguments.first().map(|name| name.to_string_lossy());
    let argv0 = argv0.as_deref().unwrap_or_default();
    if pgbench::is_name(argv0) {
        return pgbench::main(argv0, &arguments[1..]);
    }
    if hammerdb::is_name(argv0) {
        return hammerdb::main(&arguments[1..]);
    }
    if sysbench::is_name(argv0) {
        return sysbench::main(&arguments[1..]);
    }
    let ended = match args::parse(&arguments) {
        Ok(Command::Pgbench { arguments }) => return pgbench::main("pgbench", &arguments),
        Ok(Command::Hammerdbcli { arguments }) => return hammerdb::main(&arguments),
        Ok(Command::Sysbench { arguments }) => return sysbench::main(&arguments),
        Ok(asked) => command::obey(asked, &arguments),
        Err(failure) => Err(failure),
    };
    exit::code(ended.map_err(|failure| failure.without_passwords(&arguments)))
}
