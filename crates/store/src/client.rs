//! How the client itself did, as the Run document has it.
//!
//! In: nothing; plain data. Out: part of the document. Must never: say zero where nothing is known.

use serde::{Deserialize, Serialize};

/// The client's own health in the measured window. What the kernel does not tell is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Client {
    /// User CPU time of all worker threads, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_user_s: Option<f64>,
    /// System CPU time of all worker threads, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_system_s: Option<f64>,
    /// The busiest worker's share of one CPU, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_thread: Option<f64>,
    /// CPU time for each committed transaction, microseconds; absent also where none was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_per_transaction_us: Option<f64>,
    /// Longest turn of any loop, nanoseconds: for so long a reply may have waited unseen.
    pub loop_delay_max_ns: u64,
    /// Time that worker threads were ready to run and had no CPU, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_queue_s: Option<f64>,
    /// CPU time stolen by the hypervisor, share of the machine, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Largest resident memory of the process, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_peak_bytes: Option<u64>,
    /// Workers that asked for `SCHED_BATCH`; absent where none did, and in documents of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
}

/// Workers that asked for `SCHED_BATCH` (sched(7)), so that a reply's wake-up takes no CPU from the
/// server's processes on their machine, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Batch {
    /// They ran under it to the end.
    pub under: u32,
    /// They went back to the usual policy in the run, because other programs made them wait.
    pub left: u32,
    /// The system refused it.
    pub refused: u32,
}
