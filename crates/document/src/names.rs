//! Enums that documents store by the names of their variants, and how clients reached the server, how a run was to end and
//! what its parts of the service time come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Declares an enum with the names that documents and messages use.
macro_rules! named_values {
    ($($(#[$attribute:meta])* $type:ident {
        $($(#[$about:meta])* $value:ident = $name:literal),+ $(,)?
    })+) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        $(#[$attribute])*
        pub enum $type { $($(#[$about])* #[serde(rename = $name)] $value),+ }

        impl $type {
            /// All variants.
            pub const ALL: &[$type] = &[$($type::$value),+];

            /// Its name in the document and in reports.
            pub fn name(self) -> &'static str {
                match self { $($type::$value => $name),+ }
            }

            /// The variant of that name; `None` if there is none.
            pub fn from_name(name: &str) -> Option<$type> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    )+};
}

named_values! {
    /// Whether a run is in progress, or how it ended.
    #[derive(Default)]
    RunState {
        /// Still in progress (the document of a live run).
        #[default]
        Running = "running",
        /// Ended as planned.
        Complete = "complete",
        /// Ended early by a signal, an error or a kill; its figures cover what was measured.
        Partial = "partial",
    }

    /// The severity of a finding.
    Severity {
        /// Information.
        Note = "note",
        /// The figure is valid, but the finding has to be considered with it.
        Caveat = "caveat",
        /// The figure must not be used.
        Invalid = "invalid",
    }

    /// What a finding says about the figure.
    FindingKind {
        /// The figure does not cover what the finding names, such as a checkpoint.
        Scope = "scope",
        /// The measurement may be wrong.
        Doubt = "doubt",
    }

    /// How statements are sent.
    QueryMode {
        /// As text that contains the values.
        Simple = "simple",
        /// Parsed, bound and executed each time.
        Extended = "extended",
        /// Parsed once for each connection, bound and executed each time.
        Prepared = "prepared",
    }

    /// Why a transaction did not commit, for all protocols.
    #[derive(Default, Hash)]
    ErrorClass {
        /// Serialization failure.
        Serialization = "serialization",
        /// The transaction is the victim of a deadlock.
        Deadlock = "deadlock",
        /// The server canceled the transaction or a statement by a statement, lock or idle timeout.
        Timeout = "timeout",
        /// The connection was lost before anything could commit.
        LostConnection = "lost connection",
        /// The connection was lost after the commit was sent and before its reply, or after a statement outside a
        /// block had committed by itself: the transaction may have committed, in whole or in part.
        AmbiguousCommit = "ambiguous commit",
        /// The server violated its protocol.
        Protocol = "protocol",
        /// The server lacks disk space, memory or connections.
        Resources = "insufficient resources",
        /// Any other error of the server, also of a class that this version does not know.
        #[default]
        #[serde(other)]
        Other = "other",
    }

    /// How Prony was compiled.
    #[derive(Default)]
    BuildProfile {
        /// Without optimisation.
        Debug = "debug",
        /// With optimisation.
        #[default]
        Release = "release",
    }

    /// The phase of the load to which a second belongs.
    #[derive(Default)]
    SecondPhase {
        /// Before the measured window.
        Warmup = "warmup",
        /// In the measured window.
        #[default]
        Measured = "measured",
    }

    /// What ended a warm-up of no fixed length.
    WarmupEnd {
        /// The load was steady.
        Steady = "steady",
        /// The longest warm-up was over.
        Limit = "limit",
    }

    /// The time of a transaction whose distribution is stored for each interval.
    TransactionTime {
        /// From the scheduled start to the last reply.
        Response = "response",
        /// From the actual start to the last reply.
        Service = "service",
        /// Part of the service time: until the request left the client.
        SendWait = "send wait",
        /// Part of the service time: until the reply arrived.
        Server = "server",
        /// Part of the service time: until the client noticed the reply.
        ClientWait = "client wait",
    }

    /// Which crashes a committed transaction survives.
    DurabilityClass {
        /// A crash may destroy the data.
        D0 = "D0",
        /// A crash of the server process may lose commits.
        D1 = "D1",
        /// A crash of its machine may lose commits.
        D2 = "D2",
        /// Neither kind of crash loses commits.
        D3 = "D3",
        /// Even the loss of the machine loses no commits: a replica has each before the client is told.
        D4 = "D4",
    }

    /// How a server replicates, judged by its connected replicas and its settings.
    Replication {
        /// None, as a publication states it.
        None = "none",
        /// No replica is visible. A service may replicate below SQL.
        NotVisible = "not visible",
        /// Commits do not wait for a replica.
        Asynchronous = "asynchronous",
        /// Commits wait until a replica has received them, or until a time-out (MySQL, MariaDB).
        SemiSynchronous = "semi-synchronous",
        /// Commits wait for a replica.
        Synchronous = "synchronous",
    }

    /// The kind of an event.
    #[derive(Default)]
    EventKind {
        /// Connections were lost, and later restored.
        Outage = "outage",
        /// Attempts to connect failed during the load.
        FailedAttempts = "failed attempts to connect",
        /// Users ended because of an error.
        UserEnded = "user ended",
        /// The queue of scheduled starts overflowed.
        QueueFull = "queue full",
        /// The server was restarted.
        Restart = "restart",
        /// The server's role changed between primary and replica.
        Failover = "failover",
        /// A command of the plan (`--at`), or the signal SIGUSR1.
        Mark = "mark",
        /// A checkpoint.
        Checkpoint = "checkpoint",
        /// A vacuum of a table.
        Vacuum = "vacuum",
        /// A table's statistics were collected.
        Analyze = "analyze",
        /// An index was built.
        IndexBuild = "index build",
        /// A table was rewritten.
        TableRebuild = "table rebuild",
        /// A backup.
        Backup = "backup",
        /// A kind that this version does not know.
        #[default]
        #[serde(other)]
        Other = "event",
    }
}

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerAddress {
    /// The path of its unix socket.
    Unix(String),
    /// Address and port.
    Tcp(String),
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerAddress::Unix(path) => write!(f, "unix:{path}"),
            ServerAddress::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// How the clients connected to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// All over its unix socket.
    Unix,
    /// All over TCP.
    Tcp,
    /// Over its unix socket, except for some clients that used TCP to estimate the server time.
    UnixWithTcpSample {
        /// Number of clients that used TCP.
        clients: u32,
    },
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Network::Unix => f.write_str("unix"),
            Network::Tcp => f.write_str("tcp"),
            Network::UnixWithTcpSample { clients } => write!(f, "unix + {clients} tcp"),
        }
    }
}

/// The planned end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedEnd {
    /// After this many seconds of the measured window.
    DurationS(f64),
    /// No transaction starts after this many seconds; transactions in flight are counted.
    NoStartsAfterS(f64),
    /// After this many transactions of each client.
    TransactionsPerClient(u64),
    /// After this many transactions of all clients together.
    Transactions(u64),
    /// When each client has done all its work, such as the sessions of a replay.
    WorkDone,
}

/// The source of the parts of the service time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceTimePartsSource {
    /// Kernel timestamps of all clients.
    KernelTimestamps,
    /// Kernel timestamps of some clients.
    SampledTimestamps {
        /// Clients with timestamps.
        clients: u32,
        /// All clients.
        total_clients: u32,
    },
    /// There are no parts.
    Unavailable {
        /// The reason; empty if unknown.
        reason: String,
    },
}

impl fmt::Display for ServiceTimePartsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceTimePartsSource::KernelTimestamps => f.write_str("kernel timestamps"),
            ServiceTimePartsSource::SampledTimestamps {
                clients,
                total_clients,
            } => write!(
                f,
                "kernel timestamps on {clients} of {total_clients} clients"
            ),
            ServiceTimePartsSource::Unavailable { reason } => write!(f, "unavailable: {reason}"),
        }
    }
}

impl Default for ServiceTimePartsSource {
    fn default() -> ServiceTimePartsSource {
        ServiceTimePartsSource::unavailable("")
    }
}

impl ServiceTimePartsSource {
    /// The parts are unavailable, for this reason.
    pub fn unavailable(reason: impl Into<String>) -> ServiceTimePartsSource {
        ServiceTimePartsSource::Unavailable {
            reason: reason.into(),
        }
    }
}
