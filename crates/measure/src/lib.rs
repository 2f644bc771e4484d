//! Turns samples into figures.
//!
//! In: [`Sample`]s of finished transactions, one worker at a time. Out: histograms, per-second
//! intervals, an error ledger and the client's own health. Must never: access a database or
//! a socket, or average a percentile.
//!
//! Each worker has a [`Recorder`]; finished [`Interval`]s go to the one [`Collector`], which returns
//! [`IntervalRow`]s during the run and [`Totals`] at its end. Cleared intervals go back to the worker.
//! A [`SerializedInterval`] goes to a file or to another machine.

pub mod coarse;
pub mod collector;
pub mod commit_gaps;
pub mod distribution;
pub mod errors;
pub mod gaps;
pub mod health;
pub mod histogram;
pub mod interval;
pub mod recorded;
pub mod recorder;
pub mod round_trips;
pub mod sample;
pub mod schedule;
pub mod serialized;
pub mod tally;

pub use coarse::{CoarseHistogram, decode_series, encode_series};
pub use collector::{CollectedFigures, Collector, IntervalRow, Totals};
pub use commit_gaps::{CommitGapTimes, CommitGaps, GapRecorder, WorkerGaps};
pub use distribution::{Distribution, samples_needed};
pub use errors::{ErrorEntry, ErrorLedger};
pub use gaps::{Gap, Gaps};
pub use hdrhistogram::Counter;
pub use health::{Health, ProcessHealth, ProcessProbe};
pub use histogram::{decode_histogram, encode_histogram};
pub use interval::{ExcludedTransactions, Interval, TimestampCounts};
pub use prony_document::{BatchScheduling, ErrorClass, InFlight, QueryCounts, QueryKind};
pub use recorded::RecordedTimes;
pub use recorder::Recorder;
pub use round_trips::{RoundTripEntry, RoundTripTimes};
pub use sample::{ErrorCode, Outcome, Sample, ServiceTimeParts, TxnKind};
pub use schedule::{RunPhase, RunSchedule, Span};
pub use serialized::{
    InvalidInterval, PartTotals, ReceivedRow, SerializedInterval, SerializedRow, SerializedTimes,
    SparseInterval,
};
pub use tally::{PartDistributions, RecorderLayout, Tally};
