//! The rules of comparisons as data, from which the reference documentation is generated.
//!
//! Must never: state a rule that `compare` does not apply; every entry comes from the constants and functions
//! that it uses.

use super::doctor::{ONE_EXAMINED, OTHER_STATE, OTHER_VALUE};
use super::intended::explaining_settings;
use super::rules::{
    DURABILITY_SETTINGS, WHY_IT_MAY_EXPLAIN, WHY_NO_BINLOG, WHY_ONE_DECLARED, WHY_OTHER_DECLARED,
    WHY_OTHER_DURABILITY, WHY_OTHER_WORK, WHY_OWN_DURABILITY, compared_properties,
};
use super::server::{
    ISOLATION_PROPERTY, OBSERVATIONS, Observation, RELEVANT_SETTINGS, ROUND_TRIP_PROPERTY,
    WHY_ONE_OBSERVED, WHY_OTHER_ISOLATION, WHY_TABLES_UNKNOWN,
};
use super::tolerances::{
    CACHE_TOLERANCE_SHARE, CLIENTS_PROPERTY, CLIENTS_TOLERANCE_SHARE, MEMORY_TOLERANCE_SHARE,
    RATE_TOLERANCE_SHARE, ROUND_TRIP_TOLERANCE_MS, ROUND_TRIP_TOLERANCE_SHARE, TIME_TOLERANCE_S,
    TIME_TOLERANCE_SHARE,
};
use super::usability::usability_differences;
use crate::formatting::percent;
use crate::new_check;
use prony_store::{Run, RunState, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// One rule: what a difference in a property means for a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparisonRule {
    /// The property; for a group of properties, a description.
    pub property: String,
    /// Severity of a difference; [`Severity::Invalid`] forbids the comparison.
    pub severity: Severity,
    pub why: &'static str,
}

fn rule(property: impl Into<String>, severity: Severity, why: &'static str) -> ComparisonRule {
    ComparisonRule {
        property: property.into(),
        severity,
        why,
    }
}

/// All rules, the most severe first.
pub fn rules() -> Vec<ComparisonRule> {
    use Severity::{Caveat, Invalid, Note};
    let compared = compared_properties(&Run::default()).into_iter();
    let mut rules: Vec<ComparisonRule> = compared
        .map(|property| rule(property.what, property.severity, property.why))
        .collect();
    let workload_settings = "settings of the workload, such as mode and profile";
    rules.push(rule(workload_settings, Invalid, WHY_OTHER_WORK));
    for name in DURABILITY_SETTINGS {
        rules.push(rule(format!("`{name}`"), Invalid, WHY_OTHER_DURABILITY));
    }
    let own_durability = "these settings, if the service of one server has a durability of its own";
    rules.push(rule(own_durability, Caveat, WHY_OWN_DURABILITY));
    let no_binlog = "`sync_binlog`, if neither server writes a binary log";
    rules.push(rule(no_binlog, Note, WHY_NO_BINLOG));
    rules.push(rule("durability class", Invalid, WHY_OTHER_DURABILITY));
    let same_class = "durability, within one class";
    rules.push(rule(same_class, Caveat, WHY_TABLES_UNKNOWN));
    rules.push(rule(ISOLATION_PROPERTY, Invalid, WHY_OTHER_ISOLATION));
    for Observation {
        name,
        severity,
        why,
        ..
    } in &OBSERVATIONS
    {
        rules.push(rule(*name, *severity, why));
    }
    rules.push(rule("observation of the server", Caveat, WHY_ONE_OBSERVED));
    rules.push(rule("declared fact", Caveat, WHY_OTHER_DECLARED));
    rules.push(rule(
        "declared fact of one server only",
        Note,
        WHY_ONE_DECLARED,
    ));
    let relevant = "relevant settings of the server (listed below)";
    rules.push(rule(relevant, Caveat, WHY_IT_MAY_EXPLAIN));
    rules.push(rule(
        "other settings of the server, except addresses, paths and formats",
        Note,
        WHY_IT_MAY_EXPLAIN,
    ));
    rules.push(rule("doctor: state of a property", Caveat, OTHER_STATE));
    rules.push(rule("doctor: value of a property", Note, OTHER_VALUE));
    rules.push(rule("doctor: only one run examined", Note, ONE_EXAMINED));
    rules.extend(usability_rules());
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.severity));
    rules
}

