//! The Run document and the index of runs.
//!
//! In: figures, plan, observations. Out: a versioned JSON document, written as the run goes; a
//! SQLite index. Must never: change a figure, or hold a password.

mod client;
mod document;
mod error;
mod experiment;
mod figures;
mod histogram;
mod id;
mod imported;
mod index;
mod journal;
mod line;
mod lock;
pub mod named;
pub mod observed;
pub mod run;
mod scan;
pub mod scenario;
mod store;
mod writer;

pub use client::{Batch, Client};
pub use document::read_document;
pub use error::StoreError;
pub use experiment::Experiment;
pub use figures::{client, figures, latency, second, timing};
pub use histogram::{decode_histogram, encode_histogram};
pub use id::started_now;
pub use imported::{Imported, Relation, RelationKind, Reported, ReportedKind};
pub use index::Summary;
pub use named::{Limit, QueryCounts, Rate, Share};
pub use observed::{
    Durability, Machine, MachineSecond, Missing, Observed, ObserverCost, Replica, RoundTrip,
    ServerSecond, ServerState, TableState,
};
pub use run::*;
pub use scenario::Scenario;
pub use store::{Filter, Listing, RunStore};
pub use writer::RunWriter;
