//! The intended shares of HammerDB's kinds of transaction.
//!
//! In: counts of a time profile. Out: observed shares beside the intended ones. Must never: count a kind that
//! the profile does not contain.

use prony_store::{ObservedShare, ReportedRun};

/// Kinds of transaction, and how many cards each has in HammerDB's deck.
const DECK: [(&str, f64); 5] = [
    ("new-order", 10.0),
    ("payment", 10.0),
    ("order-status", 1.0),
    ("delivery", 1.0),
    ("stock-level", 1.0),
];
const DECK_SIZE: f64 = 23.0;

/// The intended share of new orders among all transactions.
pub const NEW_ORDER_SHARE: f64 = 10.0 / DECK_SIZE;

/// Adds the observed share of each kind, if the profile contains all kinds.
pub(super) fn add_shares(run: &mut ReportedRun, transactions: u64) {
    if run.kinds.len() != DECK.len() || transactions == 0 {
        return;
    }
    for kind in &run.kinds {
        let expected = DECK.iter().find(|(name, _)| *name == kind.name);
        run.shares.push(ObservedShare {
            name: kind.name.clone(),
            base: "transactions".to_owned(),
            count: kind.count,
            total: transactions,
            expected_share: expected.map(|(_, count)| count / DECK_SIZE),
            ..ObservedShare::default()
        });
    }
}
