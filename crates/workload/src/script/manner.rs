//! How scripts are run, where Prony's way and pgbench's part.
//!
//! In: nothing. Out: plain choices, and whom to tell what happens. Must never: print.

use super::options::LEVEL;
use prony_session::DbError;
use prony_wire::postgres::ServerError;
use std::sync::Arc;

/// What becomes of a client whose statement fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Its transaction fails, and it goes on; on a new connection if that one is lost.
    Fail,
    /// Its transaction fails, and it goes on, unless its connection is lost.
    FailUnlessLost,
    /// It cannot go on, but for serialization failures and deadlocks.
    AbortUnlessTransient,
    /// It cannot go on.
    Abort,
}

/// Hears what happens to clients, in pgbench's words and without a line end. Calls come from all
/// workers.
pub trait Listener: Send + Sync {
    /// Something went wrong.
    fn error(&self, text: &str);
    /// Something worth knowing.
    fn info(&self, text: &str);
    /// Lines that stand for themselves, line ends included: what a script writes with `debug()`,
    /// notices of the server.
    fn shown(&self, lines: &str);
    /// A client cannot go on; what was wrong has been told.
    fn aborted(&self, _client: u32) {}
}

/// How scripts are run.
#[derive(Clone)]
pub struct Manner {
    /// The major version of pgbench whose rules hold.
    pub level: u32,
    /// What becomes of a client whose statement fails.
    pub on_error: OnError,
    /// Tries of a transaction that meets serialization failures or deadlocks; 0: no limit.
    pub max_tries: u32,
    /// No new try after this time since the scheduled start, nanoseconds.
    pub latency_limit_ns: Option<u64>,
    /// `\shell` and `\setshell` run, and hold up all clients of their worker meanwhile.
    pub shell: bool,
    /// What a script asks wrongly fails when it is reached, and what fails after the end of the run
    /// is in no figure.
    pub as_pgbench: bool,
    /// The server gets libpq's requests: statements are prepared in round trips of their own, those
    /// of a pipeline before it, and a pipeline that failed is followed by one more Sync.
    pub as_libpq: bool,
    /// Times and failures are kept for each command.
    pub per_command: bool,
    /// Tell of each error that leads to another try or a failure.
    pub verbose: bool,
    /// Tell of everything that clients do.
    pub debug: bool,
    /// Who is told.
    pub listener: Option<Arc<dyn Listener>>,
}

impl Default for Manner {
    /// Prony's own way.
    fn default() -> Self {
        Manner {
            level: LEVEL,
            on_error: OnError::Fail,
            max_tries: 1,
            latency_limit_ns: None,
            shell: false,
            as_pgbench: false,
            as_libpq: false,
            per_command: false,
            verbose: false,
            debug: false,
            listener: None,
        }
    }
}

impl Manner {
    /// Whether a client goes on after this error; `up`: its connection is.
    pub(super) fn goes_on(&self, error: &DbError, up: bool) -> bool {
        match self.on_error {
            OnError::Fail => true,
            OnError::FailUnlessLost => up,
            OnError::AbortUnlessTransient => up && error.is_transient(),
            OnError::Abort => false,
        }
    }

    /// Whether a transaction that failed by this error is tried again, after `tries` tries and
    /// `response_ns` since its scheduled start.
    pub(super) fn tries_again(&self, error: &DbError, tries: u32, response_ns: u64) -> bool {
        error.is_transient()
            && (self.max_tries == 0 || tries < self.max_tries)
            && self
                .latency_limit_ns
                .is_none_or(|limit| response_ns <= limit)
    }

    pub(super) fn error(&self, text: &str) {
        if let Some(listener) = &self.listener {
            listener.error(text);
        }
    }

    pub(super) fn info(&self, text: &str) {
        if let Some(listener) = &self.listener {
            listener.info(text);
        }
    }

    /// Tells what the server says beside its results, as libpq prints it.
    #[cold]
    pub(super) fn notice(&self, notice: &ServerError) {
        if let Some(listener) = &self.listener {
            listener.shown(&format!("{notice}\n"));
        }
    }

    /// Tells what `text` makes, if everything is to be told.
    #[inline]
    pub(super) fn debug(&self, text: impl FnOnce() -> String) {
        if self.debug {
            self.info(&text());
        }
    }
}
