//! Loading tables from several machines: each agent sends some of the parts.
//!
//! In: the parts that are missing. Out: rows that are stored. The coordinator creates the tables before, and builds keys
//! and statistics after. Must never: give a part to two agents, or end well if one of them did not.

use crate::carrier::lock;
use crate::coordinator::Fleet;
use crate::driving::{plan_text, split_workers};
use crate::error::{Error, FailureKind};
use crate::link::Link;
use crate::login::{hosts_of, resolve_target, server_login};
use crate::message::{AgentFailure, FromAgent, LoadPart, ToAgent, failure};
use crate::run_part::{read_plan, url_of};
use prony_plan::{ErrorParts, Plan, UserError};
use prony_server::Target;
use prony_workload::progress::ProgressMeter;
use prony_workload::stop::StopWatcher;
use prony_workload::{
    LoadDivision, LoadRequest, PartSelection, PartSender, Progress, ProgressUpdate,
};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the agents may take to end when the load is stopped: each cancels its statements.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends some parts of a load's rows: the agent's side.
pub(crate) fn load_part(link: &Link, part: LoadPart) -> Result<(), AgentFailure> {
    let plan = read_plan(&part.plan)?;
    let target = resolve_target(link, &part.login)?;
    let hosts = hosts_of(&target);
    if hosts != part.hosts {
        let problem = format!(
            "it would load into the server {} instead of {}",
            hosts.join(", "),
            part.hosts.join(", ")
        );
        let parts = ErrorParts::new(problem).with_hint("name the server in the URL");
        return Err(AgentFailure::new(FailureKind::Usage, parts));
    }
    let workload = prony_workload::find(&plan.workload.name);
    let workload = workload.map_err(|error| failure(FailureKind::Usage, &error))?;
    let selection = PartSelection {
        all: part.all_parts,
        parts: part.parts,
        connections: part.connections,
    };
    let progress = SentRows {
        link,
        rows: AtomicU64::new(0),
    };
    let request = LoadRequest {
        target: &target,
        plan: &plan.workload,
        jobs: part.jobs,
        seed: part.seed,
        division: LoadDivision::Parts(&selection),
        progress: &progress,
        stop: &link.interrupt,
    };
    let report = workload
        .load(&request)
        .map_err(|error| failure(FailureKind::Data, &error))?;
    // If nobody listens, the rows are stored all the same.
    let _ = link.send(&FromAgent::Loaded(report.rows, report.bytes_sent));
    Ok(())
}

/// Tells the coordinator how many rows have been sent.
struct SentRows<'a> {
    link: &'a Link,
    /// Those that it knows of.
    rows: AtomicU64,
}

impl Progress for SentRows<'_> {
    fn update(&self, update: &ProgressUpdate) {
        let before = self.rows.swap(update.rows_done, Ordering::Relaxed);
        let _ = (self.link).send(&FromAgent::Sent(update.rows_done.saturating_sub(before)));
    }
}

/// A load whose rows the agents of a fleet send.
pub struct FleetLoad<'a> {
    fleet: Mutex<&'a mut Fleet>,
    plan: &'a Plan,
    target: &'a Target,
    jobs: u32,
    seed: u64,
}

impl<'a> FleetLoad<'a> {
    /// `target`: the server as the coordinator resolved it.
    ///
    /// # Errors
    /// The address does not mean one server for all machines.
    pub fn new(
        fleet: &'a mut Fleet,
        plan: &'a Plan,
        target: &'a Target,
        jobs: u32,
        seed: u64,
    ) -> Result<FleetLoad<'a>, Error> {
        fleet.check_address(target)?;
        // Before anything is dropped: a password in the URL is refused for some carriers.
        for agent in &fleet.agents {
            server_login(url_of(plan), target, agent)?;
        }
        if target.hosts().len() > 1 {
            return Err(Error::Unsupported {
                problem: "agents load into one host",
                hint: "name it alone in the URL",
            });
        }
        Ok(FleetLoad {
            fleet: Mutex::new(fleet),
            plan,
            target,
            jobs,
            seed,
        })
    }
}

