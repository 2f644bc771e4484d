//! Checks that the tables are complete.
//!
//! Returns findings; tables with the same result share a finding. Must never report the normal effect of
//! a workload as wrong without naming the workload.

use super::Oltp;
use super::tables::{self, SbtestTable};
use crate::SqlDialect;
use crate::findings::finding;
use crate::note::LoadNote;
use crate::number_format::grouped;
use crate::remedy::{LoadSpec, Remedy};
use crate::{CheckReport, Error, Finding, FindingState, sql};
use prony_server::Control;

/// The result of one scan of a table.
struct TableContents {
    name: String,
    rows: u64,
    lowest: Option<i64>,
    highest: Option<i64>,
    /// Rows whose texts differ in length from those of the load.
    wrong_lengths: u64,
    /// Number of rows that were loaded, from the note.
    loaded: Option<u64>,
    /// Number of existing rows with ids from 1 to `loaded`.
    loaded_present: u64,
    /// Whether its load has not finished.
    is_unfinished: bool,
}

/// Runs all checks: reads each table once, in one snapshot.
pub fn check(control: &mut Control, workload: &Oltp) -> Result<CheckReport, Error> {
    let begin = SqlDialect::of(control).begin_snapshot();
    sql::execute(control, "beginning the check", begin)?;
    let report = check_tables(control, workload);
    // The transaction wrote nothing, so an error here changes no finding.
    drop(sql::execute(control, "ending the check", "rollback"));
    report
}

fn check_tables(control: &mut Control, workload: &Oltp) -> Result<CheckReport, Error> {
    let tables = tables::find(control)?;
    let (mut own_tables, foreign): (Vec<SbtestTable>, Vec<SbtestTable>) = tables
        .into_iter()
        .partition(|table| table.columns == workload.columns());
    let mut findings = check_numbers(&own_tables, workload);
    findings.extend(foreign.iter().map(|table| {
        let text = format!(
            "{} has the columns ({}), which are not those of this workload",
            table.facts.name, table.columns
        );
        finding(FindingState::Wrong, "table-foreign", text)
    }));
    findings.extend(unfinished_load(&own_tables, workload));
    let mut contents = Vec::new();
    for table in &mut own_tables {
        let table_contents = read_table(control, table, workload)?;
        table.facts.rows = table_contents.rows;
        contents.push(table_contents);
    }
    // Rows that an unfinished load has not stored yet are not missing.
    let finished: Vec<&TableContents> = contents
        .iter()
        .filter(|table| !table.is_unfinished)
        .collect();
    findings.extend(check_rows(&finished, workload));
    if !workload.is_bulk() {
        findings.extend(check_lengths(&contents));
    }
    findings.extend(check_indexes(&own_tables, workload));
    Ok(CheckReport {
        scale: (!own_tables.is_empty()).then_some(own_tables.len() as u32),
        findings,
        tables: tables::facts(own_tables),
    })
}

fn check_numbers(own_tables: &[SbtestTable], workload: &Oltp) -> Vec<Finding> {
    let mut remedy = Some(Remedy::Load(LoadSpec::of(workload.dataset, Vec::new())));
    let text = match (own_tables.len(), own_tables.last()) {
        (0, _) | (_, None) => "there are no tables".to_owned(),
        (count, Some(last)) if last.number as usize != count => {
            let name = &last.facts.name;
            // The finding about an unfinished load explains how to continue it.
            remedy = remedy.filter(|_| unfinished_load(own_tables, workload).is_none());
            format!("there are {count} tables up to {name}: some of the tables between are missing")
        }
        (1, Some(last)) => {
            let text = format!("table {} exists", last.facts.name);
            return vec![finding(FindingState::Ok, "tables", text)];
        }
        (count, Some(last)) => {
            let text = format!("all {count} tables exist, sbtest1 to {}", last.facts.name);
            return vec![finding(FindingState::Ok, "tables", text)];
        }
    };
    vec![Finding {
        remedy,
        ..finding(FindingState::Wrong, "tables", text)
    }]
}

fn unfinished_load(own_tables: &[SbtestTable], workload: &Oltp) -> Option<Finding> {
    let mut notes = own_tables.iter().filter_map(|table| table.note.as_ref());
    let note = notes.find(|note| note.is_unfinished())?;
    Some(note.unfinished_finding(workload.load_of(tables::load_options(note))))
}

