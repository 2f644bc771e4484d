//! What is asked.
//!
//! In: TOML text, or a value made by a dialect. Out: a checked [`Plan`], or every problem at once,
//! each with its place and a hint; a JSON Schema. Must never: import another crate of ours.

pub mod plan;

pub use plan::{
    Arrival, DrivePlan, IoEngine, Pace, Plan, QueryMode, ServerPlan, Stop, WorkloadPlan,
};
