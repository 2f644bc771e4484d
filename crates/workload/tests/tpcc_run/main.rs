//! The running half of `tpcc` on a real server: its modes, profiles, rollbacks, retries and failures.

mod crowd;
mod deferred;
mod functions;
mod modes;
#[path = "../common/plans.rs"]
mod plans;
#[path = "../common/rich.rs"]
mod rich;
mod support;
