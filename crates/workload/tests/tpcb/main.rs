//! The account workloads on a real server, beside the system's pgbench.

mod broken;
mod common;
mod program;
mod state;
