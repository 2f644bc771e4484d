//! Tests the workloads of sysbench on real servers.

#[path = "../common/databases.rs"]
mod databases;
mod errors;
mod load;
mod maria;
#[path = "../common/plans.rs"]
mod plans;
mod run;
mod sqlserver;
#[path = "../common/stop.rs"]
mod stop;
mod support;
