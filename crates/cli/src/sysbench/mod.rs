//! Prony called as sysbench: `prony sysbench ...`, or by a link whose name begins with `sysbench`.
//!
//! In: the arguments. Out: what sysbench of the chosen version does and prints, and its exit status.
//! Must never: show a password, or print a line on stdout that sysbench does not.

mod bench;
mod call;
mod connection;
mod host;
mod native;
mod script;
mod tables;
mod trouble;

use crate::secrets;
use call::{Call, Ended};
use host::System;
use prony_dialect::sysbench::{COMPAT_VARIABLE, Compat, Invocation, Printed, Refused, fatal, read};
use prony_workload::commands::{Caller, called_as};
use std::ffi::OsString;
use std::process::ExitCode;

/// Whether a program name is sysbench's, such as that of a link to Prony.
pub fn is_name(argv0: &str) -> bool {
    let name = argv0.rsplit('/').next();
    name.is_some_and(|name| name.starts_with("sysbench"))
}

/// Does what the arguments ask of sysbench.
pub fn main(arguments: &[OsString]) -> ExitCode {
    called_as(Caller::Sysbench);
    match obey(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Ended::Status(status)) => ExitCode::from(status),
        Err(Ended::Refused(refused)) => {
            let printed = Printed {
                stdout: secrets::hide(&refused.printed.stdout, arguments),
                stderr: secrets::hide(&refused.printed.stderr, arguments),
            };
            call::print(&printed);
            ExitCode::from(refused.exit_status)
        }
    }
}

fn obey(arguments: &[OsString]) -> Result<(), Ended> {
    let variable = std::env::var_os(COMPAT_VARIABLE);
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let compat = Compat::read(variable.as_deref()).map_err(|error| {
        Ended::Refused(Refused {
            printed: Printed {
                stdout: String::new(),
                stderr: fatal(&error.to_string()),
            },
            exit_status: 1,
        })
    })?;
    let invocation = read(arguments, compat, &System::default()).map_err(Ended::Refused)?;
    let shown = |argument: &OsString| secrets::without(&argument.to_string_lossy());
    let shown: Vec<String> = arguments.iter().map(shown).collect();
    match invocation {
        Invocation::Print(printed) => {
            call::print(&printed);
            Ok(())
        }
        Invocation::Native(asked) => {
            call::print(&asked.before);
            native::obey(&Call::new(&asked.settings, shown), &asked)
        }
        Invocation::Script(asked) => {
            call::print(&asked.before);
            script::obey(&Call::new(&asked.settings, shown), &asked)
        }
    }
}
