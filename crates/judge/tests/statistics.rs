//! What the statistics promise, held against made-up systems whose truth is known.
//!
//! Each test draws from a generator with a fixed seed, so that it says the same each time. Bounds are
//! three standard deviations of the count that is drawn, so that they follow from the promise and not
//! from what was found.

use prony_judge::statistics::{ALPHA, Estimate, POWER, course, holm, of_courses, welch};

/// Pairs of systems in a test.
const PAIRS: u32 = 1_000;

/// SplitMix64 (Steele, Lea and Flood 2014), and normal numbers of it (Box and Muller 1958).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// Figures of repeated runs: a level, and how far they differ, as a share of it.
    fn runs(&mut self, count: usize, level: f64, scatter: f64) -> Vec<f64> {
        let mut run = || level * (1.0 + scatter * self.normal());
        (0..count).map(|_| run()).collect()
    }

    /// Seconds of a run, each keeping a share `memory` of how far the one before was off.
    fn seconds(&mut self, count: usize, level: f64, scatter: f64, memory: f64) -> Vec<f64> {
        let fresh = (1.0 - memory * memory).sqrt();
        let mut off = self.normal();
        let mut second = || {
            off = memory * off + fresh * self.normal();
            level * (1.0 + scatter * off)
        };
        (0..count).map(|_| second()).collect()
    }
}

/// How many of so many draws with this probability there are at least, and at most.
fn bounds(draws: u32, probability: f64) -> [u32; 2] {
    let draws = f64::from(draws);
    let sigma = (draws * probability * (1.0 - probability)).sqrt();
    [-3.0, 3.0].map(|sigmas| (draws * probability + sigmas * sigma).round() as u32)
}

/// In how many of the pairs a difference is found.
fn found(mut one: impl FnMut() -> bool) -> u32 {
    (0..PAIRS).map(|_| u32::from(one())).sum()
}

#[test]
fn two_equal_systems_give_no_difference_in_95_of_100() {
    let [_, most] = bounds(PAIRS, ALPHA);
    let mut random = Random(1);
    for count in [2, 3, 5, 10] {
        for scatter in [0.005, 0.02, 0.1] {
            let false_ones = found(|| {
                let a = random.runs(count, 16_000.0, scatter);
                let b = random.runs(count, 16_000.0, scatter);
                welch(&a, &b, 0.0).unwrap().p() < ALPHA
            });
            println!("{count} runs, {scatter}: {false_ones}");
            assert!(false_ones <= most, "{count} runs, {scatter}: {false_ones}");
        }
    }
}

/// Welch's t needs neither the same number of runs on both sides nor the same scatter. Its known
/// weakness is a wilder side of fewer runs, where its documentation promises 8 % and not 5 %.
#[test]
fn equals_that_scatter_differently_give_none_either() {
    let mut random = Random(2);
    for (few, many, wild) in [
        (3, 5, 3.0),
        (5, 5, 4.0),
        (3, 3, 2.0),
        (5, 3, 3.0),
        (10, 4, 2.0),
    ] {
        let promised = if many < few { 0.08 } else { ALPHA };
        let [_, most] = bounds(PAIRS, promised);
        let false_ones = found(|| {
            let a = random.runs(few, 16_000.0, 0.01);
            let b = random.runs(many, 16_000.0, 0.01 * wild);
            welch(&a, &b, 0.0).unwrap().p() < ALPHA
        });
        println!("{few} and {many}, {wild}: {false_ones}");
        assert!(false_ones <= most, "{few} and {many}, {wild}: {false_ones}");
    }
}

#[test]
fn the_interval_holds_the_true_ratio() {
    let [least, _] = bounds(PAIRS, 1.0 - ALPHA);
    let mut random = Random(3);
    for count in [3, 5, 10] {
        let right = found(|| {
            let a = random.runs(count, 16_000.0, 0.02);
            let b = random.runs(count, 17_600.0, 0.02);
            let [low, high] = welch(&a, &b, 0.0).unwrap().interval(ALPHA);
            low <= 1.1 && 1.1 <= high
        });
        println!("{count} runs: {right}");
        assert!(right >= least, "{count} runs: {right}");
    }
}

/// What is said of pairs without a difference holds for others of the same systems: runs are made to
/// scatter just so much that half of such pairs promise 3 % or less, and then 3 % are looked for.
#[test]
fn a_difference_of_3_per_cent_is_found_at_the_promised_power() {
    let [least, most] = bounds(PAIRS, POWER);
    let mut random = Random(4);
    for count in [3, 5, 10] {
        let mut pair = |scatter: f64, ratio: f64| -> Estimate {
            let a = random.runs(count, 16_000.0, scatter);
            let b = random.runs(count, 16_000.0 * ratio, scatter);
            welch(&a, &b, 0.0).unwrap()
        };
        // So many that their median does not scatter: what is promised is a multiple of the error that
        // depends on the degrees of freedom alone, so a table of those saves the time.
        let fewest = count as f64 - 1.0;
        let freedom = |place: u32| fewest * (1.0 + f64::from(place) / 64.0);
        let multiple = |freedom: f64| Estimate {
            log_ratio: 0.0,
            error: 1.0,
            freedom,
        };
        let table: Vec<f64> = (0..=64)
            .map(|place| multiple(freedom(place)).detectable(ALPHA).ln())
            .collect();
        let mut promised: Vec<f64> = (0..20 * PAIRS)
            .map(|_| {
                let estimate = pair(0.01, 1.0);
                let place = (estimate.freedom / fewest - 1.0) * 64.0;
                estimate.error * table[place.round() as usize]
            })
            .collect();
        promised.sort_by(f64::total_cmp);
        // The logarithm of what is promised is as many times longer as the scatter is.
        let scatter = 0.01 * 1.03_f64.ln() / promised[promised.len() / 2];
        let hits = found(|| {
            let estimate = pair(scatter, 1.03);
            estimate.p() < ALPHA && estimate.ratio() > 1.0
        });
        println!("{count} runs, {scatter:.4}: {hits}");
        assert!(
            hits >= least && hits <= most,
            "{count} runs, {scatter}: {hits}"
        );
    }
}

