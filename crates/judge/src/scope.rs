//! The two kinds of findings: doubt (the measurement may be wrong) and scope (what the figure does not
//! cover).
//!
//! A caveat that is not in [`SCOPE_PHRASES`] is a doubt. A figure with a limited scope is right for what it
//! covers: a short run on one machine measures that run on that machine.

use prony_store::{Check, FindingKind, Severity};

/// The checks that limit the scope, each with a phrase that says what the figure is limited to.
const SCOPE_PHRASES: [(&str, &str); 16] = [
    ("partial-run", "an incomplete run"),
    ("one-host", "client and server on one machine"),
    ("short-run", "less than 10 s"),
    ("checkpoint", "no checkpoint"),
    ("duration", "a short window"),
    ("maintenance", "maintenance in the window"),
    ("durability", "commits that a crash may lose"),
    ("data-scale", "data of another size than its scale"),
    ("data-grown", "data that earlier runs have grown"),
    ("dead-rows", "tables with many dead rows"),
    ("statistics", "tables without statistics"),
    ("contention", "more clients than the scale supports"),
    ("round-trip", "a long way to the server"),
    (
        "response-limits",
        "response times above the specification's limits",
    ),
    ("percentiles", "few samples"),
    ("unobserved", "a server that was not fully observed"),
];

/// The kind of a finding of this check; `None` for a note that limits nothing.
pub(crate) fn kind(id: &str, severity: Severity) -> Option<FindingKind> {
    match (phrase(id), severity) {
        (_, Severity::Invalid) => Some(FindingKind::Doubt),
        (Some(_), _) => Some(FindingKind::Scope),
        (None, Severity::Caveat) => Some(FindingKind::Doubt),
        (None, Severity::Note) => None,
    }
}

/// What a figure with a finding of this check is limited to: `client and server on one machine`.
pub fn phrase(id: &str) -> Option<&'static str> {
    let (_, phrase) = SCOPE_PHRASES.iter().find(|(check, _)| *check == id)?;
    Some(phrase)
}

/// What the figures are limited to, in the order of the findings; empty if nothing limits them. `partial-run`
/// is left out, because the verdict on a partial run says that the run is partial.
pub fn limits(checks: &[Check]) -> Vec<&'static str> {
    let scope = checks
        .iter()
        .filter(|check| check.kind == Some(FindingKind::Scope) && check.id != "partial-run");
    scope.filter_map(|check| phrase(&check.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::observed_run;

    #[test]
    fn a_short_run_on_one_machine_has_no_doubt_and_a_scope() {
        let mut run = observed_run();
        run.measured.length_s = 15.0;
        run.measured.kinds[0].committed = 240_000;
        run.measured.kinds[0].busy_s = 960.0;
        let after = run.observed.as_mut().unwrap().after.as_mut().unwrap();
        after.commits = Some(402_000);
        run.server.embedded = true;
        // 70 % of the 30 seconds that two threads have.
        run.machine_mut().health.run_queue_s = Some(21.0);
        run.machine_mut().health.busiest_thread_share = Some(0.13);
        let checks = crate::judge(&run);
        assert_eq!(
            checks.iter().filter(|check| check.is_doubt()).count(),
            0,
            "{checks:?}"
        );
        assert_eq!(
            limits(&checks),
            ["client and server on one machine", "no checkpoint"]
        );
    }

    #[test]
    fn doubt_is_listed_before_scope() {
        let mut run = observed_run();
        run.server.embedded = true;
        run.machine_mut().health.run_queue_s = Some(804.0);
        run.machine_mut().health.steal_share = Some(0.05);
        let kinds: Vec<Option<FindingKind>> =
            crate::judge(&run).iter().map(|check| check.kind).collect();
        assert_eq!(
            kinds,
            [Some(FindingKind::Doubt), Some(FindingKind::Scope), None]
        );
    }

    #[test]
    fn findings_without_a_kind_are_doubts_if_they_are_caveats() {
        let check = |severity| Check {
            id: "one-host".to_owned(),
            severity,
            kind: None,
            finding: String::new(),
            advice: String::new(),
        };
        assert!(check(Severity::Caveat).is_doubt());
        assert!(!check(Severity::Note).is_doubt());
        assert_eq!(limits(&[check(Severity::Caveat)]), [""; 0]);
    }

    #[test]
    fn every_check_of_the_scope_is_documented() {
        let table = include_str!("thresholds.rs");
        for (id, _) in SCOPE_PHRASES {
            assert!(table.contains(&format!("//! | `{id}` |")), "{id}");
        }
    }
}
