//! The program pgbench, called as `prony pgbench ...` or by a link whose name begins with `pgbench`.
//!
//! In: the arguments. Out: the actions and output of the chosen level of pgbench, and its exit status. Must
//! never: print a password, or a text that pgbench does not print.

pub mod agents;
mod bench;
mod call;
mod connection;
mod host;
mod init;
mod password;

use crate::output::{eprint, print};
use crate::process::{env_var, redacted};
use call::PgbenchCall;
use host::ProcessHost;
use prony_dialect::pgbench::{
    EnvSettings, Invocation, Level, Messages, list_text, parse_args, show_text,
};
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// Why a call ends: the complete text for standard error, and its exit status.
struct Failure {
    stderr: String,
    exit_status: u8,
}

impl From<String> for Failure {
    fn from(stderr: String) -> Failure {
        Failure {
            stderr,
            exit_status: 1,
        }
    }
}

/// Runs as pgbench. `argv0`: the name by which it was called.
pub fn main(argv0: &str, arguments: &[OsString]) -> ExitCode {
    match run(argv0, arguments) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprint(&secrets::redact_message(&error.stderr, arguments));
            ExitCode::from(error.exit_status)
        }
    }
}

fn run(argv0: &str, arguments: &[OsString]) -> Result<u8, Failure> {
    let compat = env_var("PRONY_PGBENCH_COMPAT");
    let level = Level::choose(compat.as_deref(), argv0)
        .map_err(|problem| Messages::new(argv0, &Level::default()).fatal(&problem))?;
    let messages = Messages::new(argv0, &level);
    let mut host = ProcessHost::new(&messages, &level);
    let names_level =
        compat.is_some_and(|text| !text.trim().is_empty()) || Level::of_name(argv0).is_some();
    let invocation = parse_args(argv0, arguments, &level, &mut host).map_err(|mut error| {
        // `-d -c 4 bench` has two databases.
        let is_surplus = error.contains("too many command-line arguments");
        if is_surplus && !names_level && arguments.iter().any(|argument| argument == "-d") {
            error += &messages.hint(connection::MEANING_OF_D);
        }
        error
    })?;
    let script_files = host.script_files;
    let call = PgbenchCall {
        redacted_arguments: redacted(arguments),
        names_level,
        level,
        messages,
    };
    match invocation {
        Invocation::Print(text) => print(&text),
        Invocation::ListBuiltins => eprint(&list_text()),
        Invocation::ShowScript(builtin) => eprint(&show_text(builtin)),
        Invocation::Initialize(options) => {
            let settings = EnvSettings::read(env_var);
            let settings = settings.map_err(|problem| call.messages.fatal(&problem))?;
            init::initialize(&call, &options, settings.load_jobs)?;
        }
        Invocation::Run(options) => {
            return Ok(bench::run(&call, &options, script_files)?);
        }
    }
    Ok(0)
}
