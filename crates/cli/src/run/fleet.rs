//! The machines that drive the clients of a run.
//!
//! In: the commands of a plan. Out: agents that have answered, or a failure with its exit code. A password is never
//! shown.

use crate::command::output;
use crate::exit::{Exit, Failure};
use prony_fleet::{Error, FailureKind, Fleet, FleetCommands};
use prony_runner::Signals;
use prony_runner::host::this_build;

/// Starts the agents that these commands reach; `None` if there are none.
pub fn start_if_any(commands: &[String], signals: &Signals) -> Result<Option<Fleet>, Failure> {
    match commands {
        [] => Ok(None),
        commands => start(commands, signals).map(Some),
    }
}

/// Starts the agents that these commands reach.
pub fn start(commands: &[String], signals: &Signals) -> Result<Fleet, Failure> {
    let started = Fleet::start(&FleetCommands {
        commands,
        program: &std::env::current_exe()?,
        build: this_build(),
        interrupt: &signals.flag(),
    });
    let fleet = started.map_err(|error| failure(&error, signals))?;
    for warning in fleet.warnings() {
        output::notice(&format!("prony: warning: {warning}"));
    }
    Ok(fleet)
}

/// The failure of a fleet that cannot drive a run.
pub fn failure(error: &Error, signals: &Signals) -> Failure {
    let exit = match error.kind() {
        FailureKind::Usage => Exit::Usage,
        FailureKind::Connect => Exit::Connect,
        FailureKind::Data => Exit::Data,
        FailureKind::Interrupted => signals.received().map_or(Exit::Interrupted, Exit::from),
    };
    Failure::of(exit, error)
}
