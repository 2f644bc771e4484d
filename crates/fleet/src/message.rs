//! The messages between a coordinator and an agent.
//!
//! Times of the agent's events count from the start of its load, because the clocks of two machines have no common
//! origin. [`ServerLogin`] holds passwords: it has no `Debug`, and is sent over the carrier only.

use crate::keep::KeptPiece;
use crate::ledger::LedgerPart;
use crate::tool::{ToolPlan, ToolServer};
use prony_document::Network;
use prony_drive::{HostConnections, HostSecond, HostTotals, RunEvent};
use prony_measure::{
    Distribution, InvalidInterval, RecorderLayout, RoundTripTimes, SerializedRow, SerializedTimes,
    WorkerGaps,
};
use prony_plan::{ErrorParts, UserError};
use prony_store::{Build, DoctorReport, Host};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
pub(crate) enum ToAgent {
    /// The first one, from a coordinator of this build.
    Hello(Box<Build>),
    /// Answer at once with [`FromAgent::Pong`] and this number.
    Ping(u32),
    /// The coordinator is there.
    Alive,
    /// Measure the way to a server.
    Probe(Box<ServerLogin>),
    /// Connect the clients of this part of a run, and let them get ready.
    Prepare(Box<RunPart>),
    /// Examine the machine.
    Examine,
    /// Send what was kept of loads whose coordinator was lost.
    Collect,
    /// A file of [`FromAgent::Kept`] has been stored.
    Discard(String),
    /// Send some parts of the rows of a load.
    Load(Box<LoadPart>),
    /// Start the load at this time of the agent's clock (`CLOCK_MONOTONIC`), nanoseconds.
    Start(u64),
    /// End the run at once, with what was measured.
    Stop,
    /// There is nothing more to do.
    End,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum FromAgent {
    /// The answer to [`ToAgent::Hello`].
    Welcome(Box<AgentDescription>),
    /// The number of a [`ToAgent::Ping`], and the time of the agent's clock, nanoseconds.
    Pong(u32, u64),
    Alive,
    /// The answer to [`ToAgent::Probe`].
    Probed(ServerProbe),
    /// All clients are ready.
    Ready(Box<ReadyPart>),
    /// The part of the run cannot start.
    Failed(AgentFailure),
    /// What the clients know of their commits, before each second.
    Ledger(Box<LedgerPart>),
    /// The tool's side at the agent says something to that at the coordinator.
    Tool(String),
    /// A second is complete.
    Row(Box<SerializedRow>),
    /// The answer to [`ToAgent::Examine`]; absent if that failed.
    Examined(Option<Box<DoctorReport>>),
    /// The answers to [`ToAgent::Collect`]; the last one is empty.
    Kept(Option<KeptPiece>),
    /// So many more rows of a load have been sent.
    Sent(u64),
    /// All parts are stored: rows and bytes of all.
    Loaded(u64, u64),
    /// The part of the run has ended.
    Finished(Box<FinishedPart>),
}

/// Who the agent is.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct AgentDescription {
    pub build: Build,
    pub host: Host,
    /// The kernel's number of its boot, which all processes of a machine share; empty if unknown.
    pub boot_id: String,
}

/// How an agent reaches the server, as the coordinator does.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ServerLogin {
    pub url: String,
    /// The server as a replaced tool names it, instead of by a URL.
    pub of_tool: Option<ToolServer>,
    /// Variables of the coordinator's environment that name servers and passwords; those of the agent do not apply.
    pub variables: BTreeMap<String, String>,
    /// The default role.
    pub system_user: Option<String>,
    /// Host, port and password of each endpoint of the coordinator, which may have them from its files.
    pub passwords: Vec<(String, u16, String)>,
    /// There are no passwords in it, because others can read the carrier: the agent uses those of its own machine.
    pub has_no_passwords: bool,
    /// The role and the database that the coordinator uses.
    pub user: String,
    pub database: String,
}

/// The plan of a run.
#[derive(Serialize, Deserialize)]
pub(crate) enum PartPlan {
    /// As a TOML file, with the server's URL.
    Toml(String),
    /// That of a replaced tool.
    Tool(Box<ToolPlan>),
}

