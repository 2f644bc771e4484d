//! The new-order transaction [2.4]: inserts an order with its lines, or rolls back on purpose.

use super::{Transactions, named_steps};
use crate::sql::parse_decimal;
use crate::tpcc::execution::{
    Execution, RowReader, StepRunner, int_value, missing_row, money_value,
};
use crate::tpcc::input::{LINES_MAX, NewOrder, OrderLine, TpccTransaction};
use crate::tpcc::statements::TransactionStep;
use crate::tpcc::texts::{LineState, TextBuffers, write_packed};
use prony_document::SqlDialect;
use prony_session::{Db, DbError, DbReply};
use prony_wire::{Statement, Value, WireRow};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderResult {
    /// Whether the order was rolled back as intended.
    pub rolled_back: bool,
    /// Total after discount and taxes, in cents; 0 if the profile does not compute it.
    pub total_cents: i64,
    /// Number of lines with an original item from original stock.
    pub brand_lines: u32,
}

const ROLLED_BACK: OrderResult = OrderResult {
    rolled_back: true,
    total_cents: 0,
    brand_lines: 0,
};

/// SQLSTATE by which the function reports an unused item; the transaction is then rolled back as
/// intended. PostgreSQL defines no SQLSTATE that starts with `PR`.
const UNUSED_ITEM_SQLSTATE: [u8; 5] = *b"PRN01";

impl Transactions {
    pub async fn new_order(
        &self,
        input: &NewOrder,
        db: &mut Db,
        texts: &mut TextBuffers,
    ) -> Result<OrderResult, DbError> {
        match self.execution(TpccTransaction::NewOrder) {
            Execution::Call(routine) => self.call_new_order(routine, input, db, texts).await,
            Execution::HammerdbCall(routine) => {
                let lines = input.lines().len() as u32;
                let values = [input.w_id, self.warehouses, input.d_id, input.c_id, lines];
                let rows = db.exec(routine, &values.map(int_value)).await?;
                rows.first()
                    .ok_or_else(|| missing_row("the number of the new order"))?;
                Ok(OrderResult::default())
            }
            Execution::Steps(steps) => self.run_order_steps(steps, input, db, texts).await,
        }
    }

    async fn call_new_order(
        &self,
        routine: &Statement,
        input: &NewOrder,
        db: &mut Db,
        texts: &mut TextBuffers,
    ) -> Result<OrderResult, DbError> {
        let rows = match self.call_with_lines(routine, input, db, texts).await {
            // PostgreSQL's function reports an unused item by an SQLSTATE, the other engines' procedures by a NULL.
            Err(error) if error.code == UNUSED_ITEM_SQLSTATE && input.has_unused_item => {
                return Ok(ROLLED_BACK);
            }
            Ok(rows) if input.has_unused_item && rows.int(0).is_none() => return Ok(ROLLED_BACK),
            rows => rows?,
        };
        rows.int(0)
            .ok_or_else(|| missing_row("the number of the new order"))?;
        if !self.profile.outputs {
            return Ok(OrderResult::default());
        }
        let text = |column| rows.first().and_then(|row| row.text(column));
        let total = text(1).and_then(|text| parse_decimal(text, 2));
        let line_marks = text(2).unwrap_or("").bytes();
        Ok(OrderResult {
            rolled_back: false,
            total_cents: total.ok_or_else(|| missing_row("the total of an order"))?,
            brand_lines: line_marks.filter(|letter| *letter == b'B').count() as u32,
        })
    }

