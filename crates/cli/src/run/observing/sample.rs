//! One look at the server, its machine and this one.
//!
//! In: the reader's answers, the files of this machine, a node_exporter. Out: a [`Sample`]. Must never:
//! ask a node_exporter on and on that does not answer.

use super::missing;
use prony_drive::clock::Clock;
use prony_server::observe::Counters;
use prony_server::observe::machine::{Exporter, Neighbour, Reading, read_here, throttled_s};
use prony_store::Missing;

/// After so many failures in a row a node_exporter is given up.
const FAILURES: u32 = 3;

/// One look.
#[derive(Default)]
pub(super) struct Sample {
    /// When, on the run's clock.
    pub(super) at_ns: u64,
    /// The server's counters; none while the connection is lost.
    pub(super) counters: Option<Counters>,
    /// The server's machine.
    pub(super) machine: Option<Reading>,
    /// This machine, where the server is on another.
    pub(super) client: Option<Reading>,
    /// CPU time of the server's processes, where they are on this machine.
    pub(super) server_cpu_s: Option<f64>,
    /// Time in which this process's control group was denied CPU.
    pub(super) throttled_s: Option<f64>,
}

/// Where figures of machines come from.
pub(super) struct Source<'a> {
    exporter: Option<&'a Exporter>,
    failures: u32,
    pub(super) near: Option<Neighbour>,
    pub(super) missing: Vec<Missing>,
}

impl<'a> Source<'a> {
    pub(super) fn new(exporter: Option<&'a Exporter>) -> Source<'a> {
        Source {
            exporter,
            failures: 0,
            near: None,
            missing: Vec::new(),
        }
    }

    /// Looks at the machines; the server was looked at by the caller.
    pub(super) fn sample(&mut self, counters: Option<Counters>) -> Sample {
        let at_ns = Clock::System.now_ns();
        let here = read_here();
        let shared = self.near.as_ref().and_then(|near| near.shared) == Some(true);
        let processes = self.near.as_ref().and_then(|near| near.processes);
        let (machine, client) = match (self.exporter, shared) {
            (Some(_), _) => (self.ask(), (!shared).then_some(here)),
            (None, true) => (Some(here), None),
            (None, false) => (None, Some(here)),
        };
        Sample {
            at_ns,
            counters,
            machine,
            client,
            server_cpu_s: processes.and_then(|processes| processes.cpu_s()),
            throttled_s: throttled_s(),
        }
    }

    fn ask(&mut self) -> Option<Reading> {
        if self.failures >= FAILURES {
            return None;
        }
        match self.exporter?.read() {
            Ok(reading) => {
                self.failures = 0;
                Some(reading)
            }
            Err(why) => {
                self.failures += 1;
                if self.failures == FAILURES {
                    self.missing
                        .push(missing("the server's machine, from some second on", &why));
                }
                None
            }
        }
    }
}
