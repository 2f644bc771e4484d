//! Tests the account workloads on a real server, and compares them with the installed pgbench.

mod broken;
#[path = "../common/mod.rs"]
mod common;
mod pgbench;
mod program;
mod state;
