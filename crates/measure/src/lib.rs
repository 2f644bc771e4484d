//! Samples become figures.
//!
//! In: [`Sample`]s of finished transactions, one worker at a time. Out: histograms, per-second
//! intervals, an error ledger and the client's own health. Must never: see a database, read a
//! socket, or average a percentile.

pub mod sample;

pub use sample::{Code, ErrorClass, Kind, Outcome, Parts, Sample};
