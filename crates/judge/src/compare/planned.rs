//! What a comparison of an experiment's variants will refuse, as far as their plans show it before the first run.
//!
//! In: the plans of the variants. Out: sentences. Must never: state what `compare` does not do; the rules are its own.

use super::{intended, property_differences};
use crate::formatting::joined;
use prony_store::{Experiment, Run, Severity};
use serde_json::Value;

/// A variant of an experiment that has not run yet.
pub struct PlannedVariant {
    pub name: String,
    /// Its plan, as documents have it.
    pub plan: Value,
}

/// Why a variant will not be compared with the first, or may not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRefusal {
    /// Whether it is certain; else it depends on what the servers are.
    pub is_certain: bool,
    pub sentence: String,
}

/// Why the variants will not be compared with the first, or may not be; empty if nothing speaks against it.
pub fn planned_refusals(variants: &[PlannedVariant]) -> Vec<PlannedRefusal> {
    let Some((first, others)) = variants.split_first() else {
        return Vec::new();
    };
    let others = others.iter();
    others.filter_map(|other| refusal(first, other)).collect()
}

fn refusal(first: &PlannedVariant, other: &PlannedVariant) -> Option<PlannedRefusal> {
    let (a, b) = (planned_run(first), planned_run(other));
    let mut differences = property_differences(&a, &b);
    intended::downgrade_intended(&a, &b, &mut differences);
    differences.retain(|difference| difference.severity == Severity::Invalid);
    let (a_name, b_name) = (&first.name, &other.name);
    if !differences.is_empty() {
        let reasons = differences.iter().map(|difference| {
            format!(
                "{} {} against {}: {}",
                difference.what, difference.a, difference.b, difference.why
            )
        });
        let reasons = joined(reasons, "; ");
        return Some(PlannedRefusal {
            is_certain: true,
            sentence: format!(
                "prony compare will refuse to compare {b_name} with {a_name}: {reasons}"
            ),
        });
    }
    (first.plan["server"] != other.plan["server"]).then(|| PlannedRefusal {
        is_certain: false,
        sentence: format!(
            "{b_name} has another URL than {a_name}: if the servers differ in durability, isolation level or replication, \
             prony compare will refuse; --despite names what to look beyond"
        ),
    })
}

/// A run of a variant, as far as its plan says what it will be.
fn planned_run(variant: &PlannedVariant) -> Run {
    let mut run = Run {
        plan: variant.plan.clone(),
        experiment: Some(Experiment {
            id: "planned".to_owned(),
            variant: variant.name.clone(),
            ..Experiment::default()
        }),
        ..Run::default()
    };
    let name = variant.plan["workload"]["name"].as_str();
    name.unwrap_or_default().clone_into(&mut run.workload.name);
    run
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use serde_json::json;

    #[test]
    fn another_workload_is_refused_and_another_server_may_be() {
        let variant = |name: &str, workload: &str, server: &str| PlannedVariant {
            name: name.to_owned(),
            plan: json!({"server": server, "workload": {"name": workload}, "run": {"clients": 4}}),
        };
        let a = || variant("a", "tpcb", "postgres://h/d");
        let refused = planned_refusals(&[a(), variant("b", "select-only", "postgres://h/d")]);
        let expected = PlannedRefusal {
            is_certain: true,
            sentence: "prony compare will refuse to compare b with a: workload tpcb against select-only: the clients did \
                       different work"
                .to_owned(),
        };
        assert_eq!(refused, [expected]);
        let mut scaled = variant("c", "tpcb", "postgres://h/d");
        scaled.plan["workload"]["scale"] = json!(7);
        scaled.plan["settings"] = json!({"synchronous_commit": "off"});
        assert_eq!(planned_refusals(&[a(), scaled]), []);
        let elsewhere = planned_refusals(&[a(), variant("b", "tpcb", "postgres://other/d")]);
        assert!(!elsewhere[0].is_certain, "{elsewhere:?}");
        let text = &elsewhere[0].sentence;
        text.assert_starts_with("b has another URL than a: ");
    }
}
