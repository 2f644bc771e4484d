//! Tests YCSB on real servers.

mod both;
mod maria;
mod postgres;
mod sqlserver;
mod support;
