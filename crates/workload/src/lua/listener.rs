//! The trait that receives scripts' output and errors.

use prony_session::DbError;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SqlOperation {
    /// Executing a text.
    Query,
    Prepare,
    /// Executing a prepared statement.
    Execute,
    /// Fetching a further result of a text.
    NextResult,
    /// Fetching a further result of a prepared statement.
    NextExecutedResult,
}

/// A statement that failed with an error that is not ignored.
#[derive(Debug)]
pub struct SqlFailure<'a> {
    pub operation: SqlOperation,
    pub error: &'a DbError,
    /// The error number that sysbench's driver reports; 0 on PostgreSQL.
    pub error_number: u32,
    /// The server's message, in the format of its client library.
    pub message: &'a str,
    pub sql: &'a str,
}

/// Receives scripts' output and errors, and ignores those for which it has no function. Any worker may call it.
/// Texts do not end in a newline, except in [`Listener::output`].
pub trait Listener: Send + Sync {
    /// Output of a script, newlines included, in any encoding.
    fn output(&self, _text: &[u8]) {}
    /// An error that ends the run, with sysbench's text.
    fn fatal(&self, _text: &str) {}
    /// An error that does not end the run.
    fn alert(&self, _text: &str) {}
    fn warning(&self, _text: &str) {}
    /// A script needs a driver or a connection, but there is none. `lines` are the log lines to print:
    /// `missing_driver_message` or `missing_server_message` of [`ScriptSettings`](super::ScriptSettings).
    fn server_unavailable(&self, _lines: &str) {}
    /// A connection that a script opened outside of threads was refused.
    fn connection_refused(&self, _error: &prony_server::control::Error) {}
    /// A script has blocked its OS thread, without making a request, while other users of the thread waited.
    /// Called at most once in a run.
    fn thread_blocked(&self) {}
    fn sql_failed(&self, _failure: &SqlFailure<'_>) {}
    /// A function of the script failed: its thread cannot continue, and the run must end. `function` is
    /// sysbench's name for it, or empty if nothing should be printed.
    fn function_failed(&self, _function: &str, _reason: &str) {}
    /// A thread's `thread_done` failed. Its events have ended, so the run continues to its report.
    fn thread_done_failed(&self, _reason: &str) {}
    /// A script has run too long without making a request, and cannot be interrupted, so the process must exit.
    fn script_stuck(&self, _reason: &str) {}
}

/// Ignores all events.
pub(super) struct Nobody;

impl Listener for Nobody {}
