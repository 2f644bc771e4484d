//! The setup of a run: the Prony build, the client machines, the server and the load.

use prony_document::{
    BatchScheduling, BuildProfile, Declared, Description, FindingKind, FoundPooler, Network,
    PlannedEnd, Product, ResponseTimeLimit, ServerAddress, Service, ServiceTimePartsSource,
    Setting, Severity, SqlDialect,
};
use prony_plan::{Arrival, QueryMode, ReplyWait, Spread, experiment::RunOrder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The build of Prony.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Build {
    /// Package version.
    pub version: String,
    /// Target triple or `os-arch`.
    pub target: String,
    /// Whether the compiler optimised.
    pub profile: BuildProfile,
    /// Commit of the sources, ignoring uncommitted changes; absent if unknown.
    pub commit: Option<String>,
}

/// A machine that drove clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientMachine {
    /// The machine.
    pub host: Host,
    /// Its health in the measured window.
    pub health: ClientHealth,
    /// Its part of a run that several machines drove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<MachinePart>,
}

/// What one of several machines did in a run, and its clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachinePart {
    /// Clients that it drove.
    pub clients: u32,
    /// OS threads that drove them.
    pub threads: u32,
    /// Transactions that it committed in the measured window.
    pub committed: u64,
    /// The same per second.
    pub tps: f64,
    /// Mean response time of its committed transactions, nanoseconds; absent if there were none.
    pub response_mean_ns: Option<f64>,
    /// Mean of the server's part of it, nanoseconds; absent if it was not measured.
    pub server_mean_ns: Option<f64>,
    /// How far its clock was ahead of the coordinator's before the load, nanoseconds, by the shortest of many round
    /// trips.
    pub clock_offset_ns: i64,
    /// The shortest round trip to it, nanoseconds; the offset is wrong by at most half of it.
    pub round_trip_ns: u64,
    /// How far the offset had changed after the load, nanoseconds; absent if it was lost.
    pub clock_drift_ns: Option<i64>,
    /// How long after the common start its last worker began, nanoseconds; absent if it was lost.
    pub start_delay_ns: Option<u64>,
    /// Why it was lost; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl MachinePart {
    /// The longest time by which it may have begun apart from the common start, nanoseconds: its delay, the bound of its
    /// clock's offset, and the drift. `None` if it was lost.
    pub fn start_skew_max_ns(&self) -> Option<u64> {
        let drift_ns = self.clock_drift_ns?.unsigned_abs();
        let bound_ns = self.round_trip_ns.div_ceil(2);
        Some(
            self.start_delay_ns?
                .saturating_add(bound_ns)
                .saturating_add(drift_ns),
        )
    }
}

/// A client machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel name and release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// How the frequency of its CPUs is set; absent if unknown, as on most virtual machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_frequency: Option<CpuFrequency>,
}

/// How the frequency of a machine's CPUs is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFrequency {
    /// The kernel's driver, such as `intel_pstate`; several joined by `and`.
    pub driver: String,
    /// The governor, such as `performance` or `powersave`; several joined by `and`.
    pub governor: String,
    /// Highest frequency that the settings allow, MHz, of the CPU that they limit most; absent if unknown.
    pub limit_mhz: Option<u64>,
    /// Highest frequency that this CPU has, MHz; absent if unknown.
    pub max_mhz: Option<u64>,
}

/// The server, as it reports itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// The product that answers; absent if unknown.
    pub product: Option<Product>,
    /// The service or derived product that its version and settings show; absent if they show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Service>,
    /// The pooler or proxy through which the clients reach it; absent if none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooler: Option<FoundPooler>,
    /// Version text.
    pub version: String,
    /// Its address; absent if unknown.
    pub address: Option<ServerAddress>,
    /// Database name.
    pub database: String,
    /// Role or user that the clients log in as.
    pub user: String,
    /// TLS version and cipher, or absent.
    pub tls: Option<String>,
    /// Whether Prony started it for this run.
    pub embedded: bool,
    /// What the user said of it; nobody observed it.
    #[serde(default, skip_serializing_if = "Declared::is_empty")]
    pub declared: Declared,
    /// All settings except those that may hold a secret, name to value with unit.
    pub settings: Map<String, Value>,
}

/// The name of a product, and of the service that it is part of; empty if unknown.
pub fn product_name(product: Option<Product>, service: Option<Service>) -> String {
    let product = product.map_or("", |product| product.name);
    match service {
        None => product.to_owned(),
        Some(service) if service.quirks().is_other_engine => {
            format!("{} (as {product})", service.name())
        }
        Some(service) => format!("{product} ({})", service.name()),
    }
}

impl Server {
    /// The name of its product, and of the service that it is part of; empty if unknown.
    pub fn product_name(&self) -> String {
        product_name(self.product, self.service)
    }

