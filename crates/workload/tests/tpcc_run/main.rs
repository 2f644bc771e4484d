//! Runs of `tpcc` on a real server: modes, profiles, rollbacks, retries and failures.

#[allow(dead_code, reason = "no binary of tests uses all of it")]
#[path = "../common/mod.rs"]
mod common;
mod concurrency;
mod deferred;
mod functions;
mod hammerdb;
mod modes;
mod support;
