//! Samples become figures.
//!
//! In: [`Sample`]s of finished transactions, one worker at a time. Out: histograms, per-second
//! intervals, an error ledger and the client's own health. Must never: see a database, read a
//! socket, or average a percentile.
//!
//! Each worker has a [`Recorder`]; finished [`Interval`]s go to the one [`Collector`], which gives
//! [`Row`]s as the run goes and [`Totals`] at its end. Cleared intervals go back to the worker.

pub mod collector;
pub mod distribution;
pub mod errors;
pub mod health;
pub mod interval;
pub mod queries;
pub mod recorder;
pub mod sample;
pub mod schedule;
pub mod tally;

pub use collector::{Collected, Collector, Row, Totals};
pub use distribution::Distribution;
pub use errors::{ErrorEntry, ErrorLedger};
pub use hdrhistogram::Counter;
pub use health::{Batch, Health, ProcessHealth, ProcessProbe};
pub use interval::{Interval, Leftover, StampCounts};
pub use queries::{Queries, Query};
pub use recorder::Recorder;
pub use sample::{Code, ErrorClass, Kind, Outcome, Parts, Sample};
pub use schedule::{Part, Schedule, Span};
pub use tally::{PartTimes, Shape, Tally};
