//! The stock-level transaction [2.8]: counts the items in a district's last 20 orders that run low. It
//! changes no row; read committed suffices.

use super::{Transactions, steps};
use crate::tpcc::execution::{Execution, call, int, missing};
use crate::tpcc::input::{StockLevel, TpccTransaction};
use prony_session::{Db, DbError};

/// Number of orders to examine.
const ORDERS_EXAMINED: i64 = 20;

const NEXT: usize = 0;
const COUNT: usize = 1;

impl Transactions {
    /// Executes a stock-level; returns the number of items that run low.
    pub async fn stock_level(&self, input: &StockLevel, db: &mut Db) -> Result<u32, DbError> {
        let [w, d, threshold] = [input.w_id, input.d_id, input.threshold].map(int);
        let steps = match self.execution(TpccTransaction::StockLevel) {
            Execution::Call(routine) | Execution::HammerdbCall(routine) => {
                let count = call(db, routine, &[w, d, threshold], "the count of items").await?;
                return Ok(count as u32);
            }
            Execution::Steps(steps) => steps,
        };
        steps!(steps, [begin, district, low, commit]);
        let mut read = [None; 2];
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        runner.read(district, &[w, d], NEXT, &mut read).await?;
        runner.finish(&mut read).await?;
        let next = read[NEXT].ok_or_else(|| missing("the district"))?;
        let values = [w, d, int(next - ORDERS_EXAMINED), int(next), threshold];
        runner.read(low, &values, COUNT, &mut read).await?;
        runner.run(commit, &[]).await?;
        runner.finish(&mut read).await?;
        Ok(read[COUNT].ok_or_else(|| missing("the count of items"))? as u32)
    }
}
