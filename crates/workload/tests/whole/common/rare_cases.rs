//! Seeds of runs that contain all rare cases.

use prony_workload::random::Random;
use prony_workload::tpcc::deck::Deck;
use prony_workload::tpcc::input::{InputGenerator, TpccTransaction};
use prony_workload::tpcc::profile::Profile;
use prony_workload::tpcc::random::RunConstants;

/// Returns a seed whose first `transactions` transactions contain all rare cases: an order that is rolled
/// back, an order that takes twice from the same stock row, and lines and payments of another warehouse.
pub fn seed_with_rare_cases(profile: &'static Profile, warehouses: u32, transactions: u64) -> u64 {
    let has_rare_cases = |seed: &u64| {
        let constants = RunConstants::new(*seed);
        let random = Random::of_client(*seed, 0);
        let mut inputs = InputGenerator::new(profile, constants, warehouses, true, (0, 1), random);
        let mut deck = Deck::new(profile.uses_deck);
        let (
            mut orders_with_unused_item,
            mut orders_with_repeated_item,
            mut remote_lines,
            mut remote_payments,
        ) = (0, 0, 0, 0);
        for _ in 0..transactions {
            match deck.next(&mut inputs.random) {
                TpccTransaction::NewOrder => {
                    let order = inputs.new_order();
                    orders_with_unused_item += u32::from(order.has_unused_item);
                    orders_with_repeated_item +=
                        u32::from(order.waves() > 1 && !order.has_unused_item);
                    remote_lines += order.remote_lines();
                }
                TpccTransaction::Payment => {
                    let payment = inputs.payment();
                    remote_payments += u32::from(payment.w_id != payment.c_w_id);
                }
                TpccTransaction::OrderStatus => drop(inputs.order_status()),
                TpccTransaction::Delivery => drop(inputs.delivery()),
                TpccTransaction::StockLevel => drop(inputs.stock_level()),
            }
        }
        orders_with_unused_item > 0
            && orders_with_repeated_item > 0
            && remote_lines > 0
            && remote_payments > 0
    };
    (1..1000).find(has_rare_cases).expect("a seed below 1000")
}
