//! Executes the run of a replaced tool with the runner, stores it if possible, and warns in the tool's form.
//!
//! In: a program, a connected server, the tool's observer. Out: a finished run. Must never: refuse or end a
//! run because it cannot be stored: the tool prints its report anyway.

use prony_drive::{ConnectError, DriveResult, LoadStart, OnConnectRefused, SampleListener};
use prony_fleet::{Fleet, ToolCoordinator};
use prony_plan::{Plan, Stop};
use prony_runner::{
    ConnectionInfo, Error, FinishedRun, GrowthBefore, Observation, Purpose, Recording, RunJob,
    RunObserver, RunSecond, RunServer, Signals, StorePolicy, read_others,
};
use prony_server::control::ConnectFailure;
use prony_server::{Control, ServerFacts, Target};
use prony_store::{Run, ServerState, StoreError};
use prony_workload::{ReadyWorkload, Workload};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// The server of a run, and what a control connection read from it.
pub struct ConnectedServer {
    /// Where the clients connect.
    pub server: RunServer,
    /// The server's version and settings.
    pub facts: ServerFacts,
    /// Engine, address and TLS of the control connection.
    pub connection: ConnectionInfo,
    /// What transactions add to, as counted before the load; `None` if it is not to be counted.
    pub growth: Option<GrowthBefore>,
    /// What others did on the server before the load; `None` if it could not be read.
    pub before: Option<ServerState>,
}

impl ConnectedServer {
    /// A server with these facts, and what a control connection reads of the rest.
    pub fn read(
        target: Target,
        facts: ServerFacts,
        control: &mut Control,
        growth: Option<GrowthBefore>,
    ) -> ConnectedServer {
        let connection = ConnectionInfo::of(control);
        let before = read_others(control);
        ConnectedServer::new(target, facts, connection, growth, before)
    }

    /// A server with the facts that a control connection read; with `growth` or `before`, the tool waits for the server
    /// only briefly after the load.
    pub fn new(
        target: Target,
        facts: ServerFacts,
        connection: ConnectionInfo,
        growth: Option<GrowthBefore>,
        before: Option<ServerState>,
    ) -> ConnectedServer {
        let targets = std::iter::once(&target).chain(&target.additional_targets);
        let addresses: Vec<String> = targets.map(Target::describe).collect();
        // Those of one server say nothing of the others.
        let before = before.filter(|_| target.additional_targets.is_empty());
        ConnectedServer {
            server: RunServer::existing(target, addresses.join(", ")),
            facts,
            connection,
            growth: growth.map(GrowthBefore::with_short_wait),
            before,
        }
    }
}

/// The server's facts; the reason if they cannot be read, because a run also works without them.
pub fn facts_or_reason(control: &mut Control) -> ServerFacts {
    prony_server::read_server_facts(control)
        .unwrap_or_else(|error| ServerFacts::not_readable(&error))
}

/// Why the connections of a load could not be opened, and how many were open; `None` for any other error.
pub fn refused_connections(error: &Error) -> Option<(&[ConnectFailure], u32)> {
    match error {
        Error::NotStarted(prony_drive::Error::Connect {
            source:
                ConnectError::Refused {
                    connected,
                    failures,
                },
            ..
        }) => Some((failures, *connected)),
        _ => None,
    }
}

/// The machines that drive the load of a tool.
pub struct ToolFleet<'a> {
    pub fleet: Fleet,
    pub tool: &'a dyn ToolCoordinator,
}

impl<'a> ToolFleet<'a> {
    /// A fleet, if there is one, with the tool's side of it.
    pub fn of<T: ToolCoordinator>(fleet: Option<Fleet>, tool: Option<&'a T>) -> Option<Self> {
        let (fleet, tool) = fleet.zip(tool)?;
        Some(ToolFleet { fleet, tool })
    }
}

/// For which reasons a tool warns at the start that the run cannot be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartWarning {
    /// Only if the disk is full.
    FullDisk,
    /// For any reason.
    Always,
}

