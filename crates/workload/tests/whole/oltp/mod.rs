//! Tests the workloads of sysbench on real servers.

mod errors;
mod load;
mod maria;
mod run;
mod sqlserver;
mod support;
