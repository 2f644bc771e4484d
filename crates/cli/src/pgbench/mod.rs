//! Prony called as pgbench: `prony pgbench ...`, or by a link whose name begins with `pgbench`.
//!
//! In: the arguments. Out: what pgbench of the chosen level does and prints, and its exit status. Must
//! never: show a password, or print a word that pgbench does not.

mod bench;
mod call;
mod connection;
mod host;
mod init;
mod password;

use crate::secrets;
use call::{Call, say};
pub use connection::failures as libpq_failures;
use host::System;
use prony_dialect::pgbench::{Connection, Invocation, Level, Refused, Settings, Voice};
use prony_dialect::pgbench::{list_text, read, show_text};
use prony_server::Target;
use std::ffi::OsString;
use std::process::ExitCode;

/// Whether a program name is pgbench's, such as that of a link to Prony.
pub fn is_name(argv0: &str) -> bool {
    argv0
        .rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("pgbench"))
}

/// Does what the arguments ask of pgbench. `argv0`: the name it is called by.
pub fn main(argv0: &str, arguments: &[OsString]) -> ExitCode {
    match obey(argv0, arguments) {
        Ok(status) => ExitCode::from(status),
        Err(refused) => {
            say(&secrets::hide(&refused.stderr, arguments));
            ExitCode::from(refused.exit_status)
        }
    }
}

fn obey(argv0: &str, arguments: &[OsString]) -> Result<u8, Refused> {
    let setting = host::variable("PRONY_PGBENCH_COMPAT");
    let level = Level::choose(setting.as_deref(), argv0).map_err(|error| {
        let voice = Voice::new(argv0, &Level::default());
        refuse(voice.fatal(&error.to_string()))
    })?;
    let voice = Voice::new(argv0, &level);
    let mut host = System::new(&voice, &level);
    let invocation = read(argv0, arguments, &level, &mut host)?;
    let files = bench::Files {
        scripts: host.scripts,
        names: host.names,
    };
    let shown = |argument: &OsString| secrets::without(&argument.to_string_lossy());
    let call = Call {
        shown: arguments.iter().map(shown).collect(),
        level,
        voice,
    };
    match invocation {
        Invocation::Help(text) | Invocation::Version(text) => call.print(&text),
        Invocation::ListBuiltins => call.tell(&list_text()),
        Invocation::ShowScript(builtin) => call.tell(&show_text(builtin)),
        Invocation::Initialize(options) => {
            let settings = Settings::read(host::variable)
                .map_err(|bad| refuse(call.voice.fatal(&bad.to_string())))?;
            let target = target(&call, &options.connection, "initialization")?;
            init::initialize(&call, &options, &target, settings.load_jobs)?;
        }
        Invocation::Run(options) => {
            let target = target(&call, &options.connection, "setup")?;
            return bench::run(&call, &options, target, files).map_err(refuse);
        }
    }
    Ok(0)
}

fn target(call: &Call, asked: &Connection, purpose: &str) -> Result<Target, Refused> {
    connection::target(asked, &call.voice)
        .map_err(|problem| refuse(connection::refusal(call, &asked.dbname, &problem, purpose)))
}

/// Text for standard error, with exit status 1.
fn refuse(stderr: String) -> Refused {
    Refused {
        stderr,
        exit_status: 1,
    }
}
