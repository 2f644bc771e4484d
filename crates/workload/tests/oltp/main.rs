//! Tests the workloads of sysbench on real servers.

#[allow(dead_code, reason = "no binary of tests uses all of it")]
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod load;
mod maria;
mod run;
mod sqlserver;
mod support;
