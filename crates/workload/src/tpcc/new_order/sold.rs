//! What a line of a new order found.
//!
//! In: rows of an item and of its stock. Out: price, stock, marks. Must never: take a missing row
//! for a value.

use crate::tpcc::input::Line;
use crate::tpcc::texts::{Sold, decimal};
use crate::tpcc::way::missing;
use prony_session::DbError;
use prony_wire::Row;

/// Stock after an order of so many [2.4.2.2]: never below 10, because it is filled up by 91.
fn stock_after(before: i64, ordered: i64) -> i64 {
    match before - ordered {
        left @ 10.. => left,
        left => left + 91,
    }
}

impl Sold {
    /// Forgets it.
    pub fn clear(&mut self) {
        (self.price_cents, self.stock, self.brand) = (None, None, false);
        self.dist.clear();
    }

    /// Takes an item's row; gives whether it is original.
    pub fn item(&mut self, row: Option<Row<'_>>) -> bool {
        let price = row.and_then(|row| row.text(0));
        self.price_cents = price.and_then(|text| decimal(text, 2));
        is_original(row.and_then(|row| row.text(2)))
    }

    /// Takes a row of stock.
    pub fn stock(&mut self, row: Option<Row<'_>>, original: bool) {
        self.stock = row.and_then(|row| row.int(0));
        self.dist
            .push_str(row.and_then(|row| row.text(1)).unwrap_or(""));
        self.brand = original && is_original(row.and_then(|row| row.text(2)));
    }

    /// Stock after this line; none where the line's item is kept though there is none.
    pub fn after(&self, line: &Line) -> Result<Option<i64>, DbError> {
        match (self.stock, self.price_cents) {
            (Some(before), _) => Ok(Some(stock_after(before, line.quantity.into()))),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(missing("the stock of an item")),
        }
    }
}

fn is_original(data: Option<&str>) -> bool {
    data.is_some_and(|data| data.contains("ORIGINAL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_before_it_runs_out() {
        // 2.4.2.2: reduced where it exceeds the order by 10 or more, else also raised by 91.
        assert_eq!(stock_after(20, 10), 10);
        assert_eq!(stock_after(19, 10), 100);
        assert_eq!(stock_after(10, 1), 100);
        assert_eq!(stock_after(100, 1), 99);
    }
}
