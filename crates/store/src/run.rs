//! The Run document: the request, the environment, the observations and the measurements.
//!
//! It never holds a password, and figures are never changed. Times are seconds (`_s`) or nanoseconds (`_ns`).
//! Unknown values are null or absent.

mod consistency;
mod doctor;
mod endpoints;
mod histograms;
mod ledger;
mod measured;
mod outage;
mod setup;
mod statements;

pub use consistency::*;
pub use doctor::*;
pub use endpoints::*;
pub use histograms::*;
pub use ledger::*;
pub use measured::*;
pub use outage::*;
pub use setup::*;
pub use statements::*;

use crate::scenario::{CachedShare, Scenario};
use prony_document::{
    Answer, Event, IndustryMetric, Observed, ObservedShare, RunState, ServerState,
    ServiceTimePartsSource, Setting, Severity, TransactionTime,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::LazyLock;

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Version of this document. Readers refuse a newer major part.
pub const SCHEMA_VERSION: &str = "1.0";

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Version of this document's schema, [`SCHEMA_VERSION`].
    pub schema_version: SchemaVersion,
    /// Sortable name of the run, such as `20261120-233342-tpcb-7f3a`.
    pub id: String,
    /// Start of the run, RFC 3339 with the local offset.
    pub started_at: String,
    /// Whether it is in progress, or how it ended.
    pub state: RunState,
    /// Why it ended early; absent for a complete run.
    pub ended_because: Option<String>,
    /// Its position in an experiment; absent for a single run.
    pub experiment: Option<Experiment>,
    /// The published scenario that it repeats, if any.
    pub scenario: Option<Scenario>,
    /// The requested share of the data in the cache.
    pub cached: Option<CachedShare>,
    /// The build of Prony.
    pub build: Build,
    /// The machines that drove the clients.
    pub machines: Vec<ClientMachine>,
    /// The request as it was written, without passwords: command line or TOML.
    pub request: Value,
    /// The plan as executed, with every default filled in.
    pub plan: Value,
    /// The server, as it reports itself.
    pub server: Server,
    /// The workload.
    pub workload: Workload,
    /// How the load was driven.
    pub drive: Drive,
    /// The parts of the run in time.
    pub window: Window,
    /// Figures of the warm-up; absent if there was none.
    pub warmup: Option<Figures>,
    /// Figures of the measured window: the result.
    pub measured: Figures,
    /// Industry metrics such as NOPM; the primary one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<IndustryMetric>,
    /// Shares of the mix, over the whole run including the warm-up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<ObservedShare>,
    /// Latencies of the workload's statements in the measured window; absent unless the plan asks for them
    /// (`run.statement_latency`), and empty for programs that execute only statements of a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<Vec<StatementLatency>>,
    /// The servers over which the connections were spread; empty if there was only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointFigures>,
    /// One entry per second, including the warm-up.
    pub series: Vec<Second>,
    /// Distributions of the times over the run; absent if nothing was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histograms: Option<HistogramSeries>,
    /// Reconnects, outages and the like, in order of time.
    pub events: Vec<Event>,
    /// Observations of the server; absent if it was not observed.
    pub observed: Option<Observed>,
    /// The consistency check of the data after the load; absent if none was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<ConsistencyCheck>,
    /// What committed transactions added to the data, by the server's count; empty for workloads that only read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<GrowthReading>,
    /// What became of each commit; absent if the plan asks for no ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerAccount>,
    /// The longest time without a commit; absent unless the plan expects an outage, keeps a ledger or runs commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_gap: Option<CommitGap>,
    /// What `prony doctor` found before the run; absent if it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doctor: Option<DoctorReport>,
    /// How the parts of the service time were measured, and how far they can be trusted.
    pub timing: Timing,
    /// What was required of it, and whether it meets that; absent if nothing was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Version of the rules by which it was judged; absent if it was not judged.
    pub rules_version: Option<u32>,
    /// The checks of `judge`.
    pub checks: Vec<Check>,
}

impl Run {
    /// The finding of a check; `None` if it has nothing to report.
    pub fn check(&self, id: &str) -> Option<&Check> {
        self.checks.iter().find(|check| check.id == id)
    }

    /// The findings of this severity.
    pub fn checks_of(&self, severity: Severity) -> impl Iterator<Item = &Check> {
        let checks = self.checks.iter();
        checks.filter(move |check| check.severity == severity)
    }

    /// The value of an industry metric; `None` if the run does not have it.
    pub fn metric(&self, name: &str) -> Option<f64> {
        let rate = self.rates.iter().find(|rate| rate.name == name)?;
        Some(rate.value)
    }

