//! What can go wrong with a throw-away server, in the user's words.
//!
//! In: facts. Out: messages that say what to do. Must never: hold a password.

use std::path::PathBuf;

/// Why there is no throw-away server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No usable PostgreSQL programs on this machine.
    #[error(
        "no PostgreSQL programs found on this machine{}\n  hint: install them (Debian and Ubuntu: apt install postgresql), name their folder in PRONY_PG_BINDIR, or let Prony download them with --download",
        list(tried)
    )]
    NotFound {
        /// Folders that hold PostgreSQL programs but cannot be used, each with its reason.
        tried: Vec<String>,
    },

    /// The folder named in PRONY_PG_BINDIR cannot be used.
    #[error(
        "PRONY_PG_BINDIR names {}, which cannot be used: {reason}\n  hint: it must hold postgres and initdb; `pg_config --bindir` prints such a folder",
        bin_dir.display()
    )]
    Given {
        /// The folder.
        bin_dir: PathBuf,
        /// Why not.
        reason: String,
    },

    /// The repository has no programs for this kind of machine.
    #[error(
        "there are no PostgreSQL programs to download for {os} on {arch}\n  hint: install PostgreSQL by your system's package manager"
    )]
    Platform {
        /// Operating system.
        os: &'static str,
        /// Processor.
        arch: &'static str,
    },

    /// The download failed.
    #[error(
        "cannot download {url}: {reason}\n  hint: check the network (HTTPS_PROXY is respected), name a mirror of Maven Central in PRONY_MAVEN_BASE, or install PostgreSQL by your package manager"
    )]
    Download {
        /// What was asked for.
        url: String,
        /// Why it did not arrive.
        reason: String,
    },

    /// The download is not what it should be.
    #[error(
        "the file from {url} is not the one Prony knows: its SHA-256 is {found}, expected {expected}\n  hint: it was not used; a proxy or mirror may have changed it"
    )]
    Checksum {
        /// Where it came from.
        url: String,
        /// What Prony knows.
        expected: String,
        /// What arrived.
        found: String,
    },

    /// The downloaded archive cannot be unpacked.
    #[error("cannot unpack the PostgreSQL programs from {origin}: {reason}")]
    Archive {
        /// File or entry.
        origin: String,
        /// Why not.
        reason: String,
    },

    /// A file or directory of Prony's own could not be made, written or read.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried: a verb.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },

    /// No place for the private directory.
    #[error(
        "no directory for a throw-away server{}\n  hint: set TMPDIR to a writable directory with a short path (at most 60 bytes of letters, digits and / . _ -) that every user may enter",
        list(tried)
    )]
    NoPlace {
        /// Places tried, each with its reason.
        tried: Vec<String>,
    },

    /// Running as root, and no ordinary user to give the server to.
    #[error(
        "PostgreSQL must not run as root, and {reason}\n  hint: run Prony as an ordinary user, or add one: useradd --system postgres"
    )]
    User {
        /// Why no user can be taken.
        reason: String,
    },

    /// A setting that cannot be written into the configuration file.
    #[error("the server setting {name:?} cannot be written: {reason}")]
    Setting {
        /// Its name.
        name: String,
        /// Why not.
        reason: &'static str,
    },

    /// A program could not be started at all.
    #[error("cannot run {}: {reason}", program.display())]
    Spawn {
        /// Program.
        program: PathBuf,
        /// Why not.
        reason: String,
    },

    /// initdb failed.
    #[error("initdb could not make the data directory: {}", indent(output))]
    Initdb {
        /// What it said.
        output: String,
    },

    /// The server ended before it was ready.
    #[error(
        "the throw-away PostgreSQL did not start ({status}). Its log says:{}",
        indent(log)
    )]
    Start {
        /// Exit status, or what was found wrong.
        status: String,
        /// The end of its log.
        log: String,
    },

    /// The server was not ready in time.
    #[error(
        "the throw-away PostgreSQL was not ready after {seconds} s. Its log says:{}",
        indent(log)
    )]
    NotReady {
        /// Time waited, seconds.
        seconds: u64,
        /// The end of its log.
        log: String,
    },

    /// A program of MariaDB's is not on this machine.
    #[error(
        "no {program} found on this machine\n  hint: install MariaDB (Debian and Ubuntu: apt install mariadb-server), or name the folder of its programs in PRONY_MARIADB_BINDIR"
    )]
    NoMariaDb {
        /// Its name.
        program: String,
    },

    /// A throw-away MariaDB could not be had.
    #[error("the throw-away MariaDB {what}. Its log says:{}", indent(log))]
    MariaDb {
        /// What happened.
        what: String,
        /// The end of its log.
        log: String,
    },

    /// A method that needs a running server was called on a stopped one.
    #[error("the throw-away PostgreSQL is not running")]
    NotRunning,
}

impl Error {
    /// For `map_err` on a file operation: `Error::io("create", &path)`.
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { what, path, source }
    }
}

fn list(tried: &[String]) -> String {
    tried.iter().map(|line| format!("\n  {line}")).collect()
}

fn indent(text: &str) -> String {
    if text.trim().is_empty() {
        return " (nothing)".to_owned();
    }
    text.lines().map(|line| format!("\n  | {line}")).collect()
}
