//! One finished transaction, as the loop hands it over.
//!
//! In: nothing. Out: plain data. Must never: allocate, or know which database answered.

/// Which kind of transaction of the running workload a sample belongs to: its place in the
/// program's list of kinds.
pub type Kind = u16;

/// A five-letter SQLSTATE, or the engine's error number as five digits where it has no SQLSTATE.
pub type Code = [u8; 5];

/// Why a transaction did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorClass {
    /// Serialization failure (SQLSTATE 40001).
    Serialization,
    /// Deadlock (SQLSTATE 40P01).
    Deadlock,
    /// A statement, lock or idle time-out of the server (57014, 55P03, 25P03...).
    Timeout,
    /// The connection was lost before the commit was asked for.
    LostConnection,
    /// The connection was lost after the commit was sent and before its reply: it may have happened.
    AmbiguousCommit,
    /// The server sent what its protocol does not allow.
    Protocol,
    /// Any other error of the server.
    Other,
}

impl ErrorClass {
    /// Every class.
    pub const ALL: [ErrorClass; 7] = [
        ErrorClass::Serialization,
        ErrorClass::Deadlock,
        ErrorClass::Timeout,
        ErrorClass::LostConnection,
        ErrorClass::AmbiguousCommit,
        ErrorClass::Protocol,
        ErrorClass::Other,
    ];

    /// Its name in documents and reports, such as `lost connection`.
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Serialization => "serialization",
            ErrorClass::Deadlock => "deadlock",
            ErrorClass::Timeout => "timeout",
            ErrorClass::LostConnection => "lost connection",
            ErrorClass::AmbiguousCommit => "ambiguous commit",
            ErrorClass::Protocol => "protocol",
            ErrorClass::Other => "other",
        }
    }

    /// The class of that name.
    pub fn from_name(name: &str) -> Option<ErrorClass> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server confirmed the commit.
    Committed,
    /// The workload rolled it back on purpose (TPC-C's one per cent).
    RolledBack,
    /// It failed.
    Failed(ErrorClass, Code),
    /// It was never started, because its scheduled start was already hopelessly late.
    Skipped,
}

/// Where the response time of a transaction went, summed over its statements.
///
/// The parts tile the time from the actual start to the end of a transaction without think time:
/// `send_wait + server + client_wait = ended - started`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// From the moment the user could ask until the request left the client, nanoseconds.
    pub send_wait_ns: u64,
    /// From the request leaving until the reply's arrival in the client's kernel, nanoseconds.
    pub server_ns: u64,
    /// From that arrival until the loop noticed it, nanoseconds.
    pub client_wait_ns: u64,
    /// The reply shared a read with a later one, so `server_ns` is an upper bound.
    pub upper_bound: bool,
}

/// One finished transaction. All times are nanoseconds of the run's clock (`drive::clock`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What it was.
    pub kind: Kind,
    /// How it ended.
    pub outcome: Outcome,
    /// When it was due: equal to `started_ns` in a closed loop.
    pub scheduled_ns: u64,
    /// When it really started.
    pub started_ns: u64,
    /// When its last reply was noticed.
    pub ended_ns: u64,
    /// Time spent on connecting inside it (`--connect-per-transaction`), nanoseconds.
    pub connect_ns: u64,
    /// Tries before the one that ended it.
    pub retries: u32,
    /// The split of `ended - started`; absent where any of its replies had no usable stamp.
    pub parts: Option<Parts>,
}

impl Sample {
    /// From the scheduled start to the end: what a user who does not wait for others sees.
    pub fn response_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.scheduled_ns)
    }

    /// From the actual start to the end.
    pub fn service_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.started_ns)
    }
}
