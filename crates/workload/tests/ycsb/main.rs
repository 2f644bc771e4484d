//! Tests YCSB on real servers.

#[path = "../common/databases.rs"]
mod databases;
mod maria;
#[path = "../common/plans.rs"]
mod plans;
mod postgres;
mod sqlserver;
#[path = "../common/stop.rs"]
mod stop;
mod support;
