//! The order-status transaction [2.6]: a customer's newest order and its lines. Must never change a
//! row, or combine an order from one state of the database with lines from another.

use super::{Transactions, named_steps};
use crate::tpcc::execution::{Execution, RowReader, call_for_int, int_value, missing_row};
use crate::tpcc::input::{OrderStatus, TpccTransaction};
use prony_session::{Db, DbError};
use prony_wire::WireRow;

// Labels of the steps whose rows are read.
const CUSTOMER: usize = 0;
const ORDER: usize = 1;
const LINES: usize = 2;

/// The values that an order-status reads.
#[derive(Default)]
struct StatusReader {
    customer_exists: bool,
    o_id: Option<i64>,
    line_count: u32,
}

impl RowReader for StatusReader {
    fn read_row(&mut self, label: usize, row: WireRow<'_>) {
        match label {
            CUSTOMER => self.customer_exists = true,
            ORDER => self.o_id = row.int(0),
            _ => self.line_count += 1,
        }
    }
}

impl Transactions {
    /// Executes an order-status; returns the number of lines of the customer's newest order, or 0 if there is
    /// no order, which HammerDB's data allows.
    pub async fn order_status(&self, input: &OrderStatus, db: &mut Db) -> Result<u32, DbError> {
        let [w, d] = [input.w_id, input.d_id].map(int_value);
        let steps = match self.execution(TpccTransaction::OrderStatus) {
            Execution::Call(routine) => {
                let [number, name] = self.search_names.routine_values(input.customer);
                let values = [w, d, number, name];
                return Ok(call_for_int(db, routine, &values, "the customer").await? as u32);
            }
            Execution::HammerdbCall(routine) => {
                let [by_name, number, name] =
                    self.search_names.hammerdb_routine_values(input.customer);
                let values = [w, d, number, by_name, name];
                return Ok(db.exec(routine, &values).await?.iter().count() as u32);
            }
            Execution::Steps(steps) => steps,
        };
        let [begin, names, customer, order, lines, commit] = named_steps(steps);
        let mut status = StatusReader::default();
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        // A search by name returns the customer's row too, so it need not be read again.
        let found = self
            .find_customer(&mut runner, names, [w, d], input.customer)
            .await?;
        let values = [w, d, int_value(found.c_id)];
        if !found.is_row_read {
            runner
                .read(customer, &values, CUSTOMER, &mut status)
                .await?;
        }
        runner.read(order, &values, ORDER, &mut status).await?;
        runner.run_queued(&mut status).await?;
        if !found.is_row_read && !status.customer_exists {
            return Err(missing_row("the customer"));
        }
        if let Some(o_id) = status.o_id {
            let values = [w, d, int_value(o_id)];
            runner.read(lines, &values, LINES, &mut status).await?;
        }
        runner.run(commit, &[]).await?;
        runner.run_queued(&mut status).await?;
        Ok(status.line_count)
    }
}
