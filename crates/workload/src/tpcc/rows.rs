//! The rows of the nine tables by the specification's rules [4.3.3.1], in any form.
//!
//! In: a table, a range of warehouses, a seed, the load's moment. Out: bytes. Must never: depend on
//! anything else, so that any split over loaders gives the same data; allocate for a row.

use super::random::{LastNames, NuRand, Permutation, Stream};
use super::schema::{CUSTOMERS, DELIVERED, DISTRICTS, ITEMS, Table};
use crate::copy::RowSource;
use crate::copy_binary;
use crate::fields::{CopyBinary, Fields};
use std::ops::Range;

/// What all rows of a load have in common.
#[derive(Clone, Debug)]
pub struct Content {
    /// Seed of all random values.
    pub seed: u64,
    /// When all of it happened: customers since, payments, orders, deliveries.
    /// In microseconds since 2000-01-01 00:00 UTC.
    pub moment_micros: i64,
    /// The last names.
    pub names: LastNames,
    /// Of a hundred customers of a district, those with bad credit.
    pub bad_credit_percent: u32,
}

/// Writes the rows of one table for some warehouses. Units are rows, but for order lines: those
/// of one order are a unit.
pub struct Rows<'a, F: Fields = CopyBinary> {
    content: &'a Content,
    moment: F::Moment,
    table: Table,
    next: u64,
    end: u64,
    /// Units among which a tenth is marked, or orders are dealt to customers.
    block: u32,
    deal: Permutation,
}

impl<'a> Rows<'a, CopyBinary> {
    /// As binary COPY data; see [`Rows::of`].
    pub fn new(content: &'a Content, table: Table, warehouses: Range<u32>) -> Self {
        Self::of(content, table, warehouses)
    }
}

impl<'a, F: Fields> Rows<'a, F> {
    /// Those of the warehouses, numbered from 1; of `item` all, whatever the warehouses.
    pub fn of(content: &'a Content, table: Table, warehouses: Range<u32>) -> Self {
        let (first, last) = (warehouses.start - 1, warehouses.end - 1);
        let block = match table {
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
        let mut rows = Rows {
            content,
            moment: F::moment(content.moment_micros),
            table,
            next,
            end,
            block,
            deal: Permutation::new(content.seed, table, 0, block),
        };
        rows.enter_block();
        rows
    }

    fn enter_block(&mut self) {
        let number = self.next / u64::from(self.block);
        self.deal = Permutation::new(self.content.seed, self.table, number, self.block);
    }

    #[inline]
    fn each(
        &mut self,
        out: &mut Vec<u8>,
        full: usize,
        write: impl Fn(&Self, &mut Vec<u8>, &mut Stream) -> u64,
    ) -> u64 {
        let mut count = 0;
        while self.next < self.end && out.len() < full {
            let mut stream = Stream::new(self.content.seed, self.table, self.next);
            count += write(self, out, &mut stream);
            self.next += 1;
            if self.next.is_multiple_of(u64::from(self.block)) {
                self.enter_block();
            }
        }
        count
    }

    /// Place of the unit within its block, from 0.
    #[inline]
    fn place(&self) -> u32 {
        (self.next % u64::from(self.block)) as u32
    }

    /// Whether the unit is one of the tenth of its block that is marked.
    #[inline]
    fn is_marked(&self) -> bool {
        self.deal.at(self.place()) < self.block / 10
    }

    /// Warehouse and district, each from 1, of a unit of which a district has a block.
    #[inline]
    fn home(&self) -> (u32, u32) {
        let district = (self.next / u64::from(self.block)) as u32;
        (district / DISTRICTS + 1, district % DISTRICTS + 1)
    }

    fn item(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        F::row(out, 5);
        F::int(out, self.place() + 1);
        F::int(out, s.uniform(1, 10_000));
        F::text(out, |out| s.letters(out, 14, 24));
        F::number::<2>(out, i64::from(s.uniform(100, 10_000)));
        F::text(out, |out| s.data(out, self.is_marked()));
        F::end(out);
        1
    }

    fn warehouse(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        F::row(out, 9);
        F::int(out, self.next as u32 + 1);
        F::text(out, |out| s.letters(out, 6, 10));
        address::<F>(out, s);
        F::number::<4>(out, i64::from(s.uniform(0, 2_000)));
        F::number::<2>(out, 300_000 * 100);
        F::end(out);
        1
    }

    fn district(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        F::row(out, 11);
        F::int(out, (self.next / u64::from(DISTRICTS)) as u32 + 1);
        F::int(out, CUSTOMERS + 1);
        F::small(out, self.place() + 1);
        F::number::<2>(out, 30_000 * 100);
        F::number::<4>(out, i64::from(s.uniform(0, 2_000)));
        F::text(out, |out| s.letters(out, 6, 10));
        address::<F>(out, s);
        F::end(out);
        1
    }

    fn stock(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        F::row(out, 17);
        F::int(out, self.place() + 1);
        F::int(out, (self.next / u64::from(ITEMS)) as u32 + 1);
        F::int(out, 0);
        F::small(out, s.uniform(10, 100));
        F::small(out, 0);
        F::small(out, 0);
        for _ in 0..DISTRICTS {
            F::text(out, |out| s.letters(out, 24, 24));
        }
        F::text(out, |out| s.data(out, self.is_marked()));
        F::end(out);
        1
    }

    fn customer(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        let (warehouse, district) = self.home();
        let place = self.place();
        let name = if place < 1000 {
            place
        } else {
            NuRand::LOAD_LAST.draw(|low, high| s.uniform(low, high))
        };
        F::row(out, 21);
        F::time(out, &self.moment);
        F::int(out, place + 1);
        F::int(out, warehouse);
        F::small(out, district);
        F::small(out, 1);
        F::small(out, 0);
        F::text(out, |out| s.letters(out, 8, 16));
        F::text(out, |out| out.extend_from_slice(b"OE"));
        let name = self.content.names.get(name);
        F::text(out, |out| out.extend_from_slice(name.as_bytes()));
        address::<F>(out, s);
        F::text(out, |out| s.digits(out, 16));
        let bad = self.block * self.content.bad_credit_percent / 100;
        let credit = if self.deal.at(place) < bad {
            b"BC"
        } else {
            b"GC"
        };
        F::text(out, |out| out.extend_from_slice(credit));
        F::number::<2>(out, 50_000 * 100);
        F::number::<4>(out, i64::from(s.uniform(0, 5_000)));
        F::number::<2>(out, -10 * 100);
        F::number::<2>(out, 10 * 100);
        F::text(out, |out| s.letters(out, 300, 500));
        F::end(out);
        1
    }

    fn history(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        let (warehouse, district) = self.home();
        F::row(out, 8);
        F::time(out, &self.moment);
        F::int(out, self.place() + 1);
        F::int(out, warehouse);
        F::int(out, warehouse);
        F::small(out, district);
        F::small(out, district);
        F::number::<2>(out, 10 * 100);
        F::text(out, |out| s.letters(out, 12, 24));
        F::end(out);
        1
    }

    fn order(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        let (warehouse, district) = self.home();
        let order = self.place() + 1;
        let lines = lines(s);
        F::row(out, 8);
        F::time(out, &self.moment);
        F::int(out, order);
        F::int(out, warehouse);
        F::int(out, self.deal.at(order - 1) + 1);
        F::small(out, district);
        if order <= DELIVERED {
            F::small(out, s.uniform(1, 10));
        } else {
            F::null(out);
        }
        F::small(out, lines);
        F::small(out, 1);
        F::end(out);
        1
    }

    fn new_order(&self, out: &mut Vec<u8>, _: &mut Stream) -> u64 {
        let (warehouse, district) = self.home();
        F::row(out, 3);
        F::int(out, warehouse);
        F::int(out, DELIVERED + 1 + self.place());
        F::small(out, district);
        F::end(out);
        1
    }

    fn order_lines(&self, out: &mut Vec<u8>, s: &mut Stream) -> u64 {
        let (warehouse, district) = self.home();
        let order = self.place() + 1;
        let lines = lines(&mut Stream::new(
            self.content.seed,
            Table::Orders,
            self.next,
        ));
        for line in 1..=lines {
            F::row(out, 10);
            if order <= DELIVERED {
                F::time(out, &self.moment);
            } else {
                F::null(out);
            }
            F::int(out, order);
            F::int(out, warehouse);
            F::int(out, s.uniform(1, ITEMS));
            F::int(out, warehouse);
            F::small(out, district);
            F::small(out, line);
            F::small(out, 5);
            let amount = if order <= DELIVERED {
                0
            } else {
                s.uniform(1, 999_999)
            };
            F::number::<2>(out, i64::from(amount));
            F::text(out, |out| s.letters(out, 24, 24));
            F::end(out);
        }
        u64::from(lines)
    }
}

impl<F: Fields> Rows<'_, F> {
    /// Whether all rows were written.
    pub fn is_done(&self) -> bool {
        self.next == self.end
    }

