//! The workloads: schema, loader, program and checks of each.
//!
//! Takes a plan's workload and scale, and a control connection; provides loaded tables, findings
//! about them, and the program of a virtual user. This crate must not access the sockets of the
//! load, or measure its time.

pub mod capture;
pub mod catalog;
pub mod copy;
pub mod describe;
pub mod error;
pub mod growth;
pub mod ledger;
pub mod lua;
pub mod note;
pub mod oltp;
pub mod option_reader;
pub mod parallel;
pub mod progress;
pub mod random;
pub mod registry;
pub mod remedy;
pub mod replay;
pub mod script;
pub mod stop;
pub mod sysbench;
pub mod tpcb;
pub mod tpcc;
pub mod workload;
pub mod ycsb;

mod engines;
mod findings;
mod foreign_table;
mod loader;
mod names;
mod number_format;
mod ownership;
mod row_format;
mod sql;
mod unique_numbers;
mod user_counts;
mod zipf;

#[cfg(test)]
mod tests;

pub use engines::{require_engine, require_protocol, require_service};
pub use error::{Error, Result};
pub use findings::LOAD_UNFINISHED;
pub use progress::{LoadPhase, Progress, ProgressUpdate};
pub use prony_document::{FindingState, TableFacts};
pub use registry::{find, list, unknown_option_problems};
pub use workload::{
    CheckReport, Finding, LoadDivision, LoadReport, LoadRequest, MetricSource, PartSelection,
    PartSender, RateCeiling, RateMetric, ReadyWorkload, Workload,
};