fn read_table(
    control: &mut Control,
    table: &SbtestTable,
    workload: &Oltp,
) -> Result<TableContents, Error> {
    let name = table.facts.name.clone();
    let loaded = table.note.as_ref().and_then(|note| note.number("rows"));
    let wrong_lengths = match workload.is_bulk() {
        true => "1 = 0".to_owned(),
        false => {
            let length = SqlDialect::of(control).length();
            format!("{length}(c) <> 119 or {length}(pad) <> 59")
        }
    };
    let row = sql::query_row(
        control,
        &format!("reading {name}"),
        &format!(
            "select count(*), min(id), max(id), sum(case when {wrong_lengths} then 1 else 0 end), \
             sum(case when id between 1 and {} then 1 else 0 end) from {name}",
            loaded.unwrap_or(0)
        ),
    )?;
    let count = |column| {
        let value = row.int(column).and_then(|value| u64::try_from(value).ok());
        value.unwrap_or(0)
    };
    Ok(TableContents {
        rows: count(0),
        lowest: row.int(1),
        highest: row.int(2),
        wrong_lengths: count(3),
        loaded_present: count(4),
        is_unfinished: table.note.as_ref().is_some_and(LoadNote::is_unfinished),
        name,
        loaded,
    })
}

/// Checks that the loaded rows still exist; names the first table with missing rows.
fn check_rows(contents: &[&TableContents], workload: &Oltp) -> Vec<Finding> {
    let id = "rows";
    let mut lost = contents.iter().filter_map(|table| {
        let loaded = table.loaded?;
        (table.loaded_present < loaded).then_some((table, loaded - table.loaded_present))
    });
    if let Some((table, missing)) = lost.next() {
        let others = match lost.count() {
            0 => String::new(),
            count => format!(", and {count} other tables have lost rows too"),
        };
        let text = format!(
            "{} has lost {} of the {} rows that were loaded{others}: oltp_delete does that; \
             load again",
            table.name,
            grouped(missing),
            grouped(table.loaded.unwrap_or(0)),
        );
        return vec![finding(FindingState::Wrong, id, text)];
    }
    let all: u64 = contents.iter().map(|table| table.rows).sum();
    let added: u64 = contents
        .iter()
        .filter_map(|table| Some(table.rows - table.loaded?.min(table.rows)))
        .sum();
    let known = contents
        .iter()
        .filter(|table| table.loaded.is_some())
        .count();
    let mut findings = Vec::new();
    if known > 0 {
        let text = format!("{} rows; every table has its loaded rows", grouped(all));
        findings.push(finding(FindingState::Ok, id, text));
    }
    if added > 0 {
        let added_by = match workload.is_bulk() {
            true => "bulk_insert",
            false => "oltp_insert",
        };
        let text = format!(
            "{} rows were added since: {added_by} does that",
            grouped(added)
        );
        findings.push(finding(FindingState::Note, "rows-added", text));
    }
    if known < contents.len() {
        let gaps = contents.iter().filter(|table| table.loaded.is_none());
        let gaps = gaps.filter(|table| {
            table.lowest != Some(1) || table.highest != i64::try_from(table.rows).ok()
        });
        let text = format!(
            "{} tables were not loaded by Prony, so their expected number of rows is unknown; \
             {} of them have ids other than 1 to the number of rows",
            contents.len() - known,
            gaps.count()
        );
        findings.push(finding(FindingState::Note, "rows-unknown", text));
    }
    findings
}

fn check_lengths(contents: &[TableContents]) -> Option<Finding> {
    let id = "shape";
    if let Some(table) = contents.iter().find(|table| table.wrong_lengths > 0) {
        let text = format!(
            "{} rows of {} have texts that are not 119 and 59 characters long; load again",
            grouped(table.wrong_lengths),
            table.name
        );
        return Some(finding(FindingState::Wrong, id, text));
    }
    let text = "all texts are 119 and 59 characters long".to_owned();
    (!contents.is_empty()).then(|| finding(FindingState::Ok, id, text))
}

fn check_indexes(own_tables: &[SbtestTable], workload: &Oltp) -> Vec<Finding> {
    let names = |without: &dyn Fn(&&SbtestTable) -> bool| {
        let names = own_tables.iter().filter(without);
        let names: Vec<&str> = names.map(|table| table.facts.name.as_str()).collect();
        names.join(", ")
    };
    let mut findings = Vec::new();
    let without_index = names(&|table| !table.has_index[0]);
    let without_key = names(&|table| !table.has_primary_key && table.has_index[0]);
    if !without_index.is_empty() {
        let text = format!("{without_index}: no index on id; the load did not finish");
        findings.push(finding(FindingState::Wrong, "key", text));
    } else if !without_key.is_empty() {
        let text = format!("{without_key}: an index on id instead of a primary key (secondary)");
        findings.push(finding(FindingState::Note, "key", text));
    } else if !own_tables.is_empty() {
        let text = "all tables have their primary key (id)".to_owned();
        findings.push(finding(FindingState::Ok, "key", text));
    }
    let without_secondary = names(&|table| !table.has_index[1]);
    if !workload.is_bulk() && !without_secondary.is_empty() {
        let text = format!("{without_secondary}: no index on k (create_secondary off)");
        findings.push(finding(FindingState::Note, "index", text));
    }
    findings
}
