//! What the machines of a fleet did in a run, for its document.
//!
//! In: the results of the agents. Out: the document's machines, and the shares of the mix. Must never: put a command into
//! the document: it may contain a password.

use prony_fleet::{AgentResult, Fleet};
use prony_store::{ClientMachine, MachinePart, Run, client_health_of_part};

pub(crate) struct FleetParts {
    pub agents: Vec<AgentResult>,
    /// Count and total of each of the program's action shares.
    pub shares: Vec<(u64, u64)>,
    /// Whether all agents are on other machines than this one.
    pub is_elsewhere: bool,
}

/// The machines of a fleet before the load.
pub(crate) fn machines(fleet: &Fleet) -> Vec<ClientMachine> {
    let machine = |agent: prony_fleet::AgentInfo| ClientMachine {
        host: agent.host,
        ..ClientMachine::default()
    };
    fleet.agents().map(machine).collect()
}

impl FleetParts {
    /// How wrong a time of one machine may be on the clock of another, seconds: twice the largest error of a clock's offset
    /// from this machine's, because both offsets may be wrong.
    pub fn clock_bound_s(&self) -> f64 {
        let errors = self.agents.iter().map(|agent| {
            let after = agent.clock_after.unwrap_or(agent.clock);
            let drift_ns = after.offset_ns.abs_diff(agent.clock.offset_ns);
            agent.clock.bound_ns().saturating_add(drift_ns)
        });
        2.0 * errors.max().unwrap_or(0) as f64 / 1e9
    }

    /// Records the machines and the shares of the mix.
    pub fn record(&self, run: &mut Run) {
        run.machines = self.agents.iter().map(machine_with_part).collect();
        if let Some(observed) = run.observed.as_mut().filter(|_| self.is_elsewhere) {
            // This machine observed the server, and drove no client.
            observed.machine.shared = Some(false);
            observed.machine.shared_because = "other machines drove the clients".to_owned();
        }
        for (share, (count, total)) in run.shares.iter_mut().zip(&self.shares) {
            share.count = *count;
            share.total = *total;
        }
    }
}

fn machine_with_part(agent: &AgentResult) -> ClientMachine {
    let measured = &agent.measured;
    let seconds = measured.seconds();
    ClientMachine {
        host: agent.host.clone(),
        health: client_health_of_part(measured),
        part: Some(MachinePart {
            clients: agent.clients.len() as u32,
            threads: agent.threads,
            committed: measured.committed,
            tps: if seconds > 0.0 { measured.committed as f64 / seconds } else { 0.0 },
            committed_by_second: agent.committed_by_second.clone(),
            response_mean_ns: measured.response_mean_ns(),
            server_mean_ns: measured.server_mean_ns(),
            clock_offset_ns: agent.clock.offset_ns,
            round_trip_ns: agent.clock.round_trip_ns,
            clock_drift_ns: agent
                .clock_after
                .map(|after| after.offset_ns.saturating_sub(agent.clock.offset_ns)),
            start_delay_ns: agent.start_delay_ns,
            lost: agent.lost.clone(),
        }),
    }
}
