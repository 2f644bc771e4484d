//! Plans for tests that run workloads.

use prony_plan::{DrivePlan, Stop, WorkloadPlan};
use std::time::Duration;

/// The plan of a workload with these options, for the scale of the existing data.
pub fn workload_plan(name: &str, options: &[(&str, &str)]) -> WorkloadPlan {
    let options = options.iter();
    WorkloadPlan {
        name: name.to_owned(),
        scale: None,
        options: options
            .map(|(key, value)| ((*key).to_owned(), (*value).into()))
            .collect(),
    }
}

/// The plan of a closed loop on two threads, with prepared statements.
pub fn drive_plan(clients: u32, stop: Stop) -> DrivePlan {
    DrivePlan {
        clients,
        threads: 2,
        stop,
        grace: Duration::from_secs(60),
        describe: false,
        ..DrivePlan::default()
    }
}
