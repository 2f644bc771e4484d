//! Tests YCSB on real servers.

mod maria;
mod postgres;
mod sqlserver;
mod support;
