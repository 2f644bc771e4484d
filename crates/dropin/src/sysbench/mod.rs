//! The program sysbench, called as `prony sysbench ...` or by a link whose name begins with `sysbench`.
//!
//! In: the arguments. Out: the actions and output of the chosen version of sysbench, and its exit status.
//! Must never: print a password, or a line on stdout that sysbench does not print.

pub mod agents;
mod bench;
mod call;
mod connection;
mod errors;
mod host;
mod native;
pub mod script;
mod tables;

use crate::process::{env_var, redacted};
use call::{CommandError, SysbenchCall};
use host::ProcessHost;
use prony_dialect::sysbench::{
    COMPAT_VARIABLE, Compat, Invocation, Output, UsageError, fatal_line, parse_args,
};
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs as sysbench.
pub fn main(arguments: &[OsString]) -> ExitCode {
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandError(status)) => ExitCode::from(status),
    }
}

fn run(arguments: &[OsString]) -> Result<(), CommandError> {
    let compat = Compat::read(env_var(COMPAT_VARIABLE).as_deref())
        .map_err(|error| call::print_usage_error(&fatal_line(&error.to_string())))?;
    let invocation = parse_args(arguments, compat, &ProcessHost::default());
    let invocation = invocation.map_err(|UsageError(output)| {
        let redact = |text: &str| secrets::redact_message(text, arguments);
        call::print(&Output {
            warnings: redact(&output.warnings),
            stdout: redact(&output.stdout),
            stderr: redact(&output.stderr),
        });
        CommandError(1)
    })?;
    let redacted_arguments = redacted(arguments);
    match invocation {
        Invocation::Print(output) => {
            call::print(&output);
            Ok(())
        }
        Invocation::Native(command) => {
            call::print(&command.preamble);
            let call = SysbenchCall::new(&command.settings, redacted_arguments);
            native::run_command(&call, &command)
        }
        Invocation::Script(command) => {
            call::print(&command.preamble);
            let call = SysbenchCall::new(&command.settings, redacted_arguments);
            script::run_command(&call, &command)
        }
    }
}
