//! Why a fleet cannot drive a run.

use crate::message::AgentFailure;
pub use crate::message::FailureKind;
use prony_plan::{ErrorParts, UserError, system_error};
use std::fmt;
use std::io;

/// Why a fleet cannot start a load. An agent is named by its number and command, without passwords.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command of an agent could not be started.
    NotStarted {
        agent: String,
        #[source]
        source: io::Error,
    },
    /// The program could not be copied to its machine.
    NotInstalled {
        agent: String,
        parts: Box<ErrorParts>,
    },
    /// It ended, or its connection, before the load began.
    Lost {
        agent: String,
        reason: String,
        /// The end of what its command wrote to stderr.
        stderr: String,
        /// Whether it was called over NATS rather than started by a command.
        is_called: bool,
    },
    /// It serves another coordinator.
    Busy { agent: String },
    /// It answered something else than an agent does.
    NotAnAgent { agent: String, answer: String },
    /// It is another build.
    OtherBuild {
        agent: String,
        theirs: String,
        ours: String,
    },
    /// It is on the same machine as another one.
    SameMachine {
        agent: String,
        other: String,
        host: String,
    },
    /// It could not prepare its part.
    Failed {
        agent: String,
        kind: FailureKind,
        parts: Box<ErrorParts>,
    },
    /// It would do other work than the others.
    OtherWork { agent: String, difference: String },
    /// It is another machine, where the server's address means that machine.
    LocalAddress { agent: String, address: String },
    /// The plan has what a fleet cannot do.
    Unsupported {
        problem: &'static str,
        hint: &'static str,
    },
    /// Interrupted before the load started.
    Interrupted,
}

impl Error {
    pub(crate) fn failed(agent: String, failure: AgentFailure) -> Error {
        let AgentFailure {
            kind,
            problem,
            details,
            hint,
        } = failure;
        let parts = ErrorParts {
            problem,
            details,
            hint,
        };
        Error::Failed {
            agent,
            kind,
            parts: Box::new(parts),
        }
    }

    pub(crate) fn agent_index(&self, fleet: &crate::Fleet) -> Option<usize> {
        let (Error::Lost { agent, .. } | Error::Failed { agent, .. }) = self else {
            return None;
        };
        fleet.agents.iter().position(|known| known.name == *agent)
    }

    /// The cause, which selects the exit code.
    pub fn kind(&self) -> FailureKind {
        match self {
            Error::Failed { kind, .. } => *kind,
            Error::Interrupted => FailureKind::Interrupted,
            Error::NotStarted { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                FailureKind::Usage
            }
            Error::NotStarted { .. }
            | Error::NotInstalled { .. }
            | Error::Lost { .. }
            | Error::Busy { .. } => FailureKind::Connect,
            Error::NotAnAgent { .. }
            | Error::OtherBuild { .. }
            | Error::SameMachine { .. }
            | Error::OtherWork { .. }
            | Error::LocalAddress { .. }
            | Error::Unsupported { .. } => FailureKind::Usage,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parts().sentence())
    }
}

impl UserError for Error {
    fn parts(&self) -> ErrorParts {
        match self {
            Error::NotStarted { agent, source } => ErrorParts::new(format!(
                "{agent} could not be reached: {}",
                system_error(source)
            )),
            Error::NotInstalled { agent, parts } => parts
                .as_ref()
                .clone()
                .with_context(format!("the program was not installed on {agent}: ")),
            Error::Lost {
                agent,
                reason,
                stderr,
                is_called,
            } => {
                let parts = ErrorParts::new(format!("{agent} was lost before the load: {reason}"));
                let parts = parts.with_hint(if *is_called {
                    "an agent of this name must wait there: `prony agent --nats`"
                } else {
                    "run its command by hand: it must reach a machine with prony in its PATH"
                });
                match stderr.trim() {
                    "" => parts,
                    text => parts.with_details(text),
                }
            }
            Error::Busy { agent } => {
                ErrorParts::new(format!("{agent} is busy: it serves another coordinator"))
                    .with_hint("wait until that has ended, or name other agents")
            }
            Error::NotAnAgent { agent, answer } => ErrorParts::new(format!(
                "{agent} did not answer as an agent does, but with \"{answer}\""
            ))
            .with_hint(
                "nothing but `prony agent --stdio` may write to the standard output of its command",
            ),
            Error::OtherBuild {
                agent,
                theirs,
                ours,
            } => ErrorParts::new(format!("{agent} is {theirs}, and this is {ours}"))
                .with_hint("install the same build on all machines"),
            Error::SameMachine { agent, other, host } => {
                ErrorParts::new(format!("{agent} is on the same machine as {other}: {host}"))
                    .with_hint(
                        "name each machine once: one agent drives threads on all of its CPUs",
                    )
            }
            Error::Failed { agent, parts, .. } => {
                parts.as_ref().clone().with_context(format!("{agent}: "))
            }
            Error::OtherWork { agent, difference } => ErrorParts::new(format!(
                "{agent} would do other work: {difference}"
            ))
            .with_hint("all machines must reach the same server, and its data must not change"),
            Error::LocalAddress { agent, address } => ErrorParts::new(format!(
                "{agent} is another machine, where {address} is not this server"
            ))
            .with_hint("name the server by an address that all machines can reach"),
            Error::Unsupported { problem, hint } => ErrorParts::new(*problem).with_hint(*hint),
            Error::Interrupted => ErrorParts::new("interrupted before the load started")
                .with_hint("nothing was measured or stored"),
        }
    }
}
