//! The checked plan: what a run is asked to do, in the units that the rooms downstream use.
//!
//! In: nothing. Out: plain data. Must never: hold a password in a field that is serialized.

use crate::observe::ObservePlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Everything that a run is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Which server.
    pub server: ServerPlan,
    /// Which workload, how large.
    pub workload: WorkloadPlan,
    /// How it is driven.
    pub drive: DrivePlan,
    /// What is seen of the server meanwhile, and who may look on.
    pub observe: ObservePlan,
}

/// Which server to load.
#[derive(Clone, PartialEq)]
pub enum ServerPlan {
    /// A URI or conninfo string; empty means what the customary environment says (PGHOST...).
    /// May contain a password: it is never stored as it stands (see `server::redact`).
    Url(String),
    /// A throw-away server of Prony's own.
    Embedded,
}

impl fmt::Debug for ServerPlan {
    /// Without the URL: it may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Url(_) => "Url(hidden)",
            Self::Embedded => "Embedded",
        })
    }
}

/// Which workload, at which scale, with which options of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadPlan {
    /// Name, as `prony run NAME` takes it: `tpcb`, `simple-update`, `select-only`...
    pub name: String,
    /// Scale factor; absent: what the loaded data says (run), or the workload's default (load).
    pub scale: Option<u32>,
    /// Options that only this workload knows; it checks them itself.
    pub options: BTreeMap<String, toml::Value>,
}

/// How the load is driven.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivePlan {
    /// Virtual users, each with a connection of its own.
    pub clients: u32,
    /// OS threads that drive them.
    pub threads: u32,
    /// Closed loop, or a rate.
    pub pace: Pace,
    /// When it ends.
    pub stop: Stop,
    /// Driven and measured, but kept apart from the result.
    pub warmup: Duration,
    /// How long transactions in flight at the end may take to finish before they are cut off.
    pub grace: Duration,
    /// Slower transactions are counted as late. At a rate, starts that are already later than this
    /// are skipped.
    pub latency_limit: Option<Duration>,
    /// A client whose connection is lost gets a new one, and its transaction counts as failed; else
    /// the client ends.
    pub reconnect: bool,
    /// How statements are sent.
    pub protocol: QueryMode,
    /// Ask for the row description with each execution, as libpq does.
    pub describe: bool,
    /// Which I/O engine.
    pub io: IoEngine,
    /// A new connection for each transaction.
    pub connect_per_transaction: bool,
    /// Connecting is part of the transaction's time then; else that starts when it is done.
    pub connect_counts: bool,
    /// How many of the clients use TCP where the others use a unix socket, to estimate the split.
    pub tcp_sample: u32,
    /// Seed of all random numbers; absent: chosen, and named in the result.
    pub seed: Option<u64>,
    /// Pin each thread to a CPU.
    pub pin: bool,
}

/// When transactions start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A user starts its next transaction when the last one ends.
    Closed,
    /// Starts are scheduled at this rate for all clients together, whatever the server does.
    Rate {
        /// Transactions a second.
        rate_tps: f64,
        /// Gaps between scheduled starts.
        arrival: Arrival,
        /// When more starts than this are due and not taken, the run ends; absent: they wait,
        /// however many.
        queue_max: Option<u64>,
    },
}

/// Gaps between scheduled starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// Exponential gaps: independent users.
    Poisson,
    /// Even gaps.
    Even,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// After this time, counted from the end of the warm-up.
    After(Duration),
    /// After this many transactions of each client, counted from the end of the warm-up.
    Transactions(u64),
    /// No transaction starts after this time, and all that started are awaited, for as long as the
    /// grace, and counted: what pgbench does.
    Starts(Duration),
    /// After this many starts of all clients together, counted from the end of the warm-up, whoever
    /// is free takes the next; and as `Starts` after a time. The only stop that threads share: they
    /// count on one number.
    Shared {
        /// Starts.
        transactions: u64,
        /// None after this time.
        within: Duration,
    },
}

/// How statements are sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum QueryMode {
    /// Text with the values in it.
    Simple,
    /// Parse, bind and execute each time.
    Extended,
    /// Parsed once a connection, bound and executed each time.
    Prepared,
}

/// Which I/O engine drives the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IoEngine {
    /// io_uring where a probe finds it usable, else epoll.
    Auto,
    /// io_uring, or an error.
    Ring,
    /// epoll.
    Epoll,
}
