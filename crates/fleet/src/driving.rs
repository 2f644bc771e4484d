//! Drives a run with the agents of a fleet: prepares them, starts them at one moment, and gives each agent's share.
//!
//! In: a plan, and the agents. Out: what [`prony_drive::run`] returns, and each agent's share. Must never: start agents
//! that would do different work.

use crate::clock::ClockReading;
use crate::coordinator::{Fleet, no_answer};
use crate::error::{Error, FailureKind};
use crate::ledger::FleetLedger;
use crate::load::{Load, Part};
use crate::login::{server_login, server_login_of_tool};
use crate::message::{FromAgent, PartPlan, ReadyPart, RunPart, ToAgent, WorkDescription};
use crate::run_part::{describe_work, url_of};
use crate::tool::{ToolCoordinator, ToolPlan};
use prony_drive::clock::Clock;
use prony_drive::{DriveResult, EngineKind, LoadStart, Observer, RunSlice, run_schedule};
use prony_measure::{CommitGaps, PartTotals};
use prony_plan::{ErrorParts, ObservePlan, Plan, ServerPlan, UserError, to_toml};
use prony_server::Target;
use prony_store::Host;
use prony_workload::ReadyWorkload;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time from the start signal to the common start, besides eight of the longest round trips.
const START_DELAY: Duration = Duration::from_millis(150);

/// The longest plan that is sent: with the signs that JSON adds to a text it must fit into a frame.
const PLAN_MAX_BYTES: usize = 16 << 20;

pub struct FleetJob<'a> {
    pub plan: &'a Plan,
    /// The server as the coordinator resolved it.
    pub target: &'a Target,
    /// The program and the data as the coordinator reads them.
    pub ready_workload: &'a ReadyWorkload,
    pub server_version: &'a str,
    pub seed: u64,
    /// Takes the times without a commit, if they are wanted.
    pub commit_gaps: Option<&'a CommitGaps>,
    /// The account of the commits, if one is kept.
    pub ledger: Option<&'a FleetLedger>,
    /// The replaced tool whose load it is, if it is one.
    pub tool: Option<&'a dyn ToolCoordinator>,
    /// When set, the run ends at once.
    pub interrupt: &'a AtomicBool,
}

impl FleetJob<'_> {
    /// Passes on what a replaced tool's side at an agent has said.
    pub(crate) fn hear_tool(&self, agent: usize, text: &str) -> Result<(), String> {
        self.tool.map_or(Ok(()), |tool| tool.heard(agent, text))
    }
}

#[derive(Debug)]
pub struct FleetResult {
    pub driven: DriveResult,
    pub agents: Vec<AgentResult>,
    /// Count and total of each of the program's action shares.
    pub shares: Vec<(u64, u64)>,
}

#[derive(Clone, Debug)]
pub struct AgentResult {
    pub host: Host,
    /// The clients that it drove, numbered as in the whole run.
    pub clients: Range<u32>,
    pub threads: u32,
    pub clock: ClockReading,
    /// Its clock after the load; absent if the fleet did not reach the end.
    pub clock_after: Option<ClockReading>,
    /// How long after the common start its last worker began, nanoseconds, by its own clock; absent if it was lost.
    pub start_delay_ns: Option<u64>,
    pub measured: PartTotals,
    /// What it committed in each second of the load.
    pub committed_by_second: Vec<u64>,
    /// Why it was lost, if it was.
    pub lost: Option<String>,
}

