//! What an error means to a run, and what counts as an event of `bulk_insert`.
//!
//! In: an error and the statement that met it. Out: whether the event begins again, has failed, or
//! ends its user. Must never: be asked where nothing failed.

use super::engine::Engine;
use prony_session::DbError;
use std::fmt;
use std::sync::Arc;

/// An error, and where it came.
#[derive(Debug)]
pub struct Trouble<'a> {
    /// The client that met it.
    pub client: u32,
    /// The error.
    pub error: &'a DbError,
    /// The statement, with placeholders where values are sent apart.
    pub statement: &'a str,
    /// It was executed as a prepared statement.
    pub prepared: bool,
}

/// What becomes of the event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is counted and begun again with new values, on a new connection if that was lost.
    Again,
    /// It has failed, and its user goes on with the next one.
    Failed,
    /// Its user cannot go on, for this reason.
    Ends(String),
}

/// Decides what errors mean.
pub trait Judge: Send + Sync {
    /// What becomes of the event that met an error.
    fn verdict(&self, trouble: &Trouble<'_>) -> Verdict;
}

/// How a run takes things.
#[derive(Clone, Default)]
pub struct Manner {
    /// Decides what errors mean; absent: those that sysbench ignores by default begin the event
    /// again, any other one has it fail.
    pub judge: Option<Arc<dyn Judge>>,
    /// An event of `bulk_insert` is a row that is noted, as in sysbench; else the `INSERT` of a full
    /// packet.
    pub event_is_row: bool,
}

impl Manner {
    /// What becomes of the event that met an error.
    pub(super) fn verdict(&self, engine: Engine, trouble: &Trouble<'_>) -> Verdict {
        match &self.judge {
            Some(judge) => judge.verdict(trouble),
            None if engine.is_ignored(trouble.error) => Verdict::Again,
            None => Verdict::Failed,
        }
    }
}

impl fmt::Debug for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judge = self.judge.as_ref().map(|_| "own");
        f.debug_struct("Manner")
            .field("judge", &judge)
            .field("event_is_row", &self.event_is_row)
            .finish()
    }
}
