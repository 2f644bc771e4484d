//! Checks that the table is complete.
//!
//! Must never report records as wrong that runs have added, or fetch the keys of all records: the number of
//! records and the sum of the numbers in their keys show whether a record is missing or foreign, and the
//! primary key excludes duplicates.

use super::inserted::{self, InsertedRecords};
use super::layout::Layout;
use super::table::{self, UserTable};
use super::{NAME, engine, keys};
use crate::catalog;
use crate::findings;
use crate::note::TableStage;
use crate::number_format::grouped;
use crate::{CheckReport, Finding, Result, sql};
use prony_server::Control;

#[derive(Clone, Copy, Debug)]
struct TableContents {
    records: u64,
    key_sum: u128,
    /// Records with a key that YCSB does not generate.
    foreign_records: u64,
    /// Records with a field of a different length.
    wrong_length_records: u64,
}

/// Runs all checks: reads the table once, in one snapshot.
pub fn check(control: &mut Control) -> Result<CheckReport> {
    sql::in_snapshot(control, examine)
}

fn examine(control: &mut Control) -> Result<CheckReport> {
    let mut tables = catalog::find::<UserTable>(control)?;
    let mut findings = findings::table_findings(&tables, Some(NAME));
    let mut report = CheckReport::default();
    if let Some(table) = tables.iter_mut().find(|table| table.is_own) {
        let note = table.note.as_ref();
        let layout = note.and_then(Layout::from_note);
        let is_complete = note.is_none_or(|note| note.stage == TableStage::Loaded);
        if let Some(note) = note.filter(|_| !is_complete) {
            findings.push(note.unfinished_finding(Layout::load_spec_from_note(note)));
        }
        let fields = table::field_count(&table.columns).unwrap_or_default();
        let contents = read_table(control, fields, layout)?;
        table.facts.rows = contents.records;
        match layout {
            // The records are not checked: those that an unfinished load has not stored yet are not missing.
            Some(_) if !is_complete => {}
            Some(layout) => {
                let inserted = inserted::count_inserted(control, layout.records)?;
                findings.extend(check_records(&contents, &layout, inserted));
                findings.push(check_fields(&contents, &layout));
            }
            None => findings.push(unknown_count_finding(&contents)),
        }
        findings.extend(findings::key_finding(table));
        findings.extend(findings::statistics_finding(table));
        report.scale = layout.map(|layout| layout.scale());
    }
    report.findings = findings;
    report.tables = tables.into_iter().map(|table| table.facts).collect();
    Ok(report)
}

fn read_table(control: &mut Control, fields: u32, layout: Option<Layout>) -> Result<TableContents> {
    let length = layout.map_or(0, |layout| u64::from(layout.field_length));
    let select = engine::contents_query(control.dialect(), fields, length);
    let row = sql::query_row(control, "reading the records", &select)?;
    let key_sum = row.text(1).and_then(|text| text.parse().ok());
    Ok(TableContents {
        records: row.count(0),
        key_sum: key_sum.unwrap_or(0),
        foreign_records: row.count(2),
        wrong_length_records: row.count(3),
    })
}

/// Checks that the load and runs have stored exactly these records.
fn check_records(
    contents: &TableContents,
    layout: &Layout,
    inserted: InsertedRecords,
) -> Vec<Finding> {
    let id = "records";
    let wrong_records = |text: String| vec![Finding::wrong(id, text)];
    if contents.foreign_records > 0 {
        return wrong_records(format!(
            "the keys of {} records are not \"user\" and a number; load again",
            grouped(contents.foreign_records)
        ));
    }
    let (actual, loaded) = (contents.records, layout.records);
    let expected = loaded + inserted.records;
    if actual != expected {
        return wrong_records(format!(
            "there are {} records, but the load and runs have stored {}: records were deleted, or \
             something else added some; load again",
            grouped(actual),
            grouped(expected)
        ));
    }
    let loaded_key_sum: u128 = (0..loaded)
        .map(|number| u128::from(keys::hash(number)))
        .sum();
    if contents.key_sum != loaded_key_sum + inserted.key_sum {
        return wrong_records(format!(
            "there are {} records, as many as the load and runs have stored, but some have \
             different keys; load again",
            grouped(actual)
        ));
    }
    let text = format!("all {} loaded records exist", grouped(loaded));
    let mut findings = vec![Finding::ok(id, text)];
    if inserted.records > 0 {
        let text = format!(
            "{} records were inserted since, by runs of workloads d and e",
            grouped(inserted.records)
        );
        findings.push(Finding::note("records-added", text));
    }
    findings
}

fn check_fields(contents: &TableContents, layout: &Layout) -> Finding {
    let (fields, length) = (layout.field_count, layout.field_length);
    if contents.wrong_length_records > 0 {
        let text = format!(
            "{} records have a field whose length is not {length} characters; load again",
            grouped(contents.wrong_length_records)
        );
        return Finding::wrong("shape", text);
    }
    Finding::ok(
        "shape",
        format!("every record has {fields} fields of {length} characters"),
    )
}

/// The finding on a table that Prony did not load.
fn unknown_count_finding(contents: &TableContents) -> Finding {
    let text = format!(
        "there are {} records; Prony did not load them, so their expected number is unknown",
        grouped(contents.records)
    );
    Finding::note("records-unknown", text)
}
