//! Findings that the checks of all workloads share.
//!
//! In: what the catalog tells of the tables. Out: findings. Must never: know a workload.

use crate::catalog::{Found, Tables};
use crate::commands::caller;
use crate::{Finding, State};

/// A finding.
pub fn finding(state: State, id: &'static str, text: String) -> Finding {
    Finding { state, id, text }
}

/// Which tables there are; `workload` as `prony load` takes it.
pub fn tables<T: Tables>(found: &[Found<T>], workload: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for table in T::ALL {
        let name = table.name();
        match found.iter().find(|found| found.table == *table) {
            None => {
                let load = caller().load(workload, &[("scale", "N".to_owned())]);
                let text = format!("table {name} is missing; `{load}` makes it");
                findings.push(finding(State::Wrong, "table-missing", text));
            }
            Some(found) if !found.ours => {
                let text = format!(
                    "{name} has the columns ({}), which are not those of this workload",
                    found.columns
                );
                findings.push(finding(State::Wrong, "table-foreign", text));
            }
            Some(_) => {}
        }
    }
    if findings.is_empty() {
        let text = format!("all {} tables are there", T::ALL.len());
        findings.push(finding(State::Ok, "tables", text));
    }
    findings
}

/// Whether a table has its primary key; none for a table without one.
pub fn key<T: Tables>(found: &Found<T>) -> Option<Finding> {
    let name = found.table.name();
    let columns = found.key.join(", ");
    if columns.is_empty() {
        return None;
    }
    Some(if found.keyed {
        let text = format!("{name} has its primary key ({columns})");
        finding(State::Ok, "key", text)
    } else {
        let text = format!(
            "{name} has no primary key ({columns}): the load did not come to its end; load again"
        );
        finding(State::Wrong, "key", text)
    })
}

/// What a planner does not know of a table is worth a word, what it knows is in the sizes.
pub fn statistics<T: Tables>(found: &Found<T>) -> Option<Finding> {
    if found.key.is_empty() || found.facts.statistics_age_s.is_some() {
        return None;
    }
    let name = found.table.name();
    let text = format!("the server does not say when statistics of {name} were last collected");
    Some(finding(State::Note, "statistics", text))
}
