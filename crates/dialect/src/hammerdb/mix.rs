//! The shares of kinds of transaction that HammerDB means.
//!
//! In: counts of a time profile. Out: shares with what is meant. Must never: count a kind that was not
//! printed.

use prony_store::{Reported, Share};

/// Of 23 transactions, so many are of each kind.
const DECK: [(&str, f64); 5] = [
    ("new-order", 10.0),
    ("payment", 10.0),
    ("order-status", 1.0),
    ("delivery", 1.0),
    ("stock-level", 1.0),
];
const ALL: f64 = 23.0;

/// The share of new orders among all transactions.
pub const NEW_ORDERS: f64 = 10.0 / ALL;

/// Adds the shares of the kinds that were counted, if all are there.
pub(super) fn add_shares(run: &mut Reported, whole: u64) {
    if run.kinds.len() != DECK.len() || whole == 0 {
        return;
    }
    for kind in &run.kinds {
        let meant = DECK.iter().find(|(name, _)| *name == kind.name);
        run.shares.push(Share {
            name: kind.name.clone(),
            of: "transactions".to_owned(),
            part: kind.count,
            whole,
            meant: meant.map(|(_, of)| of / ALL),
            ..Share::default()
        });
    }
}
