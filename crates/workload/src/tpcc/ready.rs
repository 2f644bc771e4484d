//! Whether the tables are fit for a run, and at which scale.
//!
//! In: a control connection, the scale asked for. Out: the scale that is there. Must never: read a
//! large table, or let a run start on a half-loaded one.

use super::record;
use super::rights;
use super::schema::{CUSTOMERS, DISTRICTS, ITEMS, Table};
use crate::commands::caller;
use crate::{Error, catalog, sql};
use prony_server::Control;

/// The scale of the data, when it is fit for a run. Cheap at any scale.
///
/// # Errors
/// A table is missing, half-loaded, not ours or not for this role; or the scale is not the one asked
/// for.
pub fn scale_for_run(control: &mut Control, asked: Option<u32>) -> Result<u32, Error> {
    let wanted = asked.map_or("N".to_owned(), |scale| scale.to_string());
    let sizes = [("scale", wanted)];
    let again = caller().load("tpcc", &sizes);
    let data = |problem: String| Error::Data {
        problem,
        hint: again.clone(),
    };
    if let Some(record) = record::find(control)? {
        return Err(Error::Data {
            problem: record.words(),
            hint: record.layout.continued(),
        });
    }
    let found = catalog::find::<Table>(control)?;
    for table in Table::ALL {
        if !found.iter().any(|found| found.table == table) {
            return Err(data(format!("table {} is missing", table.name())));
        }
    }
    catalog::refuse_foreign(&found)?;
    rights::check(control)?;
    let half = |what: String| {
        data(format!(
            "the data is not whole: {what}; a load did not come to its end, or rows were deleted"
        ))
    };
    if let Some(found) = found.iter().find(|found| !found.keyed) {
        return Err(half(format!("{} has no primary key", found.table.name())));
    }
    let scale = probe(control)?.map_err(half)?;
    match asked {
        Some(asked) if asked != scale => Err(Error::Data {
            problem: format!("the data has scale {scale}, and scale {asked} was asked for"),
            hint: format!(
                "leave the scale out to run on what is there, or: {}",
                caller().anew("tpcc", "tpcc", &sizes)
            ),
        }),
        _ => Ok(scale),
    }
}

/// Counts the small tables, and looks at both ends of the large ones through their keys. The scale,
/// or what is wrong.
fn probe(control: &mut Control) -> Result<Result<u32, String>, Error> {
    let doing = "reading the scale";
    let row = sql::row(
        control,
        doing,
        "select count(*), min(w_id), max(w_id), (select count(*) from district), \
         (select max(i_id) from item) from warehouse",
    )?;
    let warehouses = row.int(0).unwrap_or(0);
    if warehouses == 0 {
        return Ok(Err("warehouse is empty".to_owned()));
    }
    if (row.int(1), row.int(2)) != (Some(1), Some(warehouses)) {
        let text =
            format!("warehouse has {warehouses} rows, but not the numbers 1 to {warehouses}");
        return Ok(Err(text));
    }
    let districts = row.int(3).unwrap_or(0);
    if districts != warehouses * i64::from(DISTRICTS) {
        let text = format!("district has {districts} rows for {warehouses} warehouses");
        return Ok(Err(text));
    }
    if row.int(4) != Some(i64::from(ITEMS)) {
        return Ok(Err(format!("item does not reach up to {ITEMS}")));
    }
    for (table, what, wanted, sql) in [
        (
            Table::Customer,
            "customers in the last district",
            CUSTOMERS,
            "select count(*) from customer where c_w_id = {w} and c_d_id = 10",
        ),
        (
            Table::Stock,
            "rows of the last warehouse for the first and the last item",
            2,
            "select count(*) from stock where s_w_id = {w} and s_i_id in (1, 100000)",
        ),
        (
            Table::Orders,
            "orders 1 and 3000 in the last district",
            2,
            "select count(*) from orders where o_w_id = {w} and o_d_id = 10 and o_id in (1, 3000)",
        ),
    ] {
        let sql = sql.replace("{w}", &warehouses.to_string());
        let count = sql::row(control, doing, &sql)?.int(0).unwrap_or(0);
        if count != i64::from(wanted) {
            let text = format!("{} has {count} of {wanted} {what}", table.name());
            return Ok(Err(text));
        }
    }
    Ok(u32::try_from(warehouses).map_err(|_| format!("{warehouses} warehouses")))
}
