//! Findings that the checks of all workloads share, derived from the catalog. This module must not know
//! any workload.

use crate::Finding;
use crate::catalog::{CatalogTable, Tables};
use crate::note::LoadNote;
use crate::remedy::{LoadSpec, Remedy};

/// The id of the finding that a load has not finished; it explains how to continue the load.
pub const LOAD_UNFINISHED: &str = "load-unfinished";

/// Reports missing tables, and tables of other applications. `workload` is the name for `prony load`, or
/// `None` if another finding explains how to continue the load.
pub fn table_findings<T: Tables>(
    tables: &[CatalogTable<T>],
    workload: Option<&'static str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    // One load creates all missing tables, so only the first names it.
    let mut load_remedy = workload
        .map(|workload| Remedy::Load(LoadSpec::of(workload, vec![("scale", "N".to_owned())])));
    for table in T::ALL {
        let name = table.name();
        match tables.iter().find(|existing| existing.table == *table) {
            None => {
                let finding = Finding::wrong("table-missing", format!("table {name} is missing"));
                findings.push(finding.with(load_remedy.take()));
            }
            Some(table) if !table.is_own => {
                let text = format!(
                    "{name} has the columns ({}), which are not those of this workload",
                    table.columns
                );
                findings.push(Finding::wrong("table-foreign", text));
            }
            Some(_) => {}
        }
    }
    if findings.is_empty() {
        let text = match T::ALL {
            [table] => format!("table {} exists", table.name()),
            all => format!("all {} tables exist", all.len()),
        };
        findings.push(Finding::ok("tables", text));
    }
    findings
}

/// Reports whether a table has its primary key; `None` for a table that should not have one.
pub fn key_finding<T: Tables>(table: &CatalogTable<T>) -> Option<Finding> {
    let name = table.table.name();
    let columns = table.key.join(", ");
    if columns.is_empty() {
        return None;
    }
    Some(if table.has_primary_key {
        Finding::ok("key", format!("{name} has its primary key ({columns})"))
    } else {
        let text =
            format!("{name} has no primary key ({columns}): the load did not finish; load again");
        Finding::wrong("key", text)
    })
}

/// Reports that planner statistics are missing; `None` if they exist, because their age is shown with the
/// table's sizes, and if the load that collects them has not finished.
pub fn statistics_finding<T: Tables>(table: &CatalogTable<T>) -> Option<Finding> {
    let is_unfinished = table.note.as_ref().is_some_and(LoadNote::is_unfinished);
    if table.key.is_empty() || table.facts.statistics_age_s.is_some() || is_unfinished {
        return None;
    }
    let name = table.table.name();
    let text =
        format!("the server does not report when the statistics of {name} were last collected");
    Some(Finding::note("statistics", text))
}
