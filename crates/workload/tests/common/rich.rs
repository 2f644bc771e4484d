//! Runs that have all that is rare.

use prony_workload::random::Random;
use prony_workload::tpcc::deck::Deck;
use prony_workload::tpcc::input::{Draws, Kind};
use prony_workload::tpcc::profile::Profile;
use prony_workload::tpcc::random::RunConstants;

/// A seed whose first transactions have all that is rare: an order that is rolled back, an order
/// that takes twice from the same stock, lines and payments of another warehouse.
pub fn rich_seed(profile: &'static Profile, warehouses: u32, transactions: u64) -> u64 {
    let is_rich = |seed: &u64| {
        let constants = RunConstants::new(*seed);
        let random = Random::of_client(*seed, 0);
        let mut draws = Draws::new(profile, constants, warehouses, true, (0, 1), random);
        let mut deck = Deck::new(profile.deck);
        let (mut unused, mut twice, mut remote, mut paid) = (0, 0, 0, 0);
        for _ in 0..transactions {
            match deck.next(&mut draws.random) {
                Kind::NewOrder => {
                    let order = draws.new_order();
                    unused += u32::from(order.unused);
                    twice += u32::from(order.waves() > 1 && !order.unused);
                    remote += order.remote_lines();
                }
                Kind::Payment => {
                    let payment = draws.payment();
                    paid += u32::from(payment.w_id != payment.c_w_id);
                }
                Kind::OrderStatus => drop(draws.order_status()),
                Kind::Delivery => drop(draws.delivery()),
                Kind::StockLevel => drop(draws.stock_level()),
            }
        }
        unused > 0 && twice > 0 && remote > 0 && paid > 0
    };
    (1..1000).find(is_rich).expect("one of a thousand")
}
