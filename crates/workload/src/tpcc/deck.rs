//! Chooses the kind of the next transaction: of 23 transactions, 10 are new orders, 10 are payments, and each
//! other kind has one [5.2.3].

use super::input::TpccTransaction;
use crate::random::Random;

const CARD_COUNT: usize = 23;

/// The transaction mix of a user.
#[derive(Clone, Debug)]
pub enum Deck {
    /// Cards are dealt until none is left, then the deck is shuffled again.
    Shuffled {
        cards: [TpccTransaction; CARD_COUNT],
        /// Number of cards dealt so far.
        dealt: usize,
    },
    /// Each kind is drawn independently, with the same shares.
    Independent,
}

impl Deck {
    /// Creates the mix of a user; `shuffled` selects [`Deck::Shuffled`].
    pub fn new(shuffled: bool) -> Self {
        if !shuffled {
            return Deck::Independent;
        }
        Deck::Shuffled {
            cards: std::array::from_fn(|index| kind_of_card(index as i64 + 1)),
            dealt: CARD_COUNT,
        }
    }

    pub fn next(&mut self, random: &mut Random) -> TpccTransaction {
        match self {
            Deck::Independent => kind_of_card(random.uniform(1, CARD_COUNT as i64)),
            Deck::Shuffled { cards, dealt } => {
                if *dealt == CARD_COUNT {
                    for last in (1..CARD_COUNT).rev() {
                        cards.swap(last, random.uniform(0, last as i64) as usize);
                    }
                    *dealt = 0;
                }
                *dealt += 1;
                cards[*dealt - 1]
            }
        }
    }
}

/// The kind of card `number`, 1 to 23, in HammerDB's order.
fn kind_of_card(number: i64) -> TpccTransaction {
    match number {
        ..=10 => TpccTransaction::NewOrder,
        11..=20 => TpccTransaction::Payment,
        21 => TpccTransaction::Delivery,
        22 => TpccTransaction::StockLevel,
        _ => TpccTransaction::OrderStatus,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(deck: &mut Deck, random: &mut Random, draws: usize) -> [usize; 5] {
        let mut counts = [0; 5];
        for _ in 0..draws {
            counts[deck.next(random) as usize] += 1;
        }
        counts
    }

    #[test]
    fn every_deck_has_the_same_cards_in_a_different_order() {
        let (mut deck, mut random) = (Deck::new(true), Random::new(3));
        let mut card_orders = std::collections::HashSet::new();
        for _ in 0..50 {
            let expected = [10, 10, 1, 1, 1];
            assert_eq!(counts(&mut deck, &mut random, CARD_COUNT), expected);
            let Deck::Shuffled { cards, .. } = &deck else {
                panic!("the deck is not shuffled");
            };
            card_orders.insert(cards.map(|kind| kind as u8));
        }
        assert!(card_orders.len() > 45);
    }

    #[test]
    fn independent_draws_have_the_same_shares() {
        let (mut deck, mut random) = (Deck::new(false), Random::new(3));
        let draws = 230_000;
        let counts_by_kind = counts(&mut deck, &mut random, draws);
        for (count, cards) in counts_by_kind.iter().zip([10.0, 10.0, 1.0, 1.0, 1.0]) {
            let share = *count as f64 / draws as f64;
            assert!((share - cards / 23.0).abs() < 0.004, "{count} of {draws}");
        }
        // The counts of independent draws scatter; those of a deck do not.
        assert!((0..20).any(|_| counts(&mut deck, &mut random, CARD_COUNT) != [10, 10, 1, 1, 1]));
    }
}
