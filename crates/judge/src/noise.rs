//! How much others disturbed a run, and which figures they leave usable.
//!
//! In: a Run with its checks. Out: what others took of the machines; whether that is all that makes the run invalid; CPU
//! time per transaction. Must never: excuse a run that failed, lost connections or was limited by its client.

use crate::all_kinds;
use crate::machine::{cpu_shares, stolen_share};
use crate::observations::{self, observed};
use crate::thresholds::EFFECT_NOTE_SHARE;
use prony_store::{MachineSecond, Run, RunState, ServerSecond, Severity};

/// Checks that find work of others. They are no fault of the system, and repeats show how much they matter.
const OTHERS: [&str; 4] = [FOREIGN_LOAD, "neighbours", "server-steal", "steal"];
const FOREIGN_LOAD: &str = "foreign-load";

/// Checks that find throughput or response times to vary over a run, as work of others makes them.
const VARIATION: [&str; 7] = [
    "burst",
    "drift",
    "latency-drift",
    "short-stall",
    "stall",
    "unsteady",
    "warm-up",
];

/// Names of the figures of CPU time per committed transaction.
pub const SERVER_CPU_FIGURE: &str = "server CPU";
pub const CLIENT_CPU_FIGURE: &str = "client CPU";

/// Whether a figure is CPU time per transaction.
pub fn is_cpu_figure(name: &str) -> bool {
    name == SERVER_CPU_FIGURE || name == CLIENT_CPU_FIGURE
}

/// What others took of the machines while a run was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunNoise {
    /// CPU time of processes that are neither the server's nor the client's, as a share of the CPUs of the server's
    /// machine.
    pub others_share: Option<f64>,
    /// CPU time that the hypervisor withheld, as a share.
    pub stolen_share: Option<f64>,
}

impl RunNoise {
    /// The noise of a run; what was not observed is absent.
    pub fn of(run: &Run) -> RunNoise {
        RunNoise {
            others_share: cpu_shares(run).map(|shares| shares.others.max(0.0)),
            stolen_share: stolen_share(run),
        }
    }

    /// Both shares together; `None` if it is not known what other processes used, and the stolen time alone is too little to
    /// have an effect.
    pub fn share(&self) -> Option<f64> {
        let stolen = self.stolen_share.unwrap_or(0.0);
        match self.others_share {
            Some(others) => Some(others + stolen),
            None => (stolen > EFFECT_NOTE_SHARE).then_some(stolen),
        }
    }
}

/// Whether all that makes a run invalid is the work of others, so that repeats can be compared in spite of it.
pub fn is_invalid_by_others_only(run: &Run) -> bool {
    let mut invalid = run.checks_of(Severity::Invalid);
    let is_invalid = run.checks_of(Severity::Invalid).next().is_some();
    let has_figures = all_kinds(run).is_some_and(|all| all.committed > 0);
    let mut checks = run.checks.iter();
    let shows_others =
        checks.any(|check| is_of_others(&check.id) && check.severity >= Severity::Caveat);
    run.state == RunState::Complete
        && has_figures
        && shows_others
        && is_invalid
        && invalid.all(|check| is_of_others(&check.id) || VARIATION.contains(&&*check.id))
}

/// Whether a check finds work of others.
pub(crate) fn is_of_others(check: &str) -> bool {
    OTHERS.contains(&check)
}

/// CPU time of the server for each committed transaction, nanoseconds; `None` if it was not observed, or if other clients
/// had a part in it.
pub(crate) fn server_cpu_ns(run: &Run) -> Option<f64> {
    if run.check(FOREIGN_LOAD).is_some() {
        return None;
    }
    let cpus = observations::mean(run, observations::server_cpus)?;
    let tps = all_kinds(run)?.tps;
    (tps > 0.0 && cpus > 0.0).then(|| cpus / tps * 1e9)
}

/// CPU time of the client for each committed transaction, nanoseconds; `None` if it is not known.
pub(crate) fn client_cpu_ns(run: &Run) -> Option<f64> {
    let cpu_us = run.machine().health.cpu_per_transaction_us?;
    (cpu_us > 0.0).then_some(cpu_us * 1e3)
}

/// Replaces the readings of the server by one for the whole window, with what comparisons of CPU time and noise read, and
/// the most connections.
pub fn condense_readings(run: &mut Run) {
    if observed(run).is_none() {
        return;
    }
    let mean =
        |value: fn(&MachineSecond) -> Option<f64>| observations::server_machine_mean(run, value);
    let length_s = observations::observed_s(run);
    let server_cpus = observations::mean(run, observations::server_cpus);
    let machine = MachineSecond {
        busy_share: mean(|machine| machine.busy_share),
        steal_share: mean(|machine| machine.steal_share),
        server_cpu_s: server_cpus.map(|cpus| cpus * length_s),
        ..MachineSecond::default()
    };
    let (at_s, _) = observations::window_s(run);
    let all = run.observed.iter().flat_map(|observed| &observed.series);
    let condensed = ServerSecond {
        at_s,
        length_s,
        connections: all.filter_map(|row| row.connections).max(),
        machine: Some(machine),
        ..ServerSecond::default()
    };
    if let Some(observed) = &mut run.observed {
        observed.series = vec![condensed];
    }
}
