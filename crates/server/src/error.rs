//! Errors of resolving a URL and connecting to a server.
//!
//! Each message is one line that says what happened, where, and what to do. Must never: hold a
//! password or text that may contain one.

use prony_plan::{ErrorParts, UserError, system_error};
use std::path::PathBuf;

/// An error of resolving a URL or connecting to a server.
///
/// `Display` says what is wrong and, after a semicolon, what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub enum Error {
    /// The URL or connection string cannot be read. Its text is not repeated: it may hold a
    /// password.
    Conninfo {
        /// What is wrong, and where in the string.
        problem: String,
        /// What to write instead.
        hint: String,
    },
    /// A keyword that does not exist.
    UnknownOption {
        name: String,
        origin: String,
        /// The most similar keyword, or where to find the list.
        hint: String,
    },
    /// A value that its option does not accept.
    Value {
        option: &'static str,
        /// Its value; never that of a secret option.
        value: String,
        origin: String,
        /// The values that the option accepts.
        hint: String,
    },
    /// Methods of `require_auth` that do not exist or cannot be combined; `problem` has libpq's
    /// wording.
    RequireAuth { problem: String, origin: String },
    /// A service that no file defines, or a line of a service file that cannot be parsed.
    Service {
        /// What is wrong, with file and line.
        problem: String,
        hint: String,
    },
    /// No user name was given, and the operating system has none for this process.
    NoUserName { hint: String },
    /// Lists of hosts, addresses and ports that do not match.
    Host {
        /// What is wrong with the lists.
        problem: String,
        hint: String,
    },
    /// No host name could be resolved.
    NoAddress {
        /// Which name, and the resolver's error.
        problem: String,
        hint: String,
    },
    /// A file that TLS needs cannot be used.
    File {
        purpose: &'static str,
        path: PathBuf,
        problem: String,
        hint: String,
    },
    /// TLS options that contradict each other, or that the TLS library rejects.
    Tls { problem: String, hint: String },
    /// A feature of the original client that Prony does not have.
    Unsupported {
        feature: String,
        /// What to do instead.
        hint: String,
    },
    /// The control connection failed.
    #[error(transparent)]
    Control(#[from] crate::control::Error),
}

/// The resolver's reason why a name has no address, without what the standard library puts before it.
pub(crate) fn resolver_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let reason = text.strip_prefix("failed to lookup address information: ");
    reason.unwrap_or(&text).to_owned()
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        let (problem, hint) = match self {
            Error::Conninfo { problem, hint } => (
                format!("the connection string cannot be read: {problem}"),
                hint.as_str(),
            ),
            Error::UnknownOption { name, origin, hint } => (
                format!("invalid connection option \"{name}\" in {origin}"),
                hint.as_str(),
            ),
            Error::Value {
                option,
                value,
                origin,
                hint,
            } => (
                format!("invalid {option} value: \"{value}\" (from {origin})"),
                hint.as_str(),
            ),
            Error::RequireAuth { problem, origin } => (
                format!("{problem} (from {origin})"),
                "name password, md5, gss, sspi, scram-sha-256, oauth or none, separated by commas, with \"!\" \
                 before each or before none",
            ),
            Error::NoUserName { hint } => (
                "no user name: the operating system has none for this process".to_owned(),
                hint.as_str(),
            ),
            Error::Service { problem, hint }
            | Error::Host { problem, hint }
            | Error::NoAddress { problem, hint } => (problem.clone(), hint.as_str()),
            Error::File {
                purpose,
                path,
                problem,
                hint,
            } => (
                format!(
                    "{purpose} \"{}\": {}",
                    path.display(),
                    system_error(problem)
                ),
                hint.as_str(),
            ),
            Error::Tls { problem, hint } => {
                (format!("TLS cannot be set up: {problem}"), hint.as_str())
            }
            Error::Unsupported { feature, hint } => {
                (format!("{feature} is not supported"), hint.as_str())
            }
            Error::Control(error) => return error.parts(),
        };
        ErrorParts::new(problem).with_hint(hint)
    }
}

impl Error {
    pub(crate) fn conninfo(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Conninfo {
            problem: problem.into(),
            hint: hint.into(),
        }
    }

    pub(crate) fn tls(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Error::Tls {
            problem: problem.into(),
            hint: hint.into(),
        }
    }
}
