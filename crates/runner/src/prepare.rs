//! Prepares a run before the clients connect.

use crate::document::ConnectionInfo;
use crate::error::Error;
use crate::growth::GrowthBefore;
use crate::observing::{Observation, ServerObserverOptions, observe_before};
use prony_plan::WorkloadPlan;
use prony_server::{Control, ServerFacts};
use prony_workload::{ReadyWorkload, Workload};

/// The result of [`prepare`].
pub struct RunPreparation {
    pub ready_workload: ReadyWorkload,
    /// The server's version and settings.
    pub facts: ServerFacts,
    /// The control connection's engine, address and TLS.
    pub connection: ConnectionInfo,
    /// The server's state before the load.
    pub observation: Observation,
    /// What transactions add to, as counted before the load.
    pub growth: GrowthBefore,
}

/// Checks that the data is loaded, and reads the server's settings and state. Close the connection
/// afterwards: the server may have only as many connections as the clients need.
///
/// # Errors
/// If the data is missing or does not match the plan, or the server or the node_exporter does not answer.
pub fn prepare(
    control: &mut Control,
    workload: &dyn Workload,
    plan: &WorkloadPlan,
    options: &ServerObserverOptions,
) -> Result<RunPreparation, Error> {
    let ready_workload = workload.program(control, plan).map_err(Error::Workload)?;
    let facts = prony_server::read_server_facts(control).map_err(Error::Server)?;
    prony_workload::require_service(facts.service, workload.name()).map_err(Error::Workload)?;
    let connection = ConnectionInfo::of(control);
    let observation = observe_before(control, &facts, options, &connection.colocation)?;
    Ok(RunPreparation {
        connection,
        growth: GrowthBefore::read(control, workload, plan, ready_workload.scale),
        ready_workload,
        observation,
        facts,
    })
}
