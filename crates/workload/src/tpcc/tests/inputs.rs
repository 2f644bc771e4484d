//! Tests that inputs have the specification's distributions, or HammerDB's.

use crate::random::Random;
use crate::tpcc::input::{CustomerKey, InputGenerator, NewOrder, OrderLine, UNUSED_ITEM};
use crate::tpcc::profile::{PROFILES, Profile};
use crate::tpcc::random::{NuRand, RunConstants};
use std::collections::HashMap;

const SEED: u64 = 11;
const COUNT: usize = 20_000;

fn profile(name: &str) -> &'static Profile {
    Profile::find(name).expect("a profile")
}

fn inputs(
    profile: &'static Profile,
    warehouses: u32,
    all_warehouses: bool,
    user: (u32, u32),
) -> InputGenerator {
    let random = Random::of_client(SEED, user.0);
    InputGenerator::new(
        profile,
        RunConstants::new(SEED),
        warehouses,
        all_warehouses,
        user,
        random,
    )
}

/// Whether a share is within five standard deviations of its target.
fn is_near(hits: usize, total: usize, share: f64) -> bool {
    let deviation = (share * (1.0 - share) / total as f64).sqrt();
    (hits as f64 / total as f64 - share).abs() < 5.0 * deviation + 1e-9
}

fn orders(profile: &'static Profile) -> Vec<NewOrder> {
    let mut inputs = inputs(profile, 5, false, (2, 5));
    (0..COUNT).map(|_| inputs.new_order()).collect()
}

#[test]
fn orders_have_the_specified_lines_remote_lines_and_unused_items() {
    for profile in &PROFILES {
        let orders = orders(profile);
        let lines: Vec<&OrderLine> = orders.iter().flat_map(NewOrder::lines).collect();
        for count in 5..=15 {
            let hits = orders.iter().filter(|o| o.lines().len() == count);
            assert!(is_near(hits.count(), COUNT, 1.0 / 11.0), "{count} lines");
        }
        let remote = orders.iter().map(NewOrder::remote_lines).sum();
        assert!(
            is_near(remote, lines.len(), 0.01),
            "{remote} of {}",
            lines.len()
        );
        let unused = orders.iter().filter(|o| o.has_unused_item).count();
        assert!(is_near(unused, COUNT, 0.01), "{unused}");
        for order in &orders {
            let (last, others) = order.lines().split_last().expect("5 lines");
            assert_eq!(order.has_unused_item, last.item == UNUSED_ITEM);
            assert!(others.iter().all(|line| (1..=100_000).contains(&line.item)));
            assert!(
                others.windows(2).all(|pair| {
                    (pair[0].supply, pair[0].item) <= (pair[1].supply, pair[1].item)
                })
            );
        }
        for quantity in 1..=10 {
            let hits = lines.iter().filter(|line| line.quantity == quantity);
            assert!(is_near(hits.count(), lines.len(), 0.1), "{quantity}");
        }
        for district in 1..=10 {
            let hits = orders.iter().filter(|order| order.d_id == district);
            assert!(is_near(hits.count(), COUNT, 0.1), "{district}");
        }
    }
}

/// The waves of a stock row are numbered from 1 without gaps.
#[test]
fn lines_of_the_same_stock_row_are_in_different_waves() {
    let mut repeated = 0;
    for order in orders(profile("standard")) {
        let mut waves: HashMap<(u32, u32), u32> = HashMap::new();
        for line in order.lines() {
            let wave = waves.entry((line.supply, line.item)).or_default();
            *wave += 1;
            assert_eq!(line.wave, *wave);
        }
        repeated += u32::from(order.waves() > 1);
    }
    assert!(repeated > 5, "{repeated}");
}

