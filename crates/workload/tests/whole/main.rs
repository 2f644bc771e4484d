//! Tests workloads and scripts on real servers: one program, so that the tests of one folder wait beside those of
//! another.

mod common;
mod lua;
mod oltp;
mod tpcb;
mod tpcc;
mod tpcc_maria;
mod tpcc_run;
mod tpcc_sqlserver;
mod ycsb;
