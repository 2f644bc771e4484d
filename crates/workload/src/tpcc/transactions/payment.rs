//! The payment transaction [2.5].
//!
//! In each mode the customer's row is updated first, then the district's. The warehouse's row, which
//! all payments of a warehouse contend for, comes last.

use super::{Transactions, steps};
use crate::tpcc::customers::middle_customer;
use crate::tpcc::execution::{Execution, ReadRow, call, int, missing, money};
use crate::tpcc::input::{CustomerKey, Payment, TpccTransaction};
use crate::tpcc::texts::{TextBuffers, write};
use prony_session::{Db, DbError};
use prony_wire::{Value, WireRow};

const WAREHOUSE: usize = 0;
const DISTRICT: usize = 1;
const CUSTOMER: usize = 2;

impl Transactions {
    /// Executes a payment.
    pub async fn payment(
        &self,
        input: &Payment,
        db: &mut Db,
        texts: &mut TextBuffers,
    ) -> Result<(), DbError> {
        let TextBuffers {
            data,
            names: found_names,
            ..
        } = texts;
        let [w, d] = [input.w_id, input.d_id].map(int);
        let [c_w, c_d] = [input.c_w_id, input.c_d_id].map(int);
        let amount_paid = money(input.cents);
        let steps = match self.execution(TpccTransaction::Payment) {
            Execution::Call(routine) => {
                let [number, name] = self.names.values(input.customer);
                let values = [w, d, c_w, c_d, number, name, amount_paid];
                return call(db, routine, &values, "the customer").await.map(drop);
            }
            Execution::HammerdbCall(routine) => {
                let [by_name, number, name] = self.names.as_hammerdb(input.customer);
                let values = [w, d, c_w, c_d, number, by_name, amount_paid, name];
                return call(db, routine, &values, "the customer").await.map(drop);
            }
            Execution::Steps(steps) => steps,
        };
        steps!(
            steps,
            [begin, names, customer, district, warehouse, history, commit]
        );
        let mut run = self.runner(db);
        run.run(begin, &[]).await?;
        let c_id = match input.customer {
            CustomerKey::Number(c_id) => c_id.into(),
            CustomerKey::Name { name, fallback } => {
                let name = Value::Text(self.names.get(name));
                let (rows, result) = run.rows(names, &[c_w, c_d, name]).await?;
                match (middle_customer(&rows, result), fallback) {
                    (Err(_), Some(c_id)) => c_id.into(),
                    (found, _) => found?,
                }
            }
        };
        note(data, input, c_id);
        let c = int(c_id);
        let mut read = ChangedRows {
            found: [false; 3],
            names: found_names,
        };
        let values = [c_w, c_d, c, amount_paid, Value::Text(data)];
        run.read(customer, &values, CUSTOMER, &mut read).await?;
        let values = [w, d, amount_paid];
        run.read(district, &values, DISTRICT, &mut read).await?;
        let values = [w, amount_paid];
        run.read(warehouse, &values, WAREHOUSE, &mut read).await?;
        run.finish(&mut read).await?;
        for (found, part) in read.found.iter().zip(["warehouse", "district", "customer"]) {
            if !found {
                return Err(missing(&format!("the {part}")));
            }
        }
        // Warehouse and district, separated by four spaces [2.5.2.2].
        let [warehouse_name, district_name] = &read.names;
        data.clear();
        write(data, format_args!("{warehouse_name}    {district_name}"));
        let values = [c_d, c_w, c, d, w, amount_paid, Value::Text(data)];
        run.run(history, &values).await?;
        run.run(commit, &[]).await?;
        run.finish(&mut read).await
    }
}

/// The text that is prepended to the data of a customer with bad credit [2.5.2.2].
fn note(out: &mut String, input: &Payment, c_id: i64) {
    let Payment {
        w_id,
        d_id,
        c_w_id,
        c_d_id,
        cents,
        ..
    } = input;
    let (whole, cents) = (cents / 100, cents % 100);
    out.clear();
    write(
        out,
        format_args!("{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {whole}.{cents:02}|"),
    );
}

/// What is read of the rows that a payment changes: which ones exist, and the names of the warehouse
/// and the district.
struct ChangedRows<'a> {
    found: [bool; 3],
    names: &'a mut [String; 2],
}

impl ReadRow for ChangedRows<'_> {
    fn row(&mut self, label: usize, row: WireRow<'_>) {
        let text = row.text(0);
        self.found[label] = text.is_some() || label == CUSTOMER;
        if let Some(name) = self.names.get_mut(label) {
            name.clear();
            name.push_str(text.unwrap_or_default());
        }
    }
}