#[test]
fn customers_and_items_are_non_uniform_except_in_hammerdb() {
    let constants = RunConstants::new(SEED);
    for (profile, uniform) in [(profile("standard"), false), (profile("hammerdb"), true)] {
        let orders = orders(profile);
        let customers: Vec<u32> = orders.iter().map(|order| order.c_id).collect();
        assert_frequencies(&customers, constants.customer, uniform);
        let lines = orders.iter().flat_map(NewOrder::lines);
        let items = lines
            .map(|line| line.item)
            .filter(|item| *item != UNUSED_ITEM);
        assert_frequencies(&items.collect::<Vec<_>>(), constants.item, uniform);
    }
}

/// The number of pairs of the two draws that yield each value of `a | b`, by inclusion and exclusion over
/// the subsets of its bits.
fn or_pair_counts(expected: NuRand) -> Vec<i64> {
    const BITS: u32 = 17;
    let counts_within = |low: u32, high: u32| {
        let mut counts: Vec<i64> = (0..1 << BITS)
            .map(|number| i64::from((low..=high).contains(&number)))
            .collect();
        for_each_bit(&mut counts, |superset, subset| *superset += subset);
        counts
    };
    let (first, second) = (
        counts_within(0, expected.a),
        counts_within(expected.low, expected.high),
    );
    let mut pairs: Vec<i64> = first.iter().zip(second).map(|(a, b)| a * b).collect();
    for_each_bit(&mut pairs, |superset, subset| *superset -= subset);
    pairs
}

fn for_each_bit(counts: &mut [i64], change: impl Fn(&mut i64, i64)) {
    let mut bit = 1;
    while bit < counts.len() {
        for number in (0..counts.len()).filter(|number| number & bit != 0) {
            let subset = counts[number ^ bit];
            change(&mut counts[number], subset);
        }
        bit <<= 1;
    }
}

/// Asserts that numbers have the exact frequencies of NURand, or are uniform, in a hundred equal parts of the
/// range.
fn assert_frequencies(numbers: &[u32], expected: NuRand, uniform: bool) {
    const PARTS: usize = 100;
    let width = expected.high - expected.low + 1;
    let part = |number: u32| (number - expected.low) as usize * PARTS / width as usize;
    let mut shares = [0.0; PARTS];
    if uniform {
        shares = [1.0 / PARTS as f64; PARTS];
    } else {
        let pairs = f64::from(expected.a + 1) * f64::from(width);
        for (or, count) in (0..).zip(or_pair_counts(expected)) {
            shares[part((or + expected.c) % width + expected.low)] += count as f64 / pairs;
        }
    }
    let mut hits = [0; PARTS];
    numbers.iter().for_each(|number| hits[part(*number)] += 1);
    // Chi-square with 99 degrees of freedom: above 180 once in a million.
    let chi_square: f64 = hits
        .iter()
        .zip(shares)
        .map(|(hits, share)| {
            let expected = share * numbers.len() as f64;
            (f64::from(*hits) - expected).powi(2) / expected
        })
        .sum();
    assert!(
        chi_square < 180.0,
        "{chi_square} for {expected:?}, uniform: {uniform}"
    );
}

#[test]
fn payments_have_the_specified_customers_and_amounts() {
    for profile in &PROFILES {
        let mut inputs = inputs(profile, 5, false, (2, 5));
        let payments: Vec<_> = (0..COUNT).map(|_| inputs.payment()).collect();
        let remote = payments.iter().filter(|p| p.c_w_id != p.w_id).count();
        assert!(is_near(remote, COUNT, 0.15), "{remote}");
        for payment in payments.iter().filter(|p| p.c_w_id == p.w_id) {
            assert_eq!(payment.c_d_id, payment.d_id);
        }
        let named = payments
            .iter()
            .filter(|p| matches!(p.customer, CustomerKey::Name { .. }));
        assert!(is_near(named.count(), COUNT, 0.6));
        assert!(payments.iter().all(|p| (100..=500_000).contains(&p.cents)));
        let with_cents = payments.iter().filter(|p| p.cents % 100 != 0).count();
        assert_eq!(with_cents > COUNT / 2, profile.amounts_have_cents);
        for payment in &payments {
            if let CustomerKey::Name { name, fallback } = payment.customer {
                assert!(name < 1000);
                assert_eq!(fallback.is_none(), profile.finds_names);
            }
        }
        let statuses = (0..COUNT).map(|_| inputs.order_status());
        let named = statuses.filter(|s| matches!(s.customer, CustomerKey::Name { .. }));
        assert!(is_near(named.count(), COUNT, 0.6));
    }
}

