//! The account workloads on a real server, compared with the installed pgbench.

mod broken;
#[path = "../common/mod.rs"]
mod common;
mod pgbench;
mod program;
mod state;
