//! The settings of scripts in which native runs differ from pgbench, and the listener for messages.

use super::options::NATIVE_PGBENCH_VERSION;
use prony_document::SqlDialect;
use prony_session::DbError;
use prony_wire::postgres::ServerError;
use std::sync::Arc;

/// What happens to a client whose statement fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// Its transaction fails and the client continues, on a new connection if the old one is lost.
    Fail,
    /// Its transaction fails and the client continues, unless the connection is lost.
    FailUnlessLost,
    /// The client aborts, except after serialization failures and deadlocks.
    AbortUnlessTransient,
    Abort,
}

/// Receives messages about clients, in pgbench's wording and without a trailing newline, from any worker
/// thread.
pub trait MessageListener: Send + Sync {
    fn error(&self, text: &str);
    fn info(&self, text: &str);
    /// Lines to print unchanged, newlines included: the output of `debug()`, and notices of the server.
    fn print(&self, lines: &str);
    /// A client cannot continue; the reason has already been reported.
    fn client_aborted(&self, _client: u32) {}
}

/// How a run executes its scripts.
#[derive(Clone)]
pub struct ScriptPolicy {
    /// The major version of pgbench whose rules apply.
    pub pgbench_version: u32,
    /// The SQL of the statements, if they are the user's own: their variables are then bound by type in every query mode.
    /// `None`: as in pgbench.
    pub dialect: Option<SqlDialect>,
    /// What happens to a client whose statement fails.
    pub on_error: OnError,
    /// Maximum tries of a transaction after serialization failures or deadlocks; 0 means no limit.
    pub max_tries: u32,
    /// Time since the scheduled start of a transaction after which it is not retried, in nanoseconds; `None` means no
    /// limit.
    pub latency_limit_ns: Option<u64>,
    /// Whether to run `\shell` and `\setshell`, which block all clients of their worker.
    pub allows_shell: bool,
    /// Whether to report an invalid command of a script only when it is executed, and not to count failures after the
    /// end of the run.
    pub emulate_pgbench: bool,
    /// Whether to send the same requests as libpq: prepare each statement in a separate round trip, those of a pipeline
    /// before it begins, and send another Sync after a failed pipeline.
    pub emulate_libpq: bool,
    /// Whether to record times, rows, failures and retries of each command.
    pub records_command_stats: bool,
    /// Whether to report each error that causes a retry or a failure.
    pub verbose_errors: bool,
    /// Whether to report everything that clients do.
    pub debug: bool,
    pub listener: Option<Arc<dyn MessageListener>>,
}

impl Default for ScriptPolicy {
    /// The behaviour of native runs.
    fn default() -> Self {
        ScriptPolicy {
            pgbench_version: NATIVE_PGBENCH_VERSION,
            dialect: None,
            on_error: OnError::Fail,
            max_tries: 1,
            latency_limit_ns: None,
            allows_shell: false,
            emulate_pgbench: false,
            emulate_libpq: false,
            records_command_stats: false,
            verbose_errors: false,
            debug: false,
            listener: None,
        }
    }
}

impl ScriptPolicy {
    /// Whether a client continues after its statement has failed with this error.
    pub(super) fn client_continues(&self, error: &DbError, is_connection_up: bool) -> bool {
        match self.on_error {
            OnError::Fail => true,
            OnError::FailUnlessLost => is_connection_up,
            OnError::AbortUnlessTransient => is_connection_up && error.retryable,
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

    /// Reports the message that `text` returns, if debug output is on.
    #[inline]
    pub(super) fn debug(&self, text: impl FnOnce() -> String) {
        if self.debug {
            self.info(&text());
        }
    }
}
