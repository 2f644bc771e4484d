//! The rows of the nine tables by the specification's rules [4.3.3.1], in any output format.
//!
//! A row depends only on its table, its number and the load's [`Content`], so any split over loaders
//! yields the same data. Generating a row must not allocate.

use super::random::{LastNames, NuRand, Permutation, RandomStream};
use super::schema::{CUSTOMERS, DELIVERED, DISTRICTS, ITEMS, Table};
use crate::copy::RowSource;
use crate::row_format::{CopyBinary, RowFormat};
use std::ops::Range;

/// The parameters that all rows of a load share.
#[derive(Clone, Debug)]
pub struct Content {
    pub seed: u64,
    /// The timestamp of all customers, payments, orders and deliveries of the load, in microseconds
    /// since 2000-01-01 00:00 UTC.
    pub timestamp_micros: i64,
    pub names: LastNames,
    /// Customers with bad credit, per hundred customers of a district.
    pub bad_credit_percent: u32,
}

/// Writes the rows of one table for some warehouses. A unit is one row, or all lines of one order.
pub struct TpccRows<'a, F: RowFormat = CopyBinary> {
    content: &'a Content,
    timestamp: F::Timestamp,
    table: Table,
    /// Number of the next unit.
    next: u64,
    /// Number of the unit after the last.
    end: u64,
    block_units: u32,
    /// The permutation of the current block, which selects the tenth of its units that are marked, or the
    /// customers of its orders.
    permutation: Permutation,
}

impl<'a> TpccRows<'a, CopyBinary> {
    /// As binary COPY data; see [`TpccRows::of`].
    pub fn new(content: &'a Content, table: Table, warehouses: Range<u32>) -> Self {
        Self::of(content, table, warehouses)
    }
}

impl<'a, F: RowFormat> TpccRows<'a, F> {
    /// The rows of the warehouses, numbered from 1; for `item` all rows, whatever the warehouses.
    pub fn of(content: &'a Content, table: Table, warehouses: Range<u32>) -> Self {
        let (first, last) = (warehouses.start - 1, warehouses.end - 1);
        let block_units = match table {
            Table::Item | Table::Stock => ITEMS,
            Table::Warehouse => 1,
            Table::District => DISTRICTS,
            Table::NewOrder => CUSTOMERS - DELIVERED,
            Table::Customer | Table::History | Table::Orders | Table::OrderLine => CUSTOMERS,
        };
        let per_warehouse = match table {
            Table::OrderLine => Table::Orders.rows(1),
            _ => table.rows(1),
        };
        let (next, end) = match table {
            Table::Item => (0, per_warehouse),
            _ => (
                u64::from(first) * per_warehouse,
                u64::from(last) * per_warehouse,
            ),
        };
        let mut rows = TpccRows {
            content,
            timestamp: F::prepare_timestamp(content.timestamp_micros),
            table,
            next,
            end,
            block_units,
            permutation: Permutation::new(content.seed, table, 0, block_units),
        };
        rows.enter_block();
        rows
    }

    fn enter_block(&mut self) {
        let number = self.next / u64::from(self.block_units);
        self.permutation =
            Permutation::new(self.content.seed, self.table, number, self.block_units);
    }

    #[inline]
    fn fill_units(
        &mut self,
        out: &mut Vec<u8>,
        full_bytes: usize,
        write: impl Fn(&Self, &mut Vec<u8>, &mut RandomStream) -> u64,
    ) -> u64 {
        let mut count = 0;
        while self.next < self.end && out.len() < full_bytes {
            let mut stream = RandomStream::new(self.content.seed, self.table, self.next);
            count += write(self, out, &mut stream);
            self.next += 1;
            if self.next.is_multiple_of(u64::from(self.block_units)) {
                self.enter_block();
            }
        }
        count
    }

    /// Position of the unit within its block, from 0.
    #[inline]
    fn index_in_block(&self) -> u32 {
        (self.next % u64::from(self.block_units)) as u32
    }

    /// Whether the unit belongs to the marked tenth of its block.
    #[inline]
    fn is_marked(&self) -> bool {
        self.permutation.at(self.index_in_block()) < self.block_units / 10
    }

