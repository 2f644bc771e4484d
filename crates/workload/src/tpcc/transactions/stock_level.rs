//! The stock-level transaction [2.8]: counts the items in a district's last 20 orders that run low. It
//! changes no row, and needs no isolation above read committed.

use super::{Transactions, named_steps};
use crate::tpcc::execution::{Execution, call_for_int, int_value, missing_row};
use crate::tpcc::input::{StockLevel, TpccTransaction};
use prony_session::{Db, DbError};

/// Number of a district's latest orders whose items are examined.
const ORDERS_EXAMINED: i64 = 20;

/// Label of the district's next order number.
const NEXT_O_ID: usize = 0;
/// Label of the number of low items.
const LOW_COUNT: usize = 1;

impl Transactions {
    /// Executes a stock-level; returns the number of items that run low.
    pub async fn stock_level(&self, input: &StockLevel, db: &mut Db) -> Result<u32, DbError> {
        let [w, d, threshold] = [input.w_id, input.d_id, input.threshold].map(int_value);
        let steps = match self.execution(TpccTransaction::StockLevel) {
            Execution::Call(routine) | Execution::HammerdbCall(routine) => {
                let count =
                    call_for_int(db, routine, &[w, d, threshold], "the count of items").await?;
                return Ok(count as u32);
            }
            Execution::Steps(steps) => steps,
        };
        let [begin, district, low, commit] = named_steps(steps);
        let mut numbers = [None; 2];
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        runner
            .read(district, &[w, d], NEXT_O_ID, &mut numbers)
            .await?;
        runner.run_queued(&mut numbers).await?;
        let next_o_id = numbers[NEXT_O_ID].ok_or_else(|| missing_row("the district"))?;
        let values = [
            w,
            d,
            int_value(next_o_id - ORDERS_EXAMINED),
            int_value(next_o_id),
            threshold,
        ];
        runner.read(low, &values, LOW_COUNT, &mut numbers).await?;
        runner.run(commit, &[]).await?;
        runner.run_queued(&mut numbers).await?;
        Ok(numbers[LOW_COUNT].ok_or_else(|| missing_row("the count of items"))? as u32)
    }
}
