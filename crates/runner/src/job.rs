//! The input of a run.

use crate::document::ConnectionInfo;
use crate::growth::GrowthBefore;
use crate::observing::Observation;
use prony_drive::{KeptConnections, OnConnectRefused, SampleListener};
use prony_fleet::{Fleet, ToolCoordinator};
use prony_judge::requirements::Baseline;
use prony_plan::Plan;
use prony_server::embedded::EmbeddedPostgres;
use prony_server::{ServerFacts, Target};
use prony_store::scenario::CachedShare;
use prony_store::{DoctorReport, Experiment, Scenario};
use prony_workload::{ReadyWorkload, Workload};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to run, on which server, and how the run is reported and stored.
pub struct RunJob<'a> {
    /// The caller's request as JSON, for the document, without passwords.
    pub request: Value,
    pub purpose: Purpose,
    pub plan: &'a Plan,
    pub workload: &'a dyn Workload,
    /// The program of the virtual users, and the data that it uses.
    pub ready_workload: &'a ReadyWorkload,
    pub server: &'a RunServer,
    /// The server's version and settings.
    pub facts: &'a ServerFacts,
    /// The control connection's engine, address and TLS.
    pub connection: &'a ConnectionInfo,
    /// The server's state before the load, and how to observe the server; `None` if only this machine is read.
    pub observation: Option<Observation>,
    /// What transactions add to, as counted before the load; `None` if it is not to be counted.
    pub growth: Option<GrowthBefore>,
    /// Whether to read the server's own transaction count, if the workload has a metric that needs
    /// it. This uses a connection.
    pub read_server_txn_count: bool,
    /// Whether to end the run, without a result, if the server refuses every transaction of a kind in the first
    /// second.
    pub ends_if_refused: bool,
    /// Whether to check the consistency of the workload's data after the load.
    pub check_after: bool,
    /// What `prony doctor` found on the machine and the server, if that was requested.
    pub doctor: Option<DoctorReport>,
    pub seed: u64,
    pub store_policy: StorePolicy,
    /// The folder of the store; `None`: the default one.
    pub store_folder: Option<&'a Path>,
    pub interrupt: &'a dyn Interrupt,
    /// Creates the listener that receives the samples of a worker, given by its index.
    pub new_sample_listener: Option<&'a (dyn Fn(usize) -> Box<dyn SampleListener> + Sync)>,
    /// The machines that drive the clients; `None` if this one does.
    pub fleet: Option<Fleet>,
    /// The replaced tool whose load these machines drive, if it is one.
    pub fleet_tool: Option<&'a dyn ToolCoordinator>,
    /// Called when a connection that a user requested is refused.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
    /// The clients' connections, if they stay open between runs of the same program on the same server.
    pub kept_connections: Option<&'a KeptConnections>,
}

/// What the run belongs to.
#[derive(Clone, Default)]
pub struct Purpose {
    /// The published scenario that the run reproduces.
    pub scenario: Option<Scenario>,
    /// The requested share of the data in the cache; `None` if none was requested.
    pub cached: Option<CachedShare>,
    /// The run's place in an experiment; `None` outside of one.
    pub experiment: Option<Experiment>,
    /// The runs with which the plan's requirements compare it.
    pub baselines: Arc<[Baseline]>,
}

pub struct RunServer {
    pub target: Target,
    /// The same server over TCP, if `target` is a unix socket and the plan has a `tcp_sample`.
    pub tcp_target: Option<Target>,
    /// The server as the caller named it, for the document, without a password.
    pub display_name: String,
    /// Tells the user what a step before or after the load waits for.
    pub notice: Option<fn(&str)>,
    /// The throw-away server, if the run has one; dropping it ends the server.
    pub embedded: Option<EmbeddedPostgres>,
}

impl RunServer {
    /// A server that is already running; `display_name` is how the caller named it, without a password.
    pub fn existing(target: Target, display_name: String) -> RunServer {
        RunServer {
            target,
            tcp_target: None,
            display_name,
            notice: None,
            embedded: None,
        }
    }

    /// The server, for a step before or after the load, which tells the user what it waits for.
    pub fn target_with_notice(&self) -> Target {
        let mut target = self.target.clone();
        target.wait_options.notice = self.notice;
        target
    }

    /// Lets the clients' sessions keep the settings that the server gives them, as an application's sessions do.
    pub fn keep_session_settings(&mut self) {
        self.target.has_own_statements = false;
        let reads = self.target.read_target.as_deref_mut();
        for target in self.tcp_target.as_mut().into_iter().chain(reads) {
            target.has_own_statements = false;
        }
    }

    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorePolicy {
    /// Do not store the run.
    DoNotStore,
    /// Execute the run even if it cannot be stored.
    IfPossible,
    /// Do not start the run if it cannot be stored: the result would be lost.
    Required,
}

/// A source of interrupts, such as a terminal's signals.
pub trait Interrupt {
    /// The flag that, when set, ends the run at once with the results so far.
    fn flag(&self) -> &AtomicBool;
    /// The cause of the interrupt, for messages; `None` if it was a failed client.
    fn cause(&self) -> Option<&'static str>;
}
