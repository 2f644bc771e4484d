//! The program hammerdbcli, called as `prony hammerdbcli ...` or by a link whose name begins with
//! `hammerdbcli`.
//!
//! In: the arguments; a script, from a file, standard input or a terminal. Out: the actions and output of
//! HammerDB 4.6, and an exit status. Must never: print or store a password.

pub mod agents;
mod backend;
mod bench;
mod build;
mod clock;
mod connection;
mod input;
mod job;
mod jobs;
mod lines;
mod schema;
mod storage;
mod system;

use crate::output::{eprint, print};
use crate::process::env_var;
use backend::ScriptBackend;
use prony_dialect::hammerdb::{
    COMPAT_VARIABLE, Console, Invocation, Session, USAGE, banner, parse_args, select_profile,
};
use prony_plan::parse_duration;
use prony_runner::Signals;
use std::ffi::OsString;
use std::io::{IsTerminal, stdin};
use std::process::ExitCode;
use std::time::Duration;
use storage::Storage;
use system::ScriptSystem;

/// The environment variable that shortens the minutes of a script, for rehearsals.
const MINUTE_VARIABLE: &str = "PRONY_HAMMERDB_MINUTE";
/// The lines that Prony adds to HammerDB's usage.
const PRONY_USAGE: &str = "
Without auto, commands are read from standard input or a terminal; `help` lists them.

PRONY_HAMMERDB_COMPAT=4.6  use the profile hammerdb-4.6, for figures comparable with published ones
PRONY_HAMMERDB_MINUTE=5s   a rehearsal: shorten each minute of the script to this time (1s to 60s)
PRONY_HOME                 where settings, jobs and runs are stored [default: ~/.local/share/prony]
TMP                        folder for logs [default: /tmp]
";
const ONE_MINUTE: Duration = Duration::from_secs(60);

/// Runs as hammerdbcli.
pub fn main(arguments: &[OsString]) -> ExitCode {
    ExitCode::from(run_command(arguments).unwrap_or_else(|text| {
        eprint(&text);
        1
    }))
}

/// Returns the exit status, or the text for standard error.
fn run_command(arguments: &[OsString]) -> Result<u8, String> {
    let args: Vec<_> = arguments
        .iter()
        .map(|argument| argument.to_string_lossy())
        .collect();
    let invocation = parse_args(&args)?;
    if invocation == Invocation::Help {
        print(&format!("{USAGE}{PRONY_USAGE}"));
        return Ok(0);
    }
    let (profile, notice) = select_profile(env_var(COMPAT_VARIABLE).as_deref())?;
    let minute_length = parse_minute_length(env_var(MINUTE_VARIABLE).as_deref())?;
    let signals = Signals::listen().map_err(|error| format!("hammerdbcli: {error:#}\n"))?;
    eprint(&notice);
    if minute_length != ONE_MINUTE {
        warn(&format!(
            "rehearsal: each minute of the script takes {} s ({MINUTE_VARIABLE})",
            minute_length.as_secs_f64()
        ));
    }
    let storage = Storage::open();
    let settings = storage.read_settings().unwrap_or_else(|reason| {
        warn(&format!("cannot read the stored settings: {reason}"));
        Default::default()
    });
    let session = Session::new(settings.clone());
    let mut backend = ScriptBackend {
        system: ScriptSystem::new(signals.clone()),
        storage,
        settings,
        profile,
        minute_length,
    };
    print(&banner(env!("CARGO_PKG_VERSION")));
    let status = match invocation {
        Invocation::Auto(path) => Console::new(session, false).run_file(&mut backend, &path),
        _ => {
            let console = Console::new(session, stdin().is_terminal());
            input::run(console, &mut backend, &signals)
        }
    };
    signals.end_by_signal();
    Ok(status)
}

/// Prints a line of Prony's own on standard error.
fn warn(text: &str) {
    eprint(&format!("hammerdbcli: {text}\n"));
}

/// Parses [`MINUTE_VARIABLE`]: how long a minute of the script takes.
fn parse_minute_length(value: Option<&str>) -> Result<Duration, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(ONE_MINUTE);
    };
    match parse_duration(value) {
        Ok(minute_length) if (Duration::from_secs(1)..=ONE_MINUTE).contains(&minute_length) => {
            Ok(minute_length)
        }
        _ => Err(format!(
            "hammerdbcli: {MINUTE_VARIABLE} is \"{value}\": set it to a time from 1s to 60s, or unset it\n"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_minute_takes_1_to_60_seconds() {
        assert_eq!(parse_minute_length(None), Ok(ONE_MINUTE));
        assert_eq!(parse_minute_length(Some("")), Ok(ONE_MINUTE));
        assert_eq!(parse_minute_length(Some("5s")), Ok(Duration::from_secs(5)));
        for invalid in ["0s", "2m", "soon"] {
            assert!(parse_minute_length(Some(invalid)).is_err(), "{invalid}");
        }
    }
}
