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
    /// `None` if it is neither this machine nor one with a node_exporter that answers.
    pub(super) server_machine: Option<MachineReading>,
    /// `None` if the server is on the same machine.
    pub(super) client_machine: Option<MachineReading>,
    /// CPU time of the server's processes, seconds, if they are on this machine.
    pub(super) server_cpu_s: Option<f64>,
    /// Time for which the CPU limit throttled this process's control group, seconds.
    pub(super) throttled_s: Option<f64>,
}

pub(super) struct MachineReader<'a> {
    exporter: Option<&'a Exporter>,
    exporter_failures: u32,
    /// Where the server runs; replaced at each connection.
    pub(super) colocation: Colocation,
    /// What could not be read; whoever reports it takes it.
    pub(super) missing: Vec<MissingObservation>,
}

impl<'a> MachineReader<'a> {
    pub(super) fn new(input: &'a ServerObserverInput) -> MachineReader<'a> {
        MachineReader {
            exporter: input.exporter.as_ref(),
            exporter_failures: 0,
            colocation: input.colocation.clone(),
            missing: Vec::new(),
        }
    }

    /// Reads the machines and combines them with the server's counters.
    pub(super) fn sample(&mut self, counters: Option<Counters>) -> ServerSample {
        let at_ns = Clock::System.now_ns();
        let this_machine = read_this_machine();
        let is_same_machine = self.colocation.same_machine == Some(true);
        let processes = self.colocation.processes;
        let mut server_machine = self.read_exporter();
        let mut client_machine = None;
        if !is_same_machine {
            client_machine = Some(this_machine);
        } else if self.exporter.is_none() {
            server_machine = Some(this_machine);
        }
        ServerSample {
            at_ns,
            counters,
            server_machine,
            client_machine,
            server_cpu_s: processes.and_then(|processes| processes.cpu_s()),
            throttled_s: throttled_s(),
        }
    }

    /// The reading of the node_exporter; `None` if there is none, or it does not answer.
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
