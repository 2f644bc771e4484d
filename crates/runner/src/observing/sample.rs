//! One sample of the server, its machine and this machine.
//!
//! Must never: keep querying a node_exporter that does not answer.

use super::ServerObserverInput;
use prony_drive::clock::Clock;
use prony_server::observe::Counters;
use prony_server::observe::machine::{
    Colocation, Exporter, MachineReading, read_this_machine, throttled_s,
};
use prony_store::{MissingObservation, ObservedTopic};

/// Number of consecutive failures after which a node_exporter is no longer queried.
const EXPORTER_FAILURES_MAX: u32 = 3;

/// The readings at one time; rows are the differences of two samples.
#[derive(Default)]
pub(super) struct ServerSample {
    /// Time of the sample, nanoseconds of the run's clock.
    pub(super) at_ns: u64,
    /// The server's counters; `None` while the connection is lost.
    pub(super) counters: Option<Counters>,
    pub(super) server_machine: Option<MachineReading>,
    pub(super) client_machine: Option<MachineReading>,
    /// CPU time of the server's processes, if they are on this machine.
    pub(super) server_cpu_s: Option<f64>,
    /// Time for which the CPU limit throttled this process's control group.
    pub(super) throttled_s: Option<f64>,
}

pub(super) struct MachineReader<'a> {
    exporter: Option<&'a Exporter>,
    exporter_failures: u32,
    pub(super) colocation: Option<Colocation>,
    pub(super) missing: Vec<MissingObservation>,
}

impl<'a> MachineReader<'a> {
    pub(super) fn new(input: &'a ServerObserverInput) -> MachineReader<'a> {
        MachineReader {
            exporter: input.exporter.as_ref(),
            exporter_failures: 0,
            colocation: Some(input.colocation.clone()),
            missing: Vec::new(),
        }
    }

    /// Reads the machines and combines them with the server's counters.
    pub(super) fn sample(&mut self, counters: Option<Counters>) -> ServerSample {
        let at_ns = Clock::System.now_ns();
        let this_machine = read_this_machine();
        let is_same_machine = self
            .colocation
            .as_ref()
            .and_then(|colocation| colocation.same_machine)
            == Some(true);
        let processes = self
            .colocation
            .as_ref()
            .and_then(|colocation| colocation.processes);
        let (server_machine, client_machine) = match (self.exporter, is_same_machine) {
            (Some(_), _) => (
                self.read_exporter(),
                (!is_same_machine).then_some(this_machine),
            ),
            (None, true) => (Some(this_machine), None),
            (None, false) => (None, Some(this_machine)),
        };
        ServerSample {
            at_ns,
            counters,
            server_machine,
            client_machine,
            server_cpu_s: processes.and_then(|processes| processes.cpu_s()),
            throttled_s: throttled_s(),
        }
    }

    fn read_exporter(&mut self) -> Option<MachineReading> {
        if self.exporter_failures >= EXPORTER_FAILURES_MAX {
            return None;
        }
        match self.exporter?.read() {
            Ok(reading) => {
                self.exporter_failures = 0;
                Some(reading)
            }
            Err(error) => {
                self.exporter_failures += 1;
                if self.exporter_failures == EXPORTER_FAILURES_MAX {
                    self.missing.push(MissingObservation::new(
                        ObservedTopic::ServerMachinePartOfRun,
                        &error,
                    ));
                }
                None
            }
        }
    }
}
