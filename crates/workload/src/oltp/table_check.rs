//! Checks that the tables are usable, and determines their number and size. Must never read a whole table, or let
//! a run start on a half-loaded one.

use super::options::OltpOptions;
use super::tables::{self, SbtestTable};
use super::{Oltp, statements};
use crate::remedy::{LoadOption, Remedy};
use crate::{Error, sql};
use prony_server::Control;

/// The tables that a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTables {
    /// Number of tables.
    pub tables: u32,
    /// Rows loaded into each table.
    pub table_size: u32,
}

/// The options of a load that creates the missing tables.
fn load_options(tables: Option<u32>, size: Option<u32>) -> Vec<LoadOption> {
    let tables = tables.map(|tables| ("scale", tables.to_string()));
    let size = size.map(|size| ("table_size", size.to_string()));
    tables.into_iter().chain(size).collect()
}

/// Checks that a run can use the tables.
///
/// # Errors
/// A table is missing, half-loaded, foreign, or smaller than requested.
pub fn check_tables(
    control: &mut Control,
    workload: &Oltp,
    options: &OltpOptions,
) -> Result<RunTables, Error> {
    let found = tables::find(control)?;
    let load_error = |problem: String| Error::Data {
        problem,
        remedy: Remedy::Load(workload.load_of(load_options(options.tables, options.table_size))),
    };
    let existing = found.len() as u32;
    let requested = options.tables.unwrap_or(if workload.uses_one_table() {
        1
    } else {
        existing
    });
    for number in 1..=requested.max(1) {
        if !found.iter().any(|found| found.number == number) {
            return Err(load_error(format!(
                "table {} is missing",
                statements::table_name(number)
            )));
        }
    }
    tables::refuse_foreign(&found, workload.columns(), requested)?;
    let used = &found[..requested.max(1) as usize];
    let notes = used.iter().filter_map(|found| found.note.as_ref());
    if let Some(note) = notes.clone().find(|note| note.is_unfinished()) {
        return Err(note.unfinished_error(workload.load_of(tables::load_options(note))));
    }
    if let Some(found) = used.iter().find(|found| !found.indexed[0]) {
        return Err(load_error(format!(
            "{} has no index on id: a load did not finish",
            found.facts.name
        )));
    }
    if workload.is_bulk() {
        return Ok(RunTables {
            tables: requested,
            table_size: 0,
        });
    }
    let table_size = usable_rows(control, workload, options, used)?;
    Ok(RunTables {
        tables: requested,
        table_size,
    })
}

/// Rows of each table: as requested, as recorded in the note, or the highest id.
fn usable_rows(
    control: &mut Control,
    workload: &Oltp,
    options: &OltpOptions,
    used: &[SbtestTable],
) -> Result<u32, Error> {
    let mut smallest: Option<(u32, &str)> = None;
    for found in used {
        let noted = found
            .note
            .as_ref()
            .and_then(|note| note.number("table_size"));
        let size = match noted.and_then(|size| u32::try_from(size).ok()) {
            Some(size) => size,
            None => highest_id(control, &found.facts.name)?,
        };
        if smallest.is_none_or(|(rows, _)| size < rows) {
            smallest = Some((size, &found.facts.name));
        }
    }
    let (loaded_rows, name) = smallest.unwrap_or((0, "sbtest1"));
    let requested = options.table_size.unwrap_or(loaded_rows);
    let needed = if workload.is_hot() { options.row } else { 1 };
    if requested > loaded_rows || loaded_rows < needed {
        let requested = requested.max(needed);
        return Err(Error::Data {
            problem: format!(
                "{name} was loaded with {loaded_rows} rows, but {requested} are requested"
            ),
            remedy: Remedy::Reload(
                "",
                workload.load_of(load_options(options.tables, Some(requested))),
            ),
        });
    }
    Ok(requested)
}

/// The highest id in a table: one lookup in the primary key.
fn highest_id(control: &mut Control, name: &str) -> Result<u32, Error> {
    let sql = format!("select max(id) from {name}");
    let row = sql::query_row(control, &format!("reading the size of {name}"), &sql)?;
    Ok(row
        .int(0)
        .and_then(|id| u32::try_from(id).ok())
        .unwrap_or(0))
}
