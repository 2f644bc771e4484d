//! Observes the server before the clients connect.
//!
//! The result is the first part of an [`Observed`]. Must never: fail a run; if the connection is lost,
//! the clients will report it.

use super::{Observation, ServerObserverOptions, WithOrigin, add_missing, with_counters};
use crate::document::ConnectionInfo;
use crate::error::Error;
use prony_server::Control;
use prony_server::observe::machine::{
    Colocation, Exporter, MachineReading, describe_this_machine, read_this_machine,
};
use prony_server::observe::{CounterReader, ServerFacts, measure_round_trip, read_server_state};
use prony_store::{MissingObservation, Observed, ObservedTopic, ServerMachine, ServerState};

/// Reads the server's state, its machine and a round-trip time.
///
/// # Errors
/// The URL of the node_exporter is invalid, or the exporter, which the user has requested, does not answer.
pub(crate) fn observe_before(
    control: &mut Control,
    facts: &ServerFacts,
    options: &ServerObserverOptions,
    colocation: &Colocation,
) -> Result<Observation, Error> {
    if let Some(reason) = &options.off_reason {
        return Ok(Observation::of_this_machine(colocation, reason));
    }
    let exporter = options
        .exporter
        .as_ref()
        .map(connect_exporter)
        .transpose()?;
    let mut observed = Observed {
        machine: server_machine(colocation, exporter.as_ref()),
        ..Observed::default()
    };
    if observed.machine.source.is_none() {
        let reason = format!(
            "{}; --server-metrics URL names its node_exporter",
            colocation.reason
        );
        let missing = MissingObservation::new(ObservedTopic::ServerMachine, reason);
        add_missing(&mut observed, [missing]);
    }
    if let Err(error) = read_state(control, facts, &mut observed) {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        let missing = MissingObservation::new(ObservedTopic::StateBefore, reason);
        add_missing(&mut observed, [missing]);
    }
    Ok(Observation {
        observed,
        exporter: exporter.map(|(exporter, _)| exporter),
        reads_others_after: false,
    })
}

impl Observation {
    /// For a run whose server is not observed, for this reason: only this machine is read, with the processes of
    /// the server if it runs here.
    pub(crate) fn of_this_machine(colocation: &Colocation, off_reason: &str) -> Observation {
        Observation {
            observed: Observed {
                off: Some(off_reason.to_owned()),
                machine: server_machine(colocation, None),
                ..Observed::default()
            },
            exporter: None,
            reads_others_after: false,
        }
    }

    /// For a tool that sends the server no queries of its own during the load; `before` is what
    /// [`read_others`](super::read_others) returned.
    pub fn before_and_after(
        connection: &ConnectionInfo,
        before: Option<ServerState>,
    ) -> Observation {
        let reason = "called as another tool, Prony sends the server nothing else during the load";
        let mut observation = Observation::of_this_machine(&connection.colocation, reason);
        observation.reads_others_after = before.is_some();
        observation.observed.before = before;
        observation
    }
}

/// The server's machine, by its node_exporter, or by `/proc` if it is this one; otherwise without a source.
fn server_machine(
    colocation: &Colocation,
    exporter: Option<&(Exporter, MachineReading)>,
) -> ServerMachine {
    let machine = ServerMachine {
        shared: colocation.same_machine,
        shared_because: colocation.reason.to_owned(),
        ..ServerMachine::default()
    };
    let (source, reading) = match exporter {
        Some((exporter, reading)) => (exporter.name(), reading.clone()),
        None if colocation.same_machine == Some(true) => {
            let reading = MachineReading {
                description: describe_this_machine(),
                ..read_this_machine()
            };
            ("/proc".to_owned(), reading)
        }
        None => return machine,
    };
    ServerMachine {
        source: Some(source),
        cpus: u32::try_from(reading.cpus.len()).ok().filter(|n| *n > 0),
        memory_bytes: reading.memory_bytes,
        cpu: reading.description.cpu,
        kernel: reading.description.kernel,
        storage: reading.description.storage,
        ..machine
    }
}

/// The exporter, and its first reading.
fn connect_exporter(url: &WithOrigin<String>) -> Result<(Exporter, MachineReading), Error> {
    let origin = || url.origin.clone();
    let exporter = Exporter::new(&url.value).map_err(|problem| Error::ExporterUrl {
        problem,
        origin: origin(),
    })?;
    // The first request may take longer, for a DNS query: try twice.
    let reading = exporter.read().or_else(|_| exporter.read());
    let reading = reading.map_err(|problem| Error::ExporterSilent {
        problem,
        origin: origin(),
    })?;
    Ok((exporter, reading))
}

/// Adds the server's state and the round-trip time.
fn read_state(
    control: &mut Control,
    facts: &ServerFacts,
    observed: &mut Observed,
) -> Result<(), prony_server::control::Error> {
    let (server_state, missing) = read_server_state(control, facts)?;
    add_missing(observed, missing);
    observed.round_trip = measure_round_trip(control)?;
    let mut reader = CounterReader::new(control)?.of_service(facts.service);
    // The counters are read last, as close to the start of the load as possible.
    let counters = reader.read(control)?;
    add_missing(observed, reader.take_missing());
    observed.before = Some(with_counters(server_state, &counters));
    Ok(())
}