    /// Warehouse and district of a unit, each from 1, in a table with one block per district.
    #[inline]
    fn warehouse_and_district(&self) -> (u32, u32) {
        let district = (self.next / u64::from(self.block_units)) as u32;
        (district / DISTRICTS + 1, district % DISTRICTS + 1)
    }

    fn write_item(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        F::begin_row(out, 5);
        F::write_int(out, self.index_in_block() + 1);
        F::write_int(out, stream.uniform(1, 10_000));
        F::write_text(out, |out| stream.push_letters(out, 14, 24));
        F::write_decimal::<2>(out, i64::from(stream.uniform(100, 10_000)));
        F::write_text(out, |out| stream.push_data(out, self.is_marked()));
        F::end_row(out);
        1
    }

    fn write_warehouse(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        F::begin_row(out, 9);
        F::write_int(out, self.next as u32 + 1);
        F::write_text(out, |out| stream.push_letters(out, 6, 10));
        write_address::<F>(out, stream);
        F::write_decimal::<4>(out, i64::from(stream.uniform(0, 2_000)));
        F::write_decimal::<2>(out, 300_000 * 100);
        F::end_row(out);
        1
    }

    fn write_district(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        F::begin_row(out, 11);
        F::write_int(out, (self.next / u64::from(DISTRICTS)) as u32 + 1);
        F::write_int(out, CUSTOMERS + 1);
        F::write_small_int(out, self.index_in_block() + 1);
        F::write_decimal::<2>(out, 30_000 * 100);
        F::write_decimal::<4>(out, i64::from(stream.uniform(0, 2_000)));
        F::write_text(out, |out| stream.push_letters(out, 6, 10));
        write_address::<F>(out, stream);
        F::end_row(out);
        1
    }

    fn write_stock(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        F::begin_row(out, 17);
        F::write_int(out, self.index_in_block() + 1);
        F::write_int(out, (self.next / u64::from(ITEMS)) as u32 + 1);
        F::write_int(out, 0);
        F::write_small_int(out, stream.uniform(10, 100));
        F::write_small_int(out, 0);
        F::write_small_int(out, 0);
        for _ in 0..DISTRICTS {
            F::write_text(out, |out| stream.push_letters(out, 24, 24));
        }
        F::write_text(out, |out| stream.push_data(out, self.is_marked()));
        F::end_row(out);
        1
    }

    fn write_customer(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        let (warehouse, district) = self.warehouse_and_district();
        let index = self.index_in_block();
        let name = if index < 1000 {
            index
        } else {
            NuRand::LOAD_LAST_NAMES.draw(|low, high| stream.uniform(low, high))
        };
        F::begin_row(out, 21);
        F::write_timestamp(out, &self.timestamp);
        F::write_int(out, index + 1);
        F::write_int(out, warehouse);
        F::write_small_int(out, district);
        F::write_small_int(out, 1);
        F::write_small_int(out, 0);
        F::write_text(out, |out| stream.push_letters(out, 8, 16));
        F::write_text(out, |out| out.extend_from_slice(b"OE"));
        let name = self.content.names.get(name);
        F::write_text(out, |out| out.extend_from_slice(name.as_bytes()));
        write_address::<F>(out, stream);
        F::write_text(out, |out| stream.push_digits(out, 16));
        let bad_credit_customers = self.block_units * self.content.bad_credit_percent / 100;
        let credit = if self.permutation.at(index) < bad_credit_customers { b"BC" } else { b"GC" };
        F::write_text(out, |out| out.extend_from_slice(credit));
        F::write_decimal::<2>(out, 50_000 * 100);
        F::write_decimal::<4>(out, i64::from(stream.uniform(0, 5_000)));
        F::write_decimal::<2>(out, -10 * 100);
        F::write_decimal::<2>(out, 10 * 100);
        F::write_text(out, |out| stream.push_letters(out, 300, 500));
        F::end_row(out);
        1
    }

    fn write_history(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        let (warehouse, district) = self.warehouse_and_district();
        F::begin_row(out, 8);
        F::write_timestamp(out, &self.timestamp);
        F::write_int(out, self.index_in_block() + 1);
        F::write_int(out, warehouse);
        F::write_int(out, warehouse);
        F::write_small_int(out, district);
        F::write_small_int(out, district);
        F::write_decimal::<2>(out, 10 * 100);
        F::write_text(out, |out| stream.push_letters(out, 12, 24));
        F::end_row(out);
        1
    }

