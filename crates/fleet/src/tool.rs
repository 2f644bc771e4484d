//! The load of a replaced tool, whose command line no plan's file can hold.
//!
//! In: what the tool's side at the coordinator says of its clients, as text. Out: at an agent, the program that the
//! tool's side there makes of it. Must never: understand either, or show a password.

use crate::link::Link;
use prony_document::SqlDialect;
use prony_drive::SampleListener;
use prony_plan::{DrivePlan, ErrorParts, Plan, WorkloadPlan};
use prony_server::control::ConnectFailure;
use prony_server::{Control, Environment, Error, Target, resolve_client_options};
use prony_workload::ReadyWorkload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What the clients of a replaced tool do. It has no `Debug`: the server's name may be a text with a password.
pub struct ToolLoad {
    pub tool: &'static str,
    /// What its program is made of, as its own side reads it.
    pub program: String,
    pub server: ToolServer,
}

/// How a tool names its server: by options of its protocol's client library, without passwords.
#[derive(Clone, Serialize, Deserialize)]
pub struct ToolServer {
    pub dialect: SqlDialect,
    pub options: Vec<(String, String)>,
    /// libpq's name of the database, which may be a connection string.
    pub database: String,
    /// Whether the environment and the files of the library apply too.
    pub reads_environment: bool,
    /// The time limit for connecting, where the server's name has none.
    pub connect_timeout: Option<Duration>,
}

impl ToolServer {
    /// A server with these options, of which that of the password is left out: a target has it.
    pub fn new(dialect: SqlDialect, options: &[(&str, &str)], target: &Target) -> ToolServer {
        let options = options.iter().filter(|(name, _)| *name != "password");
        ToolServer {
            dialect,
            options: options
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            database: String::new(),
            reads_environment: true,
            connect_timeout: target.connect_timeout,
        }
    }

    /// `passwords`: the variables with passwords of the agent's own machine, if none are sent.
    pub(crate) fn resolve(
        &self,
        environment: &Environment,
        passwords: BTreeMap<String, String>,
    ) -> Result<Target, Error> {
        let user = environment.user.as_deref().unwrap_or_default();
        let mut bare = Environment::without_home(user).with_only(passwords);
        bare.mysql_sockets.clone_from(&environment.mysql_sockets);
        let environment = if self.reads_environment { environment } else { &bare };
        let options = self.options.iter();
        let options: Vec<(&str, &str)> = options.map(|(name, value)| (&**name, &**value)).collect();
        let origin = "the coordinator's options";
        let database = self.database.as_str();
        let mut target =
            resolve_client_options(self.dialect, &options, origin, database, environment)?;
        if let Some(timeout) = self.connect_timeout {
            target.connect_timeout.get_or_insert(timeout);
        }
        Ok(target)
    }
}

/// A load of a replaced tool as an agent gets it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ToolPlan {
    pub tool: String,
    pub program: String,
    pub workload: WorkloadPlan,
    pub drive: DrivePlan,
    pub ledger: bool,
}

impl ToolPlan {
    pub fn new(load: &ToolLoad, plan: &Plan) -> ToolPlan {
        ToolPlan {
            tool: load.tool.to_owned(),
            program: load.program.clone(),
            workload: plan.workload.clone(),
            drive: plan.drive.clone(),
            ledger: plan.ledger,
        }
    }

    pub fn plan(&self) -> Plan {
        Plan {
            ledger: self.ledger,
            ..Plan::for_replaced_tool(self.workload.clone(), self.drive.clone())
        }
    }
}

pub trait ToolCoordinator {
    fn load(&self) -> &ToolLoad;

    /// Takes what the tool's side at an agent, given by its index, has said.
    ///
    /// # Errors
    /// Why that is not of this tool; the agent is lost then.
    fn heard(&self, agent: usize, text: &str) -> Result<(), String>;
}

/// What an agent's tool gets to make a program of.
pub struct ToolRequest<'a> {
    pub tool: &'a str,
    /// [`ToolLoad::program`].
    pub program: &'a str,
    pub workload: &'a WorkloadPlan,
    pub drive: &'a DrivePlan,
    pub control: &'a mut Control,
    pub output: ToolOutput,
    /// Whether the agent was called over NATS, and not started by a command of its user.
    pub is_called: bool,
    /// The seed of the run, and the first of its workers that the agent drives.
    pub seed: u64,
    pub first_worker: u32,
}

/// Says something to the tool's side at the coordinator, from any thread.
#[derive(Clone)]
pub struct ToolOutput(pub(crate) Arc<Link>);

impl ToolOutput {
    pub fn say(&self, text: String) {
        // If the coordinator is gone, the load ends.
        let _ = self.0.send(&crate::message::FromAgent::Tool(text));
    }
}

pub struct ToolProgram {
    pub ready: ReadyWorkload,
    pub listening: ToolListening,
}

/// What a replaced tool listens to at an agent, and says of it.
#[derive(Default)]
pub struct ToolListening {
    /// Creates the listener that receives the samples of a worker, given by its index at the agent.
    pub new_sample_listener: Option<NewSampleListener>,
    /// What is said before each second, and at the end.
    pub report: Option<Box<dyn Fn() -> String>>,
    /// What hears why a connection of a script was refused.
    pub on_connect_refused: Option<HearRefusals>,
}

pub type HearRefusals = Box<dyn Fn(&[ConnectFailure]) + Sync>;
pub type NewSampleListener = Box<dyn Fn(usize) -> Box<dyn SampleListener> + Sync>;

/// Makes the program of a replaced tool: its side at an agent.
pub type MakeToolProgram = fn(ToolRequest<'_>) -> Result<ToolProgram, ErrorParts>;