impl PartPlan {
    /// The plan as a text, which all machines write alike.
    pub fn text(&self) -> Result<String, String> {
        match self {
            PartPlan::Toml(text) => Ok(text.clone()),
            PartPlan::Tool(plan) => serde_json::to_string(plan).map_err(|error| error.to_string()),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct RunPart {
    pub plan: PartPlan,
    pub login: ServerLogin,
    /// The server for reads, if there is one.
    pub read_login: Option<ServerLogin>,
    pub seed: u64,
    /// The workers of the whole run that the agent drives, from the first to before the last.
    pub first_worker: u32,
    pub end_worker: u32,
    /// Whether the longest time without a commit is wanted.
    pub measures_gaps: bool,
    /// The table of the run's ledger, if it has one.
    pub ledger_table: Option<String>,
}

/// Parts of the rows of a load.
#[derive(Serialize, Deserialize)]
pub(crate) struct LoadPart {
    /// The plan as a TOML file, with the server's URL.
    pub plan: String,
    pub login: ServerLogin,
    /// The hosts of the coordinator, which the agent must reach too.
    pub hosts: Vec<String>,
    pub seed: u64,
    /// Connections of all machines together.
    pub jobs: u32,
    pub all_parts: u32,
    pub parts: Vec<u32>,
    pub connections: u32,
}

/// The way from an agent to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProbe {
    /// The server's version as it reports itself.
    pub version: String,
    /// The shortest and the median time of a statement without data, nanoseconds.
    pub shortest_ns: u64,
    pub median_ns: u64,
}

/// What must be equal for all agents and the coordinator: the work, by the plan and by the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkDescription {
    /// SHA-256 of the plan, as this build writes it.
    pub plan_hash: String,
    pub scale: u32,
    pub kinds: Vec<String>,
    pub settings: Vec<(String, String)>,
    /// The server's version as it reports itself.
    pub server_version: String,
    /// The hosts over which connections may be spread, by name and port.
    pub hosts: Vec<String>,
}

/// The state of an agent whose clients are ready.
#[derive(Serialize, Deserialize)]
pub(crate) struct ReadyPart {
    pub work: WorkDescription,
    /// Name of the I/O engine.
    pub engine: String,
    pub engine_reason: String,
    pub network: Network,
    pub tls: Option<String>,
    pub connect_s: f64,
    pub layout: RecorderLayout,
}

/// Why a part of a run cannot start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AgentFailure {
    pub kind: FailureKind,
    pub problem: String,
    pub details: Option<String>,
    pub hint: Option<String>,
}

/// The cause of a failure, which selects the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The plan is wrong for this machine.
    Usage,
    /// The server, or a machine, cannot be reached or refuses.
    Connect,
    /// The data is missing or of another kind.
    Data,
    Interrupted,
}

impl AgentFailure {
    pub fn new(kind: FailureKind, parts: ErrorParts) -> AgentFailure {
        AgentFailure {
            kind,
            problem: parts.problem,
            details: parts.details,
            hint: parts.hint,
        }
    }
}

pub(crate) fn failure(kind: FailureKind, error: &dyn UserError) -> AgentFailure {
    AgentFailure::new(kind, error.parts())
}

/// Counts of transactions in all rows: committed, rolled back, failed, skipped.
pub(crate) type RowCounts = [u64; 4];

pub(crate) fn add_counts(counts: &mut RowCounts, row: &SerializedRow) {
    for (sum, count) in counts.iter_mut().zip(row.interval.counts()) {
        *sum = sum.saturating_add(count);
    }
}

/// The end of a part of a run.
#[derive(Serialize, Deserialize)]
pub(crate) struct FinishedPart {
    pub drain: Option<SerializedRow>,
    /// Their times count from the start of the load.
    pub events: Vec<RunEvent>,
    /// Count and total of each of the program's action shares.
    pub shares: Vec<(u64, u64)>,
    /// How long after the start of the load the last worker began it, nanoseconds.
    pub start_delay_ns: u64,
    pub rows: u64,
    pub counts: RowCounts,
    pub failure: Option<String>,
    /// What happened at each host, if there are several.
    pub hosts: Vec<PartHost>,
    pub round_trips: Option<PartRoundTrips>,
    /// What each worker has seen, if it is wanted.
    pub commit_gaps: Vec<WorkerGaps>,
    /// What the clients know of their commits at the end.
    pub ledger: Option<LedgerPart>,
}

