//! Checks that a run can use the tables, and determines their number and size. Must never read a table
//! completely, or let a run start on a half-loaded table.

use super::options::OltpOptions;
use super::tables::{self, SbtestTable};
use super::{Oltp, statements};
use crate::remedy::{LoadOption, Remedy};
use crate::{Error, Result, sql};
use prony_server::Control;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTables {
    pub table_count: u32,
    pub table_size: u32,
}

/// The options of a load with this scale and table size, each omitted if `None`.
fn load_options(tables: Option<u32>, size: Option<u32>) -> Vec<LoadOption> {
    let tables = tables.map(|tables| ("scale", tables.to_string()));
    let size = size.map(|size| ("table_size", size.to_string()));
    tables.into_iter().chain(size).collect()
}

/// Returns the number and size of the tables that a run uses.
///
/// # Errors
/// A table is missing, half-loaded, foreign or smaller than requested.
pub fn check_tables(
    control: &mut Control,
    workload: &Oltp,
    options: &OltpOptions,
) -> Result<RunTables> {
    let tables = tables::find(control)?;
    let load_error = |problem: String| Error::Data {
        problem,
        remedy: Remedy::Load(workload.load_spec(load_options(options.tables, options.table_size))),
    };
    let table_count = tables.len() as u32;
    let default_count = if workload.uses_one_table() { 1 } else { table_count };
    let requested = options.tables.unwrap_or(default_count).max(1);
    for number in 1..=requested {
        if !tables.iter().any(|table| table.number == number) {
            return Err(load_error(format!(
                "table {} is missing",
                statements::table_name(number)
            )));
        }
    }
    tables::reject_foreign_tables(&tables, workload.columns(), requested)?;
    let run_tables = &tables[..requested as usize];
    let notes = run_tables.iter().filter_map(|table| table.note.as_ref());
    if let Some(note) = notes.clone().find(|note| note.is_unfinished()) {
        return Err(note.unfinished_error(workload.load_spec(tables::load_options_from_note(note))));
    }
    if let Some(table) = run_tables.iter().find(|table| !table.has_index_on_id) {
        return Err(load_error(format!(
            "{} has no index on id: a load did not finish",
            table.facts.name
        )));
    }
    if workload.is_bulk() {
        return Ok(RunTables {
            table_count: requested,
            table_size: 0,
        });
    }
    let table_size = usable_rows(control, workload, options, run_tables)?;
    Ok(RunTables {
        table_count: requested,
        table_size,
    })
}

/// Returns how many rows of each table a run uses: the requested number, or the loaded number, which the note
/// or the highest id shows.
fn usable_rows(
    control: &mut Control,
    workload: &Oltp,
    options: &OltpOptions,
    run_tables: &[SbtestTable],
) -> Result<u32> {
    let mut smallest_table: Option<(u32, &str)> = None;
    for table in run_tables {
        let note_size = table
            .note
            .as_ref()
            .and_then(|note| note.number("table_size"));
        let size = match note_size.and_then(|size| u32::try_from(size).ok()) {
            Some(size) => size,
            None => highest_id(control, &table.facts.name)?,
        };
        if smallest_table.is_none_or(|(rows, _)| size < rows) {
            smallest_table = Some((size, &table.facts.name));
        }
    }
    let (loaded_rows, name) = smallest_table.unwrap_or((0, "sbtest1"));
    let requested = options.table_size.unwrap_or(loaded_rows);
    let needed_rows = if workload.is_hot() { options.row } else { 1 };
    if requested > loaded_rows || loaded_rows < needed_rows {
        let requested = requested.max(needed_rows);
        return Err(Error::Data {
            problem: format!(
                "{name} was loaded with {loaded_rows} rows, but {requested} are requested"
            ),
            remedy: Remedy::Reload(
                "",
                workload.load_spec(load_options(options.tables, Some(requested))),
            ),
        });
    }
    Ok(requested)
}

/// Returns the highest id in a table, by one lookup in the primary key.
fn highest_id(control: &mut Control, name: &str) -> Result<u32> {
    let sql = format!("select max(id) from {name}");
    let row = sql::query_row(control, &format!("reading the size of {name}"), &sql)?;
    Ok(u32::try_from(row.count(0)).unwrap_or(0))
}
