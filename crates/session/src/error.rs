//! What a virtual user's code sees when a statement fails.
//!
//! In: the server's error, or the loss of a connection. Out: [`DbError`], with the class under
//! which it is counted. Must never: end the run; an error of the database is a sample.

use prony_measure::{Code, ErrorClass};
use prony_wire::ServerError;
use std::fmt;

/// A statement failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbError {
    /// Under which it is counted.
    pub class: ErrorClass,
    /// SQLSTATE; `08006` for a lost connection, `08P01` for a broken protocol.
    pub code: Code,
    /// The server's own number for it, as MySQL and MariaDB have; 0 where there is none.
    pub number: u16,
    /// What the server, or the system, said.
    pub message: String,
}

impl DbError {
    /// An error that the server reported.
    pub fn server(code: Code, message: String) -> Self {
        DbError {
            class: classify(code),
            code,
            number: 0,
            message,
        }
    }

    /// The connection is gone, and the server said why.
    pub(crate) fn said(mut self, error: ServerError) -> Self {
        self.code = error.code;
        self.number = error.number;
        self.message = error.message;
        self
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
            number: 0,
            message,
        }
    }

    /// The server broke its protocol, or the program misused its handle.
    pub fn protocol(message: String) -> Self {
        DbError {
            class: ErrorClass::Protocol,
            code: *b"08P01",
            number: 0,
            message,
        }
    }

    /// The code under which it is counted: MySQL's SQLSTATE says nothing of most errors (`HY000`),
    /// its number stands for it then.
    pub fn counted_as(&self) -> Code {
        let mut code = self.code;
        if self.number > 0 && &self.code == b"HY000" {
            let digits = format!("{:05}", self.number);
            code.copy_from_slice(digits.as_bytes());
        }
        code
    }

    /// Worth another try of the whole transaction.
    pub fn is_transient(&self) -> bool {
        matches!(self.class, ErrorClass::Serialization | ErrorClass::Deadlock)
    }
}

impl From<ServerError> for DbError {
    fn from(error: ServerError) -> Self {
        let class = match error.number {
            0 => classify(error.code),
            number => classify_number(number, error.code),
        };
        DbError {
            class,
            code: error.code,
            number: error.number,
            message: error.message,
        }
    }
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = std::str::from_utf8(&self.code).unwrap_or("?????");
        match self.number {
            0 => write!(f, "{} (SQLSTATE {code})", self.message),
            number => write!(f, "{} (error {number}, SQLSTATE {code})", self.message),
        }
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

/// Source: MySQL documentation, "Server Error Message Reference"; MariaDB's "Error Codes". The number
/// decides, because MySQL's SQLSTATE of a deadlock is PostgreSQL's of a serialization failure.
fn classify_number(number: u16, code: Code) -> ErrorClass {
    match number {
        // A record changed since it was read (MariaDB's snapshot isolation); certification failed
        // (group replication).
        1020 | 3101 => ErrorClass::Serialization,
        1213 | 1614 => ErrorClass::Deadlock,
        // Waited for a lock; query interrupted; statement's time is up (MariaDB, MySQL); a lock
        // that NOWAIT did not get.
        1205 | 1317 | 1969 | 3024 | 3572 => ErrorClass::Timeout,
        // Shutdown; the network; killed (MariaDB, MySQL); gone; idle for too long.
        1053 | 1152..=1161 | 1927 | 2006 | 2013 | 3169 | 4031 => ErrorClass::LostConnection,
        _ if code.starts_with(b"08") => ErrorClass::LostConnection,
        _ => ErrorClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(number: u16, code: &[u8; 5]) -> ErrorClass {
        let error = DbError::from(ServerError {
            number,
            code: *code,
            ..ServerError::default()
        });
        error.class
    }

    #[test]
    fn numbers_and_states_lead_to_classes() {
        assert_eq!(class(1213, b"40001"), ErrorClass::Deadlock);
        assert_eq!(class(0, b"40001"), ErrorClass::Serialization);
        assert_eq!(class(1205, b"HY000"), ErrorClass::Timeout);
        assert_eq!(class(1927, b"70100"), ErrorClass::LostConnection);
        assert_eq!(class(1158, b"08S01"), ErrorClass::LostConnection);
        assert_eq!(class(1062, b"23000"), ErrorClass::Other);
        assert_eq!(class(0, b"40P01"), ErrorClass::Deadlock);
    }

    #[test]
    fn a_number_stands_for_a_state_that_says_nothing() {
        let error = |number, code: &[u8; 5]| {
            DbError::from(ServerError {
                number,
                code: *code,
                message: "Lock wait timeout exceeded".to_owned(),
                ..ServerError::default()
            })
        };
        assert_eq!(&error(1205, b"HY000").counted_as(), b"01205");
        assert_eq!(&error(1213, b"40001").counted_as(), b"40001");
        assert_eq!(&error(u16::MAX, b"HY000").counted_as(), b"65535");
        assert_eq!(
            error(1205, b"HY000").to_string(),
            "Lock wait timeout exceeded (error 1205, SQLSTATE HY000)"
        );
    }
}
