//! The error of a failed statement, with the class under which it is counted. An error does not end the run:
//! a failed transaction is a sample.

use prony_document::Service;
use prony_measure::ErrorCode;
use prony_wire::{Classification, ErrorClass, ErrorSummary, Protocol, ServerError};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The error of a failed statement. Its details are boxed, because the results of successful statements, which
/// have room for an error, are copied several times per transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbError(Box<DbErrorDetails>);

/// What a [`DbError`] contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DbErrorDetails {
    /// The class under which it is counted.
    pub class: ErrorClass,
    /// Whether another attempt at the whole transaction may succeed.
    pub retryable: bool,
    /// Whether it is so because of the service, whose entry names this error.
    pub is_retry_of_service: bool,
    /// SQLSTATE; `08006` for a lost connection, `08P01` for a broken protocol, `0A000` for a statement that no connection
    /// of a load can execute.
    pub code: ErrorCode,
    /// The code under which it is counted: the SQLSTATE, or a substitute for an unspecific one.
    pub counted_as: ErrorCode,
    /// The server's own error number, whose meaning depends on the server's protocol; 0 if there is none.
    pub number: u32,
    /// Whether the server replied with it, in which case the connection may be up.
    pub is_reply: bool,
    /// The message of the server or the operating system.
    pub message: String,
}

impl DbError {
    /// An error that a server reported.
    pub fn server(protocol: Protocol, number: u32, code: ErrorCode, message: String) -> Self {
        DbError::from(&ServerError::new(protocol, number, code, message))
    }

    /// An error that the workload itself detected, such as a missing row.
    pub fn workload(code: ErrorCode, message: String) -> Self {
        DbError::without_server(ErrorClass::Other, code, message)
    }

    /// A lost connection. `may_have_committed`: whether a commit may have happened.
    pub fn lost(message: String, may_have_committed: bool) -> Self {
        let class = if may_have_committed {
            ErrorClass::AmbiguousCommit
        } else {
            ErrorClass::LostConnection
        };
        DbError::without_server(class, *b"08006", message)
    }

    /// A violation of the protocol by the server, or a misuse of the handle by the program.
    pub fn protocol(message: String) -> Self {
        DbError::without_server(ErrorClass::Protocol, *b"08P01", message)
    }

    /// A COMMIT that PostgreSQL answered as a ROLLBACK, which it does without an error if the transaction had failed.
    #[cold]
    pub(crate) fn rolled_back_commit() -> Self {
        let message = "the server replied to COMMIT that it rolled the transaction back";
        DbError::server(Protocol::PostgreSql, 0, *b"25P02", message.to_owned())
    }

    /// An error that no server reported.
    fn without_server(class: ErrorClass, code: ErrorCode, message: String) -> Self {
        let Classification { class, retryable } = class.into();
        DbError(Box::new(DbErrorDetails {
            class,
            retryable,
            is_retry_of_service: false,
            is_reply: false,
            code,
            counted_as: code,
            number: 0,
            message,
        }))
    }

    /// The error of a statement, as this service means it.
    #[must_use]
    pub fn of_service(mut self, service: Option<Service>) -> DbError {
        if service.is_some_and(|service| service.is_retry(self.number, self.code)) {
            self.retryable = true;
            self.is_retry_of_service = true;
            if self.class == ErrorClass::Other {
                self.class = ErrorClass::Serialization;
            }
        }
        self
    }

    /// Whether the server refuses to work on the connection, which it keeps open, as a node that is cut off from its Galera
    /// cluster does: connectors close a connection with MySQL's SQLSTATE of a broken one. If it cannot tell what became of a
    /// commit, the next one would not fare better.
    pub(crate) fn refuses_connection(&self) -> bool {
        let is_unknown_commit = self.is_reply && self.class == ErrorClass::AmbiguousCommit;
        is_unknown_commit || self.number != 0 && self.code == *b"08S01"
    }

    /// Whether a server of MySQL's protocol refuses to write, as one that has become a replica does: its log-in does not say
    /// so. The number is that of other options too.
    pub(crate) fn refuses_writes(&self) -> bool {
        let names_option = || {
            let mut names = ["read-only", "read_only"].iter();
            names.any(|name| self.message.contains(name))
        };
        self.number == 1836 || self.number == 1290 && names_option()
    }

    /// The message of the server or the operating system.
    pub fn into_message(self) -> String {
        self.0.message
    }

    /// Replaces the code of a lost connection's error: a statement that no connection of a load can execute is the cause.
    pub(crate) fn with_unsupported_code(mut self) -> Self {
        self.code = *b"0A000";
        self.counted_as = self.code;
        self
    }

