//! Errors of a control connection, with libpq's wording.
//!
//! A message says what failed, then what to do. Must never: show a password, or a statement, which
//! may contain one.

use super::waiting::{Silence, WaitError};
use super::{grant, hints};
use crate::target::{Address, Endpoint};
use prony_plan::{ErrorParts, UserError};
use prony_wire::{ConnectError, Protocol, ServerError, describe_tls_error};
use rustls::Error as TlsError;
use std::borrow::Cow;
use std::fmt;
use std::io;

/// A failure of the control connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No endpoint could be used: the failure of each attempt, in order. Never empty.
    Connect(Vec<ConnectFailure>),
    /// The server refused a statement. The connection is still usable unless the error is fatal.
    Statement(Box<ServerError>),
    /// The connection ended during a statement.
    Closed,
    /// The socket failed.
    Io(io::Error),
    /// Nothing arrived for `io_timeout`, and a probe found the connection lost.
    Silent(Box<Silence>),
    /// A signal interrupted the wait.
    Interrupted,
    /// The TLS layer failed after the login.
    Tls(TlsError),
    /// The server violated its protocol.
    Violation(String),
    /// Wrong use of this interface, such as a COPY with [`super::Control::execute`].
    Usage(&'static str),
    /// The connection failed earlier.
    Dead,
}

/// In libpq's layout: each line of a hint begins with a tab.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connect(failures) => f.write_str(&failure_paragraphs(failures)),
            Error::Statement(error) => error.fmt(f),
            Error::Silent(silence) => silence.fmt(f),
            Error::Closed => {
                let ErrorParts { problem, hint, .. } = self.parts();
                f.write_str(&problem)?;
                let mut lines = hint.iter().flat_map(|hint| hint.lines());
                lines.try_for_each(|line| write!(f, "\n\t{line}"))
            }
            other => f.write_str(&other.parts().sentence()),
        }
    }
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::Connect(failures) => {
                let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
                let mut hints: Vec<&str> = failures.iter().filter_map(ConnectFailure::hint).collect();
                hints.dedup();
                let parts = ErrorParts::new(lines.join("\n"));
                hints.into_iter().fold(parts, ErrorParts::with_hint)
            }
            Error::Statement(error) => {
                let parts = ErrorParts::new(error.to_string());
                self.hint().into_iter().fold(parts, ErrorParts::with_hint)
            }
            Error::Closed => ErrorParts::new("server closed the connection unexpectedly").with_hint(
                "This probably means the server terminated abnormally\nbefore or while processing the \
                 request.",
            ),
            Error::Io(error) => {
                ErrorParts::new(format!("the connection to the server was lost: {error}"))
            }
            Error::Silent(silence) => silence.parts(),
            Error::Interrupted => ErrorParts::new("interrupted while waiting for the server"),
            Error::Tls(error) => {
                ErrorParts::new(format!("SSL error: {}", describe_tls_error(error)))
            }
            Error::Violation(problem) => ErrorParts::new(problem),
            Error::Usage(problem) => ErrorParts::new(*problem),
            Error::Dead => ErrorParts::new("the connection to the server is closed")
                .with_hint("open a new one"),
        }
    }
}

/// From a failure of the socket.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.downcast() {
            Ok(WaitError::Interrupted) => Error::Interrupted,
            Ok(WaitError::Silent(silence)) => Error::Silent(Box::new(silence)),
            Err(error) => Error::Io(error),
        }
    }
}

impl Error {
    /// Whether the server stopped answering.
    pub fn is_silent(&self) -> bool {
        matches!(self, Error::Silent(_))
    }

    /// Whether a signal interrupted the wait or the attempt to connect.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Error::Interrupted => true,
            Error::Connect(failures) => {
                let last = failures.last();
                last.is_some_and(|failure| matches!(failure.cause, FailureCause::Interrupted))
            }
            _ => false,
        }
    }

    /// The server's error, if there is one; after several attempts, the last one.
    pub fn server_error(&self) -> Option<&ServerError> {
        match self {
            Error::Statement(error) => Some(error),
            Error::Connect(failures) => {
                failures
                    .iter()
                    .rev()
                    .find_map(|failure| match &failure.cause {
                        FailureCause::Login(error) => error.server_error(),
                        _ => None,
                    })
            }
            _ => None,
        }
    }

    /// The SQLSTATE of the server's error, if there is one.
    pub fn sqlstate(&self) -> Option<&str> {
        self.server_error().map(ServerError::code)
    }

    /// What the user can do about a refused statement, if known. The messages of failed connection
    /// attempts already contain hints, and PostgreSQL sends its own.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        let Error::Statement(error) = self else {
            return None;
        };
        match grant::hint(error) {
            Some(hint) => Some(hint.into()),
            None => match error.protocol {
                // PostgreSQL's error already has its hint.
                Protocol::PostgreSql => None,
                Protocol::MySql => hints::for_number(error.number).map(Cow::Borrowed),
                Protocol::Tds => None,
            },
        }
    }

    /// Whether the connection can no longer be used.
    pub fn is_lost(&self) -> bool {
        match self {
            Error::Statement(error) => error.is_fatal(),
            Error::Usage(_) => false,
            _ => true,
        }
    }
}