#[test]
fn frequent_names_of_a_run_differ_from_those_of_the_load() {
    let last = RunConstants::new(SEED).last_name;
    let distance = last.c.abs_diff(NuRand::LOAD_LAST_NAMES.c);
    assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
    let names = |name: &str| {
        let mut inputs = inputs(profile(name), 1, false, (0, 1));
        let names = (0..COUNT).filter_map(|_| match inputs.payment().customer {
            CustomerKey::Name { name, .. } => Some(name),
            CustomerKey::Number(_) => None,
        });
        names.collect::<Vec<u32>>()
    };
    assert_frequencies(&names("standard"), last, false);
    assert_frequencies(&names("hammerdb"), NuRand::LOAD_LAST_NAMES, false);
}

#[test]
fn carriers_and_thresholds_are_uniform_and_terminals_keep_their_district() {
    let mut inputs = inputs(profile("standard"), 3, false, (7, 30));
    let mut carriers = [0; 11];
    let mut thresholds = [0; 21];
    let district = inputs.stock_level().d_id;
    for _ in 0..COUNT {
        carriers[inputs.delivery().carrier as usize] += 1;
        let level = inputs.stock_level();
        thresholds[level.threshold as usize] += 1;
        assert_eq!((level.w_id, level.d_id), (1, district));
    }
    assert!(carriers[1..].iter().all(|hits| is_near(*hits, COUNT, 0.1)));
    assert!(
        thresholds[10..]
            .iter()
            .all(|hits| is_near(*hits, COUNT, 1.0 / 11.0))
    );
}

#[test]
fn homes_are_spread_or_shared_as_in_the_profile() {
    let homes_of_user = |name, warehouses, all_warehouses, user| {
        let mut inputs = inputs(profile(name), warehouses, all_warehouses, user);
        let mut homes: Vec<u32> = (0..500).map(|_| inputs.delivery().w_id).collect();
        homes.sort_unstable();
        homes.dedup();
        homes
    };
    // Homes are spread evenly, whether there are more users than warehouses or fewer.
    let homes: Vec<u32> = (0..6)
        .flat_map(|user| homes_of_user("standard", 3, false, (user, 6)))
        .collect();
    assert_eq!(homes, [1, 1, 2, 2, 3, 3]);
    let homes: Vec<u32> = (0..3)
        .flat_map(|user| homes_of_user("standard", 9, false, (user, 3)))
        .collect();
    assert_eq!(homes, [1, 4, 7]);
    assert_eq!(homes_of_user("standard", 4, true, (0, 100)), [1, 2, 3, 4]);
    // As in HammerDB, each user draws one warehouse for the whole run, or uses every n-th warehouse,
    // wrapping around after the last.
    assert_eq!(homes_of_user("hammerdb", 40, false, (1, 3)).len(), 1);
    assert_eq!(homes_of_user("hammerdb", 7, true, (1, 3)), [1, 2, 5]);
    assert_eq!(homes_of_user("hammerdb", 7, true, (2, 3)), [2, 3, 6]);
    assert_eq!(homes_of_user("hammerdb", 2, true, (4, 9)), [1]);
}

#[test]
fn a_single_warehouse_has_no_remote_transactions() {
    let mut inputs = inputs(profile("standard"), 1, true, (0, 1));
    for _ in 0..1000 {
        assert_eq!(inputs.new_order().remote_lines(), 0);
        assert_eq!(inputs.payment().c_w_id, 1);
    }
}
