//! The Run document and the index of runs.
//!
//! In: figures, plan, observations. Out: a versioned JSON document, written as the run goes; a
//! SQLite index. Must never: change a figure, or hold a password.

pub mod run;

pub use run::*;
