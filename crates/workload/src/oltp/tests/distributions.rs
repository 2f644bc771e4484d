//! Each distribution against its definition.

use crate::oltp::distribution::{Distribution, Draw};
use crate::random::Random;

const DRAWS: u32 = 400_000;

/// How often each number from 1 to `high` came.
fn counts(distribution: Distribution, high: i64) -> Vec<f64> {
    let draw = Draw::new(distribution, 1, high);
    let mut random = Random::new(11);
    let mut counts = vec![0.0; high as usize];
    for _ in 0..DRAWS {
        // Outside the range this is out of bounds.
        counts[(draw.next(&mut random) - 1) as usize] += 1.0;
    }
    counts
}

/// Whether a count of draws fits a probability, within five standard deviations.
fn fits(count: f64, probability: f64) -> bool {
    let draws = f64::from(DRAWS);
    let scatter = (draws * probability * (1.0 - probability)).sqrt();
    (count - draws * probability).abs() <= 5.0 * scatter + 3.0
}

fn share(counts: &[f64]) -> f64 {
    counts.iter().sum()
}

#[test]
fn uniform_gives_each_number_alike() {
    for (place, count) in counts(Distribution::Uniform, 50).iter().enumerate() {
        assert!(fits(*count, 1.0 / 50.0), "{place}: {count}");
    }
}

#[test]
fn gaussian_is_the_mean_of_uniform_numbers() {
    let counts = counts(Distribution::Gaussian { iterations: 12 }, 1_200);
    let numbers = || {
        (0..)
            .zip(&counts)
            .map(|(place, count)| (f64::from(place), *count))
    };
    let mean = numbers().map(|(at, count)| at * count).sum::<f64>() / f64::from(DRAWS);
    let square = |(at, count): (f64, f64)| (at - mean).powi(2) * count;
    let variance = numbers().map(square).sum::<f64>() / f64::from(DRAWS);
    // Of the mean of 12 uniform numbers over a range of 1,200: 1200^2 / 12 / 12.
    assert!((mean - 599.5).abs() < 1.0, "{mean}");
    assert!((variance / 10_000.0 - 1.0).abs() < 0.02, "{variance}");
    // Two uniform numbers make a triangle: a quarter of each half is in its outer half.
    let triangle = self::counts(Distribution::Gaussian { iterations: 2 }, 1_000);
    assert!(fits(share(&triangle[..250]), 0.125));
    assert!(fits(share(&triangle[250..500]), 0.375));
    let flat = self::counts(Distribution::Gaussian { iterations: 1 }, 10);
    assert!(flat.iter().all(|count| fits(*count, 0.1)), "{flat:?}");
}

const SPECIAL: Distribution = Distribution::Special {
    iterations: 12,
    part_pct: 1,
    share_pct: 75,
};

#[test]
fn special_is_three_quarters_out_of_a_few_numbers_of_the_middle() {
    let counts = counts(SPECIAL, 10_000);
    // Of the 101 numbers around the middle, from 4,950.5 on, the upper three quarters.
    let middle = &counts[4_975..5_050];
    let bell = 0.25 * 0.000_478;
    let each = 0.75 / 75.75 + bell;
    assert!(middle.iter().all(|count| fits(*count, each)), "{middle:?}");
    assert!(
        fits(counts[4_974], 0.25 * 0.75 / 75.75 + bell),
        "a quarter of a number"
    );
    assert!(
        fits(counts[5_050], 0.5 * 0.75 / 75.75 + bell),
        "half of one"
    );
    let outside = share(&counts[..4_900]) / f64::from(DRAWS);
    // The bell has a standard deviation of 833: 45.2 % of it is below the middle less a hundred.
    assert!((outside - 0.25 * 0.4522).abs() < 0.005, "{outside}");
}

/// What sysbench 1.0.20 drew of 1 to 1,000, shares of 1.6 million draws.
#[test]
fn special_draws_as_often_as_sysbench() {
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
        let drawn = counts[number - 1] / f64::from(DRAWS);
        assert!(
            (drawn - share).abs() < 0.002,
            "{number}: {drawn} and {share}"
        );
    }
}

#[test]
fn pareto_gives_the_first_fifth_four_fifths_of_the_draws() {
    let counts = counts(Distribution::Pareto { h: 0.2 }, 1_000);
    // u^(ln h / ln(1-h)) is below h exactly where u is below 1-h; and so on inside.
    assert!(fits(share(&counts[..200]), 0.8));
    assert!(fits(share(&counts[..40]), 0.64));
    assert!(fits(share(&counts[..8]), 0.512));
    let even = self::counts(Distribution::Pareto { h: 0.5 }, 10);
    assert!(even.iter().all(|count| fits(*count, 0.1)), "{even:?}");
}

#[test]
fn zipfian_gives_number_k_a_weight_of_k_to_the_minus_s() {
    for exponent in [0.8, 1.0, 1.5, 0.2, 4.0] {
        for high in [1, 2, 3, 100] {
            let counts = counts(Distribution::Zipfian { exponent }, high);
            let weight = |rank: usize| (rank as f64).powf(-exponent);
            let sum: f64 = (1..=counts.len()).map(weight).sum();
            for (place, count) in counts.iter().enumerate() {
                let probability = weight(place + 1) / sum;
                let what = format!("rank {place} of {high} at {exponent}");
                assert!(fits(*count, probability), "{what}: {count}");
            }
        }
    }
}

#[test]
fn the_ends_of_any_range_are_kept() {
    let special = Distribution::Special {
        iterations: 3,
        part_pct: 100,
        share_pct: 50,
    };
    for distribution in [
        Distribution::Uniform,
        Distribution::Gaussian { iterations: 3 },
        special,
        Distribution::Pareto { h: 0.9 },
        Distribution::Zipfian { exponent: 0.5 },
    ] {
        for (low, high) in [(5, 5), (5, 4), (-3, 2), (1, i64::from(i32::MAX))] {
            let draw = Draw::new(distribution, low, high);
            let mut random = Random::new(3);
            for _ in 0..2_000 {
                let drawn = draw.next(&mut random);
                assert!(
                    (low..=high.max(low)).contains(&drawn),
                    "{distribution:?} {drawn}"
                );
            }
        }
    }
}
