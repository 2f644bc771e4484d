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

/// The CPUs that drive a load, and its least number of threads, one for each agent. `cpus_here`: without a fleet.
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

/// Why so many of something are too few for the agents of the environment; `None` if they are enough, or there are none.
/// `remedy`: what to do.
pub fn too_few(count: u32, of: &str, remedy: &str) -> Option<String> {
    let machines = agents_of_environment().len();
    let is_short = (count as usize) < machines;
    is_short.then(|| {
        format!("{count} {of} are fewer than the {machines} machines of PRONY_AGENTS: {remedy}")
    })
}

/// Why a tool does not do something with the agents of the environment; `None` if there are none, or it does not
/// do that.
pub fn refusal(does: bool, what: &str) -> Option<String> {
    (does && !agents_of_environment().is_empty())
        .then(|| format!("{what}: unset PRONY_AGENTS to drive from this machine alone"))
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
    heard: Box<dyn Fn(usize, M) -> Result<(), String> + 'a>,
}

impl<'a, M> Coordinator<'a, M> {
    /// `program`: what its program at an agent is made of; `heard`: takes what the agent with this index has said.
    pub fn new(
        tool: &'static str,
        program: &impl Serialize,
        server: ToolServer,
        heard: impl Fn(usize, M) -> Result<(), String> + 'a,
    ) -> Self {
        Coordinator {
            load: ToolLoad {
                tool,
                program: write(program),
                server,
            },
            heard: Box::new(heard),
        }
    }
}

impl<M: DeserializeOwned> ToolCoordinator for Coordinator<'_, M> {
    fn load(&self) -> &ToolLoad {
        &self.load
    }

    fn heard(&self, agent: usize, text: &str) -> Result<(), String> {
        (self.heard)(agent, read(text)?)
    }
}

/// What one side says, for the other.
pub fn write(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("plain data is always JSON")
}

/// What the other side said.
///
/// # Errors
/// It is not of this build.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("not a message of this tool: {error}"))
}