/// What happened at one host.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartHost {
    connections: HostConnections,
    failed: u64,
    response: SerializedTimes,
    /// Committed and failed transactions and connections, of each second.
    seconds: Vec<(u64, u64, u32)>,
}

impl PartHost {
    pub fn new(totals: &HostTotals<u64>) -> PartHost {
        PartHost {
            connections: totals.connections,
            failed: totals.failed,
            response: SerializedTimes::new(&totals.response),
            seconds: (totals.seconds.iter())
                .map(|second| (second.committed, second.failed, second.connections))
                .collect(),
        }
    }

    pub fn into_totals(self) -> Result<HostTotals<u64>, InvalidInterval> {
        Ok(HostTotals {
            connections: self.connections,
            failed: self.failed,
            seconds: (self.seconds.into_iter())
                .map(|(committed, failed, connections)| HostSecond {
                    committed,
                    failed,
                    connections,
                })
                .collect(),
            response: self
                .response
                .into_distribution_like(Distribution::coarse())?,
        })
    }
}

/// More round trips that begin with the same statement, and differ by their number of statements, than a program makes.
const ROUND_TRIPS_OF_STATEMENT_MAX: usize = 100;

/// The times of round trips by statement.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartRoundTrips {
    /// Index of the first statement, number of statements, and times.
    entries: Vec<(usize, u32, SerializedTimes)>,
    service_ns: u64,
}

impl PartRoundTrips {
    pub fn new(times: &RoundTripTimes<u64>) -> PartRoundTrips {
        let entries = times.entries().map(|entry| {
            let times = SerializedTimes::new(entry.times);
            (entry.first_statement, entry.statements, times)
        });
        PartRoundTrips {
            entries: entries.collect(),
            service_ns: u64::try_from(times.service_ns).unwrap_or(u64::MAX),
        }
    }

    /// Adds these times to those of other agents. `statements`: how many the program has.
    pub fn add_to(
        self,
        sum: &mut RoundTripTimes<u64>,
        statements: usize,
    ) -> Result<(), InvalidInterval> {
        if self.entries.len() > statements.saturating_mul(ROUND_TRIPS_OF_STATEMENT_MAX) {
            return Err(InvalidInterval::Layout);
        }
        sum.service_ns += u128::from(self.service_ns);
        for (first_statement, count, times) in self.entries {
            if first_statement >= statements {
                return Err(InvalidInterval::Layout);
            }
            let times: Distribution<u64> = times.into_distribution_like(Distribution::coarse())?;
            sum.add_times(first_statement, count, &times);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_agent_neither_overflow_nor_reserve_memory() {
        let mut sum = HostTotals::<u64>::default();
        for _ in 0..2 {
            let host = PartHost {
                connections: HostConnections {
                    up: u32::MAX,
                    lost: u64::MAX,
                    ..HostConnections::default()
                },
                failed: u64::MAX,
                response: SerializedTimes::new(&Distribution::<u64>::coarse()),
                seconds: vec![(u64::MAX, 1, u32::MAX)],
            };
            sum.add(&host.into_totals().expect("no times"));
        }
        assert_eq!((sum.connections.up, sum.failed), (u32::MAX, u64::MAX));
        assert_eq!(
            (sum.seconds[0].committed, sum.seconds[0].failed),
            (u64::MAX, 2)
        );

        let of_combinations = |count: u32| {
            let times = || SerializedTimes::new(&Distribution::<u64>::coarse());
            let trips = PartRoundTrips {
                entries: (0..count)
                    .map(|statements| (0, statements, times()))
                    .collect(),
                service_ns: u64::MAX,
            };
            trips.add_to(&mut RoundTripTimes::default(), 2)
        };
        assert!(of_combinations(200).is_ok());
        assert_eq!(of_combinations(201), Err(InvalidInterval::Layout));
    }
}
