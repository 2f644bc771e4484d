//! Tests each distribution of requests against its definition.

use crate::random::Random;
use crate::ycsb::keys::{hash, inserted_number};
use crate::ycsb::requests::{Distribution, Requests, ZIPF_EXPONENT};
use std::collections::HashMap;

const DRAWS: u32 = 400_000;
const RECORDS: u64 = 1_000;
const CLIENT: u32 = 3;

/// The sum of r^-0.99 for r up to 10^10: YCSB's constant `ScrambledZipfianGenerator.ZETAN`.
const ZETA_OF_ALL_RANKS: f64 = 26.469_028_201_783_02;

/// Returns how often each record is requested.
fn counts(requests: &Requests) -> HashMap<u64, f64> {
    let mut random = Random::new(11);
    let mut counts = HashMap::new();
    for _ in 0..DRAWS {
        *counts.entry(requests.next(&mut random)).or_insert(0.0) += 1.0;
    }
    counts
}

/// Whether counts match shares: chi-square within five standard deviations of its mean.
fn matches_shares(counts: &HashMap<u64, f64>, shares: &HashMap<u64, f64>) -> bool {
    assert!(counts.keys().all(|number| shares.contains_key(number)));
    let draws = f64::from(DRAWS);
    let term = |(number, share): (&u64, &f64)| {
        let expected = draws * share;
        let count = counts.get(number).copied().unwrap_or(0.0);
        (count - expected).powi(2) / expected
    };
    let chi_square: f64 = shares.iter().map(term).sum();
    let degrees_of_freedom = (shares.len() - 1) as f64;
    (chi_square - degrees_of_freedom).abs() <= 5.0 * (2.0 * degrees_of_freedom).sqrt()
}

fn weight(rank: u64) -> f64 {
    (rank as f64).powf(-ZIPF_EXPONENT)
}

/// Shares of the records to which ranks are hashed. The first million ranks are added individually; the
/// remaining ranks are spread evenly.
fn zipfian_shares() -> HashMap<u64, f64> {
    const EXACT_RANKS: u64 = 1_000_000;
    let mut shares: HashMap<u64, f64> = (0..RECORDS).map(|number| (number, 0.0)).collect();
    let mut remaining = 1.0;
    for rank in 1..=EXACT_RANKS {
        let share = weight(rank) / ZETA_OF_ALL_RANKS;
        *shares
            .get_mut(&(hash(rank - 1) % RECORDS))
            .expect("a record") += share;
        remaining -= share;
    }
    for share in shares.values_mut() {
        *share += remaining / RECORDS as f64;
    }
    shares
}

#[test]
fn zipfian_requests_are_scattered_as_in_ycsb() {
    let requests = Requests::new(Distribution::Zipfian, RECORDS, CLIENT);
    let (counts, shares) = (counts(&requests), zipfian_shares());
    assert!(matches_shares(&counts, &shares));
    // The most popular record receives at least the share of the first rank.
    let (most_popular, minimum_share) = (hash(0) % RECORDS, 1.0 / ZETA_OF_ALL_RANKS);
    assert!(shares[&most_popular] >= minimum_share);
    let share = counts[&most_popular] / f64::from(DRAWS);
    assert!(
        (share - shares[&most_popular]).abs() < 0.002,
        "{share} and {minimum_share}"
    );
    let most_frequent = counts.iter().max_by(|a, b| a.1.total_cmp(b.1));
    assert_eq!(*most_frequent.expect("some").0, most_popular);
}

#[test]
fn the_chi_square_test_rejects_a_different_distribution() {
    let uniform = counts(&Requests::new(Distribution::Uniform, RECORDS, CLIENT));
    assert!(!matches_shares(&uniform, &zipfian_shares()));
    // The shares are correct except for one record.
    let mut steeper = zipfian_shares();
    let most_popular = hash(0) % RECORDS;
    *steeper.get_mut(&most_popular).expect("a record") *= 1.2;
    let zipfian = counts(&Requests::new(Distribution::Zipfian, RECORDS, CLIENT));
    assert!(!matches_shares(&zipfian, &steeper));
}

#[test]
fn uniform_requests_are_equally_frequent_for_all_records() {
    let requests = Requests::new(Distribution::Uniform, RECORDS, CLIENT);
    let shares = (0..RECORDS).map(|number| (number, 1.0 / RECORDS as f64));
    assert!(matches_shares(&counts(&requests), &shares.collect()));
}

/// Ranks are by age: the records that the client inserted, then the loaded ones, each newest first.
#[test]
fn latest_requests_prefer_the_newest_known_records() {
    for count in [0, 1, 5, 2_000] {
        let mut requests = Requests::new(Distribution::Latest, RECORDS, CLIENT);
        requests.set_inserted_count(count);
        let newest = (0..count)
            .rev()
            .map(|ordinal| inserted_number(RECORDS, CLIENT, ordinal));
        let by_age: Vec<u64> = newest.chain((0..RECORDS).rev()).collect();
        let zeta: f64 = (1..=by_age.len() as u64).map(weight).sum();
        let shares = by_age.iter().zip(1..);
        let shares = shares.map(|(number, rank)| (*number, weight(rank) / zeta));
        assert!(
            matches_shares(&counts(&requests), &shares.collect()),
            "{count}"
        );
    }
}

#[test]
fn a_single_record_is_always_requested() {
    for distribution in Distribution::ALL {
        let requests = Requests::new(distribution, 1, 0);
        let mut random = Random::new(1);
        assert!((0..100).all(|_| requests.next(&mut random) == 0));
    }
}
