//! The words that all crates use for what a run requests, counts and observes, as the Run document stores them.
//!
//! Plain data without behaviour beyond names and sums. Must never: depend on a crate of the workspace, allocate where
//! a worker counts, or turn an unknown value into zero.

// First, because modules after it use its macro.
#[macro_use]
mod names;

mod counts;
mod data;
mod declared;
mod hex;
mod leb128;
mod metrics;
mod observed;
mod pooler;
mod product;
mod requirement;
mod server_settings;
mod service;
mod sql_dialect;
mod topic;
mod workload;

pub use counts::*;
pub use data::*;
pub use declared::*;
pub use hex::hex;
pub use leb128::{append_leb128, take_leb128};
pub use metrics::*;
pub use names::*;
pub use observed::*;
pub use pooler::*;
pub use product::*;
pub use requirement::*;
pub use server_settings::*;
pub use service::*;
pub use sql_dialect::*;
pub use topic::*;
pub use workload::*;
