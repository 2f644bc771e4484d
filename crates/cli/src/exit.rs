//! Exit codes, and the way from an error to one.
//!
//! In: the end of a command. Out: its exit code, and its problems on stderr. Must never: end the
//! process itself.

use crate::secrets;
use prony_report::{Problem, Style, problems};
use std::ffi::OsString;
use std::process::ExitCode;

/// How the process ends. The numbers are a promise: scripts depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went as asked.
    Fine = 0,
    /// Something that Prony did not foresee, or a file that cannot be read or written.
    Unexpected = 1,
    /// The command line or the plan is wrong.
    Usage = 2,
    /// The server cannot be reached, or does not let us in.
    Connect = 3,
    /// Tables are missing, of another scale, or a consistency check failed.
    Data = 4,
    /// The run ended early by itself; its partial result is printed and stored.
    Partial = 5,
    /// Loading or cleaning failed.
    Load = 6,
    /// The figures must not be used: a check of a complete run found it, two runs do not compare, or a
    /// report is not what was written.
    Invalid = 7,
    /// A comparison found a side slower than `--fail-if-slower` allows.
    Slower = 8,
    /// Ended by SIGINT (Ctrl-C); a run's partial result is printed and stored.
    Interrupted = 130,
    /// Ended by SIGTERM; a run's partial result is printed and stored.
    Terminated = 143,
}

/// What `--help` says of them.
pub const HELP: &str = "\
Exit codes:
  0    all went as asked
  1    something unforeseen, or a file that cannot be read or written
  2    the command line or the plan is wrong
  3    the server cannot be reached, or does not let us in
  4    tables are missing, of another scale, or a consistency check failed
  5    the run ended early by itself; its partial result is printed and stored
  6    loading or cleaning failed
  7    the figures must not be used: a check or a comparison says so, or a report was changed
  8    a comparison found a side slower than --fail-if-slower allows
  130  ended by Ctrl-C (SIGINT); a run's partial result is printed and stored
  143  ended by SIGTERM; a run's partial result is printed and stored";

/// A command that could not do what it was asked.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What has the problems, such as the name of a plan file.
    pub of: String,
    /// The problems; empty if they have been said already.
    pub problems: Vec<Problem>,
}

impl Failure {
    /// One problem, with a hint (or an empty one).
    pub fn new(exit: Exit, what: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure {
            exit,
            of: String::new(),
            problems: vec![Problem {
                what: what.into(),
                place: String::new(),
                hint: hint.into(),
            }],
        }
    }

    /// Names the place of the problem: a file, an address, an option.
    pub fn at(mut self, place: impl Into<String>) -> Failure {
        if let Some(problem) = self.problems.first_mut() {
            problem.place = place.into();
        }
        self
    }

    /// Hides the passwords of these arguments wherever a message quotes them.
    pub fn without_passwords(mut self, arguments: &[OsString]) -> Failure {
        self.of = secrets::hide(&self.of, arguments);
        for problem in &mut self.problems {
            for text in [&mut problem.what, &mut problem.place, &mut problem.hint] {
                *text = secrets::hide(text, arguments);
            }
        }
        self
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::new(Exit::Unexpected, format!("{error:#}"), "")
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::new(Exit::Unexpected, error.to_string(), "")
    }
}

/// Says what went wrong and gives the exit code.
pub fn code(ended: Result<Exit, Failure>) -> ExitCode {
    let exit = match ended {
        Ok(exit) => exit,
        Err(failure) => {
            let style = Style::of(&std::io::stderr());
            let mut stderr = std::io::stderr().lock();
            if !failure.problems.is_empty() {
                // Where stderr is closed there is nobody left to tell.
                let _ = problems::all(&mut stderr, &style, &failure.of, &failure.problems);
            }
            failure.exit
        }
    };
    ExitCode::from(exit as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_code() {
        let all = [
            Exit::Fine,
            Exit::Unexpected,
            Exit::Usage,
            Exit::Connect,
            Exit::Data,
            Exit::Partial,
            Exit::Load,
            Exit::Invalid,
            Exit::Slower,
            Exit::Interrupted,
            Exit::Terminated,
        ];
        for exit in all {
            let line = format!("  {:<3}  ", exit as u8);
            assert!(HELP.contains(&line), "{exit:?} is not in the help");
        }
    }
}
