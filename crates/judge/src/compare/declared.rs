//! Differences between what users declared about two servers.
//!
//! In: two Runs. Out: differences. Must never: take a fact that one user did not declare for a difference.

use super::rules::{WHY_ONE_DECLARED, WHY_OTHER_DECLARED};
use super::{Difference, difference};
use prony_store::{DeclaredFact, Run, Severity};

/// What differences between declared facts are called, before the fact.
pub(super) const DECLARED: &str = "declared";

pub(super) fn differences(a: &Run, b: &Run) -> Vec<Difference> {
    let facts = DeclaredFact::ALL.iter();
    let differences = facts.filter_map(|fact| {
        let values = [a, b].map(|run| run.server.declared.get(*fact));
        let (severity, why) = match values {
            [Some(_), Some(_)] => (Severity::Caveat, WHY_OTHER_DECLARED),
            _ => (Severity::Note, WHY_ONE_DECLARED),
        };
        let [a, b] = values.map(|value| value.unwrap_or("not declared").to_owned());
        difference(severity, &format!("{DECLARED} {}", fact.name()), a, b, why)
    });
    differences.collect()
}

/// Whether both runs declare what takes over if the machine fails, or the number of copies, and differ in it.
pub(super) fn availability_differs(a: &Run, b: &Run) -> bool {
    let facts = [DeclaredFact::HighAvailability, DeclaredFact::Replicas];
    facts.into_iter().any(|fact| {
        let [a, b] = [a, b].map(|run| run.server.declared.get(fact));
        a.is_some() && b.is_some() && a != b
    })
}
