//! Errors of throw-away servers.
//!
//! Messages say what happened and what to do. Must never: hold a password.

use prony_plan::{ErrorParts, UserError};
use std::path::PathBuf;

/// An error of a throw-away server.
///
/// `Display` puts the details and the hint on separate, indented lines.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().paragraph())]
pub enum Error {
    /// No usable PostgreSQL programs on this machine.
    NotFound {
        /// Folders that contain PostgreSQL programs but cannot be used, each with its reason.
        folders: Vec<String>,
    },

    /// The folder named in PRONY_PG_BINDIR cannot be used.
    EnvVariable { bin_dir: PathBuf, reason: String },

    /// Maven Central has no PostgreSQL programs for this platform.
    UnsupportedPlatform {
        os: &'static str,
        arch: &'static str,
    },

    Download {
        url: String,
        /// Why the download failed.
        reason: String,
    },

    /// The downloaded file does not have the expected checksum.
    Checksum {
        url: String,
        /// SHA-256 that the file must have.
        expected: String,
        /// SHA-256 of the downloaded file.
        actual: String,
    },

    /// The downloaded archive cannot be unpacked.
    Archive {
        /// URL, file or entry of the archive.
        origin: String,
        reason: String,
    },

    /// A file or directory of the throw-away server could not be created, written or read.
    Io {
        /// The operation: a verb.
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },

    /// No folder can hold the private directory.
    NoFolder { folders: Vec<String> },

    /// Prony runs as root, and there is no ordinary user to run the server as.
    NoServerUser {
        /// Why no user can be used.
        reason: String,
    },

    /// A setting cannot be written into the configuration file.
    Setting { name: String, reason: &'static str },

    /// A program could not be started.
    Spawn { program: PathBuf, reason: String },

    Initdb {
        /// What initdb printed.
        output: String,
    },

    /// pg_basebackup failed.
    BaseBackup { output: String },

    /// The server ended before it was ready.
    Start { status: String, log: String },

    /// The server was not ready in time.
    NotReady {
        /// Time waited, seconds.
        seconds: u64,
        log: String,
    },

    /// The user interrupted the start or the download.
    #[error("{}", self.parts().sentence())]
    Interrupted,

    /// A method that needs a running server was called on a stopped one.
    NotRunning,
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        ErrorParts {
            problem: self.problem(),
            details: self.details(),
            hint: self.hint().map(str::to_owned),
        }
    }
}

impl Error {
    fn problem(&self) -> String {
        match self {
            Error::NotFound { .. } => "no PostgreSQL programs found on this machine".to_owned(),
            Error::EnvVariable { bin_dir, reason } => format!(
                "PRONY_PG_BINDIR names {}, which cannot be used: {reason}",
                bin_dir.display()
            ),
            Error::UnsupportedPlatform { os, arch } => {
                format!("there are no PostgreSQL programs to download for {os} on {arch}")
            }
            Error::Download { url, reason } => format!("cannot download {url}: {reason}"),
            Error::Checksum {
                url,
                expected,
                actual,
            } => format!("the file from {url} has the SHA-256 {actual}, expected {expected}"),
            Error::Archive { origin, reason } => {
                format!("cannot unpack the PostgreSQL programs from {origin}: {reason}")
            }
            Error::Io {
                action,
                path,
                source,
            } => {
                format!("cannot {action} {}: {source}", path.display())
            }
            Error::NoFolder { .. } => {
                "cannot create a private directory for the throw-away server in any of these folders:"
                    .to_owned()
            },
            Error::NoServerUser { reason } => format!("PostgreSQL must not run as root, and {reason}"),
            Error::Setting { name, reason } => {
                format!("the server setting {name:?} cannot be written: {reason}")
            }
            Error::Spawn { program, reason } => {
                format!("cannot run {}: {reason}", program.display())
            }
            Error::Initdb { output } => {
                let note = blank_output_note(output);
                format!("initdb could not create the data directory:{note}")
            }
            Error::BaseBackup { output } => {
                let note = blank_output_note(output);
                format!("pg_basebackup could not copy the server's data for a standby:{note}")
            }
            Error::Start { status, log } => {
                let note = blank_output_note(log);
                format!("the throw-away PostgreSQL did not start ({status}). Its log:{note}")
            }
            Error::NotReady { seconds, log } => {
                let note = blank_output_note(log);
                format!("the throw-away PostgreSQL was not ready after {seconds} s. Its log:{note}")
            }
            Error::Interrupted => {
                "interrupted while preparing the throw-away PostgreSQL".to_owned()
            }
            Error::NotRunning => "the throw-away PostgreSQL is not running".to_owned(),
        }
    }

