//! libpq's error messages, as returned by `PQerrorMessage`, without the hints that Prony prints elsewhere.
//!
//! In: errors of a target or of a control connection. Out: texts without the last line feed. Must never:
//! connect, or print a password.

use prony_server::control::{ConnectFailure, Error, FailureCause};
use prony_server::{Address, Error as TargetError};

const INTEGER_OPTIONS: [&str; 7] = [
    "port",
    "connect_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "tcp_user_timeout",
];
/// The error if the server closes the connection without a message.
const CONNECTION_CLOSED: &str = "server closed the connection unexpectedly";
const CONNECTION_CLOSED_DETAIL: &str = "\n\tThis probably means the server terminated abnormally\n\
    \tbefore or while processing the request.";

/// The error of a connection string or its endpoints. `conninfo`: the string, or a database's name.
pub fn target_error(error: &TargetError, conninfo: &str) -> String {
    let is_of_conninfo = matches!(
        error,
        TargetError::Conninfo { .. } | TargetError::UnknownOption { .. }
    );
    // `libpq_message` returns `None` if the string may contain a password.
    if is_of_conninfo && let Some(message) = prony_server::libpq_message(conninfo) {
        return message;
    }
    match error {
        TargetError::Value {
            option: "port",
            value,
            ..
        } if value.trim().parse::<i32>().is_ok() => format!("invalid port number: \"{value}\""),
        TargetError::Value { option, value, .. } if INTEGER_OPTIONS.contains(option) => {
            format!("invalid integer value \"{value}\" for connection option \"{option}\"")
        }
        TargetError::Value { option, value, .. } => format!("invalid {option} value: \"{value}\""),
        TargetError::RequireAuth { problem, .. } => problem.clone(),
        TargetError::UnknownOption { name, .. } => format!("invalid connection option \"{name}\""),
        TargetError::Service { problem, .. } | TargetError::Host { problem, .. } => problem.clone(),
        TargetError::NoAddress { problem, .. } => {
            problem.replace("failed to lookup address information: ", "")
        }
        other => other.to_string(),
    }
}

/// The error of a statement, with the place in its text if the server names one.
pub fn statement_error(error: &Error, sql: &str) -> String {
    match error {
        Error::Statement(error) if !error.is_fatal() => error.in_statement(sql),
        other => error_message(other),
    }
}

/// The error of a control connection.
pub fn error_message(error: &Error) -> String {
    match error {
        Error::Connect(failures) => connect_error(failures),
        Error::Statement(error) if error.is_fatal() => {
            format!("{error}\n{CONNECTION_CLOSED}{CONNECTION_CLOSED_DETAIL}")
        }
        Error::Closed | Error::Dead => format!("{CONNECTION_CLOSED}{CONNECTION_CLOSED_DETAIL}"),
        other => other.to_string(),
    }
}

/// The errors of all attempts to connect, one after the other.
pub fn connect_error(failures: &[ConnectFailure]) -> String {
    let texts: Vec<String> = failures.iter().map(attempt_text).collect();
    texts.join("\n")
}

fn attempt_text(failure: &ConnectFailure) -> String {
    let hint = match (&failure.cause, &failure.endpoint.address) {
        (FailureCause::Io(_), Address::Unix(_)) => {
            "\n\tIs the server running locally and accepting connections on that socket?"
        }
        (FailureCause::Io(_), Address::Tcp(_)) => {
            "\n\tIs the server running on that host and accepting TCP/IP connections?"
        }
        (FailureCause::Closed, _) => CONNECTION_CLOSED_DETAIL,
        _ => "",
    };
    format!("{failure}{hint}")
}
