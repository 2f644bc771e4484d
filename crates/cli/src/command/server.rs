//! From a URL to a server, and from the errors on that way to exit codes.
//!
//! In: `--url`, the environment, errors of the other rooms. Out: a target, a control connection, a
//! failure with its exit code. Must never: repeat a URL as it stands.

use crate::exit::{Exit, Failure};
use crate::signals::Signals;
use prony_report::Problem;
use prony_server::{Control, Environment, Target};
use prony_workload::{Error, Workload};

/// The workload of this name.
pub fn workload(name: &str) -> Result<&'static dyn Workload, Failure> {
    prony_workload::find(name).map_err(|error| told(Exit::Usage, &error.to_string()))
}

/// Where to connect, by a URL (or nothing) and the customary environment.
pub fn target(url: Option<&str>) -> Result<Target, Failure> {
    prony_server::resolve(url.unwrap_or_default(), &Environment::from_process())
        .map_err(|error| told(Exit::Usage, &error.to_string()))
}

/// A connection for everything but the load.
pub fn connect(target: &Target) -> Result<Control, Failure> {
    Control::connect(target).map_err(|error| told(Exit::Connect, &error.to_string()))
}

/// The failure of a workload's load, check, clean or program. `signals` tell which signal stopped
/// a load.
pub fn workload_failure(error: &Error, signals: Option<&Signals>) -> Failure {
    let stopped = || {
        signals
            .and_then(Signals::asked)
            .map_or(Exit::Interrupted, |(exit, _)| exit)
    };
    let exit = match error {
        Error::UnknownWorkload { .. } | Error::Asked { .. } => Exit::Usage,
        Error::Data { .. } => Exit::Data,
        Error::Server { .. } => Exit::Connect,
        Error::LoadFailed { .. } => Exit::Load,
        Error::Stopped { .. } => stopped(),
    };
    told(exit, &error.to_string())
}

/// An error's text as a problem: its first line is what happened, a line that begins with `hint:`
/// says what to do, the lines between are its place.
pub fn told(exit: Exit, text: &str) -> Failure {
    let mut lines = text.lines();
    let what = lines.next().unwrap_or_default().to_owned();
    let mut problem = Problem {
        what,
        ..Problem::default()
    };
    for line in lines {
        match line.trim_start().strip_prefix("hint: ") {
            Some(hint) => problem.hint = hint.to_owned(),
            None if problem.hint.is_empty() => {
                let gap = if problem.place.is_empty() { "" } else { "\n" };
                problem.place += &format!("{gap}{}", line.trim());
            }
            // A hint may go on in further lines.
            None => problem.hint += &format!("\n{}", line.trim()),
        }
    }
    Failure {
        exit,
        of: String::new(),
        problems: vec![problem],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_becomes_what_where_and_hint() {
        let text = "the load failed: disk full\n  left behind: pgbench_accounts\n  hint: make room";
        let failure = told(Exit::Load, text);
        assert_eq!(
            failure.problems,
            [Problem {
                what: "the load failed: disk full".into(),
                place: "left behind: pgbench_accounts".into(),
                hint: "make room".into(),
            }]
        );
    }
}
