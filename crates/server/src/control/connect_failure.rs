//! Failed attempts to connect, with libpq's wording.

use super::error::Error;
use super::hints;
use crate::target::{Address, Endpoint};
use prony_plan::{ErrorParts, system_error};
use prony_wire::{ConnectError, ErrorClass};
use std::fmt;
use std::io;

/// The parts of the error of an attempt to connect: the cause, the servers that were tried, and what to do. Different
/// causes are listed with their servers.
pub fn connect_parts(failures: &[ConnectFailure]) -> ErrorParts {
    let mut causes: Vec<String> = failures
        .iter()
        .map(|failure| failure.cause.to_string())
        .collect();
    causes.dedup();
    let places = failures.iter().map(ConnectFailure::place);
    let parts = match &causes[..] {
        [cause] => {
            let mut places: Vec<String> = places.collect();
            places.dedup();
            ErrorParts::new(cause)
                .with_details(format!("connecting to the server {}", places.join(", ")))
        }
        _ => {
            let lines = failures.iter().zip(places);
            let lines = lines.map(|(failure, place)| format!("{place}: {}", failure.cause));
            ErrorParts::new("no connection to the server could be opened")
                .with_details(lines.collect::<Vec<_>>().join("\n"))
        }
    };
    // The last attempt failed for the reason that remains if the earlier ones are mended.
    let hint = failures.iter().rev().find_map(ConnectFailure::hint);
    parts.with_optional_hint(hint)
}

/// One paragraph for each failure. If consecutive failures have the same hint, only the last shows it.
pub(super) fn failure_paragraphs(failures: &[ConnectFailure]) -> String {
    let mut text = String::new();
    for (index, failure) in failures.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        text.push_str(&failure.to_string());
        let next = failures.get(index + 1).and_then(ConnectFailure::hint);
        if let Some(hint) = failure.hint().filter(|hint| next != Some(hint)) {
            text.push_str("\n\t");
            text.push_str(hint);
        }
    }
    text
}

#[derive(Debug)]
pub struct ConnectFailure {
    pub endpoint: Box<Endpoint>,
    pub cause: FailureCause,
}

/// Why an attempt to connect failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FailureCause {
    /// The socket could not be connected.
    Io(io::Error),
    /// `connect_timeout` passed.
    Timeout,
    /// A signal interrupted the attempt.
    Interrupted,
    /// The server closed the connection during the login.
    Closed,
    Login(ConnectError),
    /// The session does not have the `target_session_attrs`.
    SessionMismatch(&'static str),
    /// The query for the session's properties failed.
    SessionCheckFailed(Box<Error>),
}

impl FailureCause {
    /// What a client has to wait for, in a few words: another server, a role, an answer.
    pub fn name(&self) -> &'static str {
        use io::ErrorKind::{
            BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, HostUnreachable,
            NetworkUnreachable, NotFound, TimedOut,
        };
        match self {
            FailureCause::Io(error) => match error.kind() {
                // A unix socket that does not exist.
                ConnectionRefused | NotFound => "refused",
                ConnectionReset | ConnectionAborted | BrokenPipe => "reset",
                TimedOut => "silent",
                HostUnreachable | NetworkUnreachable => "unreachable",
                _ => "other",
            },
            FailureCause::Timeout => "silent",
            FailureCause::Interrupted => "interrupted",
            FailureCause::Closed => "closed",
            FailureCause::SessionMismatch(_) => "role",
            FailureCause::SessionCheckFailed(_) => "log-in",
            FailureCause::Login(error) => match error.server_error() {
                Some(error) if error.is_out_of_connections() => "no free connection",
                Some(error) if error.classification.class == ErrorClass::LostConnection => {
                    "starting or stopping"
                }
                _ => "log-in",
            },
        }
    }
}

/// In libpq's wording, without the hint.
impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "connection to server {} failed: {}",
            self.place(),
            self.cause
        )
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // libpq does not print the number either.
            FailureCause::Io(error) => f.write_str(&system_error(error)),
            FailureCause::Timeout => f.write_str("timeout expired"),
            FailureCause::Interrupted => f.write_str("interrupted"),
            FailureCause::Closed => f.write_str("server closed the connection unexpectedly"),
            FailureCause::Login(error) => write!(f, "{error}"),
            FailureCause::SessionMismatch(text) => f.write_str(text),
            FailureCause::SessionCheckFailed(error) => write!(f, "{error}"),
        }
    }
}

impl ConnectFailure {
    /// The endpoint, in libpq's wording.
    fn place(&self) -> String {
        let Endpoint {
            address,
            host,
            port,
            ..
        } = &*self.endpoint;
        match address {
            Address::Unix(path) => format!("on socket \"{}\"", path.display()),
            Address::Tcp(address) => {
                let ip = address.ip().to_string();
                if host.is_empty() || *host == ip {
                    format!("at \"{ip}\", port {port}")
                } else {
                    format!("at \"{host}\" ({ip}), port {port}")
                }
            }
        }
    }

    /// What the user can do, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.cause {
            FailureCause::Io(error) => self.hint_for_socket(error.kind()),
            FailureCause::Timeout => Some(
                "Check host, port and kind of server, and firewalls; connect_timeout sets how long to wait.",
            ),
            FailureCause::Closed => Some(
                "This probably means the server terminated abnormally, or that another kind of \
                 server listens there.",
            ),
            FailureCause::Login(error) => hints::for_login(error),
            FailureCause::SessionMismatch(_) => {
                Some("target_session_attrs requires another kind of session.")
            }
            FailureCause::SessionCheckFailed(_) | FailureCause::Interrupted => None,
        }
    }

    fn hint_for_socket(&self, kind: io::ErrorKind) -> Option<&'static str> {
        use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
        match (&self.endpoint.address, kind) {
            (Address::Unix(_), ConnectionRefused | NotFound) => {
                Some("Is the server running locally and accepting connections on that socket?")
            }
            (Address::Unix(_), PermissionDenied) => Some(
                "The socket's permissions (unix_socket_permissions) do not allow this user to connect.",
            ),
            (Address::Tcp(_), ConnectionRefused) => {
                Some("Is the server running on that host and accepting TCP/IP connections?")
            }
            _ => None,
        }
    }
}