    /// The folders that were tried, or the output or log of a program.
    fn details(&self) -> Option<String> {
        let lines: Vec<String> = match self {
            Error::NotFound { folders } | Error::NoFolder { folders } => folders.clone(),
            Error::Initdb { output: log }
            | Error::BaseBackup { output: log }
            | Error::Start { log, .. }
            | Error::NotReady { log, .. }
                if !is_blank(log) =>
            {
                log.lines().map(|line| format!("| {line}")).collect()
            }
            _ => Vec::new(),
        };
        Some(lines.join("\n")).filter(|_| !lines.is_empty())
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Error::NotFound { .. } => {
                "install them (Debian and Ubuntu: apt install postgresql), name their folder in PRONY_PG_BINDIR, \
                 or let Prony download them with --download"
            }
            Error::EnvVariable { .. } => {
                "it must contain postgres and initdb; `pg_config --bindir` prints such a folder"
            }
            Error::UnsupportedPlatform { .. } => {
                "install PostgreSQL with your system's package manager"
            }
            Error::Download { .. } => {
                "check the network (HTTPS_PROXY is respected), name a mirror of Maven Central in \
                 PRONY_MAVEN_BASE, or install PostgreSQL with your package manager"
            }
            Error::Checksum { .. } => "it was not used; a proxy or mirror may have changed it",
            Error::NoFolder { .. } => {
                "set TMPDIR to a writable directory with a short path (at most 60 bytes of letters, digits and \
                 / . _ -) that every user can access"
            }
            Error::NoServerUser { .. } => {
                "run Prony as an ordinary user, or add one: useradd --system postgres"
            }
            Error::Interrupted => "all its files are removed",
            Error::Archive { .. }
            | Error::Io { .. }
            | Error::Setting { .. }
            | Error::Spawn { .. }
            | Error::Initdb { .. }
            | Error::BaseBackup { .. }
            | Error::Start { .. }
            | Error::NotReady { .. }
            | Error::NotRunning => return None,
        })
    }

    /// For `map_err` on a file operation: `Error::io("create", &path)`.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }
}

fn is_blank(output: &str) -> bool {
    output.trim().is_empty()
}

/// A note that replaces a blank output; otherwise empty.
fn blank_output_note(output: &str) -> &'static str {
    if is_blank(output) { " (nothing)" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn log_lines_are_the_details_of_the_error() {
        let log = "LOG: a; b\nhint: not ours";
        let error = Error::Start {
            status: "exit status: 1".to_owned(),
            log: log.to_owned(),
        };
        let problem = "the throw-away PostgreSQL did not start (exit status: 1). Its log:";
        let expected = ErrorParts::new(problem).with_details("| LOG: a; b\n| hint: not ours");
        assert_eq!(error.parts(), expected);
        assert_eq!(
            error.to_string(),
            format!("{problem}\n  | LOG: a; b\n  | hint: not ours")
        );
        let empty = Error::Initdb {
            output: "\n".to_owned(),
        };
        let text = "initdb could not create the data directory: (nothing)";
        assert_eq!(
            (empty.parts(), empty.to_string()),
            (ErrorParts::new(text), text.to_owned())
        );
    }

    #[test]
    fn the_hint_follows_the_folders_that_were_tried() {
        let error = Error::NotFound {
            folders: vec!["/a: too old".to_owned(), "/b; c: no initdb".to_owned()],
        };
        let parts = error.parts();
        assert_eq!(
            parts.details.as_deref(),
            Some("/a: too old\n/b; c: no initdb")
        );
        let hint = parts.hint.unwrap_or_default();
        hint.assert_ends_with("with --download");
        let expected = format!(
            "no PostgreSQL programs found on this machine\n  /a: too old\n  /b; c: no initdb\n  hint: {hint}"
        );
        assert_eq!(error.to_string(), expected);
    }
}
