//! The account workloads on a real server, beside the system's pgbench.

mod broken;
#[path = "../common/mod.rs"]
mod common;
mod pgbench;
mod program;
mod state;
