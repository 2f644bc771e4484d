//! What users did, counted: the shares that the specification asks for, and what was ordered, paid
//! and delivered.
//!
//! In: inputs and outcomes of transactions that ended. Out: sums, of one user and of all. Must
//! never: be shared while it is written to; each user has its own, and adds it when it ends.

use super::input::{Kind, NewOrder, Payment, Who};
use super::new_order::Ordered;
use super::schema::DISTRICTS;
use std::sync::{Mutex, PoisonError};

/// Counts of one kind of transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Committed.
    pub committed: u64,
    /// Rolled back as intended.
    pub rolled_back: u64,
    /// Failed, tries included that came to nothing.
    pub failed: u64,
}

/// All that is counted, over the whole run, its warm-up included. What failed is in `ends` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// By kind, in the order of [`Kind::ALL`].
    pub ends: [Ends; 5],
    /// Further tries after serialization failures and deadlocks.
    pub retries: u64,
    /// Lines of new orders, those that were rolled back included.
    pub lines: u64,
    /// Of these, from another warehouse.
    pub remote_lines: u64,
    /// Payments of customers of another warehouse.
    pub remote_payments: u64,
    /// Payments by last name.
    pub payments_by_name: u64,
    /// Order-statuses by last name.
    pub statuses_by_name: u64,
    /// What committed orders came to, cents; 0 where the profile does not compute it.
    pub ordered_cents: u64,
    /// Lines of committed orders with an original item from original stock.
    pub brand_lines: u64,
    /// What was paid, cents.
    pub paid_cents: u64,
    /// Lines that order-statuses showed.
    pub shown_lines: u64,
    /// Orders that were delivered.
    pub delivered: u64,
    /// Districts that had no order to deliver.
    pub skipped_districts: u64,
    /// Items that stock-levels found low.
    pub low_items: u64,
}

impl Observed {
    /// Adds another user's.
    pub fn add(&mut self, other: &Observed) {
        for (sum, other) in self.ends.iter_mut().zip(&other.ends) {
            sum.committed += other.committed;
            sum.rolled_back += other.rolled_back;
            sum.failed += other.failed;
        }
        let sums = self.sums_mut();
        for (sum, other) in sums.into_iter().zip(other.clone().sums_mut()) {
            *sum += *other;
        }
    }

    fn sums_mut(&mut self) -> [&mut u64; 13] {
        [
            &mut self.retries,
            &mut self.lines,
            &mut self.remote_lines,
            &mut self.remote_payments,
            &mut self.payments_by_name,
            &mut self.statuses_by_name,
            &mut self.ordered_cents,
            &mut self.brand_lines,
            &mut self.paid_cents,
            &mut self.shown_lines,
            &mut self.delivered,
            &mut self.skipped_districts,
            &mut self.low_items,
        ]
    }

    /// Transactions of a kind that came to their intended end.
    pub fn done(&self, kind: Kind) -> u64 {
        let ends = self.ends[kind as usize];
        ends.committed + ends.rolled_back
    }

    /// Share of a kind among all that came to their intended end, 0 to 1; none before the first.
    pub fn mix(&self, kind: Kind) -> Option<f64> {
        share(
            self.done(kind),
            Kind::ALL.map(|kind| self.done(kind)).iter().sum(),
        )
    }

    /// Share of new orders that were rolled back as intended: 0.01 is meant.
    pub fn rolled_back(&self) -> Option<f64> {
        let ends = self.ends[Kind::NewOrder as usize];
        share(ends.rolled_back, self.done(Kind::NewOrder))
    }

    /// A new order ended.
    pub(super) fn new_order(&mut self, input: &NewOrder, ordered: Ordered) {
        self.lines += input.lines().len() as u64;
        self.remote_lines += input.remote_lines() as u64;
        // Below zero only where a discount is above all that there is.
        self.ordered_cents += u64::try_from(ordered.total_cents).unwrap_or(0);
        self.brand_lines += u64::from(ordered.brand_lines);
    }

    /// A payment ended.
    pub(super) fn payment(&mut self, input: &Payment) {
        self.remote_payments += u64::from(input.c_w_id != input.w_id);
        self.payments_by_name += u64::from(is_name(input.who));
        self.paid_cents += input.cents as u64;
    }

    /// An order-status ended.
    pub(super) fn order_status(&mut self, who: Who, lines: u32) {
        self.statuses_by_name += u64::from(is_name(who));
        self.shown_lines += u64::from(lines);
    }

    /// A delivery ended.
    pub(super) fn delivery(&mut self, delivered: u32) {
        self.delivered += u64::from(delivered);
        self.skipped_districts += u64::from(DISTRICTS.saturating_sub(delivered));
    }
}

fn is_name(who: Who) -> bool {
    matches!(who, Who::Name { .. })
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// One user's sums, which are added to those of all however the user ends.
pub(super) struct Kept<'a> {
    /// So far.
    pub sums: Observed,
    all: &'a Mutex<Observed>,
}

impl<'a> Kept<'a> {
    /// Empty sums.
    pub fn new(all: &'a Mutex<Observed>) -> Self {
        Kept {
            sums: Observed::default(),
            all,
        }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        let all = self.all.lock();
        all.unwrap_or_else(PoisonError::into_inner).add(&self.sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two_users_are_added() {
        let mut one = Observed::default();
        one.ends[1].committed = 3;
        for (place, sum) in one.sums_mut().into_iter().enumerate() {
            *sum = place as u64 + 1;
        }
        let mut both = one;
        both.add(&one);
        assert_eq!(both.ends[1].committed, 6);
        for (place, sum) in both.sums_mut().into_iter().enumerate() {
            assert_eq!(*sum, 2 * (place as u64 + 1));
        }
        assert_eq!(both.mix(Kind::Payment), Some(1.0));
        assert_eq!(Observed::default().mix(Kind::Payment), None);
    }
}
