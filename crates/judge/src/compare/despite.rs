//! Differences that forbid a comparison, and that a user asks to look beyond.
//!
//! In: differences, and names. Out: the same differences, as caveats; what was looked beyond, in words. Must never: look
//! beyond other work, or a run that must not be used.

use super::Difference;
use super::rules::DURABILITY_SETTINGS;
use super::server::ISOLATION_PROPERTY;
use prony_store::Severity;

const DURABILITY: &str = "durability";

/// The properties that a user may look beyond, by the name of their difference.
pub const ALLOWED_DESPITE: [&str; 9] = [
    "clients",
    "connections",
    DURABILITY,
    "engine",
    ISOLATION_PROPERTY,
    "pace",
    "protocol",
    "replication",
    "scale",
];

/// Turns the differences of these names into caveats. Returns what was looked beyond, such as `durability (D3 against D1:
/// the servers guarantee different durability for a commit)`.
pub(super) fn look_beyond(differences: &mut [Difference], despite: &[String]) -> Vec<String> {
    let is_named = |what: &str| {
        let name = if DURABILITY_SETTINGS.contains(&what) { DURABILITY } else { what };
        ALLOWED_DESPITE.contains(&name) && despite.iter().any(|named| named == name)
    };
    let mut beyond = Vec::new();
    for difference in differences {
        if difference.severity == Severity::Invalid && is_named(&difference.what) {
            difference.severity = Severity::Caveat;
            let Difference {
                what, a, b, why, ..
            } = difference;
            beyond.push(format!("{what} ({a} against {b}: {why})"));
        }
    }
    beyond
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::rule_table::rules;

    #[test]
    fn only_rules_that_forbid_a_comparison_can_be_looked_beyond() {
        let rules = rules();
        for name in ALLOWED_DESPITE {
            let is_of_name = |property: &str| {
                property == name || (name == DURABILITY && property == "durability class")
            };
            let rule = rules.iter().find(|rule| is_of_name(&rule.property));
            let rule = rule.unwrap_or_else(|| panic!("{name}"));
            assert_eq!(rule.severity, Severity::Invalid, "{name}");
        }
        let difference = |what: &str, severity| Difference {
            severity,
            what: what.to_owned(),
            a: "a".to_owned(),
            b: "b".to_owned(),
            why: "why",
        };
        let mut all = ["workload", "committed", "scale", "synchronous_commit"]
            .map(|what| difference(what, Severity::Invalid));
        let names = ["workload", "committed", DURABILITY].map(str::to_owned);
        let beyond = look_beyond(&mut all, &names);
        assert_eq!(beyond, ["synchronous_commit (a against b: why)"]);
        let severities = all.map(|difference| difference.severity);
        let [workload, committed, scale, setting] = severities;
        assert_eq!([workload, committed, scale], [Severity::Invalid; 3]);
        assert_eq!(setting, Severity::Caveat);
    }
}
