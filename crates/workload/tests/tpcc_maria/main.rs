//! The tpcc workload on a real MariaDB.

#[allow(dead_code, reason = "no binary of tests uses all of it")]
#[path = "../common/mod.rs"]
mod common;
mod concurrency;
mod hammerdb;
mod load;
mod modes;
mod privileges;
mod support;
