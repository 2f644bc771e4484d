//! Checks that the tables are complete.
//!
//! Returns findings; tables with the same result share a finding. Must never report the normal effect of
//! a workload as wrong without naming the workload.

use super::Oltp;
use super::rows::{C_GROUPS, PAD_GROUPS, text_length};
use super::tables::{self, SbtestTable};
use crate::note::LoadNote;
use crate::number_format::grouped;
use crate::remedy::{LoadSpec, Remedy};
use crate::{CheckReport, Finding, Result, sql};
use prony_server::Control;

const C_LENGTH: usize = text_length(C_GROUPS);
const PAD_LENGTH: usize = text_length(PAD_GROUPS);

struct TableContents {
    name: String,
    rows: u64,
    lowest_id: Option<i64>,
    highest_id: Option<i64>,
    /// Rows whose texts differ in length from those of the load.
    wrong_length_rows: u64,
    /// Number of rows that were loaded, from the note.
    loaded_rows: Option<u64>,
    /// Number of existing rows with ids from 1 to `loaded_rows`.
    remaining_loaded_rows: u64,
    /// Whether its load has not finished.
    is_unfinished: bool,
}

/// Runs all checks: reads each table once, in one snapshot.
pub fn check(control: &mut Control, workload: &Oltp) -> Result<CheckReport> {
    sql::in_snapshot(control, |control| check_tables(control, workload))
}

