//! Errors of starting a run, and of opening its connections.

use crate::io::ring::{self, RingUnavailable};
use prony_plan::{ErrorParts, UserError};
use prony_server::control::Failure;
use std::fmt;
use std::io;

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not open enough files.
    Files {
        /// Clients requested.
        requested: u32,
        /// Their threads.
        threads: u32,
        /// Files needed, for the clients and everything else.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// The system does not allow enough threads.
    Threads {
        /// Threads that were started by then.
        started: u32,
        /// Threads requested.
        requested: u32,
        /// Why the next one could not start.
        source: io::Error,
    },
    /// io_uring was requested and cannot be used.
    Ring(RingUnavailable),
    /// The connections could not be opened.
    Connect {
        /// Clients requested.
        requested: u32,
        /// Connections of all workers that were up by then.
        connected: u32,
        /// The cause.
        source: ConnectError,
    },
    /// A user ended before the load started.
    Unready(String),
    /// Interrupted before the load started.
    Interrupted,
}

/// Why the connections of a run could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Every route to the server failed.
    Refused {
        /// Connections of this worker that were up by then.
        connected: u32,
        /// The failure of each route.
        failures: Vec<Failure>,
    },
    /// The engine failed.
    Engine(#[from] io::Error),
    /// A user could not get ready for the common start.
    Unready(String),
    /// The run was interrupted.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connect {
                requested,
                connected,
                source,
            } => write!(f, "{}{source}", opened_context(*connected, *requested)),
            other => f.write_str(&other.parts().sentence()),
        }
    }
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::Files {
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
            Error::Threads {
                started,
                requested,
                source,
            } => ErrorParts::new(format!(
                "{started} of {requested} threads were started, then: {source}"
            ))
            .with_hint(
                "use fewer threads, or raise the limit (ulimit -u, or pids.max of the control group)",
            ),
            Error::Ring(unavailable) => {
                let ErrorParts { problem, hint, .. } = unavailable.parts();
                let other_engine = "use --io epoll or --io auto";
                ErrorParts::new(format!("--io ring: {problem}")).with_hint(match hint {
                    Some(hint) => format!("{hint}; {other_engine}"),
                    None => other_engine.to_owned(),
                })
            }
            Error::Connect {
                requested,
                connected,
                source,
            } => source.parts().with_context(opened_context(*connected, *requested)),
            Error::Unready(reason) => {
                ErrorParts::new(format!("a user could not get ready: {reason}"))
            }
            Error::Interrupted => ErrorParts::new("interrupted before the load started"),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().paragraph())
    }
}

impl UserError for ConnectError {
    fn parts(&self) -> ErrorParts {
        match self {
            ConnectError::Refused { failures, .. } => {
                let lines: Vec<String> = failures.iter().map(ToString::to_string).collect();
                ErrorParts::new(lines.join("\n"))
            }
            ConnectError::Engine(error) => {
                let parts = ErrorParts::new(format!("the I/O engine failed: {error}"));
                match ring::is_out_of_locked_memory(error) {
                    true => parts.with_hint(format!(
                        "{}, or use --io epoll",
                        RingUnavailable::out_of_locked_memory()
                    )),
                    false => parts,
                }
            }
            ConnectError::Unready(reason) => ErrorParts::new(reason),
            ConnectError::Interrupted => ErrorParts::new("interrupted while connecting"),
        }
    }
}

fn opened_context(connected: u32, requested: u32) -> String {
    format!("{connected} of {requested} connections were opened, then: ")
}

/// Advice if the limit on files is too low; `others` are the files needed besides those of the
/// clients.
fn file_limit_hint(others: u64, limit: u64) -> String {
    let raise = "raise the hard limit (ulimit -Hn as root, LimitNOFILE= of a service)";
    match limit.saturating_sub(others) {
        0 => raise.to_owned(),
        1 => format!("use 1 client, or {raise}"),
        most => format!("use at most {most} clients, or {raise}"),
    }
}
