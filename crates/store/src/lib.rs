//! The Run document and the index of runs.
//!
//! Figures, plan and observations become a versioned JSON document, which is written during the run, and rows
//! of an index. Figures are never changed, and passwords never stored.

mod annotation;
mod contradictions;
mod document;
mod error;
mod figures;
mod files;
mod filter;
mod group;
mod histogram_recorder;
mod id;
mod index;
mod journal;
mod journal_file;
mod line;
mod reported;
mod rolling;
pub mod run;
mod scan;
pub mod scenario;
mod similar;
mod store;
mod writer;

pub use annotation::{Annotation, check_label};
pub use contradictions::contradictions;
pub use document::{DocumentError, parse_document, read_document};
pub use error::StoreError;
pub use figures::{client_health, client_health_of_part, figures, latency, second, timing};
pub use filter::{RunFilter, RunVerdict};
pub use histogram_recorder::HistogramRecorder;
pub use id::started_now;
pub use index::{FileStamp, RunSummary};
pub use prony_document::*;
pub use prony_measure::{
    CoarseHistogram, RecordedTimes, encode_histogram, encode_series, samples_needed,
};
pub use prony_plan::experiment::{DIRECT_VARIANT, POOLED_VARIANT};
pub use prony_plan::scenario::PublishedMetric;
pub use prony_plan::{Arrival, Choice, QueryMode, RunOrder, Spread};
pub use reported::{Relation, RelationKind, ReportedKind, ReportedRun};
pub use rolling::SecondSeries;
pub use run::*;
pub use scenario::Scenario;
pub use store::{Listing, Rules, RunStore};
pub use writer::RunWriter;
