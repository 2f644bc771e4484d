//! The workloads of sysbench on a real server.

mod load;
mod maria;
#[path = "../common/plans.rs"]
mod plans;
mod run;
#[path = "../common/stop.rs"]
mod stop;
mod support;
mod trouble;
