//! Compares the shares that the specification sets with those that users had. Whether a deviation
//! matters is not decided here: that depends on the number of transactions.

use super::counts::TpccCounts;
use super::input::TpccTransaction;
use super::profile::Profile;
use prony_session::ActionShare;

/// The total that the share of remote lines refers to.
pub const ORDER_LINES: &str = "order lines";

/// Number of cards of each kind in the deck [5.2.4.2].
const CARDS: [f64; 5] = [10.0, 10.0, 1.0, 1.0, 1.0];
/// The minimum share of each kind [5.2.3]; new orders take the rest.
const MINIMUM_SHARES: [Option<f64>; 5] = [None, Some(0.43), Some(0.04), Some(0.04), Some(0.04)];
/// Share of new orders that are rolled back [2.4.1.4], and of lines from another warehouse [2.4.1.5].
const ONE_PER_CENT: f64 = 0.01;
/// Share of payments by customers of another warehouse [2.5.1.2].
const REMOTE_PAYMENTS: f64 = 0.15;
/// Share of customers selected by last name [2.5.1.2, 2.6.1.2].
const BY_NAME: f64 = 0.60;

/// The shares of a run with this profile on this many warehouses.
pub fn shares(counts: &TpccCounts, profile: &Profile, warehouses: u32) -> Vec<ActionShare> {
    let all: u64 = TpccTransaction::ALL
        .iter()
        .map(|kind| counts.done(*kind))
        .sum();
    let cards: f64 = CARDS.iter().sum();
    let mut shares: Vec<ActionShare> = TpccTransaction::ALL
        .iter()
        .zip(TpccTransaction::NAMES)
        .map(|(kind, name)| ActionShare {
            name,
            of: "transactions",
            part: counts.done(*kind),
            whole: all,
            expected: Some(CARDS[*kind as usize] / cards),
            exact: false,
            // Without a deck, the mix scatters around the minimum.
            minimum: MINIMUM_SHARES[*kind as usize].filter(|_| profile.uses_deck),
        })
        .collect();
    let [orders, payments] =
        [TpccTransaction::NewOrder, TpccTransaction::Payment].map(|kind| counts.done(kind));
    let statuses = counts.done(TpccTransaction::OrderStatus);
    let rolled_back = counts.ends[TpccTransaction::NewOrder as usize].rolled_back;
    // A single warehouse has no remote ones.
    let if_multiple = |share: f64| if warehouses > 1 { share } else { 0.0 };
    let (lines, others) = (counts.lines, counts.remote_lines);
    let rolls_back = if profile.rolls_back {
        ONE_PER_CENT
    } else {
        0.0
    };
    let names = (counts.payments_by_name, counts.statuses_by_name);
    shares.extend(
        [
            ("rolled back", "new orders", rolled_back, orders, rolls_back),
            (
                "of another warehouse",
                ORDER_LINES,
                others,
                lines,
                if_multiple(ONE_PER_CENT),
            ),
            (
                "of another warehouse",
                "payments",
                counts.remote_payments,
                payments,
                if_multiple(REMOTE_PAYMENTS),
            ),
            ("by last name", "payments", names.0, payments, BY_NAME),
            ("by last name", "order-statuses", names.1, statuses, BY_NAME),
        ]
        .map(|(name, of, part, whole, expected)| ActionShare {
            name,
            of,
            part,
            whole,
            expected: Some(expected),
            exact: false,
            minimum: None,
        }),
    );
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::tpcc::deck::Deck;
    use crate::tpcc::input::InputGenerator;
    use crate::tpcc::profile::PROFILES;
    use crate::tpcc::random::RunConstants;
    use crate::tpcc::transactions::OrderResult;

    /// Simulates the counts of users on a server where every transaction succeeds.
    fn simulated_counts(
        profile: &'static Profile,
        warehouses: u32,
        transactions: u32,
    ) -> TpccCounts {
        let mut sums = TpccCounts::default();
        for client in 0..4 {
            let (random, constants) = (Random::of_client(3, client), RunConstants::new(3));
            let mut inputs =
                InputGenerator::new(profile, constants, warehouses, false, (client, 4), random);
            let mut deck = Deck::new(profile.uses_deck);
            for _ in 0..transactions / 4 {
                let kind = deck.next(&mut inputs.random);
                let mut rolled_back = false;
                match kind {
                    TpccTransaction::NewOrder => {
                        let input = inputs.new_order();
                        rolled_back = input.has_unused_item && profile.rolls_back;
                        let ordered = OrderResult {
                            rolled_back,
                            ..OrderResult::default()
                        };
                        sums.new_order(&input, ordered);
                    }
                    TpccTransaction::Payment => sums.payment(&inputs.payment()),
                    TpccTransaction::OrderStatus => {
                        sums.order_status(inputs.order_status().customer, 1)
                    }
                    TpccTransaction::Delivery => sums.delivery(10),
                    TpccTransaction::StockLevel => {}
                }
                let ends = &mut sums.ends[kind as usize];
                ends.rolled_back += u64::from(rolled_back);
                ends.committed += u64::from(!rolled_back);
            }
        }
        sums
    }

    #[test]
    fn users_of_every_profile_match_its_shares() {
        for profile in &PROFILES {
            for warehouses in [1, 5] {
                let counts = simulated_counts(profile, warehouses, 200_000);
                for share in shares(&counts, profile, warehouses) {
                    let (whole, expected) = (share.whole as f64, share.expected.expect("expected"));
                    let tolerance = 5.0 * (whole * expected * (1.0 - expected)).sqrt();
                    let deviation = (share.part as f64 - whole * expected).abs();
                    assert!(
                        deviation <= tolerance,
                        "{}, {warehouses}: {share:?}",
                        profile.name
                    );
                    assert!(share.whole > 8_000, "enough to be sure: {share:?}");
                    let minimum = share.minimum.unwrap_or(0.0);
                    assert!(share.part as f64 >= minimum * whole, "{share:?}");
                }
            }
        }
    }

    #[test]
    fn a_different_profile_is_detected() {
        let [standard, _, old] = &PROFILES;
        let deviating = |counts: &TpccCounts, warehouses| {
            let wrong = |share: &ActionShare| {
                let (whole, expected) = (share.whole as f64, share.expected.expect("expected"));
                let tolerance = 5.0 * (whole * expected * (1.0 - expected)).sqrt();
                (share.part as f64 - whole * expected).abs() > tolerance
            };
            let shares = shares(counts, standard, warehouses);
            let wrong = shares.into_iter().filter(wrong);
            wrong
                .map(|share| (share.name, share.of))
                .collect::<Vec<_>>()
        };
        let without_rollbacks = simulated_counts(old, 5, 200_000);
        assert_eq!(
            deviating(&without_rollbacks, 5),
            [("rolled back", "new orders")]
        );
        let single_warehouse = simulated_counts(standard, 1, 200_000);
        let remote = "of another warehouse";
        assert_eq!(
            deviating(&single_warehouse, 5),
            [(remote, "order lines"), (remote, "payments")]
        );
    }
}
