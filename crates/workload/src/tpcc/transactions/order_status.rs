//! The order-status transaction [2.6]: a customer's newest order and its lines. Must never change a
//! row, or combine an order from one state of the database with lines from another.

use super::{Transactions, steps};
use crate::tpcc::customers::middle_customer;
use crate::tpcc::execution::{Execution, ReadRow, call, int, missing};
use crate::tpcc::input::{CustomerKey, OrderStatus, TpccTransaction};
use prony_session::{Db, DbError};
use prony_wire::{Value, WireRow};

const CUSTOMER: usize = 0;
const ORDER: usize = 1;
const LINES: usize = 2;

/// The values read: whether the customer exists, the number of the newest order, and its number of lines.
#[derive(Default)]
struct Status {
    customer: bool,
    o_id: Option<i64>,
    lines: u32,
}

impl ReadRow for Status {
    fn row(&mut self, label: usize, row: WireRow<'_>) {
        match label {
            CUSTOMER => self.customer = true,
            ORDER => self.o_id = row.int(0),
            _ => self.lines += 1,
        }
    }
}

impl Transactions {
    /// Executes an order-status; returns the number of lines of the customer's newest order, or 0 if there is
    /// no order, which HammerDB's data allows.
    pub async fn order_status(&self, input: &OrderStatus, db: &mut Db) -> Result<u32, DbError> {
        let [w, d] = [input.w_id, input.d_id].map(int);
        let steps = match self.execution(TpccTransaction::OrderStatus) {
            Execution::Call(routine) => {
                let [number, name] = self.names.values(input.customer);
                let values = [w, d, number, name];
                return Ok(call(db, routine, &values, "the customer").await? as u32);
            }
            Execution::HammerdbCall(routine) => {
                let [by_name, number, name] = self.names.as_hammerdb(input.customer);
                let values = [w, d, number, by_name, name];
                return Ok(db.exec(routine, &values).await?.iter().count() as u32);
            }
            Execution::Steps(steps) => steps,
        };
        steps!(steps, [begin, names, customer, order, lines, commit]);
        let mut read = Status::default();
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        // A search by name also returns the customer's row.
        let (c_id, is_customer_read) = match input.customer {
            CustomerKey::Number(c_id) => (c_id.into(), false),
            CustomerKey::Name { name, fallback } => {
                let name = Value::Text(self.names.get(name));
                let (rows, result) = runner.rows(names, &[w, d, name]).await?;
                match (middle_customer(&rows, result), fallback) {
                    (Ok(c_id), _) => (c_id, true),
                    (Err(_), Some(c_id)) => (c_id.into(), false),
                    (Err(error), None) => return Err(error),
                }
            }
        };
        let values = [w, d, int(c_id)];
        if !is_customer_read {
            runner.read(customer, &values, CUSTOMER, &mut read).await?;
        }
        runner.read(order, &values, ORDER, &mut read).await?;
        runner.finish(&mut read).await?;
        if !is_customer_read && !read.customer {
            return Err(missing("the customer"));
        }
        if let Some(o_id) = read.o_id {
            let values = [w, d, int(o_id)];
            runner.read(lines, &values, LINES, &mut read).await?;
        }
        runner.run(commit, &[]).await?;
        runner.finish(&mut read).await?;
        Ok(read.lines)
    }
}
