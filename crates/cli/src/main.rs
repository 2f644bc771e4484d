//! The `prony` command.
//!
//! Passes the arguments to the other modules. Results go to stdout, everything else to stderr; passwords are never
//! shown.

mod args;
mod command;
#[cfg(test)]
#[path = "../tests/documentation/mod.rs"]
mod documentation;
mod exit;
mod experiment;
mod http;
mod run;
mod static_binary;
mod title;

use args::Command;
use exit::Exit;
use prony_dropin::Tool;
use prony_runner::signals;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    static_binary::use_builtin_name_services();
    signals::survive_file_size_limit();
    // Hide passwords first, so that other users do not see them in the process list.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    title::hide_passwords(&arguments);
    // The name of the program selects the tool whose command line this is.
    let argv0 = arguments.first().map(|name| name.to_string_lossy());
    let argv0 = argv0.as_deref().unwrap_or_default();
    if let Some(tool) = Tool::of_program(argv0) {
        return tool.run(argv0, &arguments[1..]);
    }
    let result = match args::parse(&arguments) {
        Ok(Command::Pgbench { arguments }) => return Tool::Pgbench.run("pgbench", &arguments),
        Ok(Command::Hammerdbcli { arguments }) => {
            return Tool::Hammerdbcli.run("hammerdbcli", &arguments);
        }
        Ok(Command::Sysbench { arguments }) => return Tool::Sysbench.run("sysbench", &arguments),
        Ok(command) => {
            signals::explain_second_signal();
            command::execute(command, &arguments)
        }
        Err(failure) => Err(failure),
    };
    exit::report(result.map_err(|failure| {
        let failure = failure.after_signal(signals::received().map(Exit::from));
        failure.without_passwords(&arguments)
    }))
}
