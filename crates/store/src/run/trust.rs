//! What tells whether the figures can be trusted: the client's health, the stamps, the checks.
//!
//! In: nothing. Out: parts of the Run document. Must never: hold a zero for what the kernel does not
//! tell, which is absent.

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
}

/// How good the split of the response time is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// `kernel stamps`, `kernel stamps on N of M clients`, or `unavailable`, with the reason.
    pub split: String,
    /// Replies with a usable stamp.
    pub stamped: u64,
    /// Replies without one.
    pub unstamped: u64,
    /// Stamps before their request or after their notice: discarded.
    pub impossible: u64,
    /// Stamps taken since the last reading of the clock offset when that offset was found to have
    /// moved.
    pub doubtful: u64,
    /// How often the offset between the clocks moved by more than a microsecond.
    pub clock_steps: u64,
    /// Time for one send of a batch, nanoseconds, as calibrated by transmit stamps.
    pub send_cost_ns: f64,
    /// Transmit stamps behind that.
    pub transmit_stamps: u64,
}

/// One check of `judge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Short stable name: `littles-law`, `client-limit`...
    pub id: String,
    /// How bad.
    pub severity: Severity,
    /// What was found, with figures.
    pub finding: String,
    /// What to do about it.
    pub advice: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Recorded.
    Note,
    /// To be read beside the figure.
    Caveat,
    /// The figure must not be used.
    Invalid,
}
