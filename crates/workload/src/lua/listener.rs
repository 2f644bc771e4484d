//! What scripts report: their output and errors.

use prony_server::control::Error;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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
#[derive(Debug, Serialize, Deserialize)]
pub struct SqlFailure<'a> {
    pub operation: SqlOperation,
    /// The SQLSTATE.
    pub code: [u8; 5],
    /// The error number that sysbench's driver reports; 0 on PostgreSQL.
    pub error_number: u32,
    /// The server's message, in the format of its client library.
    pub message: Cow<'a, str>,
    pub sql: Cow<'a, str>,
}

/// What a script reports. Texts do not end in a newline, except output.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report<'a> {
    /// Output of a script, newlines included, in any encoding.
    Output(Cow<'a, [u8]>),
    /// An error that ends the run, with sysbench's text.
    Fatal(Cow<'a, str>),
    /// An error that does not end the run.
    Alert(Cow<'a, str>),
    Warning(Cow<'a, str>),
    /// A script needs a driver or a connection, but there is none, with the log lines to print: those of
    /// `missing_driver_message` or `missing_server_message` of [`ScriptSettings`](super::ScriptSettings).
    ServerUnavailable(Cow<'a, str>),
    /// A script has blocked its OS thread, without making a request, while other users of the thread waited.
    /// Reported at most once in a run.
    ThreadBlocked,
    SqlFailed(SqlFailure<'a>),
    /// A function of the script failed: its thread cannot continue, and the run must end.
    FunctionFailed {
        /// Sysbench's name for it; empty if nothing should be printed.
        function: Cow<'a, str>,
        reason: Cow<'a, str>,
    },
    /// A thread's `thread_done` failed. Its events have ended, so the run continues to its report.
    ThreadDoneFailed(Cow<'a, str>),
    /// A script has run too long without making a request, and cannot be interrupted, so the process must exit.
    Stuck(Cow<'a, str>),
}

/// Receives what scripts report. Any worker may call it.
pub trait Listener: Send + Sync {
    fn report(&self, report: Report<'_>);

    /// A connection that a script opened outside of threads was refused.
    fn connection_refused(&self, error: &Error) {
        self.report(Report::Fatal(error.to_string().into()));
    }
}

/// Ignores all events.
pub(super) struct Nobody;

impl Listener for Nobody {
    fn report(&self, _: Report<'_>) {}
}
