//! The checked plan of a run, in the units that the other crates use.

use crate::choice::choices;
use crate::mark::Mark;
use crate::observe::ObservePlan;
use prony_document::{Declared, Requirements, ServerSettings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

pub use prony_document::QueryMode;

/// A plan whose values are checked, with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The name of its file without folder and extension; `None` if there is no file.
    pub name: Option<String>,
    pub server: ServerPlan,
    /// The server that takes read-only transactions, if another one does; always a URL.
    pub read_from: Option<ServerPlan>,
    /// What the user says of the server.
    pub declared: Declared,
    /// Settings that the server shall have during the run.
    pub settings: ServerSettings,
    pub workload: WorkloadPlan,
    pub drive: DrivePlan,
    /// Observation of the server, and publication of the run's figures.
    pub observe: ObservePlan,
    /// Whether the run measures an outage or a stall of the server, such as a failover; if so, neither
    /// makes the run invalid.
    pub expect_outage: bool,
    /// Commands that run during the load.
    pub at: Vec<Mark>,
    /// Whether each transaction writes its number, so that each commit can be accounted for.
    pub ledger: bool,
    /// What the result must meet.
    pub require: Requirements,
    /// Commands that reach the machines which drive the clients; empty if this machine does.
    pub agents: Vec<String>,
    /// Whether this program is copied to these machines first.
    pub install_agents: bool,
}

impl Plan {
    /// The plan for the command line of a replaced tool. The caller resolves the server, which is not
    /// observed.
    pub fn for_replaced_tool(workload: WorkloadPlan, drive: DrivePlan) -> Plan {
        Plan {
            name: None,
            server: ServerPlan::Url(String::new()),
            read_from: None,
            declared: Declared::default(),
            settings: ServerSettings::default(),
            workload,
            drive,
            observe: ObservePlan::disabled(),
            expect_outage: false,
            at: Vec::new(),
            ledger: false,
            require: Requirements::default(),
            agents: Vec::new(),
            install_agents: false,
        }
    }
}

/// The server to put under load.
#[derive(Clone, PartialEq)]
pub enum ServerPlan {
    /// A URI or conninfo string; if empty, environment variables (PGHOST...) name the server. May contain a
    /// password: it is never stored unredacted (see `server::redact`).
    Url(String),
    /// A throw-away server that Prony starts.
    Embedded,
}

impl fmt::Debug for ServerPlan {
    /// Omits the URL: it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url(_) => "Url(hidden)",
            Self::Embedded => "Embedded",
        })
    }
}

/// The workload, its scale and its options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkloadPlan {
    /// Name, as `prony run NAME` accepts it: `tpcb`, `simple-update`, `select-only`...
    pub name: String,
    /// Scale factor; if absent, that of the loaded data (run), or the workload's default (load).
    pub scale: Option<u32>,
    /// Options of the workload, which the workload itself checks.
    pub options: BTreeMap<String, toml::Value>,
}

/// How the load is driven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DrivePlan {
    /// Virtual users, each with its own connection.
    pub clients: u32,
    /// OS threads that drive the clients. A checked plan that names no number has
    /// [`default_threads`](crate::default_threads).
    pub threads: u32,
    /// Closed or open loop.
    pub pace: Pace,
    /// When the run ends.
    pub stop: Stop,
    /// Warm-up, which is measured but not part of the result.
    pub warmup: Duration,
    /// If present, the warm-up goes on after that time until the load is steady, but not longer than this.
    pub warmup_max: Option<Duration>,
    /// How long transactions in flight at the end may take to finish before they are cut off.
    pub grace: Duration,
    /// Slower transactions are counted as late. With a rate, starts that are already later than this are
    /// skipped.
    pub latency_limit: Option<Duration>,
    /// Whether a client that loses its connection reconnects, and its transaction counts as failed; otherwise
    /// the client ends.
    pub reconnect: bool,
    pub protocol: QueryMode,
    /// Whether to request the row description with each execution, as libpq does.
    pub describe: bool,
    /// The I/O engine.
    pub io: IoEngine,
    /// How workers wait for replies.
    pub wait: ReplyWait,
    /// Whether each transaction opens a new connection.
    pub connect_per_transaction: bool,
    /// Whether the time to connect is part of the transaction's time.
    pub connect_time_counts: bool,
    /// With which of several servers a connection begins; if absent, as the URL says.
    pub spread: Option<Spread>,
    /// The share of the read-only transactions that the server for reads takes, if there is one, in per cent.
    pub read_share: u32,
    /// Number of clients that use TCP while the others use a unix socket. Only TCP packets have
    /// timestamps, which split the service time.
    pub tcp_sample: u32,
    /// Seed of all random numbers; if absent, one is chosen and stored in the result.
    pub seed: Option<u64>,
    /// Whether each thread is pinned to a CPU; if absent, where that was measured to help.
    pub pin: Option<bool>,
    /// Whether the latency of each statement is measured as well.
    pub statement_latency: bool,
}

