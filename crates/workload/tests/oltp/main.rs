//! The workloads of sysbench on a real server.

mod load;
mod maria;
mod run;
#[path = "../common/stop.rs"]
mod stop;
mod support;
mod trouble;