    fn write_order(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        let (warehouse, district) = self.warehouse_and_district();
        let order = self.index_in_block() + 1;
        let line_count = draw_line_count(stream);
        F::begin_row(out, 8);
        F::write_timestamp(out, &self.timestamp);
        F::write_int(out, order);
        F::write_int(out, warehouse);
        F::write_int(out, self.permutation.at(order - 1) + 1);
        F::write_small_int(out, district);
        if order <= DELIVERED {
            F::write_small_int(out, stream.uniform(1, 10));
        } else {
            F::write_null(out);
        }
        F::write_small_int(out, line_count);
        F::write_small_int(out, 1);
        F::end_row(out);
        1
    }

    fn write_new_order(&self, out: &mut Vec<u8>, _: &mut RandomStream) -> u64 {
        let (warehouse, district) = self.warehouse_and_district();
        F::begin_row(out, 3);
        F::write_int(out, warehouse);
        F::write_int(out, DELIVERED + 1 + self.index_in_block());
        F::write_small_int(out, district);
        F::end_row(out);
        1
    }

    fn write_order_lines(&self, out: &mut Vec<u8>, stream: &mut RandomStream) -> u64 {
        let (warehouse, district) = self.warehouse_and_district();
        let order = self.index_in_block() + 1;
        let line_count = draw_line_count(&mut RandomStream::new(
            self.content.seed,
            Table::Orders,
            self.next,
        ));
        for line in 1..=line_count {
            F::begin_row(out, 10);
            if order <= DELIVERED {
                F::write_timestamp(out, &self.timestamp);
            } else {
                F::write_null(out);
            }
            F::write_int(out, order);
            F::write_int(out, warehouse);
            F::write_int(out, stream.uniform(1, ITEMS));
            F::write_int(out, warehouse);
            F::write_small_int(out, district);
            F::write_small_int(out, line);
            F::write_small_int(out, 5);
            let amount = if order <= DELIVERED { 0 } else { stream.uniform(1, 999_999) };
            F::write_decimal::<2>(out, i64::from(amount));
            F::write_text(out, |out| stream.push_letters(out, 24, 24));
            F::end_row(out);
        }
        u64::from(line_count)
    }
}

impl<F: RowFormat> RowSource for TpccRows<'_, F> {
    type Format = F;

    fn is_done(&self) -> bool {
        self.next == self.end
    }

    fn append_rows(&mut self, out: &mut Vec<u8>, full_bytes: usize) -> u64 {
        match self.table {
            Table::Item => self.fill_units(out, full_bytes, Self::write_item),
            Table::Warehouse => self.fill_units(out, full_bytes, Self::write_warehouse),
            Table::District => self.fill_units(out, full_bytes, Self::write_district),
            Table::Stock => self.fill_units(out, full_bytes, Self::write_stock),
            Table::Customer => self.fill_units(out, full_bytes, Self::write_customer),
            Table::History => self.fill_units(out, full_bytes, Self::write_history),
            Table::Orders => self.fill_units(out, full_bytes, Self::write_order),
            Table::NewOrder => self.fill_units(out, full_bytes, Self::write_new_order),
            Table::OrderLine => self.fill_units(out, full_bytes, Self::write_order_lines),
        }
    }
}

/// Writes the columns of an address: two streets, city, state, zip.
#[inline]
fn write_address<F: RowFormat>(out: &mut Vec<u8>, stream: &mut RandomStream) {
    for _ in 0..3 {
        F::write_text(out, |out| stream.push_letters(out, 10, 20));
    }
    F::write_text(out, |out| stream.push_letters(out, 2, 2));
    F::write_text(out, |out| stream.push_zip(out));
}

#[inline]
fn draw_line_count(order: &mut RandomStream) -> u32 {
    order.uniform(5, 15)
}

/// Number of order lines of some warehouses, numbered from 1.
pub fn order_line_count(seed: u64, warehouses: Range<u32>) -> u64 {
    let orders = |warehouses: u32| Table::Orders.rows(warehouses - 1);
    (orders(warehouses.start)..orders(warehouses.end))
        .map(|order| {
            u64::from(draw_line_count(&mut RandomStream::new(
                seed,
                Table::Orders,
                order,
            )))
        })
        .sum()
}

#[cfg(test)]
mod tests;
