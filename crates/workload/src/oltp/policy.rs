//! The error policy of a run, and its definition of an event of `bulk_insert`.
//!
//! Decides, from an error and its statement, whether the event is retried, fails, or ends its user. Called
//! only after an error.

use super::statements;
use prony_document::SqlDialect;
use prony_session::DbError;
use std::fmt;
use std::sync::Arc;

#[derive(Debug)]
pub struct StatementFailure<'a> {
    pub client: u32,
    pub error: &'a DbError,
    /// The statement, with placeholders if values are sent separately.
    pub statement: &'a str,
    /// Whether it was executed as a prepared statement.
    pub is_prepared: bool,
}

/// The consequence of an error for its event and user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorAction {
    /// The error is counted, and the event is retried with new values; on a new connection if the old one was
    /// lost.
    Retry,
    /// The event fails, and its user continues with the next one.
    Fail,
    /// The user ends, for this reason.
    EndUser(String),
}

pub trait ErrorPolicy: Send + Sync {
    fn action(&self, failure: &StatementFailure<'_>) -> ErrorAction;
}

/// How a run handles errors and counts events.
#[derive(Clone, Default)]
pub struct OltpPolicy {
    /// The error policy. If absent, an event is retried after errors that sysbench ignores by default, and
    /// fails after others.
    pub errors: Option<Arc<dyn ErrorPolicy>>,
    /// Whether each row that `bulk_insert` adds to the packet is an event, as in sysbench; otherwise an event
    /// is the `INSERT` of a full packet.
    pub counts_rows_as_events: bool,
}

impl OltpPolicy {
    /// Returns the consequence of a failed statement.
    pub(super) fn action(
        &self,
        dialect: SqlDialect,
        failure: &StatementFailure<'_>,
    ) -> ErrorAction {
        match &self.errors {
            Some(errors) => errors.action(failure),
            None if statements::ignores_error(dialect, failure.error) => ErrorAction::Retry,
            None => ErrorAction::Fail,
        }
    }
}

impl fmt::Debug for OltpPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.errors.as_ref().map(|_| "custom");
        f.debug_struct("OltpPolicy")
            .field("errors", &errors)
            .field("counts_rows_as_events", &self.counts_rows_as_events)
            .finish()
    }
}