impl DrivePlan {
    /// The threads that are started: one without clients is not.
    pub fn workers(&self) -> u32 {
        self.threads.min(self.clients)
    }
}

impl Default for DrivePlan {
    fn default() -> DrivePlan {
        DrivePlan {
            clients: 8,
            threads: 1,
            pace: Pace::Closed,
            stop: Stop::After(Duration::from_secs(60)),
            warmup: Duration::ZERO,
            warmup_max: None,
            grace: Duration::from_secs(5),
            latency_limit: None,
            reconnect: true,
            protocol: QueryMode::Prepared,
            describe: true,
            io: IoEngine::Auto,
            wait: ReplyWait::Auto,
            connect_per_transaction: false,
            connect_time_counts: true,
            spread: None,
            read_share: 100,
            tcp_sample: 0,
            seed: None,
            pin: None,
            statement_latency: false,
        }
    }
}

/// When transactions start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pace {
    /// A user starts its next transaction when the last one ends.
    Closed,
    /// Starts are scheduled at this rate for all clients together, however fast the server answers.
    Rate {
        /// Transactions per second.
        rate_tps: f64,
        /// Gaps between scheduled starts.
        arrival: Arrival,
        /// The run ends when more starts than this are due and wait for a client; absent for no limit.
        queue_max: Option<u64>,
    },
    /// Each user has a time for each of its transactions, as sessions that are replayed do.
    Timetable,
}

choices! {
    /// Gaps between scheduled starts.
    #[derive(Default)]
    pub enum Arrival {
        /// Exponential gaps: independent users.
        #[default]
        Poisson = "poisson",
        /// Even gaps.
        Even = "even",
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// After this time, counted from the end of the warm-up.
    After(Duration),
    /// After this many transactions of each client, counted from the end of the warm-up.
    Transactions(u64),
    /// No transaction starts after this time. Transactions in flight may end within the grace period, and are
    /// counted, as in pgbench.
    NoStartsAfter(Duration),
    /// After this many starts of all clients together, counted from the end of the warm-up, or after a time
    /// as with `NoStartsAfter`. Any free client takes the next start. Only this stop needs a counter that all
    /// threads share.
    SharedTransactions {
        /// Number of starts of all clients together.
        transactions: u64,
        /// No transaction starts after this time.
        within: Duration,
    },
    /// When each user has done all its work, which is finite.
    WorkDone,
}

choices! {
    /// With which of several servers a connection begins. If it does not answer, the next one is tried.
    #[derive(Default)]
    pub enum Spread {
        /// The first: the others are for the case that it does not answer.
        #[default]
        First = "first",
        /// Each client's own, in turn.
        RoundRobin = "round-robin",
        /// One at random, for each connection.
        Random = "random",
    }
}

choices! {
    /// How a worker waits for replies.
    #[derive(Default)]
    pub enum ReplyWait {
        /// It sleeps. In a closed loop, it waits for several replies at once if a trial at the start of the
        /// load shows that this raises throughput.
        #[default]
        Auto = "auto",
        /// It sleeps until the first reply arrives.
        Sleep = "sleep",
        /// It polls for 50 µs before it sleeps, which uses a CPU per thread.
        Spin = "spin",
    }
}

choices! {
    /// The I/O engine that drives the sockets.
    pub enum IoEngine {
        /// io_uring if a probe finds it usable, else epoll.
        Auto = "auto",
        /// io_uring, or an error.
        Ring = "ring",
        Epoll = "epoll",
    }
}
