//! The payment transaction [2.5].
//!
//! Every mode updates the customer's row first, then the district's, and last the warehouse's, for which all
//! payments of the warehouse contend.

use super::{Transactions, named_steps};
use crate::tpcc::execution::{
    Execution, RowReader, call_for_int, int_value, missing_row, money_value,
};
use crate::tpcc::input::{Payment, TpccTransaction};
use crate::tpcc::texts::{TextBuffers, push_value};
use prony_session::{Db, DbError};
use prony_wire::{Value, WireRow};

// Labels of the steps whose rows are read.
const WAREHOUSE: usize = 0;
const DISTRICT: usize = 1;
const CUSTOMER: usize = 2;

/// Names of the tables, in the order of the labels.
const CHANGED_TABLES: [&str; 3] = ["warehouse", "district", "customer"];

impl Transactions {
    pub async fn payment(
        &self,
        input: &Payment,
        db: &mut Db,
        texts: &mut TextBuffers,
    ) -> Result<(), DbError> {
        let TextBuffers {
            data,
            names: row_names,
            ..
        } = texts;
        let [w, d] = [input.w_id, input.d_id].map(int_value);
        let [c_w, c_d] = [input.c_w_id, input.c_d_id].map(int_value);
        let amount_paid = money_value(input.cents);
        let steps = match self.execution(TpccTransaction::Payment) {
            Execution::Call(routine) => {
                let [number, name] = self.search_names.routine_values(input.customer);
                let values = [w, d, c_w, c_d, number, name, amount_paid];
                return call_for_int(db, routine, &values, "the customer")
                    .await
                    .map(drop);
            }
            Execution::HammerdbCall(routine) => {
                let [by_name, number, name] =
                    self.search_names.hammerdb_routine_values(input.customer);
                let values = [w, d, c_w, c_d, number, by_name, amount_paid, name];
                return call_for_int(db, routine, &values, "the customer")
                    .await
                    .map(drop);
            }
            Execution::Steps(steps) => steps,
        };
        let [begin, names, customer, district, warehouse, history, commit] = named_steps(steps);
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        let found = self
            .find_customer(&mut runner, names, [c_w, c_d], input.customer)
            .await?;
        let c_id = found.c_id;
        write_credit_note(data, input, c_id);
        let c = int_value(c_id);
        let mut changed_rows = ChangedRows {
            exists: [false; 3],
            names: row_names,
        };
        let values = [c_w, c_d, c, amount_paid, Value::Text(data)];
        runner
            .read(customer, &values, CUSTOMER, &mut changed_rows)
            .await?;
        let values = [w, d, amount_paid];
        runner
            .read(district, &values, DISTRICT, &mut changed_rows)
            .await?;
        let values = [w, amount_paid];
        runner
            .read(warehouse, &values, WAREHOUSE, &mut changed_rows)
            .await?;
        runner.run_queued(&mut changed_rows).await?;
        if let Some(label) = changed_rows.exists.iter().position(|exists| !exists) {
            return Err(missing_row(&format!("the {}", CHANGED_TABLES[label])));
        }
        // Warehouse and district, separated by four spaces [2.5.2.2].
        let [warehouse_name, district_name] = &changed_rows.names;
        data.clear();
        push_value(data, format_args!("{warehouse_name}    {district_name}"));
        let values = [c_d, c_w, c, d, w, amount_paid, Value::Text(data)];
        runner.run(history, &values).await?;
        runner.run(commit, &[]).await?;
        runner.run_queued(&mut changed_rows).await
    }
}

/// Writes the text that is prepended to the data of a customer with bad credit [2.5.2.2].
fn write_credit_note(out: &mut String, input: &Payment, c_id: i64) {
    let Payment {
        w_id,
        d_id,
        c_w_id,
        c_d_id,
        cents,
        ..
    } = input;
    let (units, cents) = (cents / 100, cents % 100);
    out.clear();
    push_value(
        out,
        format_args!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {units}.{cents:02}|"),
    );
}

/// The values that a payment's updates return: whether each row exists, and the names of the warehouse and
/// the district.
struct ChangedRows<'a> {
    exists: [bool; 3],
    names: &'a mut [String; 2],
}

impl RowReader for ChangedRows<'_> {
    fn read_row(&mut self, label: usize, row: WireRow<'_>) {
        let text = row.text(0);
        self.exists[label] = text.is_some() || label == CUSTOMER;
        if let Some(name) = self.names.get_mut(label) {
            name.clear();
            name.push_str(text.unwrap_or_default());
        }
    }
}
