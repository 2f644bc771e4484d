//! The delivery transaction [2.7]: delivers the oldest undelivered order of each district of a warehouse.
//! Must never deliver an order twice, or skip an order because a concurrent delivery has just delivered the
//! previous one.
//!
//! All districts are processed in one database transaction. `pacing` decides whether the terminal waits for
//! the delivery to end.

use super::{Transactions, named_steps};
use crate::sql::parse_decimal;
use crate::tpcc::execution::{
    Execution, RowReader, call_for_int, int_value, missing_row, money_value,
};
use crate::tpcc::input::{Delivery, TpccTransaction};
use crate::tpcc::schema::DISTRICTS;
use prony_session::{Db, DbError};
use prony_wire::WireRow;

// Indexes of the values that are read per district: the order's number, its customer, its total in cents.
const O_ID: usize = 0;
const C_ID: usize = 1;
const TOTAL_CENTS: usize = 2;

/// The values read for each district's order. The label of a step's result is 3 × the district's index +
/// the value's index.
#[derive(Default)]
struct DistrictOrders([[Option<i64>; 3]; DISTRICTS as usize]);

impl RowReader for DistrictOrders {
    fn read_row(&mut self, label: usize, row: WireRow<'_>) {
        let (district, value_index) = (label / 3, label % 3);
        self.0[district][value_index] = match value_index {
            TOTAL_CENTS => row.text(0).and_then(|text| parse_decimal(text, 2)),
            _ => row.int(0),
        };
    }
}

impl Transactions {
    /// Executes a delivery; returns the number of districts that had an order to deliver.
    pub async fn delivery(&self, input: &Delivery, db: &mut Db) -> Result<u32, DbError> {
        let [w, carrier] = [input.w_id, input.carrier].map(int_value);
        let steps = match self.execution(TpccTransaction::Delivery) {
            Execution::Call(routine) | Execution::HammerdbCall(routine) => {
                let count =
                    call_for_int(db, routine, &[w, carrier], "the count of deliveries").await?;
                return Ok(count as u32);
            }
            Execution::Steps(steps) => steps,
        };
        let [begin, oldest, dequeue, order, lines, sum, customer, commit] = named_steps(steps);
        let (mut orders, mut delivered) = (DistrictOrders::default(), 0);
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        // Pipelined, all districts share each round trip; otherwise they are processed one by one.
        let districts_at_once = if runner.is_pipelined() { DISTRICTS } else { 1 };
        for first_index in (0..DISTRICTS).step_by(districts_at_once as usize) {
            let districts = first_index as usize..(first_index + districts_at_once) as usize;
            for index in districts.clone() {
                let label = 3 * index + O_ID;
                let values = [w, int_value(index as i64 + 1)];
                runner.read(oldest, &values, label, &mut orders).await?;
            }
            runner.run_queued(&mut orders).await?;
            for index in districts.clone() {
                let Some(o_id) = orders.0[index][O_ID] else {
                    continue;
                };
                let first_label = 3 * index;
                let values = [w, int_value(index as i64 + 1), int_value(o_id), carrier];
                runner.run(dequeue, &values).await?;
                runner
                    .read(order, &values, first_label + C_ID, &mut orders)
                    .await?;
                runner.run(lines, &values).await?;
                runner
                    .read(sum, &values, first_label + TOTAL_CENTS, &mut orders)
                    .await?;
            }
            runner.run_queued(&mut orders).await?;
            for index in districts {
                let [Some(_), c_id, cents] = orders.0[index] else {
                    continue;
                };
                let c_id = c_id.ok_or_else(|| missing_row("the order of a row of new_order"))?;
                let cents = cents.ok_or_else(|| missing_row("the sum of an order"))?;
                let d = int_value(index as i64 + 1);
                let values = [w, d, int_value(c_id), money_value(cents)];
                runner.run(customer, &values).await?;
                delivered += 1;
            }
        }
        runner.run(commit, &[]).await?;
        runner.run_queued(&mut orders).await?;
        Ok(delivered)
    }
}