    /// Calls the routine, with the lines in the dialect's format: only PostgreSQL has array parameters.
    async fn call_with_lines<'a>(
        &self,
        routine: &Statement,
        input: &NewOrder,
        db: &'a mut Db,
        texts: &mut TextBuffers,
    ) -> Result<DbReply<'a>, DbError> {
        let [w, d, c] = [input.w_id, input.d_id, input.c_id].map(int_value);
        let all_local = int_value(input.remote_lines() == 0);
        match self.dialect {
            SqlDialect::PostgreSql => {
                texts.set_arrays(input.lines());
                let arrays = [
                    &texts.items,
                    &texts.supplies,
                    &texts.quantities,
                    &texts.waves,
                ];
                let [items, supplies, quantities, waves] = arrays.map(|text| Value::Text(text));
                let count = int_value(input.waves());
                let values = [
                    w, d, c, all_local, items, supplies, quantities, waves, count,
                ];
                db.exec(routine, &values).await
            }
            SqlDialect::MySql | SqlDialect::TransactSql => {
                write_packed(&mut texts.items, input.lines());
                let values = [w, d, c, all_local, Value::Text(&texts.items)];
                db.exec(routine, &values).await
            }
        }
    }

    async fn run_order_steps(
        &self,
        steps: &[TransactionStep],
        input: &NewOrder,
        db: &mut Db,
        texts: &mut TextBuffers,
    ) -> Result<OrderResult, DbError> {
        // There is a step `stock` for each district, because the column that it reads depends on it.
        let (before_stock, others) = steps.split_at(7);
        let (stock, after_stock) = others.split_at(others.len() - 4);
        let [begin, warehouse, customer, district, order, queue, item] = named_steps(before_stock);
        let [update_stock, insert, commit, rollback] = named_steps(after_stock);
        let line_steps = [item, &stock[input.d_id as usize - 1]];
        let [w, d, c] = [input.w_id, input.d_id, input.c_id].map(int_value);
        let mut read = OrderState::new(&mut texts.lines);
        let mut runner = self.runner(db);
        runner.run(begin, &[]).await?;
        runner.read(warehouse, &[w], WAREHOUSE, &mut read).await?;
        runner
            .read(customer, &[w, d, c], CUSTOMER, &mut read)
            .await?;
        runner.read(district, &[w, d], DISTRICT, &mut read).await?;
        if runner.is_pipelined() {
            // Queue the reads of all lines at once, because none depends on the result of another.
            for index in 0..input.lines().len() {
                self.read_line(line_steps, input, index, &mut runner, &mut read)
                    .await?;
            }
        }
        runner.run_queued(&mut read).await?;
        let terms = read.order_terms()?;
        let o = int_value(terms.o_id);
        let (count, all_local) = (input.lines().len() as i64, input.remote_lines() == 0);
        runner
            .run(order, &[o, d, w, c, int_value(count), int_value(all_local)])
            .await?;
        runner.run(queue, &[o, d, w]).await?;
        let mut previous_stock = None;
        for (index, line) in input.lines().iter().enumerate() {
            if !runner.is_pipelined() {
                self.read_line(line_steps, input, index, &mut runner, &mut read)
                    .await?;
            }
            let state = &mut read.lines[index];
            if state.price_cents.is_none() && self.profile.rolls_back {
                if !input.has_unused_item {
                    return Err(missing_row("an item"));
                }
                runner.run(rollback, &[]).await?;
                runner.run_queued(&mut read).await?;
                return Ok(ROLLED_BACK);
            }
            if line.wave > 1 {
                // The previous line changed the same row, in a pipeline after this line had read it.
                state.stock = previous_stock;
            }
            previous_stock = state.new_stock(line)?;
            if let Some(new_stock) = previous_stock {
                runner
                    .run(
                        update_stock,
                        &stock_update_values(line, new_stock, input.w_id),
                    )
                    .await?;
            }
            let number = int_value(index as i64 + 1);
            let [amount, dist] = state.values(line);
            let [item, supply, quantity] = [line.item, line.supply, line.quantity].map(int_value);
            let values = [o, d, w, number, item, supply, quantity, amount, dist];
            runner.run(insert, &values).await?;
        }
        runner.run(commit, &[]).await?;
        runner.run_queued(&mut read).await?;
        let result = self.profile.outputs.then(|| read.result(input, terms));
        Ok(result.unwrap_or_default())
    }

    /// Reads a line's item and its stock. Skips the stock if the order is already known to roll back.
    async fn read_line(
        &self,
        [item, stock]: [&TransactionStep; 2],
        input: &NewOrder,
        index: usize,
        runner: &mut StepRunner<'_>,
        read: &mut OrderState<'_>,
    ) -> Result<(), DbError> {
        let (line, label) = (&input.lines()[index], FIRST_LINE + 2 * index);
        let item_key = [int_value(line.item)];
        runner.read(item, &item_key, label, read).await?;
        let is_price_read = !runner.is_pipelined();
        if is_price_read && read.lines[index].price_cents.is_none() && self.profile.rolls_back {
            return Ok(());
        }
        let values = [line.item, line.supply].map(int_value);
        runner.read(stock, &values, label + 1, read).await
    }
}

const WAREHOUSE: usize = 0;
const CUSTOMER: usize = 1;
const DISTRICT: usize = 2;
/// The label of the first line's item; each line has two labels, for its item and its stock.
const FIRST_LINE: usize = 3;

/// The values that an order has read so far. Taxes and the discount are in ten-thousandths.
struct OrderState<'a> {
    o_id: Option<i64>,
    discount: Option<i64>,
    w_tax: Option<i64>,
    d_tax: Option<i64>,
    lines: &'a mut [LineState; LINES_MAX],
}

impl RowReader for OrderState<'_> {
    fn read_row(&mut self, label: usize, row: WireRow<'_>) {
        let tax = |column| row.text(column).and_then(|text| parse_decimal(text, 4));
        match label {
            WAREHOUSE => self.w_tax = tax(0),
            CUSTOMER => self.discount = tax(0),
            DISTRICT => (self.o_id, self.d_tax) = (row.int(0), tax(1)),
            _ => {
                let offset = label - FIRST_LINE;
                let line = &mut self.lines[offset / 2];
                if offset.is_multiple_of(2) { line.set_item(row) } else { line.set_stock(row) }
            }
        }
    }
}

