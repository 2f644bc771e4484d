//! The conditions under which a published guide calls a comparison of two databases fair, and the rules that apply them.
//!
//! In: nothing. Out: a table. Must never: name a rule that comparisons do not have; a test looks for each of them.

use prony_judge::compare::rule_table::{ComparisonRule, rules};
use prony_plan::scenario::ScenarioSource;

/// The document whose conditions these are, and where they stand in it.
pub(super) const FAIRNESS_SOURCE: (ScenarioSource, &str) = (
    ScenarioSource::ApsaraDb2022,
    "chapter 4, comparison of a database of one's own with an instance of the service",
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FairnessCondition {
    /// What must be the same, or hold, on both sides.
    pub condition: &'static str,
    /// Properties of [`rules`] that apply it.
    pub properties: &'static [&'static str],
    /// How the rules go beyond the condition, or fall short of it; empty if they do neither.
    pub remark: &'static str,
}

pub(super) const FAIRNESS_CONDITIONS: [FairnessCondition; 11] = [
    FairnessCondition {
        condition: "the client and the database run on different machines",
        properties: &["place of the client", "network"],
        remark: "the check `one-host` also names a client that shares the server's machine, on both sides",
    },
    FairnessCondition {
        condition: "client and both databases are in one region, connected by its internal network",
        properties: &["round trip", "declared fact"],
        remark: "declare `region`: nobody can read it over SQL",
    },
    FairnessCondition {
        condition: "the client is in the zone of both databases, or in the zone of neither",
        properties: &["round trip"],
        remark: "judged by the round trip of an empty statement before the load, because another zone is a longer way",
    },
    FairnessCondition {
        condition: "the machines have the same number of cores",
        properties: &["server's CPUs", "declared fact"],
        remark: "declare `cpus` if nobody can observe the machine",
    },
    FairnessCondition {
        condition: "the machines have the same amount of memory",
        properties: &["server's memory", "data against cache", "declared fact"],
        remark: "declare `memory` if nobody can observe the machine",
    },
    FairnessCondition {
        condition: "the engine is the same",
        properties: &["engine"],
        remark: "MySQL and MariaDB are compared with a caveat",
    },
    FairnessCondition {
        condition: "the version of the engine is the same",
        properties: &["server version"],
        remark: "a caveat, because an upgrade may be what is compared",
    },
    FairnessCondition {
        condition: "replication is of one kind: asynchronous, semi-synchronous or synchronous",
        properties: &["replication", "declared fact"],
        remark: "replication below SQL is invisible: declare `high_availability`",
    },
    FairnessCondition {
        condition: "a database without a secondary may face an instance with an asynchronous one",
        properties: &["replication"],
        remark: "stricter: only as two variants of one experiment that declare `high_availability` or `replicas`, with a caveat",
    },
    FairnessCondition {
        condition: "the number of secondaries is the same: one, or two with synchronous replication",
        properties: &["connected replicas", "declared fact"],
        remark: "declare `replicas` if they are invisible over SQL",
    },
    FairnessCondition {
        condition: "all parameters are the same; one that the service fixes is set alike in the other database",
        properties: &[
            "durability class",
            "relevant settings of the server (listed below)",
            "other settings of the server, except addresses, paths and formats",
        ],
        remark: "`prony diff-settings` lists every parameter that differs; the buffers of the document's example are relevant settings",
    },
];

impl FairnessCondition {
    /// The rules that apply the condition, in the order in which they are named.
    pub(super) fn rules(&self) -> Vec<ComparisonRule> {
        let all = rules();
        let find = |property: &&str| all.iter().find(|rule| rule.property == **property).cloned();
        self.properties.iter().filter_map(find).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_judge::compare::rule_table::relevant_server_settings;

    #[test]
    fn every_condition_is_applied_by_rules() {
        for condition in FAIRNESS_CONDITIONS {
            let found = condition.rules();
            assert!(!found.is_empty());
            let found = found.iter().map(|rule| rule.property.as_str());
            assert!(
                found.eq(condition.properties.iter().copied()),
                "{condition:?}"
            );
        }
        for name in [
            "join_buffer_size",
            "read_rnd_buffer_size",
            "read_buffer_size",
            "tmp_table_size",
        ] {
            assert!(relevant_server_settings().contains(&name), "{name}");
        }
    }
}
