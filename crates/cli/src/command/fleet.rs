//! `prony fleet`.
//!
//! Starts the agents, and prints who they are, or fetches what they kept. Drives no load.

use super::{kubernetes, output, server};
use crate::args::{FleetCheckArgs, FleetCollectArgs, FleetCommand};
use crate::exit::{Exit, Failure};
use crate::run::fleet::{self, with_agents_of_environment};
use prony_fleet::{AgentInfo, KeptFile};
use prony_plan::{PlanInput, system_error};
use prony_report::doctor;
use prony_report::fleet::{FleetMachine, KeptPart, write, write_kept};
use prony_runner::Signals;
use prony_store::{DoctorReport, DoctorState};
use std::path::Path;

pub fn execute(command: &FleetCommand) -> Result<Exit, Failure> {
    match command {
        FleetCommand::Check(args) => check(args),
        FleetCommand::Collect(args) => collect(args),
        FleetCommand::Kubernetes(args) => kubernetes::print(args),
    }
}

/// The commands that reach the machines, and whether this program is copied there.
fn agents_of(input: &PlanInput) -> Result<(Vec<String>, bool), Failure> {
    let input = with_agents_of_environment(input.clone());
    let installs = input.install_agents.is_some_and(|installs| installs.value);
    match input.agents {
        Some(agents) => Ok((agents.value, installs)),
        None => {
            let hint = "name each machine by the command that reaches it: --agent 'ssh vm1'";
            Err(Failure::usage("no machine is named", hint))
        }
    }
}

fn check(args: &FleetCheckArgs) -> Result<Exit, Failure> {
    let (agents, installs) = agents_of(&args.flags.input)?;
    let url = args.flags.url();
    let target = server::resolve_target(url)?;
    let signals = Signals::listen()?;
    let failure = |error: prony_fleet::Error| fleet::failure(&error, &signals);
    let mut machines = fleet::start(&agents, installs, &signals)?;
    let mut rows = Vec::new();
    let mut reports: Vec<(String, DoctorReport)> = Vec::new();
    let infos: Vec<AgentInfo> = machines.agents().collect();
    for (index, info) in infos.into_iter().enumerate() {
        let clock = machines.measure_clock(index).map_err(failure)?;
        let probe = machines.probe_server(index, url.unwrap_or_default(), &target);
        let probe = probe.map_err(failure)?;
        if let Some(report) = machines.examine(index).map_err(failure)? {
            reports.push((info.name, report));
        }
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
    output::show(|out, style| {
        write(out, style, &rows)?;
        for (name, report) in &reports {
            writeln!(out, "\n{name}")?;
            doctor::write(out, style, report)?;
        }
        Ok(())
    })?;
    let is_bad = |(_, report): &(_, DoctorReport)| report.worst() == DoctorState::Bad;
    Ok(if reports.iter().any(is_bad) {
        Exit::Invalid
    } else {
        Exit::Success
    })
}

fn collect(args: &FleetCollectArgs) -> Result<Exit, Failure> {
    let (agents, _) = agents_of(&args.flags.input)?;
    let signals = Signals::listen()?;
    let failure = |error: prony_fleet::Error| fleet::failure(&error, &signals);
    let mut machines = fleet::start(&agents, false, &signals)?;
    let mut parts = Vec::new();
    for index in 0..machines.agents().count() {
        for file in machines.kept_files(index).map_err(failure)? {
            let Some(part) = store(&args.output, &file)? else {
                continue;
            };
            parts.push(part);
            machines.discard(index, &file);
        }
    }
    output::show(|out, style| write_kept(out, style, &parts))?;
    Ok(Exit::Success)
}

/// Stores a file under its own name; `None` if it is not one of an agent.
fn store(folder: &Path, file: &KeptFile) -> Result<Option<KeptPart>, Failure> {
    let Ok((header, end)) = file.ends() else {
        return Ok(None);
    };
    // Not the name that the agent gives: it may be a path.
    let machine: String = header.machine.chars().map(plain_character).collect();
    let run: String = header.run.chars().map(plain_character).collect();
    let path = folder.join(format!(
        "prony-{run}-{machine}-{}.jsonl",
        header.first_worker
    ));
    std::fs::write(&path, &file.text).map_err(|error| {
        let message = format!("cannot write {}: {}", path.display(), system_error(&error));
        Failure::new(
            Exit::Unexpected,
            message,
            "the agents still have what they kept",
        )
    })?;
    let counts = end.as_ref().map(|end| end.counts);
    Ok(Some(KeptPart {
        run,
        machine: header.machine,
        workload: header.workload,
        clients: header.clients,
        seconds: end.map(|end| end.rows),
        committed: counts.map(|[committed, ..]| committed),
        failed: counts.map(|[_, _, failed, _]| failed),
        path: path.display().to_string(),
    }))
}

fn plain_character(character: char) -> char {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => character,
        _ => '_',
    }
}
