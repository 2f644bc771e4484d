//! The program of one virtual user.
//!
//! In: a plan, tables. Out: transactions. Must never: take a failure for a success.

use crate::{Error, Loaded};
use prony_plan::WorkloadPlan;
use prony_server::Control;

/// The options that the workload knows.
pub const OPTIONS: &[&str] = &["profile"];

/// The statements of its transactions.
pub fn statements() -> Vec<String> {
    Vec::new()
}

/// The program on the data that is there.
pub fn program(control: &mut Control, plan: &WorkloadPlan) -> Result<Loaded, Error> {
    super::scale_for_run(control, plan.scale)?;
    Err(not_yet())
}

/// In words.
fn not_yet() -> Error {
    Error::Asked {
        problem: "the workload tpcc cannot be run yet".to_owned(),
        hint: "it can be loaded, checked and cleaned".to_owned(),
    }
}