    /// The server's state before the load; `None` if it was not read, or if the server was not observed: a replaced tool
    /// reads only a part of it.
    pub fn state_before(&self) -> Option<&ServerState> {
        let observed = self.observed.as_ref()?;
        observed.before.as_ref().filter(|_| observed.off.is_none())
    }

    /// The server's states before and after the load, or the parts that a replaced tool reads; `None` if one was not read.
    pub fn states(&self) -> Option<(&ServerState, &ServerState)> {
        let observed = self.observed.as_ref()?;
        observed.before.as_ref().zip(observed.after.as_ref())
    }

    /// The machine that drove the clients, or the first of several; if there is none, one with empty fields.
    pub fn machine(&self) -> &ClientMachine {
        self.machines.first().unwrap_or(&UNKNOWN_MACHINE)
    }

    /// The health of the machine that drove the clients, or of several together.
    pub fn client_health(&self) -> ClientHealth {
        match &self.machines[..] {
            [] | [_] => self.machine().health.clone(),
            machines => ClientHealth::of_all(machines),
        }
    }

    /// CPUs of the machines that drove the clients; 0 if unknown.
    pub fn client_cpus(&self) -> u32 {
        let cpus = self.machines.iter().map(|machine| machine.host.cpus);
        cpus.fold(0, u32::saturating_add)
    }

    /// Whether it measured what a drill finds: an outage, or what became of its commits.
    pub fn is_drill(&self) -> bool {
        self.commit_gap.is_some() || self.ledger.is_some()
    }

    /// The name of its variant; `None` if it is no part of an experiment.
    pub fn variant(&self) -> Option<&str> {
        let experiment = self.experiment.as_ref()?;
        Some(&experiment.variant)
    }

    /// What its experiment is; `None` if it is no part of one.
    pub fn experiment_kind(&self) -> Option<&ExperimentKind> {
        self.experiment.as_ref().map(|experiment| &experiment.kind)
    }

    pub fn suite(&self) -> Option<&SuiteRequest> {
        match self.experiment_kind()? {
            ExperimentKind::Suite(suite) => Some(suite),
            _ => None,
        }
    }

    pub fn search(&self) -> Option<&RateSearch> {
        match self.experiment_kind()? {
            ExperimentKind::Search(search) => Some(search),
            _ => None,
        }
    }

    /// The settings of its point of a sweep or of its step of a search; empty if it is none.
    pub fn point(&self) -> &[Setting] {
        let experiment = self.experiment.as_ref();
        experiment.map_or(&[], |experiment| &experiment.point)
    }

    /// The run without its seconds and their histograms, of which a long experiment would keep many.
    pub fn without_seconds(self) -> Run {
        Run {
            series: Vec::new(),
            histograms: None,
            ..self
        }
    }

    /// The machine that drove the clients, to fill in.
    pub fn machine_mut(&mut self) -> &mut ClientMachine {
        if self.machines.is_empty() {
            self.machines.push(ClientMachine::default());
        }
        &mut self.machines[0]
    }

    /// Removes the split of the service time if so many of the kernel's timestamps are impossible that those that
    /// remain are not believable either. Call it when the series and the histograms are complete.
    pub fn remove_unreliable_parts(&mut self) {
        let timing = &mut self.timing;
        let timestamps = timing.with_timestamp + timing.impossible;
        let impossible_share = timing.impossible as f64 / timestamps.max(1) as f64;
        if impossible_share <= IMPOSSIBLE_TIMESTAMPS_MAX_SHARE {
            return;
        }
        timing.parts_source = ServiceTimePartsSource::unavailable(format!(
            "{:.0} % of the kernel's timestamps are impossible, so the others are not believable either",
            100.0 * impossible_share
        ));
        let warmup = self.warmup.iter_mut().flat_map(|warmup| &mut warmup.kinds);
        for kind in warmup.chain(&mut self.measured.kinds) {
            kind.parts = None;
        }
        for second in &mut self.series {
            second.server_mean_ns = None;
        }
        if let Some(histograms) = &mut self.histograms {
            histograms.times.retain(|times| {
                matches!(
                    times.time,
                    TransactionTime::Response | TransactionTime::Service
                )
            });
        }
    }
}

/// Largest share of the kernel's timestamps that may be impossible in a run that reports the split.
const IMPOSSIBLE_TIMESTAMPS_MAX_SHARE: f64 = 0.05;

static UNKNOWN_MACHINE: LazyLock<ClientMachine> = LazyLock::new(ClientMachine::default);

/// The schema version of a document; defaults to [`SCHEMA_VERSION`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct SchemaVersion(pub String);

impl Default for SchemaVersion {
    fn default() -> SchemaVersion {
        SchemaVersion(SCHEMA_VERSION.to_owned())
    }
}