    /// Appends rows until `out` has reached `full` bytes or none is left; returns how many.
    pub fn fill(&mut self, out: &mut Vec<u8>, full: usize) -> u64 {
        match self.table {
            Table::Item => self.each(out, full, Self::item),
            Table::Warehouse => self.each(out, full, Self::warehouse),
            Table::District => self.each(out, full, Self::district),
            Table::Stock => self.each(out, full, Self::stock),
            Table::Customer => self.each(out, full, Self::customer),
            Table::History => self.each(out, full, Self::history),
            Table::Orders => self.each(out, full, Self::order),
            Table::NewOrder => self.each(out, full, Self::new_order),
            Table::OrderLine => self.each(out, full, Self::order_lines),
        }
    }
}

impl RowSource for Rows<'_> {
    fn is_done(&self) -> bool {
        Rows::is_done(self)
    }

    fn fill(&mut self, out: &mut Vec<u8>, full: usize) -> u64 {
        Rows::fill(self, out, full)
    }

    fn begin(&self, out: &mut Vec<u8>) {
        copy_binary::header(out);
    }

    fn end(&self, out: &mut Vec<u8>) {
        copy_binary::trailer(out);
    }
}

/// Street, street, city, state, zip.
#[inline]
fn address<F: Fields>(out: &mut Vec<u8>, s: &mut Stream) {
    for _ in 0..3 {
        F::text(out, |out| s.letters(out, 10, 20));
    }
    F::text(out, |out| s.letters(out, 2, 2));
    F::text(out, |out| s.zip(out));
}

/// Lines of an order: the first draw of its stream.
#[inline]
fn lines(order: &mut Stream) -> u32 {
    order.uniform(5, 15)
}

/// Order lines of some warehouses, numbered from 1.
pub fn order_lines(seed: u64, warehouses: Range<u32>) -> u64 {
    let orders = |warehouses: u32| Table::Orders.rows(warehouses - 1);
    (orders(warehouses.start)..orders(warehouses.end))
        .map(|order| u64::from(lines(&mut Stream::new(seed, Table::Orders, order))))
        .sum()
}

#[cfg(test)]
mod tests;
