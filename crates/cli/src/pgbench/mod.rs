//! Prony called as pgbench: `prony pgbench ...`, or by a link whose name begins with `pgbench`.
//!
//! In: the arguments. Out: what pgbench of the chosen level does and prints, and its exit status. Must
//! never: show a password, or print a word that pgbench does not.

mod connection;
mod host;
mod init;
mod password;

use crate::secrets;
use host::System;
use prony_dialect::pgbench::{Invocation, Level, Refused, Settings, Voice, read};
use prony_dialect::pgbench::{list_text, show_text};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// The name and the arguments for [`main`], if this call is for pgbench.
pub fn called(arguments: &[OsString]) -> Option<(String, &[OsString])> {
    let argv0 = arguments.first()?.to_string_lossy();
    let name = argv0.rsplit('/').next().unwrap_or_default();
    if name == "pgbench" || Level::of_name(name).is_some() {
        return Some((argv0.into_owned(), &arguments[1..]));
    }
    (arguments.get(1)? == "pgbench").then(|| ("pgbench".to_owned(), &arguments[2..]))
}

/// Does what the arguments ask of pgbench. `argv0`: the name it is called by.
pub fn main(argv0: &str, arguments: &[OsString]) -> ExitCode {
    match obey(argv0, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            say(&secrets::hide(&refused.stderr, arguments));
            ExitCode::from(refused.exit_status)
        }
    }
}

fn obey(argv0: &str, arguments: &[OsString]) -> Result<(), Refused> {
    let setting = host::variable("PRONY_PGBENCH_COMPAT");
    let level = Level::choose(setting.as_deref(), argv0).map_err(|error| {
        let voice = Voice::new(argv0, &Level::default());
        refuse(voice.fatal(&error.to_string()))
    })?;
    let voice = Voice::new(argv0, &level);
    let mut host = System::new(&voice, &level);
    match read(argv0, arguments, &level, &mut host)? {
        Invocation::Help(text) | Invocation::Version(text) => {
            // Where stdout is closed there is nobody to tell.
            let _ = std::io::stdout().write_all(text.as_bytes());
        }
        Invocation::ListBuiltins => say(&list_text()),
        Invocation::ShowScript(builtin) => say(&show_text(builtin)),
        Invocation::Initialize(options) => {
            let settings = Settings::read(host::variable)
                .map_err(|bad| refuse(voice.fatal(&bad.to_string())))?;
            let asked = &options.connection;
            let target = connection::target(asked, &voice).map_err(|problem| {
                let purpose = "initialization";
                let database = &asked.dbname;
                refuse(connection::refusal(
                    &level, &voice, database, &problem, purpose,
                ))
            })?;
            init::initialize(&level, &options, &target, settings.load_jobs, &voice)?;
        }
        Invocation::Run(_) => {
            let text = "benchmarks are not run by this name yet; `prony run` has them";
            return Err(refuse(voice.fatal(text)));
        }
    }
    Ok(())
}

/// Text for standard error, with exit status 1.
fn refuse(stderr: String) -> Refused {
    Refused {
        stderr,
        exit_status: 1,
    }
}

/// Prints text on standard error as it stands.
fn say(text: &str) {
    // Where stderr is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_or_the_first_argument_picks_the_dialect() {
        let name = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            called(&words).map(|(name, rest)| (name, rest.len()))
        };
        assert_eq!(
            name("/usr/bin/pgbench -i"),
            Some(("/usr/bin/pgbench".into(), 1))
        );
        assert_eq!(name("pgbench-15"), Some(("pgbench-15".into(), 0)));
        assert_eq!(name("prony pgbench -i x"), Some(("pgbench".into(), 2)));
        assert_eq!(name("prony run pgbench"), None);
        assert_eq!(name("pgbenchmark"), None);
        assert_eq!(name("prony"), None);
    }
}
