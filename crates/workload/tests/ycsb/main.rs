//! Tests YCSB on real servers.

#[allow(dead_code, reason = "no binary of tests uses all of it")]
#[path = "../common/mod.rs"]
mod common;
mod maria;
mod postgres;
mod sqlserver;
mod support;
