//! Whether the workload could show what the server can do.
//!
//! In: a Run. Out: `branch-contention`. Must never: know a workload's statements.

use crate::found;
use crate::words::count;
use prony_store::{Check, Run, Severity};

/// Each tpcb transaction updates its branch, one row for each unit of scale; two in the same branch
/// run one after the other.
pub(crate) fn branch_contention(run: &Run) -> Option<Check> {
    let (scale, clients) = (run.workload.scale, run.drive.clients);
    if run.workload.name != "tpcb" || scale == 0 || scale >= clients {
        return None;
    }
    let branches = if scale == 1 { "branch" } else { "branches" };
    found(
        "branch-contention",
        Severity::Caveat,
        format!(
            "{} shared {scale} {branches}: each transaction locks the row of its branch, so the \
             figures show the waiting for these locks more than the server.",
            count(u64::from(clients), "client"),
        ),
        format!("Load at a scale of {clients} or more, or use fewer clients."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    #[test]
    fn fewer_branches_than_clients() {
        let mut run = healthy();
        run.workload.scale = 64;
        assert_eq!(branch_contention(&run), None);
        run.workload.scale = 63;
        let check = branch_contention(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.starts_with("64 clients shared 63 branches"),
            "{check:?}"
        );
        run.workload.name = "select-only".to_owned();
        assert_eq!(branch_contention(&run), None);
    }
}
