//! One finished transaction, as the loop records it.
//!
//! Must never: allocate, or know which database answered.

use prony_document::ErrorClass;

/// The kind of a transaction: its index in the program's list of kinds.
pub type TxnKind = u16;

/// A five-character SQLSTATE, or the engine's error number as five digits if it has no SQLSTATE.
pub type ErrorCode = [u8; 5];

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server confirmed the commit.
    Committed,
    /// The workload rolled it back on purpose (TPC-C's one per cent).
    RolledBack,
    Failed(ErrorClass, ErrorCode),
    /// It was never started, because it was already later than the latency limit.
    Skipped,
}

/// The parts of a transaction's service time, each summed over its statements.
///
/// The parts add up to the time from the actual start to the end of a transaction without think time:
/// `send_wait + server + client_wait = ended - started`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceTimeParts {
    /// From the moment the user could send until the request left the client, nanoseconds.
    pub send_wait_ns: u64,
    /// From the request leaving the client until the reply's arrival in the client's kernel, nanoseconds.
    pub server_ns: u64,
    /// From that arrival until the loop noticed it, nanoseconds.
    pub client_wait_ns: u64,
    /// Whether the reply shared a read with a later one, so that `server_ns` is an upper bound.
    pub server_is_upper_bound: bool,
}

/// One finished transaction. All times are nanoseconds on the run's clock (`drive::clock`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub kind: TxnKind,
    pub outcome: Outcome,
    /// When it was due: equal to `started_ns` in a closed loop.
    pub scheduled_ns: u64,
    pub started_ns: u64,
    /// When its last reply was noticed.
    pub ended_ns: u64,
    /// Time spent connecting inside the transaction (`--connect-per-transaction`), nanoseconds.
    pub connect_ns: u64,
    /// Tries before the last one.
    pub retries: u32,
    /// The parts of `ended - started`; absent if any of its replies had no usable timestamp.
    pub parts: Option<ServiceTimeParts>,
}

impl Sample {
    /// From the scheduled start to the end, including the wait for a free client.
    pub fn response_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.scheduled_ns)
    }

    /// From the actual start to the end.
    pub fn service_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.started_ns)
    }
}
