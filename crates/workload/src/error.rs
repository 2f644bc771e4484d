//! Errors of workloads, as users read them: a line for the problem, and a line for the remedy.
//! Must never contain a password.

use crate::remedy::{Commands, PronyCommands, Remedy};
use prony_plan::{ErrorParts, UserError};
use prony_server::control::Error as ControlError;
use std::borrow::Cow;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a workload cannot be loaded, checked, cleaned or run.
#[derive(Debug)]
pub enum Error {
    /// No workload has this name.
    UnknownWorkload {
        name: String,
        /// Suggests the nearest name, and lists all names.
        hint: String,
    },
    /// A scale, number of loaders or option that this workload does not accept.
    InvalidRequest { problem: String, hint: String },
    /// An option that this workload does not have.
    UnknownOption {
        workload: &'static str,
        key: String,
        hint: String,
    },
    /// An invalid value of an option of this workload.
    Value {
        key: String,
        value: String,
        /// What it should be; completes "is not ...".
        expected: &'static str,
        hint: String,
    },
    /// The tables are missing, incomplete, foreign, or of a different scale.
    Data { problem: String, remedy: Remedy },
    /// The server could not be reached, rejected a statement or went away.
    Server {
        activity: String,
        source: prony_server::control::Error,
    },
    /// A load failed before its end.
    LoadFailed {
        /// The error that made the load fail.
        cause: Box<Error>,
        /// What is now in the database.
        left_behind: String,
        remedy: Box<Remedy>,
    },
    /// The user stopped a load.
    Stopped {
        /// What is now in the database.
        left_behind: String,
        remedy: Option<Remedy>,
    },
}

impl From<Vec<Error>> for Error {
    /// The first problem of a plan's options: [`Workload::check_options`](crate::Workload::check_options) has reported all
    /// of them before.
    fn from(mut problems: Vec<Error>) -> Self {
        problems.swap_remove(0)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Server { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Names Prony's own commands in the remedy.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&PronyCommands::default()))
    }
}

/// Names Prony's own commands in the hint.
impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        self.parts_with(&PronyCommands::default())
    }
}

impl Error {
    pub fn parts_with(&self, commands: &dyn Commands) -> ErrorParts {
        let parts = match self {
            Error::Server { activity, source } => {
                // The parts include the hint of the source.
                return source.parts().with_context(format_args!("{activity}: "));
            }
            Error::LoadFailed { cause, remedy, .. } => {
                let mut parts = cause.parts();
                // The remedy begins with the hint of the server's error, or with what to do about a lost connection.
                if let Error::Server { source, .. } = &**cause
                    && (source.hint().is_some()
                        || matches!(source, ControlError::Closed)
                            && matches!(**remedy, Remedy::AdviceThen(..)))
                {
                    parts.hint = None;
                }
                parts
            }
            other => ErrorParts::new(other.problem()),
        };
        let parts = match self.left_behind(commands) {
            Some(left_behind) => parts.with_details(left_behind),
            None => parts,
        };
        parts.with_optional_hint(self.hint(commands))
    }

    /// The problem, without the state of the database and the remedy.
    pub fn problem(&self) -> String {
        match self {
            Error::UnknownWorkload { name, .. } => format!("there is no workload named \"{name}\""),
            Error::InvalidRequest { problem, .. } | Error::Data { problem, .. } => problem.clone(),
            Error::UnknownOption { workload, key, .. } => {
                format!("workload {workload} has no option \"{key}\"")
            }
            Error::Value {
                key,
                value,
                expected,
                ..
            } => format!("{key} = {value} is not {expected}"),
            Error::Server { activity, source } => format!("{activity}: {source}"),
            Error::LoadFailed { cause, .. } => match &**cause {
                // Without the hint of the server's error: the remedy begins with it.
                Error::Server { .. } => cause.problem(),
                other => other.to_string(),
            },
            Error::Stopped { .. } => "the load was stopped".to_owned(),
        }
    }

    /// The state in which a load left the database, and how to drop it.
    fn left_behind(&self, commands: &dyn Commands) -> Option<String> {
        let (left_behind, remedy) = match self {
            Error::LoadFailed {
                left_behind,
                remedy,
                ..
            } => (left_behind, Some(&**remedy)),
            Error::Stopped {
                left_behind,
                remedy,
            } => (left_behind, remedy.as_ref()),
            _ => return None,
        };
        let text = format!("left behind: {left_behind}");
        Some(
            match remedy.and_then(|remedy| remedy.continued_load(commands)) {
                Some(load) => format!("{text}; `{}` drops them", commands.clean_command(load)),
                None => text,
            },
        )
    }

