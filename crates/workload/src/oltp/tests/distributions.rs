//! Tests each distribution against its definition.

use crate::oltp::distribution::{Distribution, RangeSampler};
use crate::random::Random;

const DRAWS: u32 = 400_000;

/// Returns how often each number from 1 to `high` is drawn.
fn counts(distribution: Distribution, high: i64) -> Vec<f64> {
    let sampler = RangeSampler::new(distribution, 1, high);
    let mut random = Random::new(11);
    let mut counts = vec![0.0; high as usize];
    for _ in 0..DRAWS {
        // A number outside the range would be out of bounds here.
        counts[(sampler.sample(&mut random) - 1) as usize] += 1.0;
    }
    counts
}

/// Whether a count of draws matches a probability, within five standard deviations.
fn matches_probability(count: f64, probability: f64) -> bool {
    let draws = f64::from(DRAWS);
    let deviation = (draws * probability * (1.0 - probability)).sqrt();
    (count - draws * probability).abs() <= 5.0 * deviation + 3.0
}

fn total(counts: &[f64]) -> f64 {
    counts.iter().sum()
}

#[test]
fn uniform_draws_all_numbers_equally_often() {
    for (index, count) in counts(Distribution::Uniform, 50).iter().enumerate() {
        assert!(matches_probability(*count, 1.0 / 50.0), "{index}: {count}");
    }
}

#[test]
fn gaussian_is_the_mean_of_uniform_numbers() {
    let counts = counts(Distribution::Gaussian { iterations: 12 }, 1_200);
    let numbers = || {
        (0..)
            .zip(&counts)
            .map(|(index, count)| (f64::from(index), *count))
    };
    let mean = numbers().map(|(number, count)| number * count).sum::<f64>() / f64::from(DRAWS);
    let square = |(number, count): (f64, f64)| (number - mean).powi(2) * count;
    let variance = numbers().map(square).sum::<f64>() / f64::from(DRAWS);
    // The variance of the mean of 12 uniform numbers over a range of 1,200 is 1200^2 / 12 / 12.
    assert!((mean - 599.5).abs() < 1.0, "{mean}");
    assert!((variance / 10_000.0 - 1.0).abs() < 0.02, "{variance}");
    // The mean of two uniform numbers has a triangular distribution: a quarter of the draws in each half of
    // the range is in its outer half.
    let triangle = self::counts(Distribution::Gaussian { iterations: 2 }, 1_000);
    assert!(matches_probability(total(&triangle[..250]), 0.125));
    assert!(matches_probability(total(&triangle[250..500]), 0.375));
    let flat = self::counts(Distribution::Gaussian { iterations: 1 }, 10);
    assert!(
        flat.iter().all(|count| matches_probability(*count, 0.1)),
        "{flat:?}"
    );
}

const SPECIAL: Distribution = Distribution::Special {
    iterations: 12,
    spec_pct: 1,
    spec_res: 75,
};

#[test]
fn special_draws_three_quarters_from_a_few_numbers_in_the_middle() {
    let counts = counts(SPECIAL, 10_000);
    // The upper three quarters of the 101 numbers around the middle, from 4,950.5.
    let middle = &counts[4_975..5_050];
    let bell = 0.25 * 0.000_478;
    let probability = 0.75 / 75.75 + bell;
    assert!(
        middle
            .iter()
            .all(|count| matches_probability(*count, probability)),
        "{middle:?}"
    );
    assert!(
        matches_probability(counts[4_974], 0.25 * 0.75 / 75.75 + bell),
        "a quarter of the draws of the numbers above"
    );
    assert!(
        matches_probability(counts[5_050], 0.5 * 0.75 / 75.75 + bell),
        "half of the draws of the numbers below"
    );
    let outside = total(&counts[..4_900]) / f64::from(DRAWS);
    // The bell has a standard deviation of 833: 45.2 % of its draws are more than 100 below the middle.
    assert!((outside - 0.25 * 0.4522).abs() < 0.005, "{outside}");
}

/// Shares of 1.6 million draws from 1 to 1,000 by sysbench 1.0.20.
#[test]
fn special_draws_with_the_frequencies_of_sysbench() {
    let counts = counts(SPECIAL, 1_000);
    for (number, share) in [
        (400, 0.0006),
        (450, 0.0010),
        (497, 0.0012),
        (498, 0.0692),
        (499, 0.0924),
        (500, 0.0925),
        (503, 0.0922),
        (505, 0.0921),
        (506, 0.0460),
        (507, 0.0012),
        (600, 0.0006),
    ] {
        let actual = counts[number - 1] / f64::from(DRAWS);
        assert!(
            (actual - share).abs() < 0.002,
            "{number}: {actual} and {share}"
        );
    }
}

#[test]
fn pareto_draws_four_fifths_from_the_first_fifth() {
    let counts = counts(Distribution::Pareto { h: 0.2 }, 1_000);
    // u^(ln h / ln(1-h)) is below h exactly if u is below 1-h; the same holds recursively below h.
    assert!(matches_probability(total(&counts[..200]), 0.8));
    assert!(matches_probability(total(&counts[..40]), 0.64));
    assert!(matches_probability(total(&counts[..8]), 0.512));
    let even = self::counts(Distribution::Pareto { h: 0.5 }, 10);
    assert!(
        even.iter().all(|count| matches_probability(*count, 0.1)),
        "{even:?}"
    );
}

#[test]
fn zipfian_weights_number_k_by_k_to_the_minus_s() {
    for exponent in [0.8, 1.0, 1.5, 0.2, 4.0] {
        for high in [1, 2, 3, 100] {
            let counts = counts(Distribution::Zipfian { exponent }, high);
            let weight = |rank: usize| (rank as f64).powf(-exponent);
            let sum: f64 = (1..=counts.len()).map(weight).sum();
            for (index, count) in counts.iter().enumerate() {
                let probability = weight(index + 1) / sum;
                let context = format!("rank {index} of {high} at {exponent}");
                assert!(
                    matches_probability(*count, probability),
                    "{context}: {count}"
                );
            }
        }
    }
}

#[test]
fn draws_stay_within_any_range() {
    let special = Distribution::Special {
        iterations: 3,
        spec_pct: 100,
        spec_res: 50,
    };
    for distribution in [
        Distribution::Uniform,
        Distribution::Gaussian { iterations: 3 },
        special,
        Distribution::Pareto { h: 0.9 },
        Distribution::Zipfian { exponent: 0.5 },
    ] {
        for (low, high) in [(5, 5), (5, 4), (-3, 2), (1, i64::from(i32::MAX))] {
            let sampler = RangeSampler::new(distribution, low, high);
            let mut random = Random::new(3);
            for _ in 0..2_000 {
                let number = sampler.sample(&mut random);
                assert!(
                    (low..=high.max(low)).contains(&number),
                    "{distribution:?} {number}"
                );
            }
        }
    }
}
