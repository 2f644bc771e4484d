//! Exit codes, and the failures that cause them.
//!
//! Maps the result of a command to its exit code, and prints its problems to stderr. Never ends the process.

use prony_plan::{ErrorParts, UserError, system_error};
use prony_report::{Size, Style, problems};
use prony_runner::TerminationSignal;
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit code of the process. The numbers are stable, because scripts depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success = 0,
    /// An unexpected error, or a file that cannot be read or written.
    Unexpected = 1,
    /// The command line or the plan is wrong.
    Usage = 2,
    /// The server cannot be reached, or refuses the login or a statement.
    Connect = 3,
    /// Tables are missing, of another scale, or a consistency check failed.
    Data = 4,
    /// The run ended early without a signal; its partial result is printed and stored.
    Partial = 5,
    /// Loading or cleaning failed.
    LoadOrClean = 6,
    /// The figures must not be used: a check of a complete run found it invalid, two runs are not
    /// comparable, or a report was changed.
    Invalid = 7,
    /// A result fails what is required of it.
    RequirementFailed = 8,
    /// The figures do not decide whether a result meets what is required.
    Undecided = 9,
    /// Ended by SIGHUP (the terminal was closed); a run's partial result is stored.
    HungUp = 129,
    /// Ended by SIGINT (Ctrl-C); a run's partial result is printed and stored.
    Interrupted = 130,
    /// Ended by SIGTERM; a run's partial result is printed and stored.
    Terminated = 143,
}

impl Exit {
    /// The worse of two: that with the higher code; those of signals are the highest.
    pub fn worse(self, other: Exit) -> Exit {
        if other as u8 > self as u8 {
            other
        } else {
            self
        }
    }
}

impl From<TerminationSignal> for Exit {
    fn from(signal: TerminationSignal) -> Exit {
        match signal {
            TerminationSignal::HangUp => Exit::HungUp,
            TerminationSignal::Interrupt => Exit::Interrupted,
            TerminationSignal::Terminate => Exit::Terminated,
        }
    }
}

/// The exit codes in `--help`.
pub const HELP: &str = "\
Exit codes:
  0    success
  1    an unexpected error, or a file that cannot be read or written
  2    the command line or the plan is wrong
  3    the server cannot be reached, or refuses the login or a statement
  4    tables are missing or have the wrong scale, or a consistency check failed
  5    the run ended early without a signal; its partial result is printed and stored
  6    loading or cleaning failed
  7    the figures must not be used: a check or a comparison says so, or a report was changed
  8    FAIL: what --require or a --fail-if option asks for is not met
  9    UNDECIDED: the figures do not decide whether it is met
  129  ended by SIGHUP, as when the terminal is closed; a run's partial result is stored
  130  ended by Ctrl-C (SIGINT); a run's partial result is printed and stored
  143  ended by SIGTERM; a run's partial result is printed and stored";

/// A command that failed.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    /// The subject of the problems, such as the name of a plan file.
    pub subject: String,
    /// The problems; empty if they were printed already.
    pub problems: Vec<ErrorParts>,
}

impl Failure {
    /// One problem, with a hint (or an empty one).
    pub fn new(exit: Exit, message: impl Into<String>, hint: impl Into<String>) -> Failure {
        let hint = Some(hint.into()).filter(|hint: &String| !hint.is_empty());
        let parts = ErrorParts::new(message);
        Failure::of_parts(exit, ErrorParts { hint, ..parts })
    }

    /// One problem of the command line or of what it names.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message, hint)
    }

    /// One problem: an error with its details and hint.
    pub fn of(exit: Exit, error: &dyn UserError) -> Failure {
        Failure::of_parts(exit, error.parts())
    }

    /// One problem, from its parts.
    pub fn of_parts(exit: Exit, parts: ErrorParts) -> Failure {
        Failure {
            exit,
            subject: String::new(),
            problems: vec![parts],
        }
    }

    /// If a signal was received, replaces the exit code with that of the signal.
    pub fn after_signal(mut self, signal: Option<Exit>) -> Failure {
        if let Some(exit) = signal {
            self.exit = exit;
        }
        self
    }

    /// Names the place of the problem: a file, an address, an option.
    pub fn at(mut self, place: impl Into<String>) -> Failure {
        if let Some(problem) = self.problems.first_mut() {
            problem.details = Some(place.into());
        }
        self
    }

    /// Hides the passwords of these arguments wherever a message quotes them.
    pub fn without_passwords(mut self, arguments: &[OsString]) -> Failure {
        self.subject = secrets::redact_message(&self.subject, arguments);
        for problem in &mut self.problems {
            let texts = [
                Some(&mut problem.problem),
                problem.details.as_mut(),
                problem.hint.as_mut(),
            ];
            for text in texts.into_iter().flatten() {
                *text = secrets::redact_message(text, arguments);
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
        Failure::new(Exit::Unexpected, system_error(&error), "")
    }
}

/// Prints what went wrong and returns the exit code.
pub fn report(result: Result<Exit, Failure>) -> ExitCode {
    let exit = match result {
        Ok(exit) => exit,
        Err(failure) => {
            let style = Style::of(&std::io::stderr()).for_messages(Size::of(&std::io::stderr()));
            let mut stderr = std::io::stderr().lock();
            if !failure.problems.is_empty() {
                // If stderr is closed, nobody can read the problems.
                let _ = problems::write_problems(
                    &mut stderr,
                    &style,
                    &failure.subject,
                    &failure.problems,
                );
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
    fn the_help_lists_every_code() {
        let exits = [
            Exit::Success,
            Exit::Unexpected,
            Exit::Usage,
            Exit::Connect,
            Exit::Data,
            Exit::Partial,
            Exit::LoadOrClean,
            Exit::Invalid,
            Exit::RequirementFailed,
            Exit::Undecided,
            Exit::HungUp,
            Exit::Interrupted,
            Exit::Terminated,
        ];
        for exit in exits {
            let line = format!("  {:<3}  ", exit as u8);
            assert!(HELP.contains(&line), "{exit:?} is not in the help");
        }
    }
}
