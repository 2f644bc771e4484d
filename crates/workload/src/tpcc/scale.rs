//! How many warehouses a run has.
//!
//! In: the tables, a scale that was asked for. Out: the scale, or why there can be no run. Must
//! never: take half-loaded tables for whole ones, or read a whole large table; `check` does that.

use super::record;
use super::schema::{DISTRICTS, ITEMS, Table};
use crate::{Error, catalog, sql};
use prony_server::Control;

/// The scale of the tables that are there.
///
/// # Errors
/// Tables are missing, not this workload's, half-loaded, or of another scale.
pub fn for_run(control: &mut Control, asked: Option<u32>) -> Result<u32, Error> {
    let wanted = asked.map_or("N".to_owned(), |scale| scale.to_string());
    let load = || format!("prony load tpcc --scale {wanted}");
    let found = catalog::find::<Table>(control)?;
    for table in Table::ALL {
        if !found.iter().any(|found| found.table == table) {
            return Err(Error::Data {
                problem: format!("table {} is missing", table.name()),
                hint: load(),
            });
        }
    }
    catalog::refuse_foreign(&found)?;
    let half = |what: String| Error::Data {
        problem: format!("the data is not whole: {what}"),
        hint: load(),
    };
    if let Some(record) = record::find(control)? {
        return Err(half(format!(
            "a load of {} warehouses did not come to its end",
            record.scale
        )));
    }
    let keyed = |table: Table| catalog::Tables::key(table).is_empty();
    if let Some(found) = found.iter().find(|found| !found.keyed && !keyed(found.table)) {
        return Err(half(format!("{} has no primary key", found.table.name())));
    }
    let facts = sql::row(
        control,
        "reading the scale",
        &format!(
            "select (select count(*) from warehouse), (select max(w_id) from warehouse), \
             (select count(*) from district), exists (select from item where i_id = {ITEMS})"
        ),
    )?;
    let number = |column| facts.int(column).and_then(|number| u32::try_from(number).ok());
    let scale = number(0).unwrap_or(0);
    if scale == 0 {
        return Err(half("warehouse is empty".to_owned()));
    }
    if number(1) != Some(scale) || number(2) != scale.checked_mul(DISTRICTS) {
        return Err(half(format!(
            "there are {scale} warehouses, and they are not those from 1 to {scale} with \
             {DISTRICTS} districts each"
        )));
    }
    if !facts.is_true(3) {
        return Err(half(format!("there are not {ITEMS} items")));
    }
    match asked {
        Some(asked) if asked != scale => Err(Error::Data {
            problem: format!("{asked} warehouses are asked for, and {scale} are loaded"),
            hint: format!("--scale {scale}, or {}", load()),
        }),
        _ => Ok(scale),
    }
}
