//! Findings that the checks of all workloads share, derived from the catalog. This module must not know
//! any workload.

use crate::catalog::{CatalogTable, Tables};
use crate::remedy::{LoadSpec, Remedy};
use crate::{Finding, FindingState};

/// A finding.
pub fn finding(state: FindingState, id: &'static str, text: String) -> Finding {
    Finding {
        state,
        id,
        text,
        remedy: None,
    }
}

/// A problem, and what to do about it.
pub fn wrong(id: &'static str, text: String, remedy: Remedy) -> Finding {
    let remedy = Some(remedy);
    Finding {
        remedy,
        ..finding(FindingState::Wrong, id, text)
    }
}

/// The load has not finished; this finding explains how to continue it.
pub const LOAD_UNFINISHED: &str = "load-unfinished";

/// Which tables exist. `workload` is the name that `prony load` takes, or `None` if another finding
/// explains how to continue the load.
pub fn tables<T: Tables>(
    found: &[CatalogTable<T>],
    workload: Option<&'static str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for table in T::ALL {
        let name = table.name();
        match found.iter().find(|found| found.table == *table) {
            None => {
                let text = format!("table {name} is missing");
                let options = || vec![("scale", "N".to_owned())];
                let load = workload.map(|workload| Remedy::Load(LoadSpec::of(workload, options())));
                findings.push(Finding {
                    remedy: load,
                    ..finding(FindingState::Wrong, "table-missing", text)
                });
            }
            Some(found) if !found.is_own => {
                let text = format!(
                    "{name} has the columns ({}), which are not those of this workload",
                    found.columns
                );
                findings.push(finding(FindingState::Wrong, "table-foreign", text));
            }
            Some(_) => {}
        }
    }
    if findings.is_empty() {
        let text = match T::ALL {
            [one] => format!("table {} exists", one.name()),
            all => format!("all {} tables exist", all.len()),
        };
        findings.push(finding(FindingState::Ok, "tables", text));
    }
    findings
}

/// Whether a table has its primary key; `None` for a table that should not have one.
pub fn key<T: Tables>(found: &CatalogTable<T>) -> Option<Finding> {
    let name = found.table.name();
    let columns = found.key.join(", ");
    if columns.is_empty() {
        return None;
    }
    Some(if found.has_primary_key {
        let text = format!("{name} has its primary key ({columns})");
        finding(FindingState::Ok, "key", text)
    } else {
        let text =
            format!("{name} has no primary key ({columns}): the load did not finish; load again");
        finding(FindingState::Wrong, "key", text)
    })
}

/// Reports missing planner statistics; the sizes show existing ones.
pub fn statistics<T: Tables>(found: &CatalogTable<T>) -> Option<Finding> {
    if found.key.is_empty() || found.facts.statistics_age_s.is_some() {
        return None;
    }
    let name = found.table.name();
    let text =
        format!("the server does not report when the statistics of {name} were last collected");
    Some(finding(FindingState::Note, "statistics", text))
}