    /// The name and the version, without the build in parentheses, and the pooler before it: `PostgreSQL 17.2`.
    pub fn name_and_version(&self) -> String {
        let version = self.version.split(" (").next().unwrap_or_default();
        format!("{} {version}{}", self.product_name(), self.through_pooler())
    }

    /// ` through PgBouncer`; empty without a pooler.
    pub fn through_pooler(&self) -> String {
        let pooler = self.pooler.as_ref();
        pooler.map_or(String::new(), |pooler| {
            format!(" through {}", pooler.name())
        })
    }

    /// The SQL that it understands; absent if unknown.
    pub fn dialect(&self) -> Option<SqlDialect> {
        self.product.map(|product| product.dialect)
    }
}

/// The workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Its name, such as `tpcc`.
    pub name: String,
    /// The name of the plan, if that has the user's own transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_name: Option<String>,
    /// A one-line description.
    pub title: String,
    /// Scale factor.
    pub scale: u32,
    /// Options that determine the meaning of its figures: runs with different values are not comparable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Response-time limits of its specification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ResponseTimeLimit>,
    /// Kinds of transaction.
    pub kinds: Vec<String>,
    /// The statements, with placeholders for their values.
    pub statements: Vec<String>,
    /// The workload's description; absent if there is none.
    pub description: Option<Description>,
}

impl Workload {
    /// What results call it: the name of a plan with the user's own transactions, otherwise the workload's.
    pub fn display_name(&self) -> &str {
        self.own_name.as_deref().unwrap_or(&self.name)
    }

    pub fn setting(&self, name: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|setting| setting.name == name)?;
        Some(&setting.value)
    }
}

/// How the load was driven.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Number of clients.
    pub clients: u32,
    /// Number of threads.
    pub threads: u32,
    /// Whether transactions start by a schedule, at a rate; otherwise in a closed loop.
    pub open_loop: bool,
    /// The scheduled rate, transactions per second; absent in a closed loop.
    pub rate_tps: Option<f64>,
    /// Distribution of the gaps between scheduled starts.
    pub arrival: Option<Arrival>,
    /// The planned end; absent if unknown.
    pub stop: Option<PlannedEnd>,
    /// The protocol mode; absent if unknown.
    pub protocol: Option<QueryMode>,
    /// The I/O engine that ran: `ring` or `epoll` (`sim` in tests).
    pub io: String,
    /// Why that engine was chosen.
    pub io_reason: String,
    /// How the workers waited for replies; absent in a journal before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<ReplyWait>,
    /// How the clients connected to the server; absent before the load starts, or if unknown.
    pub network: Option<Network>,
    /// With which of several servers a connection begins; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The share of the read-only transactions that a server for reads took, in per cent; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_share_percent: Option<u32>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether each transaction opened its own connection.
    pub connect_per_transaction: bool,
}

/// The health of the client in the measured window. Values that the kernel does not report are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientHealth {
    /// User CPU time of all worker threads, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_user_s: Option<f64>,
    /// System CPU time of all worker threads, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_system_s: Option<f64>,
    /// The busiest worker's share of one CPU, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_thread_share: Option<f64>,
    /// CPU time per committed transaction, microseconds; also absent if none was committed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_per_transaction_us: Option<f64>,
    /// Longest iteration of any event loop, nanoseconds: a reply may have waited that long before it was
    /// noticed.
    pub loop_delay_max_ns: u64,
    /// Time for which worker threads were ready to run but had no CPU, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_queue_s: Option<f64>,
    /// CPU time stolen by the hypervisor, share of the machine, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Largest resident memory of the process, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_peak_bytes: Option<u64>,
    /// Workers that requested `SCHED_BATCH`; absent if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchScheduling>,
    /// Workers that waited for several replies at once, because a trial at the start of the load had shown
    /// that this raises throughput; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coalescing_workers: Option<u32>,
    /// Workers that were pinned to one CPU each; absent if none were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_workers: Option<u32>,
}

