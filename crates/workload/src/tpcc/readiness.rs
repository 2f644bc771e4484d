//! Checks that the tables are ready for a run, and determines their scale. Must never read a whole large
//! table, or accept incomplete tables.

use super::privileges;
use super::schema::{CUSTOMERS, DISTRICTS, ITEMS, Table};
use super::unfinished_load;
use crate::remedy::{LoadSpec, Remedy};
use crate::{Error, Result, catalog, sql};
use prony_server::Control;

/// The scale of the data if it is ready for a run. Fast at any scale.
///
/// # Errors
/// A table is missing, incomplete, not Prony's or HammerDB's, or not accessible to this role; or the scale
/// is not the requested one.
pub fn scale_for_run(control: &mut Control, requested: Option<u32>) -> Result<u32> {
    find_scale(control, requested, privileges::check)
}

/// Like [`scale_for_run`], for a role that need only read the tables.
pub fn loaded_scale(control: &mut Control) -> Result<u32> {
    find_scale(control, None, |_| Ok(()))
}

/// The scale of the data, if it is ready. `check_role` comes before the tables are read.
fn find_scale(
    control: &mut Control,
    requested: Option<u32>,
    check_role: impl FnOnce(&mut Control) -> Result<()>,
) -> Result<u32> {
    let scale = requested.map_or("N".to_owned(), |scale| scale.to_string());
    let options = [("scale", scale)];
    let load = LoadSpec::of("tpcc", options.into());
    let data_error = |problem: String| Error::Data {
        problem,
        remedy: Remedy::Load(load.clone()),
    };
    if let Some(unfinished) = unfinished_load::find(control)? {
        return Err(Error::Data {
            problem: unfinished.message(),
            remedy: unfinished.remedy(),
        });
    }
    let tables = catalog::find::<Table>(control)?;
    for table in Table::ALL {
        if !tables.iter().any(|existing| existing.table == table) {
            return Err(data_error(format!("table {} is missing", table.name())));
        }
    }
    catalog::reject_foreign_tables(&tables)?;
    check_role(control)?;
    let incomplete_error = |problem: String| {
        data_error(format!(
            "the data is incomplete: {problem}; a load did not finish, or rows were deleted"
        ))
    };
    if let Some(keyless) = tables.iter().find(|table| !table.has_primary_key) {
        return Err(incomplete_error(format!(
            "{} has no primary key",
            keyless.table.name()
        )));
    }
    let scale = read_scale(control, incomplete_error)?;
    load.check_scale(scale, requested)
}

/// Counts the small tables, and looks up the first and last rows of the large ones by their keys.
/// `incomplete_error` is given what is incomplete.
fn read_scale(control: &mut Control, incomplete_error: impl Fn(String) -> Error) -> Result<u32> {
    let action = "reading the scale";
    let row = sql::query_row(
        control,
        action,
        "select count(*), min(w_id), max(w_id), (select count(*) from district), \
         (select max(i_id) from item) from warehouse",
    )?;
    let warehouses = row.int(0).unwrap_or(0);
    if warehouses == 0 {
        return Err(incomplete_error("warehouse is empty".to_owned()));
    }
    if (row.int(1), row.int(2)) != (Some(1), Some(warehouses)) {
        let text = format!("warehouse has {warehouses} rows, but not w_id 1 to {warehouses}");
        return Err(incomplete_error(text));
    }
    let districts = row.int(3).unwrap_or(0);
    if districts != warehouses * i64::from(DISTRICTS) {
        let text = format!("district has {districts} rows for {warehouses} warehouses");
        return Err(incomplete_error(text));
    }
    if row.int(4) != Some(i64::from(ITEMS)) {
        let text = format!("item does not reach i_id {ITEMS}");
        return Err(incomplete_error(text));
    }
    for (table, condition, expected, rows) in [
        (
            "customer",
            format!("c_w_id = {warehouses} and c_d_id = 10"),
            CUSTOMERS,
            "customers in the last district",
        ),
        (
            "stock",
            format!("s_w_id = {warehouses} and s_i_id in (1, 100000)"),
            2,
            "rows of the last warehouse for the first and the last item",
        ),
        (
            "orders",
            format!("o_w_id = {warehouses} and o_d_id = 10 and o_id in (1, 3000)"),
            2,
            "orders 1 and 3000 in the last district",
        ),
    ] {
        let sql = format!("select count(*) from {table} where {condition}");
        let count = sql::query_row(control, action, &sql)?.int(0).unwrap_or(0);
        if count != i64::from(expected) {
            let text = format!("{table} has {count} of {expected} {rows}");
            return Err(incomplete_error(text));
        }
    }
    u32::try_from(warehouses).map_err(|_| incomplete_error(format!("{warehouses} warehouses")))
}