/// One paragraph for each failure. If consecutive failures have the same hint, only the last shows it.
fn failure_paragraphs(failures: &[ConnectFailure]) -> String {
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

/// A failed attempt to connect.
#[derive(Debug)]
pub struct ConnectFailure {
    /// The endpoint.
    pub endpoint: Box<Endpoint>,
    /// The cause.
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
    /// The login failed.
    Login(ConnectError),
    /// The session does not have the `target_session_attrs`.
    SessionMismatch(&'static str),
    /// The query for the session's properties failed.
    SessionCheckFailed(Box<Error>),
}

/// In libpq's wording, without the hint.
impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Endpoint {
            address,
            host,
            port,
            ..
        } = &*self.endpoint;
        match address {
            Address::Unix(path) => {
                write!(f, "connection to server on socket \"{}\"", path.display())?;
            }
            Address::Tcp(address) => {
                let ip = address.ip().to_string();
                let host = if host.is_empty() { &ip } else { host };
                write!(f, "connection to server at \"{host}\"")?;
                if *host != ip {
                    write!(f, " ({ip})")?;
                }
                write!(f, ", port {port}")?;
            }
        }
        write!(f, " failed: {}", self.cause)
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCause::Io(error) => match error.raw_os_error() {
                // libpq does not print Rust's suffix, such as "(os error 111)".
                Some(_) => f.write_str(error.to_string().split(" (os error").next().unwrap_or("")),
                None => write!(f, "{error}"),
            },
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
    /// What the user can do, if known.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.cause {
            FailureCause::Io(error) => self.hint_for_socket(error.kind()),
            FailureCause::Timeout => Some(
                "Does the host exist? Does a firewall drop its packets? \
                 connect_timeout sets how long to wait.",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::probe::LossReason;
    use std::time::Duration;

    fn connection_refused(port: u16) -> ConnectFailure {
        let host = std::net::Ipv4Addr::LOCALHOST;
        ConnectFailure {
            endpoint: Box::new(Endpoint {
                address: Address::Tcp((host, port).into()),
                host: host.to_string(),
                port,
                password: None,
            }),
            cause: FailureCause::Io(io::Error::from_raw_os_error(libc::ECONNREFUSED)),
        }
    }

    #[test]
    fn consecutive_failures_with_the_same_hint_show_it_once() {
        let line = |port| {
            format!("connection to server at \"127.0.0.1\", port {port} failed: Connection refused")
        };
        let error = Error::Connect(vec![connection_refused(1), connection_refused(2)]);
        let hint = "Is the server running on that host and accepting TCP/IP connections?";
        let problem = format!("{}\n{}", line(1), line(2));
        assert_eq!(error.to_string(), format!("{problem}\n\t{hint}"));
        assert_eq!(error.parts(), ErrorParts::new(problem).with_hint(hint));
    }

    #[test]
    fn problem_and_hint_of_a_lost_connection_are_separate() {
        let lines = "This probably means the server terminated abnormally\nbefore or while processing the request.";
        let closed = ErrorParts::new("server closed the connection unexpectedly").with_hint(lines);
        assert_eq!(Error::Closed.parts(), closed);
        let text = format!("{}\n\t{}", closed.problem, lines.replace('\n', "\n\t"));
        assert_eq!(Error::Closed.to_string(), text);

        let silent = Error::Silent(Box::new(Silence {
            duration: Duration::from_secs(5),
            loss: LossReason::SessionGone,
        }));
        let parts = silent.parts();
        assert_eq!(
            parts.hint.as_deref(),
            Some("a proxy, firewall or load balancer may have dropped the connection")
        );
        assert_eq!(silent.to_string(), parts.sentence());
        assert_eq!(
            parts.problem,
            "the connection to the server was lost: no byte for 5 s, and the server no longer has this \
             connection, while the server answered a new connection"
        );
    }
}
