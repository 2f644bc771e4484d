//! Prony called as hammerdbcli: `prony hammerdbcli ...`, or by a link whose name begins with
//! `hammerdbcli`.
//!
//! In: the arguments; a script, by file, by standard input, or typed. Out: what HammerDB 4.6 does and
//! prints for it, and an exit status. Must never: show or keep a password.

mod bench;
mod build;
mod clock;
mod connection;
mod input;
mod job;
mod jobs;
mod kept;
mod lines;
mod machine;
mod schema;

use crate::signals::Signals;
use kept::Kept;
use machine::Machine;
use prony_dialect::hammerdb::tcl::Host;
use prony_dialect::hammerdb::{
    COMPAT_VARIABLE, Console, Invocation, Session, USAGE, banner, compat, read,
};
use prony_plan::parse_duration;
use prony_workload::commands::{Caller, called_as};
use std::ffi::OsString;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::process::ExitCode;
use std::time::Duration;

/// How long a minute of a script lasts, for rehearsals.
const MINUTE_VARIABLE: &str = "PRONY_HAMMERDB_MINUTE";
/// What Prony adds to the usage.
const MORE: &str = "
Without auto, commands come from standard input, or are typed; `help` lists them.

PRONY_HAMMERDB_COMPAT=4.6  the profile hammerdb-4.6, for figures that compare with published ones
PRONY_HAMMERDB_MINUTE=5s   a rehearsal: a minute of the script lasts so long (1s to 60s)
PRONY_HOME                 where settings, jobs and runs are kept [default: ~/.local/share/prony]
TMP                        where logs go [default: /tmp]
";
const MINUTE: Duration = Duration::from_secs(60);

/// Whether a program name is hammerdbcli's, such as that of a link to Prony.
pub fn is_name(argv0: &str) -> bool {
    argv0
        .rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("hammerdbcli"))
}

/// Does what the arguments ask of hammerdbcli.
pub fn main(arguments: &[OsString]) -> ExitCode {
    called_as(Caller::Hammerdb);
    ExitCode::from(obey(arguments).unwrap_or_else(|text| {
        complain(&text);
        1
    }))
}

/// Gives the exit status, or the text for standard error.
fn obey(arguments: &[OsString]) -> Result<u8, String> {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let invocation = read(&words)?;
    if invocation == Invocation::Help {
        print(&format!("{USAGE}{MORE}"));
        return Ok(0);
    }
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let (profile, notice) = compat(variable(COMPAT_VARIABLE).as_deref())?;
    let minute = minute(variable(MINUTE_VARIABLE).as_deref())?;
    let signals = Signals::listen().map_err(|error| format!("hammerdbcli: {error:#}\n"))?;
    complain(&notice);
    if minute != MINUTE {
        complain(&format!(
            "hammerdbcli: a rehearsal: a minute of the script lasts {} s ({MINUTE_VARIABLE})\n",
            minute.as_secs_f64()
        ));
    }
    let kept = Kept::open();
    let settings = kept.settings().unwrap_or_else(|reason| {
        complain(&format!(
            "hammerdbcli: the settings of earlier calls are not read: {reason}\n"
        ));
        Default::default()
    });
    let session = Session::new(settings.clone());
    let mut machine = Machine::new(signals.clone(), kept, settings, profile, minute);
    machine.put(
        prony_dialect::hammerdb::tcl::Channel::Out,
        &banner(env!("CARGO_PKG_VERSION")),
    );
    let status = match invocation {
        Invocation::Auto(path) => Console::new(session, false).run_file(&mut machine, &path),
        _ => {
            let console = Console::new(session, stdin().is_terminal());
            input::run(console, &mut machine, &signals)
        }
    };
    signals.pass_on();
    Ok(status)
}

fn minute(value: Option<&str>) -> Result<Duration, String> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(MINUTE);
    };
    match parse_duration(value) {
        Ok(minute) if (Duration::from_secs(1)..=MINUTE).contains(&minute) => Ok(minute),
        _ => Err(format!(
            "hammerdbcli: {MINUTE_VARIABLE} is \"{value}\": a time of 1s to 60s, or leave it unset\n"
        )),
    }
}

/// Text for standard output. A reader that has gone away ends nothing: the run is still stored.
fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Text for standard error. Where that is closed nobody is told.
fn complain(text: &str) {
    let _ = stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_told_by_their_names() {
        for name in ["hammerdbcli", "./hammerdbcli", "/usr/bin/hammerdbcli-4.6"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["prony", "/hammerdbcli/prony", "hammerdb", ""] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_rehearsal_has_minutes_of_a_second_at_least() {
        assert_eq!(minute(None), Ok(MINUTE));
        assert_eq!(minute(Some("")), Ok(MINUTE));
        assert_eq!(minute(Some("5s")), Ok(Duration::from_secs(5)));
        for wrong in ["0s", "2m", "soon"] {
            assert!(minute(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