impl ClientHealth {
    /// The health of several machines together: times add up; shares and delays are those of the worst machine.
    pub(super) fn of_all(machines: &[ClientMachine]) -> ClientHealth {
        let healths = || machines.iter().map(|machine| &machine.health);
        let sum_s = |read: fn(&ClientHealth) -> Option<f64>| {
            healths()
                .filter_map(read)
                .reduce(|sum, seconds| sum + seconds)
        };
        let largest =
            |read: fn(&ClientHealth) -> Option<f64>| healths().filter_map(read).reduce(f64::max);
        let count = |read: fn(&ClientHealth) -> Option<u32>| {
            healths().filter_map(read).reduce(u32::saturating_add)
        };
        let (cpu_user_s, cpu_system_s) = (
            sum_s(|health| health.cpu_user_s),
            sum_s(|health| health.cpu_system_s),
        );
        let parts = machines.iter().filter_map(|machine| machine.part.as_ref());
        let committed: u64 = parts.map(|part| part.committed).sum();
        let cpu_us = 1e6 * (cpu_user_s.unwrap_or(0.0) + cpu_system_s.unwrap_or(0.0));
        let is_known = committed > 0 && (cpu_user_s.is_some() || cpu_system_s.is_some());
        let batch = healths().filter_map(|health| health.batch);
        ClientHealth {
            cpu_user_s,
            cpu_system_s,
            busiest_thread_share: largest(|health| health.busiest_thread_share),
            cpu_per_transaction_us: is_known.then(|| cpu_us / committed as f64),
            loop_delay_max_ns: healths()
                .map(|health| health.loop_delay_max_ns)
                .max()
                .unwrap_or(0),
            run_queue_s: sum_s(|health| health.run_queue_s),
            steal_share: largest(|health| health.steal_share),
            memory_peak_bytes: healths()
                .filter_map(|health| health.memory_peak_bytes)
                .max(),
            batch: batch.reduce(|mut sum, batch| {
                sum.add(&batch);
                sum
            }),
            coalescing_workers: count(|health| health.coalescing_workers),
            pinned_workers: count(|health| health.pinned_workers),
        }
    }
}

/// How the parts of the service time were measured, and how far they can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The source of the parts of the service time.
    pub parts_source: ServiceTimePartsSource,
    /// Replies with a usable timestamp.
    pub with_timestamp: u64,
    /// Replies without a usable timestamp.
    pub without_timestamp: u64,
    /// Timestamps that are earlier than the request or later than the moment at which the reply was noticed;
    /// discarded.
    pub impossible: u64,
    /// Timestamps of a period in which the offset between the clocks moved; used nevertheless.
    pub doubtful: u64,
    /// How often the offset between the clocks moved by more than a microsecond.
    pub clock_steps: u64,
    /// Time for one send of a batch, nanoseconds, as calibrated by transmit timestamps.
    pub send_cost_ns: f64,
    /// Transmit timestamps used for that calibration.
    pub transmit_timestamps: u64,
}

/// One check of `judge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Short stable name: `littles-law`, `client-limit`...
    pub id: String,
    /// Its severity.
    pub severity: Severity,
    /// Whether it casts doubt on the measurement or limits what the figure covers; absent for other notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FindingKind>,
    /// The finding, with figures.
    pub finding: String,
    /// The advice.
    pub advice: String,
}

impl Check {
    /// What people call its finding.
    pub fn word(&self) -> &'static str {
        match (self.severity, self.kind) {
            (Severity::Invalid, _) => "invalid",
            (Severity::Caveat, Some(FindingKind::Scope)) => "scope",
            (Severity::Caveat, _) => "doubt",
            (Severity::Note, _) => "note",
        }
    }

    /// Whether it casts doubt on the measurement. A caveat without a kind does.
    pub fn is_doubt(&self) -> bool {
        match self.kind {
            Some(kind) => kind == FindingKind::Doubt,
            None => self.severity > Severity::Note,
        }
    }
}

/// Why the runs of an experiment belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExperimentKind {
    /// Repeats of one plan, or variants that are compared.
    #[default]
    Variants,
    /// Points of a sweep.
    Sweep,
    /// Steps of `prony find`.
    Search(RateSearch),
    /// Rows of a suite of scenarios, which are different loads.
    Suite(SuiteRequest),
}

/// The suite of scenarios whose rows the runs are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteRequest {
    /// Id of the suite.
    pub id: String,
    /// What was requested for all rows: `as published`, or what is smaller or shorter.
    pub request: String,
}

/// How `prony find` searches the highest rate, or the best number of clients, that meets what is required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSearch {
    /// Whether its first rate was estimated, so that it is near the answer; false over clients.
    pub is_estimate: bool,
    /// The search ends if the answer is known to plus or minus this share, or no other number of clients brings more.
    pub precision: f64,
    /// It ends after so many steps at the latest.
    pub max_steps: u32,
}

/// A run's position in an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// Id of the experiment, the same in all its runs: the id of its first run.
    pub id: String,
    pub kind: ExperimentKind,
    /// The name of the variant.
    pub variant: String,
    /// Number of the repeat of that variant, from 1.
    pub repeat: u32,
    /// Position of this run in the experiment, from 1, in order of execution.
    pub position: u32,
    /// Planned runs, of all variants together.
    pub runs: u32,
    /// Order of the runs of the variants.
    pub order: RunOrder,
    /// Seed of a random order; absent for other orders.
    pub order_seed: Option<u64>,
    /// Names of all variants in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// The settings that the variant has as a point of a sweep, in the order of the plan, or as a step of a search;
    /// `machine` is the name of its machine. Empty for variants and suites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub point: Vec<Setting>,
}
