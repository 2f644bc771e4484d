//! `prony fleet`.
//!
//! Starts the agents, and prints who they are, or fetches what they kept. Drives no load.

use super::{kubernetes, output, server};
use crate::args::{FleetCheckArgs, FleetCollectArgs, FleetCommand};
use crate::exit::{Exit, Failure};
use crate::run::fleet::{self, with_agents_of_environment};
use prony_fleet::{AgentInfo, KeptHeader, KeptPiece};
use prony_plan::{PlanInput, system_error};
use prony_report::doctor;
use prony_report::fleet::{FleetMachine, KeptPart, write, write_kept};
use prony_runner::Signals;
use prony_store::{DoctorReport, DoctorState};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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
    Ok(Exit::invalid_if(reports.iter().any(is_bad)))
}

fn collect(args: &FleetCollectArgs) -> Result<Exit, Failure> {
    let (agents, _) = agents_of(&args.flags.input)?;
    let signals = Signals::listen()?;
    let failure = |error: prony_fleet::Error| fleet::failure(&error, &signals);
    let mut machines = fleet::start(&agents, false, &signals)?;
    let mut parts = Vec::new();
    let mut unread = Vec::new();
    for index in 0..machines.agents().count() {
        machines.request_kept(index);
        // The first piece of a file creates it.
        let mut is_first = true;
        let mut file: Option<StoredFile> = None;
        while let Some(piece) = machines.next_kept(index).map_err(failure)? {
            if is_first {
                file = StoredFile::create(&args.output, &piece)?;
            }
            is_first = piece.is_last;
            if let Some(reason) = &piece.failed {
                if let Some(partial) = file.take() {
                    partial.remove();
                }
                unread.push(format!("{:?}: {reason}", piece.name));
                continue;
            }
            // What is not a file of an agent stays where it is.
            let Some(mut open) = file.take() else {
                continue;
            };
            open.add(&piece)?;
            if piece.is_last {
                parts.push(open.end(&piece));
                machines.discard(index, &piece.name);
            } else {
                file = Some(open);
            }
        }
    }
    output::show(|out, style| write_kept(out, style, &parts))?;
    if unread.is_empty() {
        return Ok(Exit::Success);
    }
    let message = format!("an agent cannot read what it kept: {}", unread.join("; "));
    let hint = "the files stay on the agents' machines: copy them by hand";
    Err(Failure::new(Exit::Unexpected, message, hint))
}

/// What an agent kept, in a file of this machine.
struct StoredFile {
    file: File,
    path: PathBuf,
    run: String,
    header: KeptHeader,
}

impl StoredFile {
    /// Creates the file for these first lines; `None` if they are not those of an agent.
    fn create(folder: &Path, first: &KeptPiece) -> Result<Option<StoredFile>, Failure> {
        let Ok(header) = first.header() else {
            return Ok(None);
        };
        // Not the name that the agent gives: it may be a path.
        let machine: String = header.machine.chars().map(plain_character).collect();
        let run: String = header.run.chars().map(plain_character).collect();
        let path = folder.join(format!(
            "prony-{run}-{machine}-{}.jsonl",
            header.first_worker
        ));
        let file = File::create(&path).map_err(|error| write_failure(&path, &error))?;
        Ok(Some(StoredFile {
            file,
            path,
            run,
            header,
        }))
    }

    fn add(&mut self, piece: &KeptPiece) -> Result<(), Failure> {
        let mut written = self.file.write_all(piece.lines.as_bytes());
        if piece.is_last {
            written = written.and_then(|()| self.file.sync_all());
        }
        written.map_err(|error| write_failure(&self.path, &error))
    }

    /// Removes it: it is not whole.
    fn remove(self) {
        // A file that stays has no end, which shows.
        let _ = std::fs::remove_file(self.path);
    }

    fn end(self, last: &KeptPiece) -> KeptPart {
        let end = last.end();
        let counts = end.as_ref().map(|end| end.counts);
        KeptPart {
            run: self.run,
            machine: self.header.machine,
            workload: self.header.workload,
            clients: self.header.clients,
            seconds: end.map(|end| end.rows),
            committed: counts.map(|[committed, ..]| committed),
            failed: counts.map(|[_, _, failed, _]| failed),
            path: self.path.display().to_string(),
        }
    }
}

fn write_failure(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {}", path.display(), system_error(error));
    let hint = "the agents still have what they kept";
    Failure::new(Exit::Unexpected, message, hint)
}

fn plain_character(character: char) -> char {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' => character,
        _ => '_',
    }
}
