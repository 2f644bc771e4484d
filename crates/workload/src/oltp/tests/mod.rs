//! Tests that involve several modules.

mod allocation;
mod distributions;
mod options;
mod rows;
mod server;
mod statements;