/// The rules about runs that should not be used, found by applying them to such runs.
fn usability_rules() -> Vec<ComparisonRule> {
    let complete = Run {
        state: RunState::Complete,
        ..Run::default()
    };
    let with_state = |state| Run {
        state,
        ..complete.clone()
    };
    let with_check = |severity| Run {
        checks: new_check("errors", severity, "", "").into_iter().collect(),
        ..complete.clone()
    };
    let mut rules = Vec::new();
    for (condition, run) in [
        ("a run in progress", with_state(RunState::Running)),
        ("a run that ended early", with_state(RunState::Partial)),
        ("a run that committed nothing", complete.clone()),
        ("an invalid run", with_check(Severity::Invalid)),
        ("findings of one run", with_check(Severity::Caveat)),
    ] {
        // None of these runs committed anything, which is a rule of its own.
        let differences = usability_differences(&complete, &run).into_iter();
        let found = differences.filter(|found| (found.what == "committed") == (run == complete));
        rules.extend(found.map(|found| rule(condition, found.severity, found.why)));
    }
    rules
}

/// Differences that do not count, or are only a caveat: the property and the tolerance.
pub fn tolerances() -> Vec<(&'static str, String)> {
    vec![
        (
            CLIENTS_PROPERTY,
            format!("up to {}: a caveat", percent(CLIENTS_TOLERANCE_SHARE)),
        ),
        (
            "pace (the rate)",
            format!("up to {}: a caveat", percent(RATE_TOLERANCE_SHARE)),
        ),
        (
            "measured, warm-up",
            format!(
                "up to {} or {TIME_TOLERANCE_S} s, whichever is more: ignored",
                percent(TIME_TOLERANCE_SHARE)
            ),
        ),
        (
            "server's memory",
            format!("up to {}: ignored", percent(MEMORY_TOLERANCE_SHARE)),
        ),
        (
            ROUND_TRIP_PROPERTY,
            format!(
                "up to {} or {ROUND_TRIP_TOLERANCE_MS} ms, whichever is more: ignored",
                percent(ROUND_TRIP_TOLERANCE_SHARE)
            ),
        ),
        (
            "data against cache",
            format!(
                "up to {}, if the data fits into the cache in both runs or in neither: ignored",
                percent(CACHE_TOLERANCE_SHARE)
            ),
        ),
    ]
}

/// Settings of the server that matter to its speed or to the durability of a commit.
pub fn reported_server_settings() -> impl Iterator<Item = &'static str> {
    DURABILITY_SETTINGS.into_iter().chain(RELEVANT_SETTINGS)
}

/// Settings of the server, a difference in which is a caveat.
pub fn relevant_server_settings() -> &'static [&'static str] {
    &RELEVANT_SETTINGS
}

/// Properties that an experiment may vary on purpose, each with the keys of the plan that explain it: then a
/// difference is at most a caveat.
pub fn intended_differences() -> Vec<(&'static str, BTreeSet<&'static str>)> {
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, properties) in explaining_settings() {
        for property in properties {
            keys.entry(property).or_default().insert(key);
        }
    }
    keys.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_there_once_with_a_reason() {
        let rules = rules();
        let properties: std::collections::BTreeSet<_> =
            rules.iter().map(|rule| &rule.property).collect();
        assert_eq!(properties.len(), rules.len(), "{rules:#?}");
        assert!(rules.iter().all(|rule| !rule.why.is_empty()));
        for (property, severity) in [
            ("workload", Severity::Invalid),
            ("a run in progress", Severity::Invalid),
            ("a run that ended early", Severity::Caveat),
            ("a run that committed nothing", Severity::Invalid),
            ("findings of one run", Severity::Caveat),
        ] {
            let found = rules.iter().find(|rule| rule.property == property);
            let found = found.unwrap_or_else(|| panic!("{property}"));
            assert_eq!(found.severity, severity, "{property}");
        }
    }

    #[test]
    fn intended_differences_are_properties_of_the_rules() {
        let rules = rules();
        for (property, keys) in intended_differences() {
            assert!(
                rules.iter().any(|rule| rule.property == property),
                "{property}"
            );
            assert!(!keys.is_empty());
        }
    }
}
