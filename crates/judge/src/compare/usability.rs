//! Whether the figures of two Runs may be used at all, whatever they are compared with.
//!
//! In: two Runs. Out: differences. Must never: ignore a problem because both Runs have it.

use super::Difference;
use crate::all_kinds;
use Severity::{Caveat, Invalid};
use prony_store::{Check, Run, RunState, Severity};

/// Reasons why one of the two Runs should not be used, or only with care.
pub(super) fn usability_differences(a: &Run, b: &Run) -> Vec<Difference> {
    let mut reasons = Vec::new();
    let mut add = |severity, what: &str, values: [String; 2], why| {
        let [a, b] = values;
        reasons.push(Difference {
            severity,
            what: what.to_owned(),
            a,
            b,
            why,
        });
    };
    let states = [a, b].map(|run| run.state);
    let names = states.map(|state| state.name().to_owned());
    if states.contains(&RunState::Running) {
        let why = "the figures of a run in progress are not final";
        add(Invalid, "state", names, why);
    } else if states.contains(&RunState::Partial) {
        let why = "a run that ended early covers less than planned";
        add(Caveat, "state", names, why);
    }
    let committed = [a, b].map(|run| all_kinds(run).map_or(0, |kind| kind.committed));
    if committed.contains(&0) {
        let why = "there is no figure to compare";
        add(
            Invalid,
            "committed",
            committed.map(|count| count.to_string()),
            why,
        );
    }
    let why_findings = "each applies to only one of the two runs: see prony show";
    for (severity, what, why) in [
        (Invalid, INVALID_BY, "its figures must not be used"),
        (Caveat, FINDINGS, why_findings),
    ] {
        let [ids_a, ids_b] = [a, b].map(|run| sorted_ids(&run.checks, severity));
        // Caveats that both have are not a difference, but a problem that makes a Run unusable is reported even if
        // both have it.
        let is_common =
            |id: &&str| ids_a.binary_search(id).is_ok() && ids_b.binary_search(id).is_ok();
        let values = [&ids_a, &ids_b].map(|ids| {
            let ids = ids.iter().copied();
            let reported = ids.filter(|id| severity == Invalid || !is_common(id));
            reported.collect::<Vec<_>>()
        });
        if values.iter().any(|ids| !ids.is_empty()) {
            add(severity, what, values.map(|ids| join_ids(&ids)), why);
        }
    }
    reasons
}

/// The difference that names the checks by which a run is invalid.
pub(super) const INVALID_BY: &str = "invalid by";

/// The difference that names caveats that only one of two runs has.
pub(super) const FINDINGS: &str = "findings";

/// [`check_ids`] of no checks.
pub(crate) const NO_CHECKS: &str = "none";

/// The ids of the checks with this severity, sorted and separated by commas; [`NO_CHECKS`] if there are none.
pub(crate) fn check_ids(checks: &[Check], severity: Severity) -> String {
    join_ids(&sorted_ids(checks, severity))
}

fn sorted_ids(checks: &[Check], severity: Severity) -> Vec<&str> {
    let matching = checks.iter().filter(|check| check.severity == severity);
    let mut ids: Vec<&str> = matching.map(|check| check.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

fn join_ids(ids: &[&str]) -> String {
    if ids.is_empty() { NO_CHECKS.to_owned() } else { ids.join(", ") }
}
