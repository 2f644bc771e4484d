//! How scripts run, where native runs and pgbench differ, and the listener that is notified.

use super::options::LEVEL;
use prony_session::DbError;
use prony_wire::postgres::ServerError;
use std::sync::Arc;

/// What happens to a client whose statement fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Its transaction fails and the client continues; if the connection is lost, on a new one.
    Fail,
    /// Its transaction fails and the client continues, unless the connection is lost.
    FailUnlessLost,
    /// The client aborts, except after serialization failures and deadlocks.
    AbortUnlessTransient,
    /// The client aborts.
    Abort,
}

/// Receives what happens to clients, in pgbench's wording and without a trailing newline. Any worker may
/// call it.
pub trait MessageListener: Send + Sync {
    /// An error.
    fn error(&self, text: &str);
    /// An informational message.
    fn info(&self, text: &str);
    /// Lines printed as they are, newlines included: the output of `debug()`, and notices of the server.
    fn print(&self, lines: &str);
    /// A client cannot continue; the reason has already been reported.
    fn client_aborted(&self, _client: u32) {}
}

/// How scripts are run.
#[derive(Clone)]
pub struct ScriptPolicy {
    /// The major version of pgbench whose rules apply.
    pub level: u32,
    /// What happens to a client whose statement fails.
    pub on_error: OnError,
    /// Maximum tries of a transaction that meets serialization failures or deadlocks; 0 means no limit.
    pub max_tries: u32,
    /// Do not try again after this time since the scheduled start, in nanoseconds.
    pub latency_limit_ns: Option<u64>,
    /// Run `\shell` and `\setshell`, which block all clients of their worker meanwhile.
    pub shell: bool,
    /// Report an invalid command of a script only when it is reached, and leave failures after the end of
    /// the run out of the figures.
    pub emulate_pgbench: bool,
    /// Send libpq's requests: each statement is prepared in a separate round trip, those of a pipeline
    /// before it begins, and a failed pipeline is followed by one more Sync.
    pub emulate_libpq: bool,
    /// Record times and failures of each command.
    pub per_command: bool,
    /// Report each error that leads to another try or a failure.
    pub verbose: bool,
    /// Report everything that clients do.
    pub debug: bool,
    /// The listener to notify, if any.
    pub listener: Option<Arc<dyn MessageListener>>,
}

impl Default for ScriptPolicy {
    /// The behaviour of native runs.
    fn default() -> Self {
        ScriptPolicy {
            level: LEVEL,
            on_error: OnError::Fail,
            max_tries: 1,
            latency_limit_ns: None,
            shell: false,
            emulate_pgbench: false,
            emulate_libpq: false,
            per_command: false,
            verbose: false,
            debug: false,
            listener: None,
        }
    }
}

impl ScriptPolicy {
    /// Whether a client continues after this error; `up` says whether its connection is up.
    pub(super) fn client_continues(&self, error: &DbError, up: bool) -> bool {
        match self.on_error {
            OnError::Fail => true,
            OnError::FailUnlessLost => up,
            OnError::AbortUnlessTransient => up && error.retryable,
            OnError::Abort => false,
        }
    }

    /// Whether a transaction that failed with this error is tried again, after `tries` tries and
    /// `response_ns` since its scheduled start.
    pub(super) fn should_retry(&self, error: &DbError, tries: u32, response_ns: u64) -> bool {
        error.retryable
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

    /// Reports the server's notices, as libpq prints them.
    #[cold]
    pub(super) fn notice(&self, notice: &ServerError) {
        if let Some(listener) = &self.listener {
            listener.print(&format!("{notice}\n"));
        }
    }

    /// Reports the result of `text` if debug output is on.
    #[inline]
    pub(super) fn debug(&self, text: impl FnOnce() -> String) {
        if self.debug {
            self.info(&text());
        }
    }
}
