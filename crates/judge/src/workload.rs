//! Whether the workload can show what the server is capable of.
//!
//! In: a Run with its workload's description. Out: `contention`, and the workload's remarks. Must never:
//! distinguish workloads by name.

use crate::checks::{Finding, caveat, new_remark};
use crate::formatting::count;
use prony_store::{Check, Description, Run, Severity};

/// The workload's description; `None` if there is none.
pub(crate) fn description(run: &Run) -> Option<&Description> {
    run.workload.description.as_ref()
}

/// Checks for contention: transactions that lock the same row of a unit of scale (a branch, a warehouse) run
/// one after another.
pub(crate) fn check_contention(run: &Run) -> Option<Finding> {
    let (scale, clients) = (run.workload.scale, run.drive.clients);
    let description = description(run)?;
    let contention = description.contention.as_ref()?;
    let unit = description.scale_unit.as_ref()?;
    let clients_per_unit = contention.clients_per_scale.max(1);
    if scale == 0 || clients <= scale.saturating_mul(clients_per_unit) {
        return None;
    }
    let units = if scale == 1 { &unit.singular } else { &unit.plural };
    caveat(
        format!(
            "{} shared {scale} {units}: {}.",
            count(u64::from(clients), "client"),
            contention.because
        ),
        format!(
            "Load at a scale of {} or more, or use fewer clients.",
            clients.div_ceil(clients_per_unit)
        ),
    )
}

/// The remarks that the workload's description makes on its own figures.
pub(crate) fn remarks(run: &Run) -> Vec<Check> {
    let remarks = description(run).map_or(&[][..], |description| &description.remarks);
    let caveat = |remark: &prony_store::Remark| {
        new_remark(
            &remark.id,
            Severity::Caveat,
            remark.finding.clone(),
            remark.advice.clone(),
        )
    };
    remarks.iter().filter_map(caveat).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;
    use prony_assertions::TextAssertions;
    use prony_store::Remark;

    fn description_mut(run: &mut Run) -> &mut Description {
        run.workload.description.as_mut().expect("a description")
    }

    #[test]
    fn too_many_clients_per_unit_of_scale_are_reported() {
        let mut run = healthy();
        run.workload.scale = 64;
        assert_eq!(check_contention(&run), None);
        run.workload.scale = 63;
        let check = check_contention(&run).expect("64 clients");
        assert_eq!(check.severity, Severity::Caveat);
        let finding = &check.finding;
        finding.assert_starts_with("64 clients shared 63 branches: each transaction");
        let branches = description_mut(&mut run).contention.as_mut();
        branches.expect("branches").clients_per_scale = 10;
        assert_eq!(check_contention(&run), None);
        run.workload.scale = 6;
        let check = check_contention(&run).expect("more than ten each");
        let advice = &check.advice;
        advice.assert_starts_with("Load at a scale of 7 or more,");
        description_mut(&mut run).contention = None;
        assert_eq!(check_contention(&run), None);
    }

    #[test]
    fn remarks_of_a_workload_are_caveats() {
        let mut run = healthy();
        assert_eq!(remarks(&run), Vec::new());
        description_mut(&mut run).remarks = vec![Remark {
            id: "population".into(),
            finding: "Other customers.".to_owned(),
            advice: "Load anew.".to_owned(),
        }];
        let checks = remarks(&run);
        assert_eq!(checks.len(), 1);
        assert_eq!(
            (checks[0].id.as_str(), checks[0].severity),
            ("population", Severity::Caveat)
        );
        assert!(crate::judge(&run).contains(&checks[0]));
    }
}
