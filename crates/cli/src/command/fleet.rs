//! `prony fleet check`.
//!
//! Starts the agents, and prints who they are and how far they are from here and from the server. Drives no load.

use super::{output, server};
use crate::args::{FleetCheckArgs, FleetCommand};
use crate::exit::{Exit, Failure};
use crate::run::fleet;
use prony_report::fleet::{FleetMachine, write};
use prony_runner::Signals;

pub fn execute(command: &FleetCommand) -> Result<Exit, Failure> {
    match command {
        FleetCommand::Check(args) => check(args),
    }
}

fn check(args: &FleetCheckArgs) -> Result<Exit, Failure> {
    let agents = args.flags.input.agents.as_ref();
    let Some(agents) = agents.map(|agents| &agents.value[..]) else {
        let hint = "name each machine by the command that reaches it: --agent 'ssh vm1'";
        return Err(Failure::usage("no machine is named", hint));
    };
    let url = args.flags.url();
    let target = server::resolve_target(url)?;
    let signals = Signals::listen()?;
    let failure = |error: prony_fleet::Error| fleet::failure(&error, &signals);
    let mut machines = fleet::start(agents, &signals)?;
    let mut rows = Vec::new();
    let infos: Vec<prony_fleet::AgentInfo> = machines.agents().collect();
    for (index, info) in infos.into_iter().enumerate() {
        let clock = machines.measure_clock(index).map_err(failure)?;
        let probe = machines.probe_server(index, url.unwrap_or_default(), &target);
        let probe = probe.map_err(failure)?;
        rows.push(FleetMachine {
            name: info.host.name,
            cpus: info.host.cpus,
            clock_offset_ns: clock.offset_ns,
            clock_bound_ns: clock.bound_ns(),
            round_trip_ns: clock.round_trip_ns,
            server_median_ns: probe.median_ns,
            server_shortest_ns: probe.shortest_ns,
            server_version: probe.version,
        });
    }
    output::show(|out, style| write(out, style, &rows))?;
    Ok(Exit::Success)
}
