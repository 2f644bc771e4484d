//! The shares of a run next to those that the specification requires. Never judges a deviation, because its
//! significance depends on the number of transactions.

use super::counts::TpccCounts;
use super::input::TpccTransaction;
use super::profile::Profile;
use prony_document::ObservedShare;

/// The total that the share of remote lines refers to.
pub const ORDER_LINES: &str = "order lines";

/// Number of cards of each kind in the deck [5.2.4.2].
const CARDS_BY_KIND: [f64; 5] = [10.0, 10.0, 1.0, 1.0, 1.0];
/// The minimum share of each kind [5.2.3]; new orders have none.
const MINIMUM_SHARES: [Option<f64>; 5] = [None, Some(0.43), Some(0.04), Some(0.04), Some(0.04)];
/// Share of new orders that are rolled back [2.4.1.4].
const ROLLED_BACK_SHARE: f64 = 0.01;
/// Share of order lines that another warehouse supplies [2.4.1.5].
const REMOTE_LINE_SHARE: f64 = 0.01;
/// Share of payments by customers of another warehouse [2.5.1.2].
const REMOTE_PAYMENT_SHARE: f64 = 0.15;
/// Share of customers selected by last name [2.5.1.2, 2.6.1.2].
const BY_NAME_SHARE: f64 = 0.60;

/// The shares of a run: of each kind, then of the actions for which the specification requires shares.
pub fn shares(counts: &TpccCounts, profile: &Profile, warehouses: u32) -> Vec<ObservedShare> {
    let total: u64 = TpccTransaction::ALL
        .iter()
        .map(|kind| counts.ended_as_intended(*kind))
        .sum();
    let cards: f64 = CARDS_BY_KIND.iter().sum();
    let of_kind = |kind: TpccTransaction| ObservedShare {
        name: kind.name().to_owned(),
        base: "transactions".to_owned(),
        count: counts.ended_as_intended(kind),
        total,
        expected_share: Some(CARDS_BY_KIND[kind as usize] / cards),
        // Without a deck, shares have no minimum, because they scatter around it.
        minimum_share: MINIMUM_SHARES[kind as usize].filter(|_| profile.uses_deck),
        ..ObservedShare::default()
    };
    let mut shares: Vec<ObservedShare> = TpccTransaction::ALL.into_iter().map(of_kind).collect();
    let [orders, payments, statuses] = [
        TpccTransaction::NewOrder,
        TpccTransaction::Payment,
        TpccTransaction::OrderStatus,
    ]
    .map(|kind| counts.ended_as_intended(kind));
    let rolled_back = counts.outcomes_by_kind[TpccTransaction::NewOrder as usize].rolled_back;
    let share_if = |occurs: bool, share: f64| if occurs { share } else { 0.0 };
    let rolled_back_share = share_if(profile.rolls_back, ROLLED_BACK_SHARE);
    // With a single warehouse, no line or payment is remote.
    let line_share = share_if(warehouses > 1, REMOTE_LINE_SHARE);
    let payment_share = share_if(warehouses > 1, REMOTE_PAYMENT_SHARE);
    let (remote, by_name) = ("of another warehouse", "by last name");
    #[rustfmt::skip]
    let actions = [
        ("rolled back", "new orders", rolled_back, orders, rolled_back_share),
        (remote, ORDER_LINES, counts.remote_lines, counts.lines, line_share),
        (remote, "payments", counts.remote_payments, payments, payment_share),
        (by_name, "payments", counts.payments_by_name, payments, BY_NAME_SHARE),
        (by_name, "order-statuses", counts.statuses_by_name, statuses, BY_NAME_SHARE),
    ];
    for (name, base, count, total, expected) in actions {
        shares.push(ObservedShare {
            name: name.to_owned(),
            base: base.to_owned(),
            count,
            total,
            expected_share: Some(expected),
            ..ObservedShare::default()
        });
    }
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
    fn simulate_counts(
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
                        let result = OrderResult {
                            rolled_back,
                            ..OrderResult::default()
                        };
                        sums.count_new_order(&input, result);
                    }
                    TpccTransaction::Payment => sums.count_payment(&inputs.payment()),
                    TpccTransaction::OrderStatus => {
                        sums.count_order_status(inputs.order_status().customer, 1)
                    }
                    TpccTransaction::Delivery => sums.count_delivery(10),
                    TpccTransaction::StockLevel => {}
                }
                let outcomes = &mut sums.outcomes_by_kind[kind as usize];
                outcomes.rolled_back += u64::from(rolled_back);
                outcomes.committed += u64::from(!rolled_back);
            }
        }
        sums
    }

    #[test]
    fn inputs_of_every_profile_have_its_shares() {
        for profile in &PROFILES {
            for warehouses in [1, 5] {
                let counts = simulate_counts(profile, warehouses, 200_000);
                for share in shares(&counts, profile, warehouses) {
                    let (total, expected) =
                        (share.total as f64, share.expected_share.expect("expected"));
                    let tolerance = 5.0 * (total * expected * (1.0 - expected)).sqrt();
                    let deviation = (share.count as f64 - total * expected).abs();
                    assert!(
                        deviation <= tolerance,
                        "{}, {warehouses}: {share:?}",
                        profile.name
                    );
                    assert!(share.total > 8_000, "too few for this test: {share:?}");
                    let minimum = share.minimum_share.unwrap_or(0.0);
                    assert!(share.count as f64 >= minimum * total, "{share:?}");
                }
            }
        }
    }

    #[test]
    fn a_different_profile_is_detected() {
        let [standard, _, hammerdb_46] = &PROFILES;
        let deviating = |counts: &TpccCounts, warehouses| {
            let is_deviating = |share: &ObservedShare| {
                let (total, expected) =
                    (share.total as f64, share.expected_share.expect("expected"));
                let tolerance = 5.0 * (total * expected * (1.0 - expected)).sqrt();
                (share.count as f64 - total * expected).abs() > tolerance
            };
            let shares = shares(counts, standard, warehouses);
            let deviating = shares.into_iter().filter(is_deviating);
            deviating
                .map(|share| format!("{}: {}", share.name, share.base))
                .collect::<Vec<_>>()
        };
        let without_rollbacks = simulate_counts(hammerdb_46, 5, 200_000);
        let expected = ["rolled back: new orders"];
        assert_eq!(deviating(&without_rollbacks, 5), expected);
        let single_warehouse = simulate_counts(standard, 1, 200_000);
        let remote = "of another warehouse";
        assert_eq!(
            deviating(&single_warehouse, 5),
            ["order lines", "payments"].map(|base| format!("{remote}: {base}"))
        );
    }
}
