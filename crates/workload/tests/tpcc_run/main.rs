//! Runs of `tpcc` on a real server: modes, profiles, rollbacks, retries and failures.

mod concurrency;
mod deferred;
mod functions;
mod hammerdb;
mod modes;
#[path = "../common/plans.rs"]
mod plans;
#[path = "../common/rare_cases.rs"]
mod rare_cases;
mod support;
