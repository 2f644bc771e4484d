//! Checks the consistency of the workload's data after the load.
//!
//! In: the workload and its server. Out: the findings in the form of the Run document. Must never: change data, or
//! fail the run: if the check fails, its error is recorded.

use crate::job::RunJob;
use prony_drive::DriveResult;
use prony_server::Control;
use prony_store::{ConsistencyCheck, ConsistencyFinding};
use prony_workload::Workload;
use prony_workload::remedy::PronyCommands;

/// The findings of the workload's check; `None` if no check was requested, or if the run was interrupted:
/// then the user waits for its end.
pub(crate) fn check_after(
    job: &RunJob<'_>,
    drive_result: &DriveResult,
) -> Option<ConsistencyCheck> {
    if !job.check_after || drive_result.interrupted {
        return None;
    }
    Some(match check_data(job) {
        Ok(findings) => ConsistencyCheck {
            findings,
            error: None,
        },
        Err(error) => ConsistencyCheck {
            findings: Vec::new(),
            error: Some(error),
        },
    })
}

fn check_data(job: &RunJob<'_>) -> Result<Vec<ConsistencyFinding>, String> {
    let mut control = Control::connect(&job.server.target).map_err(|error| error.to_string())?;
    let workload: &dyn Workload = job.workload;
    let report = workload
        .check(&mut control)
        .map_err(|error| error.to_string())?;
    Ok(report.rendered(&PronyCommands::default()))
}
