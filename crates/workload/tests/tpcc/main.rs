//! The tpcc workload on a real server.

#[allow(dead_code, reason = "no binary of tests uses all of it")]
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod layout;
mod load;
