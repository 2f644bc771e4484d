//! What can go wrong between a URL and a server, in the user's words.
//!
//! In: facts. Out: one line that says what, where, and what to do. Must never: hold a password or
//! a piece of text that may contain one.

use std::path::PathBuf;

/// Why a server cannot be reached as asked.
///
/// The text of each says what is wrong and, after a semicolon, what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL or connection string cannot be read. Its text is not repeated: it may hold a
    /// password.
    #[error("the connection string cannot be read: {problem}; {hint}")]
    Conninfo {
        /// What is wrong, and at which place.
        problem: String,
        /// What to write instead.
        hint: String,
    },
    /// A keyword that libpq does not know.
    #[error("invalid connection option \"{name}\" in {origin}; {hint}")]
    UnknownOption {
        /// The keyword.
        name: String,
        /// Where it stands.
        origin: String,
        /// The nearest keyword, or where the list is.
        hint: String,
    },
    /// A value that its option does not take.
    #[error("invalid {option} value: \"{value}\" (from {origin}); {hint}")]
    Value {
        /// The option's keyword.
        option: &'static str,
        /// Its value; never that of a secret option.
        value: String,
        /// Where it stands.
        origin: String,
        /// The values it takes.
        hint: String,
    },
    /// A service that no file defines, or a line of a service file that cannot be read.
    #[error("{problem}; {hint}")]
    Service {
        /// What is wrong, with file and line.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// Hosts, their addresses and ports that do not go together.
    #[error("{problem}; {hint}")]
    Host {
        /// What is wrong with the lists.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// No name of a host has an address: the name, or the name service.
    #[error("{problem}; {hint}")]
    NoAddress {
        /// Which name, and what the name service said.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// A file that TLS needs.
    #[error("{what} \"{}\": {problem}; {hint}", path.display())]
    File {
        /// What the file is for.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// Options about TLS that cannot hold together, or that the TLS library refuses.
    #[error("TLS cannot be set up: {problem}; {hint}")]
    Tls {
        /// What is wrong.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// libpq has it, Prony does not.
    #[error("{what} is not supported; {hint}")]
    Unsupported {
        /// The option or feature.
        what: String,
        /// What to do instead.
        hint: String,
    },
    /// The control connection failed.
    #[error(transparent)]
    Control(#[from] crate::control::Error),
}

impl Error {
    /// A malformed connection string.
    pub(crate) fn conninfo(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Conninfo {
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    /// Options about TLS that do not go together.
    pub(crate) fn tls(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Tls {
            problem: problem.into(),
            hint: hint.into(),
        }
    }
}
