//! Errors of a control connection, with libpq's wording.
//!
//! A message says what failed, then what to do. Must never: show a password, or a statement, which
//! may contain one.

use super::connect_failure::{ConnectFailure, FailureCause, connect_parts, failure_paragraphs};
use super::waiting::{Silence, WaitError};
use super::{grant, hints};
use prony_plan::{ErrorParts, UserError};
use prony_wire::{ErrorClass, Protocol, ServerError, describe_tls_error};
use rustls::Error as TlsError;
use std::borrow::Cow;
use std::io;
use std::time::Duration;

/// A failure of the control connection. Its text has libpq's layout: each line of a hint begins with a tab.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
#[non_exhaustive]
pub enum Error {
    /// No endpoint could be used: the failure of each attempt, in order. Never empty.
    #[error("{}", failure_paragraphs(.0))]
    Connect(Vec<ConnectFailure>),
    /// The server refused a statement. The connection is still usable unless the error is fatal.
    #[error("{0}")]
    Statement(Box<ServerError>),
    /// The connection ended during a statement.
    #[error(
        "server closed the connection unexpectedly\n\tThis probably means the server terminated \
         abnormally\n\tbefore or while processing the request."
    )]
    Closed,
    /// The socket failed.
    Io(io::Error),
    /// Nothing arrived for `io_timeout`, and a probe found the connection lost.
    #[error("{0}")]
    Silent(Box<Silence>),
    /// The reply to a statement did not arrive within the limit ([`super::Control::set_reply_limit`]).
    NoReply(Duration),
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

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::Connect(failures) => connect_parts(failures),
            Error::Statement(error) => {
                // The processes and transactions of a deadlock, in several lines, tell a user nothing.
                let parts = match error.classification.class {
                    ErrorClass::Deadlock => ErrorParts::new("deadlock with other sessions"),
                    _ => ErrorParts::new(error.to_string()),
                };
                parts.with_optional_hint(self.hint())
            }
            Error::Closed => ErrorParts::new("server closed the connection unexpectedly")
                .with_hint("It probably terminated abnormally: its log says why."),
            Error::Io(error) => {
                ErrorParts::new(format!("the connection to the server was lost: {error}"))
            }
            Error::Silent(silence) => silence.parts(),
            Error::NoReply(limit) => {
                let seconds = limit.as_secs();
                ErrorParts::new(format!("the server did not answer within {seconds} s")).with_hint(
                    "another session may hold a lock that the statement waits for: the server's list of sessions shows it",
                )
            }
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

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        match error.downcast() {
            // A connection handles requests for an attention itself.
            Ok(WaitError::Interrupted | WaitError::AttentionRequested) => Error::Interrupted,
            Ok(WaitError::Silent(silence)) => Error::Silent(Box::new(silence)),
            Err(error) => Error::Io(error),
        }
    }
}

impl Error {
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

    /// Whether a later attempt to connect may succeed by itself: the server is starting, or has no free connection.
    pub fn may_pass(&self) -> bool {
        let Error::Connect(failures) = self else {
            return false;
        };
        failures.iter().any(|failure| match &failure.cause {
            FailureCause::Io(_)
            | FailureCause::Timeout
            | FailureCause::Closed
            | FailureCause::SessionMismatch(_) => true,
            FailureCause::SessionCheckFailed(error) => error.is_lost(),
            FailureCause::Login(error) => error.server_error().is_some_and(|error| {
                let class = error.classification.class;
                error.is_out_of_connections()
                    || matches!(class, ErrorClass::LostConnection | ErrorClass::Resources)
            }),
            FailureCause::Interrupted => false,
        })
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

    pub fn sqlstate(&self) -> Option<&str> {
        self.server_error().map(ServerError::code)
    }

    /// What the user can do about a refused statement, if known. The messages of failed connection
    /// attempts already contain hints, and PostgreSQL sends its own.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        let Error::Statement(error) = self else {
            return None;
        };
        if error.classification.class == ErrorClass::Deadlock {
            // Only commands that change tables use such a connection, so other sessions use them.
            let hint = "End the other sessions that use these tables, such as a run, and repeat the command.";
            return Some(hint.into());
        }
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

    pub fn is_lost(&self) -> bool {
        match self {
            Error::Statement(error) => error.is_fatal(),
            Error::Usage(_) => false,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::probe::LossReason;
    use crate::target::{Address, Endpoint};

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
    fn a_refused_password_does_not_pass_but_a_server_that_starts_does() {
        let login = |code: &[u8; 5]| {
            let error = ServerError::new(Protocol::PostgreSql, 0, *code, String::new());
            let cause = FailureCause::Login(prony_wire::ConnectError::Server(Box::new(error)));
            Error::Connect(vec![ConnectFailure {
                cause,
                ..connection_refused(1)
            }])
        };
        for code in [b"57P03", b"57P01", b"53300"] {
            assert!(login(code).may_pass(), "{code:?}");
        }
        for code in [b"28P01", b"28000", b"3D000"] {
            assert!(!login(code).may_pass(), "{code:?}");
        }
        assert!(Error::Connect(vec![connection_refused(1)]).may_pass());
    }

    #[test]
    fn consecutive_failures_with_the_same_hint_show_it_once() {
        let place = |port| format!("at \"127.0.0.1\", port {port}");
        let line = |port| {
            format!(
                "connection to server {} failed: Connection refused",
                place(port)
            )
        };
        let error = Error::Connect(vec![connection_refused(1), connection_refused(2)]);
        let hint = "Is the server running on that host and accepting TCP/IP connections?";
        let paragraphs = format!("{}\n{}", line(1), line(2));
        assert_eq!(error.to_string(), format!("{paragraphs}\n\t{hint}"));
        let parts = ErrorParts::new("Connection refused")
            .with_details(format!(
                "connecting to the server {}, {}",
                place(1),
                place(2)
            ))
            .with_hint(hint);
        assert_eq!(error.parts(), parts);
        let mut timeout = connection_refused(3);
        timeout.cause = FailureCause::Timeout;
        let parts = Error::Connect(vec![connection_refused(1), timeout]).parts();
        let details = format!(
            "{}: Connection refused\n{}: timeout expired",
            place(1),
            place(3)
        );
        assert_eq!(parts.details, Some(details));
        assert!(
            parts
                .hint
                .is_some_and(|hint| hint.contains("connect_timeout"))
        );
    }

    #[test]
    fn a_deadlock_is_one_sentence() {
        let (message, code) = ("deadlock detected".to_owned(), *b"40P01");
        let error = ServerError {
            detail: Some("Process 1 waits for AccessExclusiveLock.\nProcess 2 waits.".to_owned()),
            hint: Some("See server log for query details.".to_owned()),
            ..ServerError::new(Protocol::PostgreSql, 0, code, message)
        };
        let parts = Error::Statement(Box::new(error)).parts();
        assert_eq!(parts.problem, "deadlock with other sessions");
        assert!(
            parts
                .hint
                .is_some_and(|hint| hint.starts_with("End the other sessions"))
        );
    }

    #[test]
    fn problem_and_hint_of_a_lost_connection_are_separate() {
        let closed = Error::Closed.parts();
        assert_eq!(closed.problem, "server closed the connection unexpectedly");
        assert!(
            closed
                .hint
                .is_some_and(|hint| hint.contains("its log says why"))
        );
        // The text of libpq.
        assert_eq!(
            Error::Closed.to_string(),
            "server closed the connection unexpectedly\n\tThis probably means the server terminated \
             abnormally\n\tbefore or while processing the request."
        );

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
