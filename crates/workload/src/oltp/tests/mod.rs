//! Tests of the workloads on a mock server, and of their options and rows.

mod allocation;
mod distributions;
mod options;
mod rows;
mod server;
mod sqlserver;
mod statements;
