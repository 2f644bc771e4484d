//! What a virtual user's code sees when a statement fails.
//!
//! In: the server's error, or the loss of a connection. Out: [`DbError`], with the class under
//! which it is counted. Must never: end the run; an error of the database is a sample.

use prony_measure::{Code, ErrorClass};
use std::fmt;

/// A statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbError {
    /// Under which it is counted.
    pub class: ErrorClass,
    /// SQLSTATE; `08006` for a lost connection, `08P01` for a broken protocol.
    pub code: Code,
    /// What the server, or the system, said.
    pub message: String,
}

impl DbError {
    /// An error that the server reported.
    pub fn server(code: Code, message: String) -> Self {
        DbError {
            class: classify(code),
            code,
            message,
        }
    }

    /// The connection is gone. `ambiguous`: a commit may have happened.
    pub fn lost(message: String, ambiguous: bool) -> Self {
        let class = if ambiguous {
            ErrorClass::AmbiguousCommit
        } else {
            ErrorClass::LostConnection
        };
        DbError {
            class,
            code: *b"08006",
            message,
        }
    }

    /// The server broke its protocol, or the program misused its handle.
    pub fn protocol(message: String) -> Self {
        DbError {
            class: ErrorClass::Protocol,
            code: *b"08P01",
            message,
        }
    }

    /// Worth another try of the whole transaction.
    pub fn is_transient(&self) -> bool {
        matches!(self.class, ErrorClass::Serialization | ErrorClass::Deadlock)
    }
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = std::str::from_utf8(&self.code).unwrap_or("?????");
        write!(f, "{} (SQLSTATE {code})", self.message)
    }
}

impl std::error::Error for DbError {}

/// Source: PostgreSQL documentation, appendix A.
fn classify(code: Code) -> ErrorClass {
    match &code {
        b"40001" => ErrorClass::Serialization,
        b"40P01" => ErrorClass::Deadlock,
        b"57014" | b"55P03" | b"25P03" | b"25P04" => ErrorClass::Timeout,
        // The server ends the session: shutdown, crash, or an idle session's time-out.
        b"57P01" | b"57P02" | b"57P03" | b"57P05" => ErrorClass::LostConnection,
        b"08P01" => ErrorClass::Protocol,
        [b'0', b'8', ..] => ErrorClass::LostConnection,
        _ => ErrorClass::Other,
    }
}