    fn hint(&self, commands: &dyn Commands) -> Option<Cow<'_, str>> {
        match self {
            Error::UnknownWorkload { hint, .. }
            | Error::InvalidRequest { hint, .. }
            | Error::UnknownOption { hint, .. }
            | Error::Value { hint, .. } => Some(hint.into()),
            Error::Data { remedy, .. } => Some(remedy.render(commands).into()),
            Error::LoadFailed { remedy, .. } => Some(remedy.render_after_failure(commands).into()),
            Error::Server { source, .. } => source.hint(),
            Error::Stopped { remedy, .. } => {
                let text = remedy
                    .as_ref()
                    .map(|remedy| remedy.render_after_failure(commands));
                text.map(Cow::Owned)
            }
        }
    }

    /// The state of the database and the remedy, each with its label, with the commands of a tool.
    pub fn advice(&self, commands: &dyn Commands) -> Vec<String> {
        let hint = self.hint(commands).map(|hint| format!("hint: {hint}"));
        self.left_behind(commands).into_iter().chain(hint).collect()
    }

    /// The full text, with the commands of a tool.
    pub fn render(&self, commands: &dyn Commands) -> String {
        let mut text = self.problem();
        for advice in self.advice(commands) {
            text += &format!("\n  {advice}");
        }
        text
    }

    /// Whether the server rejected something but is still available.
    pub fn is_refusal(&self) -> bool {
        match self {
            Error::Data { .. } => true,
            Error::Server { source, .. } => matches!(source, ControlError::Statement(_)),
            _ => false,
        }
    }

    /// Whether the user stopped the load, as opposed to a failure.
    pub fn is_stop(&self) -> bool {
        matches!(self, Error::Stopped { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn text_consists_of_problem_and_advice() {
        let stopped = Error::Stopped {
            left_behind: "nothing".to_owned(),
            remedy: None,
        };
        assert_eq!(stopped.problem(), "the load was stopped");
        let expected = ["left behind: nothing"];
        assert_eq!(stopped.advice(&PronyCommands::default()), expected);
        let failed = Error::LoadFailed {
            cause: Box::new(Error::Server {
                activity: "a".to_owned(),
                source: prony_server::control::Error::Violation("b".to_owned()),
            }),
            left_behind: "c".to_owned(),
            remedy: Box::new("d".into()),
        };
        assert_eq!(failed.problem(), "a: b");
        let expected = ["left behind: c", "hint: d"];
        assert_eq!(failed.advice(&PronyCommands::default()), expected);
        assert_eq!(failed.to_string(), "a: b\n  left behind: c\n  hint: d");
        let unknown = Error::UnknownWorkload {
            name: "x".to_owned(),
            hint: "y".to_owned(),
        };
        assert_eq!(unknown.advice(&PronyCommands::default()), ["hint: y"]);
    }

    #[test]
    fn parts_separate_problem_details_and_hint() {
        let failed = Error::LoadFailed {
            cause: Box::new(Error::Server {
                activity: "loading t".to_owned(),
                source: prony_server::control::Error::Closed,
            }),
            left_behind: "half".to_owned(),
            remedy: Box::new("again".into()),
        };
        let expected = ErrorParts {
            problem: "loading t: server closed the connection unexpectedly".to_owned(),
            details: Some("left behind: half".to_owned()),
            hint: Some("It probably terminated abnormally: its log says why.\nagain".to_owned()),
        };
        assert_eq!(failed.parts(), expected);
        let with_advice = Error::LoadFailed {
            cause: Box::new(Error::Server {
                activity: "loading t".to_owned(),
                source: ControlError::Closed,
            }),
            left_behind: "half".to_owned(),
            remedy: Box::new(Remedy::AdviceThen(
                "read the log".to_owned(),
                Box::new("again".into()),
            )),
        };
        let hint = Some("read the log; then again".to_owned());
        assert_eq!(with_advice.parts().hint, hint);
        let text = failed.to_string();
        text.assert_contains(
            "\n\tbefore or while processing the request.\n  left behind: half\n  hint: again",
        );
    }

    #[test]
    fn semicolon_in_a_server_message_does_not_begin_a_hint() {
        let refused = Error::Server {
            activity: "loading t".to_owned(),
            source: prony_server::control::Error::Violation("\"a; b\" is too long".to_owned()),
        };
        let expected = ErrorParts::new("loading t: \"a; b\" is too long");
        assert_eq!(refused.parts(), expected);
    }
}
