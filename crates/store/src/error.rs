//! What can go wrong with stored runs, in the user's words.
//!
//! In: causes. Out: one sentence and a hint. Must never: carry control characters of a foreign
//! file to a terminal.

use std::io;
use std::path::{Path, PathBuf};

/// Why a run could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No folder is known.
    #[error(
        "no folder for results: neither PRONY_HOME nor XDG_DATA_HOME nor HOME is set; set PRONY_HOME"
    )]
    NoFolder,
    /// The system refused.
    #[error("cannot {doing} {}: {source}{}", path.display(), hint(source))]
    Io {
        /// What was tried: `write`, `read`, `create the folder`...
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No run has that name.
    #[error("no stored run is called `{asked}` or begins so; `prony runs` lists them")]
    NotFound {
        /// What was asked for.
        asked: String,
    },
    /// Nothing is stored.
    #[error("no runs are stored in {} yet", path.display())]
    Empty {
        /// The store's folder.
        path: PathBuf,
    },
    /// Several runs begin so.
    #[error(
        "`{asked}` is the beginning of {count} runs, such as {first} and {second}; give more of it"
    )]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// How many there are.
        count: usize,
        /// One.
        first: String,
        /// Another.
        second: String,
    },
    /// A file that is not a document of Prony's.
    #[error("{} is not a run of Prony: {reason}", path.display())]
    NotARun {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A document of a later Prony.
    #[error(
        "{} was written by a newer Prony (document version {version}, and this one reads {}); use that one to read it",
        path.display(), crate::SCHEMA_VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// The run is still going on.
    #[error("run {id} is still going on; stop it first")]
    Live {
        /// The run.
        id: String,
    },
    /// The index refused, and could not be rebuilt in memory either.
    #[error(
        "the index of runs cannot be used: {0}; the documents in the folder `runs` are not touched by this"
    )]
    Index(#[from] rusqlite::Error),
}

impl StoreError {
    /// A file that is not a document, and why, made safe to print.
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

/// Names what was tried with a path, for `map_err`.
pub(crate) fn io_error(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::Io {
        doing,
        path,
        source,
    }
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; make room, or set PRONY_HOME to a folder on another disk"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; set PRONY_HOME to a folder that you may write to"
        }
        _ => "",
    }
}