impl<'a> OrderState<'a> {
    fn new(lines: &'a mut [LineState; LINES_MAX]) -> Self {
        lines.iter_mut().for_each(LineState::clear);
        OrderState {
            o_id: None,
            discount: None,
            w_tax: None,
            d_tax: None,
            lines,
        }
    }

    fn order_terms(&self) -> Result<OrderTerms, DbError> {
        Ok(OrderTerms {
            w_tax: self.w_tax.ok_or_else(|| missing_row("the warehouse"))?,
            discount: self.discount.ok_or_else(|| missing_row("the customer"))?,
            o_id: self.o_id.ok_or_else(|| missing_row("the district"))?,
            d_tax: self.d_tax.ok_or_else(|| missing_row("the district"))?,
        })
    }

    fn result(&self, input: &NewOrder, terms: OrderTerms) -> OrderResult {
        let lines = || self.lines.iter().zip(input.lines());
        let amounts = lines().filter_map(|(state, line)| state.amount_cents(line));
        OrderResult {
            rolled_back: false,
            total_cents: terms.total_cents(amounts.sum()),
            brand_lines: lines().filter(|(state, _)| state.brand).count() as u32,
        }
    }
}

/// The order's number, discount and taxes, read from the customer, the district and the warehouse.
#[derive(Clone, Copy)]
struct OrderTerms {
    o_id: i64,
    discount: i64,
    w_tax: i64,
    d_tax: i64,
}

impl OrderTerms {
    /// Sum x (1 - discount) x (1 + both taxes), in cents, rounded [2.4.3.3].
    fn total_cents(self, sum_cents: i64) -> i64 {
        let scaled = sum_cents * (10_000 - self.discount) * (10_000 + self.w_tax + self.d_tax);
        (scaled + 50_000_000) / 100_000_000
    }
}

/// Values for the update of a stock row; the last two are used only if the profile maintains the counters.
fn stock_update_values(line: &OrderLine, new_stock: i64, w_id: u32) -> [Value<'static>; 5] {
    let [item, supply, quantity] = [line.item, line.supply, line.quantity].map(int_value);
    [
        item,
        supply,
        int_value(new_stock),
        quantity,
        int_value(line.supply != w_id),
    ]
}

impl LineState {
    fn clear(&mut self) {
        (self.price_cents, self.stock) = (None, None);
        (self.original, self.brand) = (false, false);
        self.dist.clear();
    }

    fn set_item(&mut self, row: WireRow<'_>) {
        self.price_cents = row.text(0).and_then(|text| parse_decimal(text, 2));
        self.original = is_original(row.text(2));
    }

    fn set_stock(&mut self, row: WireRow<'_>) {
        self.stock = row.int(0);
        self.dist.push_str(row.text(1).unwrap_or(""));
        self.brand = self.original && is_original(row.text(2));
    }

    /// Stock after this line; `None` if the item does not exist but its line is inserted anyway.
    fn new_stock(&self, line: &OrderLine) -> Result<Option<i64>, DbError> {
        match (self.stock, self.price_cents) {
            (Some(previous_stock), _) => {
                Ok(Some(stock_after(previous_stock, line.quantity.into())))
            }
            (None, None) => Ok(None),
            (None, Some(_)) => Err(missing_row("the stock of an item")),
        }
    }

    fn amount_cents(&self, line: &OrderLine) -> Option<i64> {
        Some(self.price_cents? * i64::from(line.quantity))
    }

    /// The amount and the district information of an order line's row.
    fn values(&self, line: &OrderLine) -> [Value<'_>; 2] {
        [
            self.amount_cents(line).map_or(Value::Null, money_value),
            self.stock.map_or(Value::Null, |_| Value::Text(&self.dist)),
        ]
    }
}

fn is_original(data: Option<&str>) -> bool {
    data.is_some_and(|data| data.contains("ORIGINAL"))
}

/// Stock after an order of this quantity [2.4.2.2]; stock that would fall below 10 is raised by 91.
fn stock_after(previous_stock: i64, ordered: i64) -> i64 {
    match previous_stock - ordered {
        remaining @ 10.. => remaining,
        remaining => remaining + 91,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_discounted_taxed_and_rounded() {
        let terms = |discount, w_tax, d_tax| OrderTerms {
            o_id: 1,
            discount,
            w_tax,
            d_tax,
        };
        assert_eq!(terms(0, 0, 0).total_cents(12_345), 12_345);
        assert_eq!(terms(5_000, 2_000, 0).total_cents(1_000), 600);
        // 0.01 x 0.5 = 0.005, rounded up.
        assert_eq!(terms(5_000, 0, 0).total_cents(1), 1);
        assert_eq!(terms(1_234, 567, 890).total_cents(100_000), 100_432);
    }

    #[test]
    fn stock_is_replenished_before_it_runs_out() {
        // Reduced by the quantity, and raised by 91 unless at least 10 remain [2.4.2.2].
        assert_eq!(stock_after(20, 10), 10);
        assert_eq!(stock_after(19, 10), 100);
        assert_eq!(stock_after(10, 1), 100);
        assert_eq!(stock_after(100, 1), 99);
    }
}