    /// Replaces the code and number of a lost connection's error by those that the server reported.
    pub(crate) fn with_server_code(mut self, error: &ServerError) -> Self {
        self.code = error.code;
        self.number = error.number;
        self.counted_as = ErrorSummary::from(error).counted_as();
        self
    }
}

impl From<ErrorSummary<'_>> for DbError {
    /// Allocates twice: the details and the message.
    fn from(error: ErrorSummary<'_>) -> Self {
        let Classification { class, retryable } = error.classification;
        DbError(Box::new(DbErrorDetails {
            class,
            retryable,
            is_retry_of_service: false,
            is_reply: true,
            code: error.code,
            counted_as: error.counted_as(),
            number: error.number,
            message: error.message.into_owned(),
        }))
    }
}

impl Deref for DbError {
    type Target = DbErrorDetails;

    fn deref(&self) -> &DbErrorDetails {
        &self.0
    }
}

impl DerefMut for DbError {
    fn deref_mut(&mut self) -> &mut DbErrorDetails {
        &mut self.0
    }
}

impl From<&ServerError> for DbError {
    fn from(error: &ServerError) -> Self {
        DbError::from(ErrorSummary::from(error))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_classified_by_protocol() {
        let server_error = |protocol, number, code: &[u8; 5]| {
            let text = "Lock wait timeout exceeded".to_owned();
            DbError::server(protocol, number, *code, text)
        };
        let error = server_error(Protocol::MySql, 1205, b"HY000");
        assert_eq!((error.class, error.retryable), (ErrorClass::Timeout, false));
        assert_eq!(&error.counted_as, b"01205");
        assert_eq!(
            error.to_string(),
            "Lock wait timeout exceeded (error 1205, SQLSTATE HY000)"
        );
        // SQLSTATE 40001 is a deadlock in MySQL and a serialization failure in PostgreSQL.
        let deadlock = server_error(Protocol::MySql, 1213, b"40001");
        assert_eq!(deadlock.class, ErrorClass::Deadlock);
        let conflict = server_error(Protocol::PostgreSql, 0, b"40001");
        assert_eq!(conflict.class, ErrorClass::Serialization);
        assert!(deadlock.retryable && conflict.retryable);
    }

    #[test]
    fn a_server_that_only_reads_refuses_writes() {
        let refuses = |number, text: &str| {
            DbError::server(Protocol::MySql, number, *b"HY000", text.to_owned()).refuses_writes()
        };
        let option = "The MariaDB server is running with the --read-only option so it cannot execute this statement";
        assert!(refuses(1290, option) && refuses(1836, "Running in read-only mode"));
        assert!(!refuses(
            1290,
            &option.replace("read-only", "secure-file-priv")
        ));
        let of_postgres = DbError::server(Protocol::PostgreSql, 0, *b"25006", option.to_owned());
        assert!(!of_postgres.refuses_writes());
    }

    #[test]
    fn a_service_has_errors_of_its_own_to_retry() {
        let conflict =
            || DbError::server(Protocol::MySql, 9007, *b"HY000", "Write conflict".into());
        assert!(!conflict().of_service(None).retryable);
        assert!(!conflict().of_service(Some(Service::Rds)).retryable);
        let error = conflict().of_service(Some(Service::TiDb));
        assert_eq!(
            (error.class, error.retryable),
            (ErrorClass::Serialization, true)
        );
        assert_eq!(&error.counted_as, b"09007");
        let deadlock = DbError::server(Protocol::PostgreSql, 0, *b"40P01", String::new());
        let deadlock = deadlock.of_service(Some(Service::Yugabyte));
        assert_eq!(deadlock.class, ErrorClass::Deadlock);
    }

    #[test]
    fn a_commit_that_failed_may_have_happened_and_ends_the_connection() {
        let cut_off = DbError::server(Protocol::MySql, 1180, *b"HY000", String::new());
        assert_eq!(cut_off.class, ErrorClass::AmbiguousCommit);
        assert!(cut_off.refuses_connection());
        // A lost connection has nobody who refuses.
        assert!(!DbError::lost(String::new(), true).refuses_connection());
        let ambiguous = DbError::server(Protocol::PostgreSql, 0, *b"40003", String::new());
        assert_eq!(ambiguous.class, ErrorClass::AmbiguousCommit);
    }

    #[test]
    fn the_servers_code_does_not_change_the_class_of_a_lost_connection() {
        let text = "Connection was killed".to_owned();
        let final_error = ServerError::new(Protocol::MySql, 1927, *b"HY000", text);
        let lost = DbError::lost("gone".to_owned(), true).with_server_code(&final_error);
        assert_eq!(lost.class, ErrorClass::AmbiguousCommit);
        assert_eq!((lost.number, &lost.counted_as), (1927, b"01927"));
    }
}