/// A drift of the machine during runs in the order A B B A makes no difference of equals.
#[test]
fn a_drift_over_interleaved_runs_is_no_difference() {
    let [_, most] = bounds(PAIRS, ALPHA);
    let mut random = Random(5);
    let false_ones = found(|| {
        let mut sides = [Vec::new(), Vec::new()];
        for place in 0..12_usize {
            let drift = 1.0 - 0.01 * place as f64;
            let side = usize::from(place % 4 == 1 || place % 4 == 2);
            sides[side].push(drift * random.runs(1, 16_000.0, 0.01)[0]);
        }
        welch(&sides[0], &sides[1], 0.0).unwrap().p() < ALPHA
    });
    println!("{false_ones}");
    assert!(false_ones <= most, "{false_ones}");
}

#[test]
fn seconds_that_follow_from_one_another_keep_their_level() {
    let [_, most] = bounds(PAIRS, ALPHA);
    let mut random = Random(6);
    let mut over = Vec::new();
    for seconds in [30, 60, 120, 600] {
        for memory in [0.0, 0.3, 0.6, 0.8, 0.9, -0.4] {
            let mut told = 0;
            let false_ones = found(|| {
                let mut side = || course(&random.seconds(seconds, 16_000.0, 0.05, memory));
                let (a, b) = (side(), side());
                let (Some(a), Some(b)) = (a, b) else {
                    return false;
                };
                told += 1;
                of_courses(&a, &b).unwrap().p() < ALPHA
            });
            println!("{seconds} s, {memory}: {false_ones} of {told}");
            // Of all, and of those of which it speaks, where it does so of one pair in ten or more.
            if false_ones > most || (told >= PAIRS / 10 && false_ones > bounds(told, ALPHA)[1]) {
                over.push((seconds, memory, false_ones));
            }
        }
    }
    assert!(over.is_empty(), "{over:?}");
}

/// Seconds that keep a share m of how far the one before was off are worth (1 - m) / (1 + m) each.
#[test]
fn a_long_series_is_worth_what_theory_says() {
    let mut random = Random(9);
    for memory in [0.0, 0.5, 0.8] {
        let found = course(&random.seconds(50_000, 16_000.0, 0.05, memory)).unwrap();
        let theory = 50_000.0 * (1.0 - memory) / (1.0 + memory);
        let ratio = found.effective / theory;
        println!("{memory}: {ratio:.3}");
        assert!((0.85..1.1).contains(&ratio), "{memory}: {found:?}");
    }
}

/// And still find what is there: three per cent between runs of ten minutes.
#[test]
fn seconds_find_what_is_there() {
    let mut random = Random(7);
    for memory in [0.0, 0.5] {
        let hits = found(|| {
            let a = course(&random.seconds(600, 16_000.0, 0.1, memory)).unwrap();
            let b = course(&random.seconds(600, 16_000.0 * 1.03, 0.1, memory)).unwrap();
            let estimate = of_courses(&a, &b).unwrap();
            estimate.p() < ALPHA && estimate.ratio() > 1.0
        });
        println!("{memory}: {hits}");
        // Independent seconds have an error of 0.1 x sqrt(2 / 600) = 0.58 %: 3 % are five of it. With a
        // memory of a half it is sqrt(3) times that, and 3 % are three.
        let promised = if memory == 0.0 { 0.99 } else { 0.75 };
        assert!(hits >= bounds(PAIRS, promised)[0], "{memory}: {hits}");
    }
}

#[test]
fn several_equals_against_one_base_are_one_family() {
    let [_, most] = bounds(PAIRS, ALPHA);
    let mut random = Random(8);
    for variants in [2, 4, 8] {
        let mut uncorrected = 0;
        let false_ones = found(|| {
            let base = random.runs(5, 16_000.0, 0.02);
            let p_values: Vec<f64> = (0..variants)
                .map(|_| {
                    welch(&base, &random.runs(5, 16_000.0, 0.02), 0.0)
                        .unwrap()
                        .p()
                })
                .collect();
            uncorrected += u32::from(p_values.iter().any(|p| *p < ALPHA));
            holm(&p_values, ALPHA).iter().any(|step| step.found)
        });
        println!("{variants}: {false_ones}, uncorrected {uncorrected}");
        assert!(false_ones <= most, "{variants}: {false_ones}");
        // Two have a false difference in 9 of 100 without it, which chance may hide.
        assert!(
            variants < 4 || uncorrected > most,
            "{variants}: the test would pass without"
        );
    }
}
