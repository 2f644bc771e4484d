//! Whether the tables are fit for a run, how many there are and how large.
//!
//! In: a control connection, what was asked. Out: numbers. Must never: read a whole table, or let a
//! run start on a half-loaded one.

use super::options::Asked;
use super::tables::{self, Found, Note, Stage};
use super::{Oltp, engine};
use crate::commands::{Size, caller};
use crate::{Error, sql};
use prony_server::Control;

/// What a run is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Tables.
    pub tables: u32,
    /// Rows that each was loaded with.
    pub table_size: u32,
}

/// Sizes of a load that makes what is missing.
fn sizes(tables: Option<u32>, size: Option<u32>) -> Vec<Size<'static>> {
    let tables = tables.map(|tables| ("scale", tables.to_string()));
    let size = size.map(|size| ("table_size", size.to_string()));
    tables.into_iter().chain(size).collect()
}

/// What the words of a note say of a load that did not come to its end.
pub fn unfinished(note: &Note) -> String {
    let Note { what, .. } = note;
    format!("a load ({what}) is under way or was broken off")
}

/// Looks whether the tables are there.
///
/// # Errors
/// A table is missing, half-loaded, not one of these, or smaller than asked.
pub fn ready(control: &mut Control, workload: &Oltp, asked: &Asked) -> Result<Ready, Error> {
    let found = tables::find(control)?;
    let again = |problem: String| Error::Data {
        problem,
        hint: caller().load(workload.name, &sizes(asked.tables, asked.table_size)),
    };
    let there = found.len() as u32;
    let wanted = asked
        .tables
        .unwrap_or(if workload.on_one_table() { 1 } else { there });
    for number in 1..=wanted.max(1) {
        if !found.iter().any(|found| found.number == number) {
            return Err(again(format!("table {} is missing", engine::table(number))));
        }
    }
    tables::refuse_foreign(&found, workload.columns(), wanted)?;
    let used = &found[..wanted.max(1) as usize];
    let notes = used.iter().filter_map(|found| found.note.as_ref());
    if let Some(note) = notes.clone().find(|note| note.stage != Stage::Loaded) {
        let like_it = "with the options of that load";
        return Err(Error::Data {
            problem: unfinished(note),
            hint: caller().unfinished(workload.name, workload.data, &note.sizes(), like_it),
        });
    }
    if let Some(found) = used.iter().find(|found| !found.indexed[0]) {
        return Err(again(format!(
            "{} has no index on id: a load did not come to its end",
            found.facts.name
        )));
    }
    if workload.is_bulk() {
        return Ok(Ready {
            tables: wanted,
            table_size: 0,
        });
    }
    let table_size = size(control, workload, asked, used)?;
    Ok(Ready {
        tables: wanted,
        table_size,
    })
}

/// Rows of each table: as asked, as noted, or as the highest number says.
fn size(
    control: &mut Control,
    workload: &Oltp,
    asked: &Asked,
    used: &[Found],
) -> Result<u32, Error> {
    let mut least: Option<(u32, &str)> = None;
    for found in used {
        let noted = found
            .note
            .as_ref()
            .and_then(|note| note.number("table_size"));
        let size = match noted.and_then(|size| u32::try_from(size).ok()) {
            Some(size) => size,
            None => highest(control, &found.facts.name)?,
        };
        if least.is_none_or(|(least, _)| size < least) {
            least = Some((size, &found.facts.name));
        }
    }
    let (there, name) = least.unwrap_or((0, "sbtest1"));
    let wanted = asked.table_size.unwrap_or(there);
    let needed = if workload.is_hot() { asked.row } else { 1 };
    if wanted > there || there < needed {
        let wanted = wanted.max(needed);
        return Err(Error::Data {
            problem: format!("{name} was loaded with {there} rows, and {wanted} are wanted"),
            hint: caller().anew(
                workload.name,
                workload.data,
                &sizes(asked.tables, Some(wanted)),
            ),
        });
    }
    Ok(wanted)
}

/// Through the key: one look-up.
fn highest(control: &mut Control, name: &str) -> Result<u32, Error> {
    let sql = format!("select max(id) from {name}");
    let row = sql::row(control, &format!("reading the size of {name}"), &sql)?;
    Ok(row
        .int(0)
        .and_then(|id| u32::try_from(id).ok())
        .unwrap_or(0))
}
