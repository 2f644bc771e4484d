//! The workloads of sysbench on a real server.

mod load;
mod run;
mod support;
mod trouble;
