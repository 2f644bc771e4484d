//! The workloads of sysbench on a real server.

mod load;
mod maria;
mod run;
mod support;
mod trouble;
