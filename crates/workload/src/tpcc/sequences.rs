//! Finds and repairs districts in which the next order number (`d_next_o_id`) is already taken. Must
//! never lower a number, or scan a large table.
//!
//! On PostgreSQL, HammerDB before 4.11 numbers an order after the increment (its issue 688). The
//! resulting data looks complete, but the next order that is numbered by the specification's rule
//! [2.4.2.2] violates the primary key.

use crate::number_format::grouped;
use crate::remedy::Remedy;
use crate::{Error, Result, sql};
use prony_server::Control;

/// Maximum number of warehouses to examine before a run, each by ten index lookups. Of more warehouses, every
/// n-th is examined.
const EXAMINED_WAREHOUSES_MAX: u32 = 3_200;

/// Subquery for the highest order number in the district; one index lookup on every engine.
fn highest_o_id(control: &Control) -> String {
    let select = "o_id from orders where o_w_id = d_w_id and o_d_id = d_id order by o_id desc";
    format!("({})", control.dialect().select_first(1, select))
}

/// Refuses a run if new orders would violate the primary key.
pub fn refuse_taken_numbers(control: &mut Control, warehouses: u32) -> Result<()> {
    let step = warehouses.div_ceil(EXAMINED_WAREHOUSES_MAX).max(1);
    let sql = format!(
        "select count(*), min(d_w_id) from district \
         where d_w_id % {step} = 0 and d_next_o_id <= {}",
        highest_o_id(control)
    );
    let row = sql::query_row(control, "reading the next order numbers", &sql)?;
    let (districts, first_warehouse) = (row.int(0).unwrap_or(0), row.int(1).unwrap_or(0));
    if districts == 0 {
        return Ok(());
    }
    let location = match districts {
        1 => format!("1 district (in warehouse {first_warehouse})"),
        _ => format!(
            "{} districts (the first in warehouse {first_warehouse})",
            grouped(districts)
        ),
    };
    Err(Error::Data {
        problem: format!(
            "in {location} the next order's number is taken: d_next_o_id is not above the highest o_id, \
             as HammerDB before 4.11 leaves it; every new order there would fail"
        ),
        remedy: Remedy::RepairSequences,
    })
}

/// Sets every taken `d_next_o_id` to the next free number; returns how many were changed.
pub fn repair(control: &mut Control) -> Result<u64> {
    let action = "setting d_next_o_id to the next free number";
    let highest_o_id = highest_o_id(control);
    let update = format!(
        "update district set d_next_o_id = {highest_o_id} + 1 where d_next_o_id <= {highest_o_id}"
    );
    let changed = control
        .execute(&update)
        .map_err(|source| sql::server_error(action, source))?;
    Ok(changed)
}

/// The sum of the next order numbers of all districts: its growth is the number of new orders.
pub fn next_order_number_sum(control: &mut Control) -> Result<u64, prony_server::control::Error> {
    let sum = control.dialect().sum_of("d_next_o_id");
    let sum = control.query_value(&format!("select {sum} from district"))?;
    Ok(sum.and_then(|sum| sum.parse().ok()).unwrap_or(0))
}