fn check_tables(control: &mut Control, workload: &Oltp) -> Result<CheckReport> {
    let tables = tables::find(control)?;
    let (mut own_tables, foreign): (Vec<SbtestTable>, Vec<SbtestTable>) = tables
        .into_iter()
        .partition(|table| table.columns == workload.columns());
    let mut findings = vec![check_table_numbers(&own_tables, workload)];
    findings.extend(foreign.iter().map(|table| {
        let text = format!(
            "{} has the columns ({}), which are not those of this workload",
            table.facts.name, table.columns
        );
        Finding::wrong("table-foreign", text)
    }));
    findings.extend(unfinished_finding(&own_tables, workload));
    let mut contents = Vec::new();
    for table in &mut own_tables {
        let table_contents = read_table(control, table, workload)?;
        table.facts.rows = table_contents.rows;
        contents.push(table_contents);
    }
    // Tables of an unfinished load are not checked for missing rows, because the load may still store them.
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

fn check_table_numbers(own_tables: &[SbtestTable], workload: &Oltp) -> Finding {
    let id = "tables";
    let load = Remedy::Load(LoadSpec::of(workload.dataset, Vec::new()));
    let Some(last) = own_tables.last() else {
        return Finding::wrong(id, "there are no tables").with(load);
    };
    let (count, name) = (own_tables.len(), &last.facts.name);
    if last.number as usize != count {
        let text = format!(
            "there are {count} tables up to {name}: some of the tables between are missing"
        );
        // The finding about an unfinished load explains how to continue it.
        let is_unfinished = unfinished_finding(own_tables, workload).is_some();
        return Finding::wrong(id, text).with((!is_unfinished).then_some(load));
    }
    match count {
        1 => Finding::ok(id, format!("table {name} exists")),
        _ => Finding::ok(id, format!("all {count} tables exist, sbtest1 to {name}")),
    }
}

fn unfinished_finding(own_tables: &[SbtestTable], workload: &Oltp) -> Option<Finding> {
    let mut notes = own_tables.iter().filter_map(|table| table.note.as_ref());
    let note = notes.find(|note| note.is_unfinished())?;
    Some(note.unfinished_finding(workload.load_spec(tables::load_options_from_note(note))))
}

fn read_table(
    control: &mut Control,
    table: &SbtestTable,
    workload: &Oltp,
) -> Result<TableContents> {
    let name = table.facts.name.clone();
    let loaded_rows = table.note.as_ref().and_then(|note| note.number("rows"));
    let has_wrong_length = if workload.is_bulk() {
        "1 = 0".to_owned()
    } else {
        let length_of = control.dialect().length_function();
        format!("{length_of}(c) <> {C_LENGTH} or {length_of}(pad) <> {PAD_LENGTH}")
    };
    let row = sql::query_row(
        control,
        &format!("reading {name}"),
        &format!(
            "select count(*), min(id), max(id), sum(case when {has_wrong_length} then 1 else 0 end), \
             sum(case when id between 1 and {} then 1 else 0 end) from {name}",
            loaded_rows.unwrap_or(0)
        ),
    )?;
    Ok(TableContents {
        rows: row.count(0),
        lowest_id: row.int(1),
        highest_id: row.int(2),
        wrong_length_rows: row.count(3),
        remaining_loaded_rows: row.count(4),
        is_unfinished: table.note.as_ref().is_some_and(LoadNote::is_unfinished),
        name,
        loaded_rows,
    })
}

/// Checks that the loaded rows still exist; the finding names the first table that has lost rows.
fn check_rows(contents: &[&TableContents], workload: &Oltp) -> Vec<Finding> {
    let id = "rows";
    let mut tables_with_losses = contents.iter().filter_map(|table| {
        let loaded_rows = table.loaded_rows?;
        let lost_rows = loaded_rows.saturating_sub(table.remaining_loaded_rows);
        (lost_rows > 0).then_some((table, lost_rows))
    });
    if let Some((table, lost_rows)) = tables_with_losses.next() {
        let other_tables = match tables_with_losses.count() {
            0 => String::new(),
            count => format!(", and {count} other tables have lost rows too"),
        };
        let text = format!(
            "{} has lost {} of the {} rows that were loaded{other_tables}: oltp_delete does that; \
             load again",
            table.name,
            grouped(lost_rows),
            grouped(table.loaded_rows.unwrap_or(0)),
        );
        return vec![Finding::wrong(id, text)];
    }
    let rows: u64 = contents.iter().map(|table| table.rows).sum();
    let added_rows: u64 = contents
        .iter()
        .filter_map(|table| Some(table.rows - table.loaded_rows?.min(table.rows)))
        .sum();
    let tables_loaded_by_prony = contents
        .iter()
        .filter(|table| table.loaded_rows.is_some())
        .count();
    let mut findings = Vec::new();
    if tables_loaded_by_prony > 0 {
        let text = format!("{} rows; every table has its loaded rows", grouped(rows));
        findings.push(Finding::ok(id, text));
    }
    if added_rows > 0 {
        let added_by = if workload.is_bulk() { "bulk_insert" } else { "oltp_insert" };
        let text = format!(
            "{} rows were added since: {added_by} does that",
            grouped(added_rows)
        );
        findings.push(Finding::note("rows-added", text));
    }
    if tables_loaded_by_prony < contents.len() {
        let other_tables = contents.iter().filter(|table| table.loaded_rows.is_none());
        let tables_with_gaps = other_tables.filter(|table| {
            table.lowest_id != Some(1) || table.highest_id != i64::try_from(table.rows).ok()
        });
        let text = format!(
            "{} tables were not loaded by Prony, so their expected number of rows is unknown; \
             {} of them have ids other than 1 to the number of rows",
            contents.len() - tables_loaded_by_prony,
            tables_with_gaps.count()
        );
        findings.push(Finding::note("rows-unknown", text));
    }
    findings
}

fn check_lengths(contents: &[TableContents]) -> Option<Finding> {
    let id = "shape";
    if let Some(table) = contents.iter().find(|table| table.wrong_length_rows > 0) {
        let text = format!(
            "{} rows of {} have texts that are not {C_LENGTH} and {PAD_LENGTH} characters long; load again",
            grouped(table.wrong_length_rows),
            table.name
        );
        return Some(Finding::wrong(id, text));
    }
    if contents.is_empty() {
        return None;
    }
    let text = format!("all texts are {C_LENGTH} and {PAD_LENGTH} characters long");
    Some(Finding::ok(id, text))
}

fn check_indexes(own_tables: &[SbtestTable], workload: &Oltp) -> Vec<Finding> {
    let names_of = |predicate: &dyn Fn(&&SbtestTable) -> bool| {
        let names = own_tables.iter().filter(predicate);
        let names: Vec<&str> = names.map(|table| table.facts.name.as_str()).collect();
        names.join(", ")
    };
    let mut findings = Vec::new();
    let without_index = names_of(&|table| !table.has_index_on_id);
    let without_key = names_of(&|table| !table.has_primary_key && table.has_index_on_id);
    if !without_index.is_empty() {
        let text = format!("{without_index}: no index on id; the load did not finish");
        findings.push(Finding::wrong("key", text));
    } else if !without_key.is_empty() {
        let text = format!("{without_key}: an index on id instead of a primary key (secondary)");
        findings.push(Finding::note("key", text));
    } else if !own_tables.is_empty() {
        findings.push(Finding::ok("key", "all tables have their primary key (id)"));
    }
    // An unfinished load builds this index as its last step.
    let without_secondary = names_of(&|table| {
        let is_unfinished = table.note.as_ref().is_some_and(LoadNote::is_unfinished);
        !table.has_index_on_k && !is_unfinished
    });
    if !workload.is_bulk() && !without_secondary.is_empty() {
        let text = format!("{without_secondary}: no index on k (create_secondary off)");
        findings.push(Finding::note("index", text));
    }
    findings
}
