//! Tests the account workloads on a real server, and compares them with the installed pgbench.

mod broken;
mod pgbench;
mod program;
mod state;
