//! Errors of starting a run, and of opening its connections.

use crate::io::ring::{self, RingUnavailable};
use prony_plan::{ErrorParts, UserError};
use prony_server::control::{ConnectFailure, connect_parts};
use std::io;

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub enum Error {
    /// The process may not open enough files.
    FileLimit {
        requested: u32,
        threads: u32,
        /// Files needed, for the clients and everything else.
        needed: u64,
        limit: u64,
    },
    /// The system does not allow enough threads.
    ThreadStart {
        /// Threads that had been started before.
        started: u32,
        requested: u32,
        /// Why the next one could not start.
        source: io::Error,
    },
    /// io_uring was requested and cannot be used.
    RingUnavailable(RingUnavailable),
    /// The connections could not be opened.
    #[error("{}{source}", source.opened_context(*.requested))]
    Connect {
        /// Clients of all workers.
        requested: u32,
        source: ConnectError,
    },
    /// A user ended before the load started.
    UserNotReady(String),
    /// Interrupted before the load started.
    Interrupted,
}

/// Why the connections of a run could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().paragraph())]
pub enum ConnectError {
    /// Every route to the server failed. The text has libpq's wording, without hints.
    #[error("{}", lines_of(.failures))]
    Refused {
        /// Connections of this worker that were up at the time.
        connected: u32,
        failures: Vec<ConnectFailure>,
    },
    Engine(#[from] io::Error),
    /// A user could not get ready for the common start.
    UserNotReady(String),
    Interrupted,
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::FileLimit {
                requested,
                threads,
                needed,
                limit,
            } => {
                let plural = if *threads == 1 { "" } else { "s" };
                ErrorParts::new(format!(
                    "{requested} clients on {threads} thread{plural} need {needed} open files, and this process may \
                     open {limit}"
                ))
                .with_hint(file_limit_hint(*needed - u64::from(*requested), *limit))
            }
            Error::ThreadStart {
                started,
                requested,
                source,
            } => ErrorParts::new(format!(
                "{started} of {requested} threads were started, then: {source}"
            ))
            .with_hint(
                "use fewer threads, or raise the limit (ulimit -u, or pids.max of the control group)",
            ),
            Error::RingUnavailable(unavailable) => {
                let ErrorParts { problem, hint, .. } = unavailable.parts();
                let other_engine = "use --io epoll or --io auto";
                ErrorParts::new(format!("--io ring: {problem}")).with_hint(match hint {
                    Some(hint) => format!("{hint}; {other_engine}"),
                    None => other_engine.to_owned(),
                })
            }
            Error::Connect { requested, source } => {
                source.parts().with_context(source.opened_context(*requested))
            }
            Error::UserNotReady(reason) => {
                ErrorParts::new(format!("a user could not get ready: {reason}"))
            }
            Error::Interrupted => ErrorParts::new("interrupted before the load started")
                .with_hint("nothing was measured or stored"),
        }
    }
}

impl ConnectError {
    fn opened_context(&self, requested: u32) -> String {
        let connected = match self {
            ConnectError::Refused { connected, .. } => *connected,
            _ => 0,
        };
        format!("{connected} of {requested} connections were opened, then: ")
    }
}

fn lines_of(failures: &[ConnectFailure]) -> String {
    let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl UserError for ConnectError {
    fn parts(&self) -> ErrorParts {
        match self {
            ConnectError::Refused { failures, .. } => connect_parts(failures),
            ConnectError::Engine(error) => {
                let parts = ErrorParts::new(format!("the I/O engine failed: {error}"));
                if ring::is_out_of_locked_memory(error) {
                    parts.with_hint(format!(
                        "{}, or use --io epoll",
                        RingUnavailable::out_of_locked_memory()
                    ))
                } else {
                    parts
                }
            }
            ConnectError::UserNotReady(reason) => ErrorParts::new(reason),
            ConnectError::Interrupted => ErrorParts::new("interrupted while connecting"),
        }
    }
}

/// Advice for a run that needs more files than the `limit`; `other_files`: how many of them are not sockets
/// of clients.
fn file_limit_hint(other_files: u64, limit: u64) -> String {
    let raise_limit = "raise the hard limit (ulimit -Hn as root, LimitNOFILE= of a service)";
    match limit.saturating_sub(other_files) {
        0 => raise_limit.to_owned(),
        1 => format!("use 1 client, or {raise_limit}"),
        max_clients => format!("use at most {max_clients} clients, or {raise_limit}"),
    }
}
