//! The machines that drive the clients of a run.
//!
//! In: the commands of a plan. Out: agents that have answered, or a failure with its exit code. A password is never
//! shown.

use crate::command::output;
use crate::exit::{Exit, Failure};
use prony_fleet::{
    AGENTS_VARIABLE, AgentSetup, Error, FailureKind, Fleet, FleetCommands, agents_of_environment,
};
use prony_plan::{PlanInput, cpu_count, value_from_flag};
use prony_runner::Signals;
use prony_runner::doctor::{DoctorLoad, DoctorOptions, examine};
use prony_runner::host::{this_build, this_machine};
use prony_store::{DoctorReport, RunStore};
use std::time::Duration;

/// The plan with the agents that the environment names, if it has none of its own.
pub fn with_agents_of_environment(mut input: PlanInput) -> PlanInput {
    if input.agents.is_none() {
        let agents = Some(agents_of_environment()).filter(|agents| !agents.is_empty());
        input.agents = value_from_flag(AGENTS_VARIABLE, agents);
    }
    input
}

/// Clients for which `prony fleet check` examines each machine.
const DEFAULT_CLIENTS: u32 = 64;

/// Starts the agents that these commands reach; `None` if there are none.
pub fn start_if_any(
    commands: &[String],
    installs: bool,
    signals: &Signals,
) -> Result<Option<Fleet>, Failure> {
    match commands {
        [] => Ok(None),
        commands => start(commands, installs, signals).map(Some),
    }
}

/// Starts the agents that these commands reach; with `installs`, copies this program to their machines first.
pub fn start(commands: &[String], installs: bool, signals: &Signals) -> Result<Fleet, Failure> {
    let started = Fleet::start(&FleetCommands {
        commands,
        program: &std::env::current_exe()?,
        build: this_build(),
        interrupt: &signals.flag(),
        installs,
    });
    let fleet = started.map_err(|error| failure(&error, signals))?;
    for notice in fleet.notices() {
        output::notice(&format!("prony: {notice}"));
    }
    Ok(fleet)
}

/// This program as an agent. `waits`: for one coordinator after the other.
pub fn agent_setup(waits: bool) -> AgentSetup {
    AgentSetup {
        begins_anew: waits,
        host: this_machine(),
        build: this_build(),
        examine: examine_machine,
        make_tool_program: prony_dropin::make_tool_program,
        folder: RunStore::open(None)
            .ok()
            .map(|store| store.folder().join("agent")),
    }
}

fn examine_machine() -> Option<DoctorReport> {
    let options = DoctorOptions {
        load: DoctorLoad {
            clients: DEFAULT_CLIENTS,
            has_read_server: false,
            threads: cpu_count() as u32,
        },
        watch: Duration::ZERO,
        probe_storage: false,
    };
    examine(None, options).ok()
}

pub fn failure(error: &Error, signals: &Signals) -> Failure {
    let exit = match error.kind() {
        FailureKind::Usage => Exit::Usage,
        FailureKind::Connect => Exit::Connect,
        FailureKind::Data => Exit::Data,
        FailureKind::Interrupted => signals.received().map_or(Exit::Interrupted, Exit::from),
    };
    Failure::of(exit, error)
}
