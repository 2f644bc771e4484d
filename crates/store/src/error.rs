//! Errors in storing and reading runs, as messages for the user.
//!
//! Each message is one sentence with a hint. Control characters from a foreign file never reach a terminal.

use prony_plan::{ErrorParts, UserError, system_error};
use std::io;
use std::path::{Path, PathBuf};

/// An error in storing or reading a run. One with a `source` prints that error with its hint, then the consequence.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub enum StoreError {
    /// No folder is given or configured.
    NoFolder,
    /// An operation of the system failed.
    Io {
        /// The operation: `write`, `read`, `create the folder`...
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The journal cannot be written any more; the run continues.
    #[error("{}; {}", .0, consequence(self))]
    JournalEnded(Box<StoreError>),
    /// The finished run could not be stored.
    #[error("{source}; {}", consequence(self))]
    NotStored {
        source: Box<StoreError>,
        id: String,
        /// Seconds of the run in the journal.
        stored_s: f64,
        measured_s: f64,
    },
    /// No run matches.
    NotFound {
        /// The requested id, label or path.
        name: String,
        /// The most similar id or label, if there is one.
        similar: Option<String>,
    },
    Empty {
        path: PathBuf,
    },
    /// Several runs match.
    Ambiguous {
        /// The requested id, label or path.
        name: String,
        count: usize,
        /// The id of one of them.
        first: String,
        /// The id of another one.
        second: String,
    },
    /// A file that is not a document of Prony.
    NotARun {
        path: PathBuf,
        /// Why it is not a document.
        reason: String,
    },
    /// A document of a later Prony.
    Newer {
        path: PathBuf,
        version: String,
    },
    /// The run is still in progress.
    Live {
        id: String,
    },
}

impl UserError for StoreError {
    fn parts(&self) -> ErrorParts {
        let (problem, hint) = match self {
            StoreError::NoFolder => (
                "no folder for results: neither PRONY_HOME nor XDG_DATA_HOME nor HOME is set"
                    .to_owned(),
                Some("set PRONY_HOME"),
            ),
            StoreError::Io {
                operation,
                path,
                source,
            } => (
                format!(
                    "cannot {operation} {}: {}",
                    path.display(),
                    system_message(source)
                ),
                hint_for(source),
            ),
            StoreError::JournalEnded(source) | StoreError::NotStored { source, .. } => {
                let mut parts = source.parts();
                parts.problem += &format!("; {}", consequence(self));
                return parts;
            }
            StoreError::NotFound { name, similar } => {
                let parts = ErrorParts::new(format!(
                    "no stored run has the id, id prefix or label `{name}`"
                ));
                return parts.with_hint(match similar {
                    Some(similar) => format!("did you mean {similar}? `prony runs` lists all"),
                    None => "`prony runs` lists them".to_owned(),
                });
            }
            StoreError::Empty { path } => (
                format!("no runs are stored in {} yet", path.display()),
                Some("`prony run` stores one; PRONY_HOME names another folder"),
            ),
            StoreError::Ambiguous {
                name,
                count,
                first,
                second,
            } => (
                format!("`{name}` matches {count} runs, such as {first} and {second}"),
                Some("give more of the id"),
            ),
            StoreError::NotARun { path, reason } => (
                format!("{} is not a run of Prony: {reason}", path.display()),
                Some(
                    "name a stored run (`prony runs`), or a document that `prony show --json` printed",
                ),
            ),
            StoreError::Newer { path, version } => (
                format!(
                    "{} was written by a newer Prony (document {version}, this one reads {})",
                    path.display(),
                    crate::SCHEMA_VERSION
                ),
                Some("use that one to read it"),
            ),
            StoreError::Live { id } => (
                format!("run {id} is still in progress"),
                Some("stop it first"),
            ),
        };
        let parts = ErrorParts::new(problem);
        parts.with_optional_hint(hint)
    }
}

impl StoreError {
    /// Whether the disk is full or the user's quota is used up.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        match self {
            StoreError::Io { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
            }
            StoreError::JournalEnded(source) | StoreError::NotStored { source, .. } => {
                source.is_full()
            }
            _ => false,
        }
    }

    /// The error for a file that is not a document; the reason is made safe to print.
    pub(crate) fn not_a_run(path: &Path, reason: impl std::fmt::Display) -> StoreError {
        StoreError::NotARun {
            path: path.to_owned(),
            reason: printable(&reason.to_string()),
        }
    }
}

/// The text without control characters, at most 300 characters.
pub(crate) fn printable(text: &str) -> String {
    let safe = |c: char| if c.is_control() { '?' } else { c };
    text.chars().take(300).map(safe).collect()
}

/// Adds the operation and its path to an I/O error, for `map_err`.
pub(crate) fn io_error(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io {
        operation,
        path,
        source,
    }
}

/// The system's error message without the number that std adds.
pub(crate) fn system_message(error: &io::Error) -> String {
    printable(&system_error(error)).chars().take(120).collect()
}

/// The consequence of an error that ends the writing of a run; empty for other errors.
fn consequence(error: &StoreError) -> String {
    match error {
        StoreError::JournalEnded(_) => {
            "the run continues in memory, and is stored at its end if there is room".to_owned()
        }
        StoreError::NotStored {
            id,
            stored_s,
            measured_s,
            ..
        } if *stored_s > 0.0 => format!(
            "its journal has {stored_s:.0} of {measured_s:.0} s, which `prony show {id}` shows"
        ),
        StoreError::NotStored { id, .. } => format!("nothing of run {id} is stored"),
        _ => String::new(),
    }
}

/// What to do about an error of the system; `None` if that depends on the case.
fn hint_for(source: &io::Error) -> Option<&'static str> {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("make room, or set PRONY_HOME to a folder on another disk")
        }
        io::ErrorKind::FileTooLarge => Some("raise the limit of the size of files (`ulimit -f`)"),
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => Some("set PRONY_HOME to a folder that you may write to"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store's folder may have any name.
    #[test]
    fn hints_are_separate_from_messages_with_semicolons() {
        let disk_full = || {
            Box::new(StoreError::Io {
                operation: "write",
                path: "/a; b/run.json".into(),
                source: io::ErrorKind::StorageFull.into(),
            })
        };
        let cause = "cannot write /a; b/run.json: no storage space";
        let hint = "make room, or set PRONY_HOME to a folder on another disk";
        let ended = StoreError::JournalEnded(disk_full());
        let memory = "the run continues in memory, and is stored at its end if there is room";
        let expected = ErrorParts::new(format!("{cause}; {memory}")).with_hint(hint);
        assert_eq!(ended.parts(), expected);
        assert_eq!(ended.to_string(), format!("{cause}; {hint}; {memory}"));
    }
}
