//! Exit codes, and the failures that cause them.
//!
//! Maps the result of a command to its exit code, and prints its problems to stderr. Never ends the process.

use prony_plan::{ErrorParts, UserError, system_error};
use prony_report::{Size, Style, problems};
use prony_runner::TerminationSignal;
use prony_server::secrets;
use std::ffi::OsString;
use std::process::ExitCode;

/// Defines [`Exit`] and what `--help` says of its codes.
macro_rules! exit_codes {
    ($($name:ident = $code:literal, $meaning:literal;)+) => {
        /// The exit code of the process. The numbers are stable, because scripts depend on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Exit {
            $(#[doc = $meaning] $name = $code,)+
        }

        /// The exit codes in `--help`.
        pub fn help() -> String {
            let codes = [$(format!("\n  {:<3}  {}", $code, $meaning)),+];
            format!("Exit codes:{}", codes.concat())
        }
    };
}

exit_codes! {
    Success = 0, "success";
    Unexpected = 1, "an unexpected error, or a file that cannot be read or written";
    Usage = 2, "the command line or the plan is wrong";
    Connect = 3, "the server cannot be reached, or refuses the login or a statement";
    Data = 4, "tables are missing, not accessible or of the wrong scale, or a consistency check failed";
    Partial = 5, "the run ended early without a signal; its partial result is printed and stored";
    LoadOrClean = 6, "loading or cleaning failed";
    Invalid = 7, "figures must not be used: a check, a comparison or doctor says so, or a report was changed";
    RequirementFailed = 8, "FAIL: what --require or a --fail-if option asks for is not met";
    Undecided = 9, "UNDECIDED: the figures do not decide whether it is met";
    HungUp = 129, "ended by SIGHUP, as when the terminal is closed; a run's partial result is stored";
    Interrupted = 130, "ended by Ctrl-C (SIGINT); a run's partial result is printed and stored";
    Terminated = 143, "ended by SIGTERM; a run's partial result is printed and stored";
}

impl Exit {
    /// The worse of two: that with the higher code; those of signals are the highest.
    pub fn worse(self, other: Exit) -> Exit {
        if other as u8 > self as u8 { other } else { self }
    }

    /// The code of a command that succeeded and shows what must not be used, or that all is well.
    pub fn invalid_if(is_invalid: bool) -> Exit {
        if is_invalid { Exit::Invalid } else { Exit::Success }
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

    /// Names the place of the problem: a file, an address, an option. Details that it has, such as an address, follow.
    pub fn at(mut self, place: impl Into<String>) -> Failure {
        if let Some(problem) = self.problems.first_mut() {
            let details = std::iter::once(place.into()).chain(problem.details.take());
            problem.details = Some(details.collect::<Vec<_>>().join("\n"));
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
    fn a_place_precedes_the_details_of_the_problem() {
        let refused = ErrorParts::new("Connection refused").with_details("tcp:127.0.0.1:1");
        let failure = Failure::of_parts(Exit::Connect, refused).at("variant a");
        let details = failure.problems[0].details.as_deref();
        assert_eq!(details, Some("variant a\ntcp:127.0.0.1:1"));
    }
}
