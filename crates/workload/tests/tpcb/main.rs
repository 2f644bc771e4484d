//! Tests the account workloads on a real server, and compares them with the installed pgbench.

mod broken;
#[allow(dead_code, reason = "no binary of tests uses all of it")]
#[path = "../common/mod.rs"]
mod common;
mod pgbench;
mod program;
mod state;