impl Fleet {
    /// Connects the clients of a run on all agents, starts them at one moment, and merges what they measure.
    ///
    /// # Errors
    /// If the load cannot start. A run that fails later returns what was measured, with the reason.
    pub fn drive(
        &mut self,
        job: &FleetJob<'_>,
        observer: &mut dyn Observer,
    ) -> Result<FleetResult, Error> {
        self.check_supported(job)?;
        let cpus: Vec<u32> = self.agents.iter().map(|agent| agent.weight()).collect();
        let slices: Vec<RunSlice> = split_workers(job.plan.drive.workers(), &cpus)
            .into_iter()
            .map(|workers| RunSlice::of_workers(&job.plan.drive, workers))
            .collect();
        let ready = self.prepare(job, &slices)?;
        let clocks = self.measure_clocks(|_| true).into_iter().enumerate();
        let clocks = clocks
            .map(|(index, clock)| clock.ok_or_else(|| self.lost_error(index, no_answer())))
            .collect::<Result<Vec<ClockReading>, Error>>()?;
        observer.ready();
        let slowest_ns = clocks.iter().map(|clock| clock.round_trip_ns).max();
        let delay_ns = START_DELAY.as_nanos() as u64 + 8 * slowest_ns.unwrap_or(0);
        let start = load_start(job.plan, &ready, Clock::System.now_ns() + delay_ns);
        for (agent, clock) in self.agents.iter().zip(&clocks) {
            // If it is gone, that arrives.
            let start_ns = clock.on_agent(start.schedule.start_ns);
            let _ = agent.carrier.send(&ToAgent::Start(start_ns));
        }
        observer.started(&start);
        let mut load = Load::new(self, job, &slices, start, observer);
        load.collect();
        let (driven, parts, shares) = load.finish();
        let agents = self.agent_results(&slices, &clocks, parts);
        Ok(FleetResult {
            driven,
            agents,
            shares,
        })
    }

    fn check_supported(&self, job: &FleetJob<'_>) -> Result<(), Error> {
        if !job.target.additional_targets.is_empty() {
            return Err(Error::Unsupported {
                problem: "agents cannot drive several targets yet",
                hint: "name all hosts in one URL, or one of them",
            });
        }
        self.check_address(job.target)?;
        match &job.target.read_target {
            Some(target) => self.check_address(target),
            None => Ok(()),
        }
    }

    /// Lets all agents connect their clients, and checks that all do the same work.
    fn prepare(
        &mut self,
        job: &FleetJob<'_>,
        slices: &[RunSlice],
    ) -> Result<Vec<ReadyPart>, Error> {
        let text = part_plan(job)?.text().unwrap_or_default();
        for (agent, slice) in self.agents.iter().zip(slices) {
            let part = RunPart {
                plan: part_plan(job)?,
                login: match job.tool {
                    None => server_login(url_of(job.plan), job.target, agent)?,
                    Some(tool) => server_login_of_tool(&tool.load().server, job.target, agent)?,
                },
                read_login: match (&job.plan.read_from, &job.target.read_target) {
                    (Some(ServerPlan::Url(url)), Some(target)) => {
                        Some(server_login(url, target, agent)?)
                    }
                    _ => None,
                },
                seed: job.seed,
                first_worker: slice.workers.start,
                end_worker: slice.workers.end,
                measures_gaps: job.commit_gaps.is_some(),
                ledger_table: job.ledger.map(|ledger| ledger.table.clone()),
            };
            agent.send_in_background(ToAgent::Prepare(Box::new(part)))?;
        }
        let work = describe_work(
            &text,
            job.ready_workload,
            job.server_version.to_owned(),
            job.target,
        );
        let ready = self.wait_until_ready(job)?;
        for (agent, part) in self.agents.iter().zip(&ready) {
            let first = &ready[0];
            let difference = work_difference(&work, &part.work).or_else(|| {
                // Memory is reserved by the layout.
                let is_same = part.layout == first.layout
                    && part.layout.kinds == work.kinds.len()
                    && part.network == first.network;
                (!is_same).then(|| "it reaches the server by another kind of network".to_owned())
            });
            if let Some(difference) = difference {
                return Err(Error::OtherWork {
                    agent: agent.name.clone(),
                    difference,
                });
            }
        }
        Ok(ready)
    }

