//! What is asked.
//!
//! In: TOML text, or a value made by a dialect or the command line. Out: a checked [`Plan`], or
//! every problem at once, each with its place and a hint; a JSON Schema. Must never: import another
//! crate of ours; quote a connection URL in a problem, a schema or a `Debug` text.
//!
//! The way of a plan: [`Asked::from_toml`] reads what is written and remembers where;
//! [`Asked::overlay`] lays the command line's flags over it; [`Asked::check`] fills in the defaults
//! and compares the values with each other. [`Asked::check_experiment`] does so for each variant.

mod asked;
mod check;
mod choice;
mod duration;
pub mod experiment;
pub mod file;
mod observe;
pub mod plan;
mod problem;
mod random;
mod read;
pub mod scenario;
mod section;
pub mod sheet;
mod suggest;

pub use asked::{Asked, Given, Placed, flag};
pub use check::{MAX_CLIENTS, MAX_RATE_TPS, MAX_SCALE, MAX_THREADS, MAX_TIME};
pub use choice::Choice;
pub use duration::{DurationError, format_duration, parse_duration};
pub use experiment::{AskedExperiment, Experiment, Order, Turn, Variant};
pub use file::{json_schema, to_json, to_toml};
pub use observe::{Listen, ListenError, ObservePlan};
pub use plan::{
    Arrival, DrivePlan, IoEngine, Pace, Plan, QueryMode, ServerPlan, Stop, WorkloadPlan,
};
pub use problem::{Place, Problem, Problems};
pub use random::{SplitMix, splitmix64};
pub use sheet::{AsOf, Sheet};
