//! The error handling of sysbench's drivers, for its bundled tests and for scripts.
//!
//! Decides whether an event is restarted after an error, and returns the error's number, state and message
//! as the driver reports them. Must not depend on the program in which the error occurred.

use crate::names::named_enum;
use prony_session::{DbError, ErrorClass};
use serde::{Deserialize, Serialize};

/// Error numbers with which MySQL's client libraries report a lost connection.
const LOST_CONNECTION_NUMBERS: [u32; 4] = [2006, 2011, 2013, 2055];
/// The number and message for a connection that is lost during a statement, as in MariaDB's client
/// library.
const LOST_DURING_QUERY: (u32, &str) = (2013, "Lost connection to server during query");
/// The number for replies that violate the protocol.
const MALFORMED_PACKET_NUMBER: u32 = 2027;
/// The SQLSTATE of errors that MySQL's client raises.
const CLIENT_SQLSTATE: &str = "HY000";

named_enum! {
    /// A database driver of sysbench, by its name in scripts and on command lines.
    #[derive(Serialize, Deserialize)]
    pub enum Driver {
        /// MySQL and MariaDB.
        Mysql = "mysql",
        Pgsql = "pgsql",
    }
}

/// Errors of MySQL after which an event is restarted. For PostgreSQL the list is fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IgnoredErrors {
    All,
    /// Errors with these numbers.
    Codes(Vec<u32>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedError {
    /// MySQL's error number, including those of its client; 0 on PostgreSQL.
    pub number: u32,
    pub sqlstate: String,
    /// The server's message or, if the connection was lost without one, the client's.
    pub message: String,
}

impl Driver {
    pub fn describe_error(self, error: &DbError) -> ReportedError {
        let (number, message) = match (self, error.number) {
            (Driver::Pgsql, _) => (0, error.message.as_str()),
            (Driver::Mysql, 0) if is_lost(error) => LOST_DURING_QUERY,
            (Driver::Mysql, 0) if error.class == ErrorClass::Protocol => {
                (MALFORMED_PACKET_NUMBER, error.message.as_str())
            }
            (Driver::Mysql, number) => (number, error.message.as_str()),
        };
        let sqlstate = match (self, error.number) {
            (Driver::Mysql, 0) => CLIENT_SQLSTATE.into(),
            (Driver::Mysql | Driver::Pgsql, _) => String::from_utf8_lossy(&error.code),
        };
        ReportedError {
            number,
            sqlstate: sqlstate.into_owned(),
            message: message.to_owned(),
        }
    }
}

impl IgnoredErrors {
    pub fn contains(&self, number: u32) -> bool {
        match self {
            IgnoredErrors::All => true,
            IgnoredErrors::Codes(codes) => codes.contains(&number),
        }
    }

    /// Whether a lost connection is reopened, with unlimited attempts, because its error is ignored.
    pub fn ignores_lost_connection(&self) -> bool {
        LOST_CONNECTION_NUMBERS
            .iter()
            .any(|number| self.contains(*number))
    }

    pub fn restarts_event(&self, driver: Driver, error: &DbError) -> bool {
        match driver {
            Driver::Pgsql => matches!(&error.code, b"40P01" | b"23505" | b"40001"),
            // A lost connection can have several numbers; if any of them is ignored, the run continues.
            Driver::Mysql if is_lost(error) => self.ignores_lost_connection(),
            Driver::Mysql => self.contains(driver.describe_error(error).number),
        }
    }
}

pub fn is_lost(error: &DbError) -> bool {
    let is_unknown_commit = error.class == ErrorClass::AmbiguousCommit;
    error.class == ErrorClass::LostConnection || is_unknown_commit && !error.is_reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_wire::Protocol;

    fn with_number(number: u32, mut error: DbError) -> DbError {
        error.number = number;
        error
    }

    #[test]
    fn lost_connection_is_reported_like_the_client_and_ignored_by_any_of_its_numbers() {
        let lost = DbError::lost("Connection reset by peer (os error 104)".to_owned(), true);
        let reported = Driver::Mysql.describe_error(&lost);
        assert_eq!(
            (
                reported.number,
                reported.sqlstate.as_str(),
                reported.message.as_str()
            ),
            (2013, "HY000", "Lost connection to server during query")
        );
        let reported = Driver::Pgsql.describe_error(&lost);
        assert_eq!((reported.number, reported.sqlstate.as_str()), (0, "08006"));
        assert_eq!(reported.message, lost.message);
        // If the server sends an error before it closes the connection, the driver reports that error's
        // number, but the connection counts as lost.
        let killed = with_number(1927, lost.clone());
        assert_eq!(Driver::Mysql.describe_error(&killed).number, 1927);
        for error in [&lost, &killed] {
            for number in [2006, 2011, 2013, 2055] {
                assert!(IgnoredErrors::Codes(vec![number]).restarts_event(Driver::Mysql, error));
            }
            for number in [1927, 1213] {
                assert!(!IgnoredErrors::Codes(vec![number]).restarts_event(Driver::Mysql, error));
            }
            assert!(IgnoredErrors::All.restarts_event(Driver::Mysql, error));
            assert!(!IgnoredErrors::All.restarts_event(Driver::Pgsql, error));
        }
    }

    #[test]
    fn other_errors_are_ignored_by_number_on_mysql_and_by_state_on_postgresql() {
        let codes = IgnoredErrors::Codes(vec![1062, 2027]);
        let duplicate = DbError::server(Protocol::MySql, 1062, *b"23000", "duplicate".to_owned());
        assert_eq!(Driver::Mysql.describe_error(&duplicate).sqlstate, "23000");
        assert!(codes.restarts_event(Driver::Mysql, &duplicate));
        let malformed = DbError::protocol("what is this".to_owned());
        let reported = Driver::Mysql.describe_error(&malformed);
        let expected = (2027, "HY000");
        assert_eq!((reported.number, reported.sqlstate.as_str()), expected);
        assert!(codes.restarts_event(Driver::Mysql, &malformed));
        let unlisted = DbError::server(Protocol::MySql, 1146, *b"42S02", "no table".to_owned());
        assert!(!codes.restarts_event(Driver::Mysql, &unlisted));
        for (code, is_ignored) in [(*b"23505", true), (*b"40001", true), (*b"42P01", false)] {
            let error = DbError::server(Protocol::PostgreSql, 0, code, String::new());
            assert_eq!(codes.restarts_event(Driver::Pgsql, &error), is_ignored);
        }
    }
}
