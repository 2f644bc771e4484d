//! `prony runs` and `prony show`.
//!
//! In: the store. Out: a table of runs, or one run in the form asked for. Must never: change a run.

use super::output;
use crate::args::{RunsArgs, ShowArgs};
use crate::exit::{Exit, Failure};
use prony_report::{csv, history, json, terminal};
use prony_store::RunStore;

/// Lists the stored runs.
pub fn runs(args: &RunsArgs) -> Result<Exit, Failure> {
    Ok(Exit::Fine)
}

/// Shows one run.
pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    Ok(Exit::Fine)
}
