//! The shares that users are to keep, beside what they did.
//!
//! In: what was observed, a profile. Out: each share with what is meant. Must never: decide whether
//! it was kept; that is a matter of how many were counted.

use super::input::Kind;
use super::observed::Observed;
use super::profile::Profile;
use prony_session::Share;

/// Cards of a kind among those of the deck [5.2.4.2].
const CARDS: [f64; 5] = [10.0, 10.0, 1.0, 1.0, 1.0];
/// The least share of each kind [5.2.3]; new orders take what is left.
const LEAST: [Option<f64>; 5] = [None, Some(0.43), Some(0.04), Some(0.04), Some(0.04)];
/// New orders that are rolled back [2.4.1.4], and lines from another warehouse [2.4.1.5].
const ONE_PER_CENT: f64 = 0.01;
/// Payments of customers of another warehouse [2.5.1.2].
const REMOTE_PAYMENTS: f64 = 0.15;
/// Customers asked for by last name [2.5.1.2, 2.6.1.2].
const BY_NAME: f64 = 0.60;

/// The shares of a run by this profile on so many warehouses.
pub fn shares(observed: &Observed, profile: &Profile, warehouses: u32) -> Vec<Share> {
    let all: u64 = Kind::ALL.iter().map(|kind| observed.done(*kind)).sum();
    let cards: f64 = CARDS.iter().sum();
    let mut shares: Vec<Share> = Kind::ALL
        .iter()
        .zip(Kind::NAMES)
        .map(|(kind, name)| Share {
            name,
            of: "transactions",
            part: observed.done(*kind),
            whole: all,
            meant: Some(CARDS[*kind as usize] / cards),
            exact: false,
            // A mix that is drawn one by one scatters about it.
            least: LEAST[*kind as usize].filter(|_| profile.deck),
        })
        .collect();
    let [orders, payments] = [Kind::NewOrder, Kind::Payment].map(|kind| observed.done(kind));
    let statuses = observed.done(Kind::OrderStatus);
    let rolled_back = observed.ends[Kind::NewOrder as usize].rolled_back;
    // Where there is one warehouse there is no other.
    let elsewhere = |share: f64| if warehouses > 1 { share } else { 0.0 };
    let (lines, others) = (observed.lines, observed.remote_lines);
    let rolls_back = if profile.rolls_back {
        ONE_PER_CENT
    } else {
        0.0
    };
    let names = (observed.payments_by_name, observed.statuses_by_name);
    shares.extend(
        [
            ("rolled back", "new orders", rolled_back, orders, rolls_back),
            (
                "of another warehouse",
                "order lines",
                others,
                lines,
                elsewhere(ONE_PER_CENT),
            ),
            (
                "of another warehouse",
                "payments",
                observed.remote_payments,
                payments,
                elsewhere(REMOTE_PAYMENTS),
            ),
            ("by last name", "payments", names.0, payments, BY_NAME),
            ("by last name", "order-statuses", names.1, statuses, BY_NAME),
        ]
        .map(|(name, of, part, whole, meant)| Share {
            name,
            of,
            part,
            whole,
            meant: Some(meant),
            exact: false,
            least: None,
        }),
    );
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::tpcc::deck::Deck;
    use crate::tpcc::input::Draws;
    use crate::tpcc::new_order::Ordered;
    use crate::tpcc::profile::PROFILES;
    use crate::tpcc::random::RunConstants;

    /// What users do on a server that does all that they ask for.
    fn played(profile: &'static Profile, warehouses: u32, transactions: u32) -> Observed {
        let mut sums = Observed::default();
        for client in 0..4 {
            let (random, constants) = (Random::of_client(3, client), RunConstants::new(3));
            let mut draws = Draws::new(profile, constants, warehouses, false, (client, 4), random);
            let mut deck = Deck::new(profile.deck);
            for _ in 0..transactions / 4 {
                let kind = deck.next(&mut draws.random);
                let mut back = false;
                match kind {
                    Kind::NewOrder => {
                        let input = draws.new_order();
                        back = input.unused && profile.rolls_back;
                        let ordered = Ordered {
                            rolled_back: back,
                            ..Ordered::default()
                        };
                        sums.new_order(&input, ordered);
                    }
                    Kind::Payment => sums.payment(&draws.payment()),
                    Kind::OrderStatus => sums.order_status(draws.order_status().who, 1),
                    Kind::Delivery => sums.delivery(10),
                    Kind::StockLevel => {}
                }
                let ends = &mut sums.ends[kind as usize];
                ends.rolled_back += u64::from(back);
                ends.committed += u64::from(!back);
            }
        }
        sums
    }

    #[test]
    fn users_of_every_profile_keep_the_shares_that_it_means() {
        for profile in &PROFILES {
            for warehouses in [1, 5] {
                let observed = played(profile, warehouses, 200_000);
                for share in shares(&observed, profile, warehouses) {
                    let (whole, meant) = (share.whole as f64, share.meant.expect("meant"));
                    let scatter = 5.0 * (whole * meant * (1.0 - meant)).sqrt();
                    let off = (share.part as f64 - whole * meant).abs();
                    assert!(off <= scatter, "{}, {warehouses}: {share:?}", profile.name);
                    assert!(share.whole > 8_000, "enough to be sure: {share:?}");
                    let least = share.least.unwrap_or(0.0);
                    assert!(share.part as f64 >= least * whole, "{share:?}");
                }
            }
        }
    }

    #[test]
    fn what_another_profile_does_is_seen() {
        let [standard, _, old] = &PROFILES;
        let off = |observed: &Observed, warehouses| {
            let wrong = |share: &Share| {
                let (whole, meant) = (share.whole as f64, share.meant.expect("meant"));
                let scatter = 5.0 * (whole * meant * (1.0 - meant)).sqrt();
                (share.part as f64 - whole * meant).abs() > scatter
            };
            let shares = shares(observed, standard, warehouses);
            let wrong = shares.into_iter().filter(wrong);
            wrong
                .map(|share| (share.name, share.of))
                .collect::<Vec<_>>()
        };
        let never_back = played(old, 5, 200_000);
        assert_eq!(off(&never_back, 5), [("rolled back", "new orders")]);
        let at_home = played(standard, 1, 200_000);
        let remote = "of another warehouse";
        assert_eq!(
            off(&at_home, 5),
            [(remote, "order lines"), (remote, "payments")]
        );
    }
}
