//! Counts of the users' work: the quantities for which the specification requires shares, and the orders,
//! payments and deliveries. Each user has its own counts, and adds them to the shared ones when it ends.

use super::input::{CustomerKey, NewOrder, Payment, TpccTransaction};
use super::schema::DISTRICTS;
use super::transactions::OrderResult;
use crate::user_counts::Counts;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    pub committed: u64,
    /// Rolled back as intended.
    pub rolled_back: u64,
    /// Failed, after any retries.
    pub failed: u64,
}

/// Counts over the whole run, warm-up included. Failed transactions are counted in `outcomes_by_kind` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TpccCounts {
    /// By kind, in the order of [`TpccTransaction::ALL`].
    pub outcomes_by_kind: [OutcomeCounts; 5],
    /// Retries after serialization failures and deadlocks.
    pub retries: u64,
    /// Lines of new orders, including orders that were rolled back.
    pub lines: u64,
    /// Lines, among `lines`, that another warehouse supplies.
    pub remote_lines: u64,
    /// Payments by customers of another warehouse.
    pub remote_payments: u64,
    pub payments_by_name: u64,
    /// Order-statuses by last name.
    pub statuses_by_name: u64,
    /// Total of committed orders, in cents; 0 if the profile does not compute it.
    pub ordered_cents: u64,
    /// Lines of committed orders with an original item from original stock.
    pub brand_lines: u64,
    /// Total of payments, in cents.
    pub paid_cents: u64,
    /// Lines that order-statuses read.
    pub shown_lines: u64,
    pub delivered: u64,
    /// Districts that had no order to deliver.
    pub skipped_districts: u64,
    /// Items that stock-levels found low.
    pub low_items: u64,
}

impl Counts for TpccCounts {
    fn add(&mut self, other: &TpccCounts) {
        for (sum, other) in self
            .outcomes_by_kind
            .iter_mut()
            .zip(&other.outcomes_by_kind)
        {
            sum.committed += other.committed;
            sum.rolled_back += other.rolled_back;
            sum.failed += other.failed;
        }
        let sums = self.sums_mut();
        for (sum, other) in sums.into_iter().zip(other.clone().sums_mut()) {
            *sum += *other;
        }
    }
}

impl TpccCounts {
    /// All fields except `outcomes_by_kind`.
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

    /// Transactions of a kind that ended as intended: committed or rolled back.
    pub fn ended_as_intended(&self, kind: TpccTransaction) -> u64 {
        let outcomes = self.outcomes_by_kind[kind as usize];
        outcomes.committed + outcomes.rolled_back
    }

    /// Share of new orders that were rolled back as intended; the target is 0.01.
    pub fn rolled_back_share(&self) -> Option<f64> {
        let outcomes = self.outcomes_by_kind[TpccTransaction::NewOrder as usize];
        share(
            outcomes.rolled_back,
            self.ended_as_intended(TpccTransaction::NewOrder),
        )
    }

    pub(super) fn count_new_order(&mut self, input: &NewOrder, result: OrderResult) {
        self.lines += input.lines().len() as u64;
        self.remote_lines += input.remote_lines() as u64;
        // A total is negative only if a discount exceeds 100 %.
        self.ordered_cents += u64::try_from(result.total_cents).unwrap_or(0);
        self.brand_lines += u64::from(result.brand_lines);
    }

    pub(super) fn count_payment(&mut self, input: &Payment) {
        self.remote_payments += u64::from(input.c_w_id != input.w_id);
        self.payments_by_name += u64::from(is_by_name(input.customer));
        self.paid_cents += input.cents as u64;
    }

    pub(super) fn count_order_status(&mut self, customer: CustomerKey, lines: u32) {
        self.statuses_by_name += u64::from(is_by_name(customer));
        self.shown_lines += u64::from(lines);
    }

    pub(super) fn count_delivery(&mut self, delivered: u32) {
        self.delivered += u64::from(delivered);
        self.skipped_districts += u64::from(DISTRICTS.saturating_sub(delivered));
    }
}

fn is_by_name(customer: CustomerKey) -> bool {
    matches!(customer, CustomerKey::Name { .. })
}

fn share(part: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| part as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two_users_are_added() {
        let mut counts = TpccCounts::default();
        counts.outcomes_by_kind[1].committed = 3;
        for (index, sum) in counts.sums_mut().into_iter().enumerate() {
            *sum = index as u64 + 1;
        }
        let mut total = counts;
        total.add(&counts);
        assert_eq!(total.outcomes_by_kind[1].committed, 6);
        for (index, sum) in total.sums_mut().into_iter().enumerate() {
            assert_eq!(*sum, 2 * (index as u64 + 1));
        }
    }
}
