//! The program sysbench, called as `prony sysbench ...` or by a link whose name begins with `sysbench`.
//!
//! In: the arguments. Out: the actions and output of the chosen version of sysbench, and its exit status.
//! Must never: print a password, or a line on stdout that sysbench does not print.

mod bench;
mod call;
mod connection;
mod errors;
mod host;
mod native;
mod script;
mod tables;

use call::{CommandError, SysbenchCall};
use host::ProcessHost;
use prony_dialect::sysbench::{
    COMPAT_VARIABLE, Compat, Invocation, Output, UsageError, fatal_line, parse_args,
};
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// Whether a program name, such as the name of a link to Prony, is sysbench's.
pub fn is_program_name(argv0: &str) -> bool {
    crate::begins_with_tool_name(argv0, "sysbench")
}

/// Runs as sysbench.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError::Status(status)) => ExitCode::from(status),
        Err(CommandError::Usage(error)) => {
            let output = Output {
                warnings: secrets::redact_message(&error.output.warnings, arguments),
                stdout: secrets::redact_message(&error.output.stdout, arguments),
                stderr: secrets::redact_message(&error.output.stderr, arguments),
            };
            call::print(&output);
            ExitCode::from(error.exit_status)
        }
    }
}

fn run(arguments: &[OsString]) -> Result<(), CommandError> {
    let variable = std::env::var_os(COMPAT_VARIABLE);
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let compat = Compat::read(variable.as_deref()).map_err(|error| {
        CommandError::Usage(UsageError {
            output: Output {
                stderr: fatal_line(&error.to_string()),
                ..Output::default()
            },
            exit_status: 1,
        })
    })?;
    let invocation =
        parse_args(arguments, compat, &ProcessHost::default()).map_err(CommandError::Usage)?;
    let redact = |argument: &OsString| secrets::redact_argument(&argument.to_string_lossy());
    let redacted_arguments: Vec<String> = arguments.iter().map(redact).collect();
    match invocation {
        Invocation::Print(output) => {
            call::print(&output);
            Ok(())
        }
        Invocation::Native(command) => {
            call::print(&command.preamble);
            native::run_command(
                &SysbenchCall::new(&command.settings, redacted_arguments),
                &command,
            )
        }
        Invocation::Script(command) => {
            call::print(&command.preamble);
            script::run_command(
                &SysbenchCall::new(&command.settings, redacted_arguments),
                &command,
            )
        }
    }
}
