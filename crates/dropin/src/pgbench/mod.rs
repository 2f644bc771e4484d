//! The program pgbench, called as `prony pgbench ...` or by a link whose name begins with `pgbench`.
//!
//! In: the arguments. Out: the actions and output of the chosen level of pgbench, and its exit status. Must
//! never: print a password, or a text that pgbench does not print.

mod bench;
mod call;
mod connection;
mod host;
mod init;
mod password;

use crate::output::{eprint, print};
use call::PgbenchCall;
use host::ProcessHost;
use prony_dialect::pgbench::{
    ConnectionOptions, EnvSettings, Invocation, Level, Messages, UsageError,
};
use prony_dialect::pgbench::{list_text, parse_args, show_text};
use prony_server::Target;
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// Whether a program name, such as the name of a link to Prony, is pgbench's.
pub fn is_program_name(argv0: &str) -> bool {
    crate::begins_with_tool_name(argv0, "pgbench")
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

fn run(argv0: &str, arguments: &[OsString]) -> Result<u8, UsageError> {
    let compat = host::env_var("PRONY_PGBENCH_COMPAT");
    let level = Level::choose(compat.as_deref(), argv0).map_err(|error| {
        let messages = Messages::new(argv0, &Level::default());
        usage_error(messages.fatal(&error.to_string()))
    })?;
    let messages = Messages::new(argv0, &level);
    let mut host = ProcessHost::new(&messages, &level);
    let invocation = parse_args(argv0, arguments, &level, &mut host)?;
    let script_files = bench::ScriptFiles {
        scripts: host.scripts,
        variable_names: host.variable_names,
    };
    let redact = |argument: &OsString| secrets::redact_argument(&argument.to_string_lossy());
    let call = PgbenchCall {
        redacted_arguments: arguments.iter().map(redact).collect(),
        names_level: compat.is_some_and(|text| !text.trim().is_empty())
            || Level::of_name(argv0).is_some(),
        level,
        messages,
    };
    match invocation {
        Invocation::Help(text) | Invocation::Version(text) => print(&text),
        Invocation::ListBuiltins => eprint(&list_text()),
        Invocation::ShowScript(builtin) => eprint(&show_text(builtin)),
        Invocation::Initialize(options) => {
            let settings = EnvSettings::read(host::env_var)
                .map_err(|error| usage_error(call.messages.fatal(&error.to_string())))?;
            let target = target(&call, &options.connection, "initialization")?;
            init::initialize(&call, &options, &target, settings.load_jobs)?;
        }
        Invocation::Run(options) => {
            let target = target(&call, &options.connection, "setup")?;
            return bench::run(&call, &options, target, script_files).map_err(usage_error);
        }
    }
    Ok(0)
}

fn target(
    call: &PgbenchCall,
    options: &ConnectionOptions,
    purpose: &str,
) -> Result<Target, UsageError> {
    connection::target(options, &call.messages)
        .map_err(|problem| usage_error(connection::connect_error(call, options, &problem, purpose)))
}

/// An error with this text for standard error and exit status 1.
fn usage_error(stderr: String) -> UsageError {
    UsageError {
        stderr,
        exit_status: 1,
    }
}
