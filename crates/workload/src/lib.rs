//! What a virtual user does, and on which data: schema, loader, program and checks of each workload.
//!
//! In: a plan's workload and scale, a control connection. Out: loaded tables, findings about them,
//! the program of a virtual user. Must never: see a socket of the load, or measure time of it.

pub mod commands;
pub mod copy;
pub mod error;
pub mod lua;
pub mod oltp;
pub mod parts;
pub mod progress;
pub mod random;
pub mod registry;
pub mod script;
pub mod stop;
pub mod sysbench;
pub mod tpcb;
pub mod tpcc;
pub mod workload;

mod catalog;
mod catalog_mysql;
mod copy_binary;
mod distinct;
mod fields;
mod findings;
mod load_mysql;
mod loader;
#[cfg(test)]
mod played;
#[cfg(test)]
mod played_mysql;
mod products;
mod remains;
mod sql;
mod words;

pub use error::Error;
pub use progress::{Phase, Progress, Step};
pub use registry::{find, list, option_problems};
pub use workload::{
    CheckReport, Counted, Finding, LoadReport, LoadRequest, Loaded, Most, RateOf, State,
    TableFacts, Workload,
};
