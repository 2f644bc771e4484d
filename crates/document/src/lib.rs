//! The words that all crates use for what a run requests, counts and observes, as the Run document stores them.
//!
//! Plain data without behaviour beyond names and sums. Must never: depend on a crate of the workspace, allocate where
//! a worker counts, or turn an unknown value into zero.

mod counts;
mod metrics;
mod names;
mod observed;
mod topic;
mod workload;

pub use counts::*;
pub use metrics::*;
pub use names::*;
pub use observed::*;
pub use topic::*;
pub use workload::*;