    fn wait_until_ready(&mut self, job: &FleetJob<'_>) -> Result<Vec<ReadyPart>, Error> {
        let mut ready: Vec<Option<ReadyPart>> = self.agents.iter().map(|_| None).collect();
        while ready.iter().any(Option::is_none) {
            if job.interrupt.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            match self.next_message()? {
                Some((index, FromAgent::Ready(part))) => ready[index] = Some(*part),
                Some((index, FromAgent::Tool(text))) => job
                    .hear_tool(index, &text)
                    .map_err(|reason| self.lost_error(index, reason))?,
                _ => {}
            }
        }
        Ok(ready.into_iter().flatten().collect())
    }

    /// The results of the agents. Measures their clocks once more.
    fn agent_results(
        &mut self,
        slices: &[RunSlice],
        clocks: &[ClockReading],
        parts: Vec<Part>,
    ) -> Vec<AgentResult> {
        let clocks_after = self.measure_clocks(|index| parts[index].lost.is_none());
        let clocks = clocks.iter().zip(clocks_after);
        let parts = parts.into_iter().zip(slices).zip(clocks).enumerate();
        parts
            .map(
                |(index, ((part, slice), (clock, clock_after)))| AgentResult {
                    host: self.agents[index].host(),
                    clients: slice.clients.clone(),
                    threads: slice.threads(),
                    clock: *clock,
                    clock_after,
                    start_delay_ns: part.start_delay_ns,
                    measured: part.measured,
                    committed_by_second: part.committed_by_second,
                    lost: part.lost,
                },
            )
            .collect()
    }
}

fn part_plan(job: &FleetJob<'_>) -> Result<PartPlan, Error> {
    Ok(match job.tool {
        None => PartPlan::Toml(plan_text(job.plan)?),
        Some(tool) => PartPlan::Tool(Box::new(ToolPlan::new(tool.load(), job.plan))),
    })
}

/// The plan as a file as agents get it.
pub(crate) fn plan_text(plan: &Plan) -> Result<String, Error> {
    let failed = |parts: ErrorParts| Error::Failed {
        agent: "the plan".to_owned(),
        kind: FailureKind::Usage,
        parts: Box::new(parts),
    };
    let workload = prony_workload::find(&plan.workload.name)
        .and_then(|workload| workload.with_texts_of_files(&plan.workload))
        .map_err(|error| failed(error.parts()))?;
    let plan = Plan {
        workload,
        agents: Vec::new(),
        install_agents: false,
        // These are this machine's alone, and may contain passwords.
        at: Vec::new(),
        observe: ObservePlan {
            server_metrics: None,
            ..plan.observe.clone()
        },
        ..plan.clone()
    };
    let text = to_toml(&plan, Some(url_of(&plan)))
        .map_err(|error| failed(ErrorParts::new(error.to_string())))?;
    if text.len() > PLAN_MAX_BYTES {
        return Err(Error::Unsupported {
            problem: "agents do not take plans whose transactions are longer than 16 MiB",
            hint: "run without --agent",
        });
    }
    Ok(text)
}

/// How the work of an agent differs from that of the coordinator.
fn work_difference(ours: &WorkDescription, theirs: &WorkDescription) -> Option<String> {
    let difference = |name: &str, ours: String, theirs: String| {
        (ours != theirs).then(|| format!("{name} {theirs} instead of {ours}"))
    };
    difference(
        "a plan with hash",
        ours.plan_hash.clone(),
        theirs.plan_hash.clone(),
    )
    .or_else(|| difference("scale", ours.scale.to_string(), theirs.scale.to_string()))
    .or_else(|| difference("kinds", ours.kinds.join(", "), theirs.kinds.join(", ")))
    .or_else(|| {
        let settings = |work: &WorkDescription| format!("{:?}", work.settings);
        difference("settings", settings(ours), settings(theirs))
    })
    .or_else(|| {
        let version = |work: &WorkDescription| work.server_version.clone();
        difference("a server of version", version(ours), version(theirs))
    })
    .or_else(|| difference("the server", ours.hosts.join(", "), theirs.hosts.join(", ")))
}

