//! Runs of `tpcc` on a real server: modes, profiles, rollbacks, retries and failures.

mod concurrency;
mod deferred;
mod functions;
mod hammerdb;
mod modes;
pub mod support;
