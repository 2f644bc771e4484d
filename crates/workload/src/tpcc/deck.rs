//! Which transaction comes next.
//!
//! In: a profile, a user's random numbers. Out: kinds. Must never: drift from 10 new orders, 10
//! payments and one of each other in 23 [5.2.3].

use super::input::Kind;
use crate::random::Random;

/// How many cards a deck has.
const CARDS: usize = 23;

/// A user's mix.
#[derive(Clone, Debug)]
pub enum Deck {
    /// Cards are dealt until none is left, then shuffled again.
    Dealt {
        /// All of them.
        cards: [Kind; CARDS],
        /// How many have been dealt.
        dealt: usize,
    },
    /// One of 23 by chance each time.
    Drawn,
}

impl Deck {
    /// A deck before its first card.
    pub fn new(dealt: bool) -> Self {
        if !dealt {
            return Deck::Drawn;
        }
        Deck::Dealt {
            cards: std::array::from_fn(|place| kind_at(place as i64 + 1)),
            dealt: CARDS,
        }
    }

    /// The next kind.
    pub fn next(&mut self, random: &mut Random) -> Kind {
        match self {
            Deck::Drawn => kind_at(random.uniform(1, CARDS as i64)),
            Deck::Dealt { cards, dealt } => {
                if *dealt == CARDS {
                    for last in (1..CARDS).rev() {
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

/// As HammerDB lays out its 23.
fn kind_at(number: i64) -> Kind {
    match number {
        ..=10 => Kind::NewOrder,
        11..=20 => Kind::Payment,
        21 => Kind::Delivery,
        22 => Kind::StockLevel,
        _ => Kind::OrderStatus,
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
    fn every_deck_has_the_same_cards_in_another_order() {
        let (mut deck, mut random) = (Deck::new(true), Random::new(3));
        let mut orders = std::collections::HashSet::new();
        for _ in 0..50 {
            assert_eq!(counts(&mut deck, &mut random, CARDS), [10, 10, 1, 1, 1]);
            let Deck::Dealt { cards, .. } = &deck else {
                panic!("it is dealt");
            };
            orders.insert(cards.map(|kind| kind as u8));
        }
        assert!(orders.len() > 45);
    }

    #[test]
    fn drawn_shares_are_the_same_in_the_long_run() {
        let (mut deck, mut random) = (Deck::new(false), Random::new(3));
        let draws = 230_000;
        let seen = counts(&mut deck, &mut random, draws);
        for (seen, cards) in seen.iter().zip([10.0, 10.0, 1.0, 1.0, 1.0]) {
            let share = *seen as f64 / draws as f64;
            assert!((share - cards / 23.0).abs() < 0.004, "{seen} of {draws}");
        }
        // One by one they scatter, as those of a deck do not.
        assert!((0..20).any(|_| counts(&mut deck, &mut random, CARDS) != [10, 10, 1, 1, 1]));
    }
}
