//! The machines that `PRONY_AGENTS` names for the load of a tool: starts them, and is the tool's side on them.
//!
//! In: the environment; at an agent, a request. Out: agents that have answered; at an agent, a program. Must never: drive
//! a load from this machine alone where others are named.

use crate::{hammerdb, pgbench, sysbench};
use prony_fleet::{
    Error, Fleet, FleetCommands, ToolCoordinator, ToolLoad, ToolProgram, ToolRequest, ToolServer,
    agents_of_environment,
};
use prony_plan::ErrorParts;
use prony_runner::host::this_build;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::AtomicBool;

/// The CPUs that drive a load, and its least number of threads: one for each agent, or 0 without a fleet. `cpus_here`:
/// the CPUs of this machine, which drives the load if there is no fleet.
pub fn cpus_and_threads(fleet: Option<&Fleet>, cpus_here: usize) -> (usize, u32) {
    fleet.map_or((cpus_here, 0), |fleet| {
        (fleet.cpus(), fleet.agents().count() as u32)
    })
}

/// Starts the agents of the environment; `None` if it names none.
///
/// # Errors
/// One is not an agent of this build, or is not there.
pub fn start(interrupt: &AtomicBool) -> Result<Option<Fleet>, Error> {
    let commands = agents_of_environment();
    if commands.is_empty() {
        return Ok(None);
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "prony".into());
    let fleet = Fleet::start(&FleetCommands {
        commands: &commands,
        program: &program,
        build: this_build(),
        interrupt,
        installs: false,
    })?;
    Ok(Some(fleet))
}

/// The problem if there are fewer `things`, such as threads, than agents in the environment. `remedy`: what to do.
pub fn too_few(count: u32, things: &str, remedy: &str) -> Option<String> {
    let machines = agents_of_environment().len();
    if count as usize >= machines {
        return None;
    }
    Some(format!(
        "{count} {things} are fewer than the {machines} machines of PRONY_AGENTS: {remedy}"
    ))
}

/// The problem if the environment names agents and the run needs something that they lack. `lack`: a sentence about it.
pub fn refusal(is_needed: bool, lack: &str) -> Option<String> {
    if !is_needed || agents_of_environment().is_empty() {
        return None;
    }
    Some(format!(
        "{lack}: unset PRONY_AGENTS to drive from this machine alone"
    ))
}

/// The program of a tool at an agent.
///
/// # Errors
/// What the coordinator sent is not of this build, or does not fit the data.
pub fn make_tool_program(request: ToolRequest<'_>) -> Result<ToolProgram, ErrorParts> {
    match request.tool {
        pgbench::agents::TOOL => pgbench::agents::make_program(request),
        sysbench::agents::TOOL => sysbench::agents::make_program(request),
        sysbench::script::agents::TOOL => sysbench::script::agents::make_program(request),
        hammerdb::agents::TOOL => hammerdb::agents::make_program(request),
        other => Err(ErrorParts::new(format!("{other} is no tool of this build"))),
    }
}

/// A tool's side at the coordinator: its load, and what it does with a message of an agent.
pub struct Coordinator<'a, M> {
    load: ToolLoad,
    on_message: Box<dyn Fn(usize, M) -> Result<(), String> + 'a>,
}

impl<'a, M> Coordinator<'a, M> {
    /// `program`: what its program at an agent is made of; `on_message`: handles a message of the agent with this index.
    pub fn new(
        tool: &'static str,
        program: &impl Serialize,
        server: ToolServer,
        on_message: impl Fn(usize, M) -> Result<(), String> + 'a,
    ) -> Self {
        Coordinator {
            load: ToolLoad {
                tool,
                program: encode(program),
                server,
            },
            on_message: Box::new(on_message),
        }
    }
}

impl<M: DeserializeOwned> ToolCoordinator for Coordinator<'_, M> {
    fn load(&self) -> &ToolLoad {
        &self.load
    }

    fn heard(&self, agent: usize, text: &str) -> Result<(), String> {
        (self.on_message)(agent, decode(text)?)
    }
}

/// The text of a program or message, for the other side.
pub fn encode(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("plain data is always JSON")
}

/// The program or message in a text of the other side.
///
/// # Errors
/// The other side is another build.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("not a message of this tool: {error}"))
}