impl PartSender for FleetLoad<'_> {
    fn machines(&self) -> u32 {
        let fleet = lock(&self.fleet);
        fleet.agents.len() as u32
    }

    fn send_parts(
        &self,
        all: u32,
        missing: &[u32],
        meter: &ProgressMeter<'_>,
        watcher: &StopWatcher<'_>,
    ) -> Result<(), prony_workload::Error> {
        let mut fleet = lock(&self.fleet);
        let sent = self
            .start(&mut fleet, all, missing)
            .and_then(|at_work| wait_until_loaded(&mut fleet, at_work, meter, watcher));
        if sent.is_err() {
            watcher.report_failure();
        }
        sent.map_err(workload_error)
    }
}

impl FleetLoad<'_> {
    /// Gives each agent its parts; returns which agents have some.
    fn start(&self, fleet: &mut Fleet, all: u32, missing: &[u32]) -> Result<Vec<bool>, Error> {
        let plan = plan_text(self.plan)?;
        let cpus: Vec<u32> = fleet.agents.iter().map(|agent| agent.weight()).collect();
        let connections = split_workers(self.jobs, &cpus);
        let parts = split_workers(missing.len() as u32, &cpus);
        let shares = parts.into_iter().zip(connections);
        let mut at_work = Vec::new();
        for (agent, (parts, connections)) in fleet.agents.iter().zip(shares) {
            let parts = &missing[clamped(&parts, missing.len())];
            at_work.push(!parts.is_empty());
            if parts.is_empty() {
                continue;
            }
            let part = LoadPart {
                plan: plan.clone(),
                login: server_login(url_of(self.plan), self.target, agent)?,
                hosts: hosts_of(self.target),
                seed: self.seed,
                jobs: self.jobs,
                all_parts: all,
                parts: parts.to_vec(),
                connections: connections.end - connections.start,
            };
            agent.send_in_background(ToAgent::Load(Box::new(part)))?;
        }
        Ok(at_work)
    }
}

/// There may be fewer parts than machines.
fn clamped(range: &Range<u32>, length: usize) -> Range<usize> {
    (range.start as usize).min(length)..(range.end as usize).min(length)
}

/// Counts the rows that the agents send until each has stored its parts. If one fails, stops the others.
fn wait_until_loaded(
    fleet: &mut Fleet,
    mut at_work: Vec<bool>,
    meter: &ProgressMeter<'_>,
    watcher: &StopWatcher<'_>,
) -> Result<(), Error> {
    let mut known = vec![0; at_work.len()];
    let mut stopped: Option<(Instant, Error)> = None;
    while at_work.contains(&true) {
        if stopped.is_none() && !watcher.should_continue() {
            stopped = Some((Instant::now(), Error::Interrupted));
            stop_all(fleet);
        }
        if stopped
            .as_ref()
            .is_some_and(|(since, _)| since.elapsed() > STOP_TIMEOUT)
        {
            break;
        }
        match fleet.next_message() {
            Ok(Some((index, FromAgent::Sent(rows)))) => {
                known[index] = u64::saturating_add(known[index], rows);
                meter.add_sent(rows, 0);
            }
            Ok(Some((index, FromAgent::Loaded(rows, bytes)))) => {
                meter.add_sent(rows.saturating_sub(known[index]), bytes);
                at_work[index] = false;
            }
            Ok(_) => {}
            Err(error) if stopped.is_none() => {
                if let Some(index) = error.agent_index(fleet) {
                    at_work[index] = false;
                }
                stopped = Some((Instant::now(), error));
                stop_all(fleet);
            }
            // Its own answer to the stop.
            Err(error) => match error.agent_index(fleet) {
                Some(index) => at_work[index] = false,
                None => break,
            },
        }
    }
    stopped.map_or(Ok(()), |(_, error)| Err(error))
}

fn stop_all(fleet: &Fleet) {
    for agent in &fleet.agents {
        let _ = agent.carrier.send(&ToAgent::Stop);
    }
}

fn workload_error(error: Error) -> prony_workload::Error {
    if matches!(error, Error::Interrupted) {
        return prony_workload::Error::Stopped {
            left_behind: String::new(),
            remedy: None,
        };
    }
    let parts = error.parts();
    prony_workload::Error::Data {
        problem: match parts.details {
            None => parts.problem,
            Some(details) => format!("{}: {details}", parts.problem),
        },
        remedy: parts.hint.unwrap_or_default().into(),
    }
}
