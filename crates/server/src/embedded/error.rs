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
}

const BASE_BACKUP_FAILED: &str = "pg_basebackup could not copy the server's data for a standby:";

const PROGRAMS_HINT: &str = "install them (Debian and Ubuntu: apt install postgresql), name their folder in \
    PRONY_PG_BINDIR, or let Prony download them with --download";

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::NotFound { folders } => {
                with_lines("no PostgreSQL programs found on this machine", folders)
                    .with_hint(PROGRAMS_HINT)
            }
            Error::EnvVariable { bin_dir, reason } => ErrorParts::new(format!(
                "PRONY_PG_BINDIR names {}, which cannot be used: {reason}",
                bin_dir.display()
            ))
            .with_hint(
                "it must contain postgres and initdb; `pg_config --bindir` prints such a folder",
            ),
            Error::UnsupportedPlatform { os, arch } => ErrorParts::new(format!(
                "there are no PostgreSQL programs to download for {os} on {arch}"
            ))
            .with_hint("install PostgreSQL with your system's package manager"),
            Error::Download { url, reason } => {
                ErrorParts::new(format!("cannot download {url}: {reason}")).with_hint(
                    "check the network (HTTPS_PROXY is respected), name a mirror of Maven \
                     Central in PRONY_MAVEN_BASE, or install PostgreSQL with your package manager",
                )
            }
            Error::Checksum {
                url,
                expected,
                actual,
            } => ErrorParts::new(format!(
                "the file from {url} has the SHA-256 {actual}, expected {expected}"
            ))
            .with_hint("it was not used; a proxy or mirror may have changed it"),
            Error::Archive { origin, reason } => ErrorParts::new(format!(
                "cannot unpack the PostgreSQL programs from {origin}: {reason}"
            )),
            Error::Io {
                action,
                path,
                source,
            } => ErrorParts::new(format!("cannot {action} {}: {source}", path.display())),
            Error::NoFolder { folders } => with_lines(
                "cannot create a private directory for the throw-away server in any of these \
                 folders:",
                folders,
            )
            .with_hint(
                "set TMPDIR to a writable directory with a short path (at most 60 bytes of \
                 letters, digits and / . _ -) that every user can access",
            ),
            Error::NoServerUser { reason } => ErrorParts::new(format!(
                "PostgreSQL must not run as root, and {reason}"
            ))
            .with_hint("run Prony as an ordinary user, or add one: useradd --system postgres"),
            Error::Setting { name, reason } => ErrorParts::new(format!(
                "the server setting {name:?} cannot be written: {reason}"
            )),
            Error::Spawn { program, reason } => {
                ErrorParts::new(format!("cannot run {}: {reason}", program.display()))
            }
            Error::Initdb { output } => {
                with_output("initdb could not create the data directory:", output)
            }
            Error::BaseBackup { output } => with_output(BASE_BACKUP_FAILED, output),
            Error::Start { status, log } => with_log(&format!("did not start ({status})"), log),
            Error::NotReady { seconds, log } => {
                with_log(&format!("was not ready after {seconds} s"), log)
            }
            Error::Interrupted => {
                ErrorParts::new("interrupted while preparing the throw-away PostgreSQL")
                    .with_hint("all its files are removed")
            }
        }
    }
}

/// A problem with details, if there are any lines.
fn with_lines(problem: &str, lines: &[String]) -> ErrorParts {
    let parts = ErrorParts::new(problem);
    if lines.is_empty() {
        return parts;
    }
    parts.with_details(lines.join("\n"))
}

/// A problem that ends with a colon, and the output of a program.
fn with_output(problem: &str, output: &str) -> ErrorParts {
    if output.trim().is_empty() {
        return ErrorParts::new(format!("{problem} (nothing)"));
    }
    let lines: Vec<String> = output.lines().map(|line| format!("| {line}")).collect();
    with_lines(problem, &lines)
}

fn with_log(problem: &str, log: &str) -> ErrorParts {
    with_output(
        &format!("the throw-away PostgreSQL {problem}. Its log:"),
        log,
    )
}

impl Error {
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