/// Splits workers over machines, in shares by their CPUs, at least one for each.
pub(crate) fn split_workers(workers: u32, cpus: &[u32]) -> Vec<Range<u32>> {
    // A weight may be any number.
    let rest = u128::from(workers).saturating_sub(cpus.len() as u128);
    let all_cpus: u128 = cpus.iter().map(|cpus| u128::from((*cpus).max(1))).sum();
    let (mut sum, mut first) = (0, 0);
    (1..)
        .zip(cpus)
        .map(|(number, cpus)| {
            sum += u128::from((*cpus).max(1));
            let end = (number + (rest * sum).div_ceil(all_cpus.max(1)).min(rest)) as u32;
            let range = first..end;
            first = end;
            range
        })
        .collect()
}

/// The state at the start: what the agents have in common, and the longest time to connect.
fn load_start(plan: &Plan, ready: &[ReadyPart], start_ns: u64) -> LoadStart {
    let first = &ready[0];
    let mut engine_reason = first.engine_reason.clone();
    for (number, part) in (1..).zip(ready) {
        if part.engine != first.engine {
            engine_reason += &format!(
                "; {} on agent {number}: {}",
                part.engine, part.engine_reason
            );
        }
    }
    LoadStart {
        engine: EngineKind::from_name(&first.engine).unwrap_or(EngineKind::Epoll),
        engine_reason,
        network: first.network,
        tls: ready.iter().find_map(|part| part.tls.clone()),
        connect_s: ready.iter().map(|part| part.connect_s).fold(0.0, f64::max),
        schedule: run_schedule(&plan.drive, start_ns),
        layout: first.layout,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_whose_files_name_another_server_does_other_work() {
        let work = |host: &str| WorkDescription {
            plan_hash: String::new(),
            scale: 1,
            kinds: Vec::new(),
            settings: Vec::new(),
            server_version: "17.2".to_owned(),
            hosts: vec![host.to_owned()],
        };
        assert_eq!(work_difference(&work("db1:5432"), &work("db1:5432")), None);
        assert_eq!(
            work_difference(&work("db1:5432"), &work("db2:5432")).as_deref(),
            Some("the server db2:5432 instead of db1:5432")
        );
    }

    #[test]
    fn other_work_is_named() {
        let ours = WorkDescription {
            plan_hash: "ab".to_owned(),
            scale: 10,
            kinds: vec!["tpcb".to_owned()],
            settings: Vec::new(),
            server_version: "17.2".to_owned(),
            hosts: vec!["db1:5432".to_owned()],
        };
        assert_eq!(work_difference(&ours, &ours), None);
        let theirs = WorkDescription {
            scale: 11,
            ..ours.clone()
        };
        let difference = work_difference(&ours, &theirs);
        assert_eq!(difference.as_deref(), Some("scale 11 instead of 10"));
        let theirs = WorkDescription {
            plan_hash: "cd".to_owned(),
            ..ours.clone()
        };
        assert!(work_difference(&ours, &theirs).is_some());
    }

    #[test]
    fn workers_are_split_by_cpus_and_each_machine_has_one() {
        let sizes = |workers, cpus: &[u32]| -> Vec<u32> {
            let ranges = split_workers(workers, cpus);
            assert_eq!(ranges.first().map(|range| range.start), Some(0));
            assert_eq!(ranges.last().map(|range| range.end), Some(workers));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            ranges.iter().map(|range| range.end - range.start).collect()
        };
        assert_eq!(sizes(8, &[4, 4]), [4, 4]);
        assert_eq!(sizes(2, &[64, 1]), [1, 1]);
        assert_eq!(sizes(3, &[2, 2, 2]), [1, 1, 1]);
        assert_eq!(sizes(32, &[32, 8]), [25, 7]);
        assert_eq!(sizes(7, &[0, 0]), [4, 3]);
        let half = u32::MAX / 2;
        assert_eq!(sizes(u32::MAX, &[u32::MAX; 2]), [half + 1, half]);
    }
}