/// The inputs of a run of a replaced tool.
pub struct ToolRun<'a> {
    /// The call of the tool, without passwords, for the Run document.
    pub request: Value,
    pub plan: &'a Plan,
    /// The workload that the program belongs to.
    pub workload: &'a dyn Workload,
    /// What each client executes.
    pub ready_workload: &'a ReadyWorkload,
    pub server: &'a ConnectedServer,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The folder of stored runs; `None` for the default folder.
    pub store_folder: Option<&'a Path>,
    /// For which reasons to warn at the start that the run cannot be stored.
    pub start_warning: StartWarning,
    /// Prints a warning as the tool does.
    pub warn: &'a dyn Fn(&str),
    /// The signals that end the run.
    pub signals: &'a Signals,
    /// Creates the listener that receives the samples of a worker, given by its index.
    pub new_sample_listener: Option<&'a (dyn Fn(usize) -> Box<dyn SampleListener> + Sync)>,
    /// Called when a connection that a script requested is refused.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
}

impl ToolRun<'_> {
    /// Executes the run, from this machine or from those of `fleet`. Sends no queries during the load to observe the
    /// server, because the tool sends none; only what others do is read before and after it.
    pub fn execute(
        &self,
        fleet: Option<ToolFleet<'_>>,
        observer: &mut dyn RunObserver,
    ) -> Result<FinishedRun, Error> {
        let (fleet, fleet_tool) = fleet.map(|fleet| (fleet.fleet, fleet.tool)).unzip();
        let job = RunJob {
            fleet,
            fleet_tool,
            request: self.request.clone(),
            purpose: Purpose::default(),
            plan: self.plan,
            workload: self.workload,
            ready_workload: self.ready_workload,
            server: &self.server.server,
            facts: &self.server.facts,
            connection: &self.server.connection,
            observation: Some(Observation::before_and_after(
                &self.server.connection,
                self.server.before.clone(),
            )),
            growth: self.server.growth.clone(),
            read_server_txn_count: false,
            ends_if_refused: false,
            check_after: false,
            doctor: None,
            seed: self.seed,
            store_policy: StorePolicy::IfPossible,
            store_folder: self.store_folder,
            interrupt: self.signals,
            new_sample_listener: self.new_sample_listener,
            on_connect_refused: self.on_connect_refused,
            kept_connections: None,
        };
        let drive = &self.plan.drive;
        let waits_for_all =
            matches!(drive.stop, Stop::NoStartsAfter(_)) || drive.grace == Duration::MAX;
        let mut warnings = ToolWarnings {
            observer,
            start_warning: self.start_warning,
            warn: self.warn,
            awaited: waits_for_all.then(|| {
                let server = self.server.server.target.describe();
                if self.ready_workload.program.opens_connections() {
                    // A user's script may also loop or sleep.
                    format!("calls of event() to return: a statement at {server}, or a loop of the script")
                } else {
                    format!("transactions that the server at {server} has not ended yet")
                }
            }),
        };
        prony_runner::run(job, &mut warnings)
    }

    /// Prints a warning if the finished run could not be stored.
    pub fn warn_unless_stored(&self, finished: &FinishedRun) {
        if let Some(Err(error)) = &finished.store_result {
            (self.warn)(&format!("the run could not be stored: {error}"));
        }
    }
}

/// Prints the warnings about the store and about a server that does not reply, and passes all other events on to the
/// tool's observer.
struct ToolWarnings<'a> {
    observer: &'a mut dyn RunObserver,
    start_warning: StartWarning,
    warn: &'a dyn Fn(&str),
    /// What the run waits for without a limit after its time, if it does.
    awaited: Option<String>,
}

impl RunObserver for ToolWarnings<'_> {
    fn begun(&mut self, run: &Run, recording: &Recording) {
        self.observer.begun(run, recording);
    }

    fn not_stored(&mut self, error: &StoreError) {
        match self.start_warning {
            StartWarning::Always => (self.warn)(&format!("the run cannot be stored: {error}")),
            StartWarning::FullDisk if error.is_full() => {
                (self.warn)(&format!("the run will not be stored: {error}"));
            }
            StartWarning::FullDisk => {}
        }
    }

    fn journal_failed(&mut self, error: &StoreError) {
        (self.warn)(&error.to_string());
    }

    fn ready(&mut self) {
        self.observer.ready();
    }

    fn started(&mut self, start: &LoadStart) {
        self.observer.started(start);
    }

    fn second_ended(&mut self, second: &RunSecond<'_>) {
        self.observer.second_ended(second);
    }

    fn draining(&mut self) {
        if let Some(awaited) = &self.awaited {
            (self.warn)(&format!("the time is over; waiting for {awaited}"));
        }
        self.observer.draining();
    }

    fn ended(&mut self, drive_result: &DriveResult) -> Option<f64> {
        self.observer.ended(drive_result)
    }
}
