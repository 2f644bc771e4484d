//! What tells whether the figures can be trusted: the client's health, the stamps, the checks.
//!
//! In: nothing. Out: parts of the Run document. Must never: hold a zero for what the kernel does not
//! tell, which is absent.

use serde::{Deserialize, Serialize};

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
