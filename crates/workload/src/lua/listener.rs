//! Who hears what scripts write, and what goes wrong.
//!
//! In: nothing. Out: a trait and what it is told. Must never: print.

use prony_session::DbError;

/// What a statement was asked to do when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A text.
    Query,
    /// A statement was to be prepared.
    Prepare,
    /// A prepared statement.
    Execute,
    /// A further result of a text.
    Next,
    /// A further result of a prepared statement.
    NextExecuted,
}

/// A statement failed, and its error is not one that is ignored.
#[derive(Debug)]
pub struct SqlFailure<'a> {
    /// What was asked.
    pub step: Step,
    /// What the server said.
    pub error: &'a DbError,
    /// The number by which sysbench's driver knows it; 0 on PostgreSQL.
    pub number: u32,
    /// What the server said, as its own client shows it.
    pub said: &'a str,
    /// The statement.
    pub sql: &'a str,
}

/// Hears what scripts write, and what goes wrong. Calls come from all workers; texts have no line end
/// but in [`Listener::shown`].
pub trait Listener: Send + Sync {
    /// A script writes this, line ends included, in whatever encoding.
    fn shown(&self, text: &[u8]);
    /// Something that ends a run, in sysbench's words.
    fn fatal(&self, text: &str);
    /// Something that is wrong and does not end it.
    fn alert(&self, text: &str);
    /// Something worth knowing.
    fn warning(&self, text: &str);
    /// A script wants a driver or a connection, and there is none: the lines of the log that the settings
    /// have for it.
    fn unreachable(&self, lines: &str);
    /// A connection that a script asked for outside of threads was refused.
    fn refused(&self, error: &prony_server::control::Error);
    /// A script has kept its thread for a while without asking for anything, so that the other users of
    /// that thread had to wait; told once.
    fn kept_waiting(&self);
    /// A statement failed.
    fn sql_failed(&self, failure: &SqlFailure<'_>);
    /// A function of the script gave up: its thread cannot go on, and the run is to end. `function` is
    /// what sysbench calls it, empty where nothing is to be said.
    fn failed(&self, function: &str, reason: &str);
    /// `thread_done` of a thread gave up. Its events are done: the run goes on, to its report.
    fn done_failed(&self, reason: &str);
    /// A script has run for so long without asking for anything that it is taken to be stuck, and it
    /// cannot be stopped from outside: the process is to end.
    fn stuck(&self, reason: &str);
}
