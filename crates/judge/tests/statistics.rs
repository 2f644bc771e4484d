//! Tests the properties that the statistics promise, with synthetic systems whose true figures are known.
//!
//! Each test draws from a generator with a fixed seed and is therefore deterministic. Bounds are three
//! standard deviations of the drawn count: they follow from the promise and not from the observed result.

mod random;

use prony_judge::statistics::{
    ALPHA, Estimate, POWER, RankComparison, SeriesMean, holm, paired, ranks_suffice, runs_needed,
    series_mean, welch,
};
use random::Random;

/// Pairs of systems in a test.
const PAIRS: u32 = 1_000;

impl Random {
    /// Figures of repeated runs, from a level and their scatter as a share of it.
    fn runs(&mut self, count: usize, level: f64, scatter: f64) -> Vec<f64> {
        let mut run = || level * (1.0 + scatter * self.normal());
        (0..count).map(|_| run()).collect()
    }

    /// Figures of repeated runs that scatter by 2 %; one in ten is disturbed and up to 40 % lower.
    fn disturbed_runs(&mut self, count: usize, level: f64) -> Vec<f64> {
        let mut runs = self.runs(count, level, 0.02);
        for run in &mut runs {
            if self.uniform() < 0.1 {
                *run *= 1.0 - 0.4 * self.uniform();
            }
        }
        runs
    }

    /// Seconds of a run; each keeps a share `memory` of the previous second's deviation.
    fn seconds(&mut self, count: usize, level: f64, scatter: f64, memory: f64) -> Vec<f64> {
        let innovation = (1.0 - memory * memory).sqrt();
        let mut deviation = self.normal();
        let mut second = || {
            deviation = memory * deviation + innovation * self.normal();
            level * (1.0 + scatter * deviation)
        };
        (0..count).map(|_| second()).collect()
    }
}

/// Lower and upper bound of the number of hits in `draws` draws with this probability.
fn bounds_of_hits(draws: u32, probability: f64) -> [u32; 2] {
    let draws = f64::from(draws);
    let sigma = (draws * probability * (1.0 - probability)).sqrt();
    [-3.0, 3.0].map(|sigmas| (draws * probability + sigmas * sigma).round() as u32)
}

/// Number of pairs for which the closure returns true.
fn count_pairs(mut is_positive: impl FnMut() -> bool) -> u32 {
    (0..PAIRS).map(|_| u32::from(is_positive())).sum()
}

#[test]
fn two_equal_systems_show_no_difference_in_95_of_100_pairs() {
    let [_, maximum] = bounds_of_hits(PAIRS, ALPHA);
    let mut random = Random(1);
    for count in [2, 3, 5, 10] {
        for scatter in [0.005, 0.02, 0.1] {
            let false_positives = count_pairs(|| {
                let a = random.runs(count, 16_000.0, scatter);
                let b = random.runs(count, 16_000.0, scatter);
                welch(&a, &b, 0.0).unwrap().p_value() < ALPHA
            });
            println!("{count} runs, {scatter}: {false_positives}");
            assert!(
                false_positives <= maximum,
                "{count} runs, {scatter}: {false_positives}"
            );
        }
    }
}

/// Welch's t needs neither the same number of runs on both sides nor the same scatter. If a side has more
/// scatter and fewer runs, `statistics` promises at most 8 % false positives instead of 5 %.
#[test]
fn unequal_variances_keep_the_false_positive_rate() {
    let mut random = Random(2);
    for (runs_a, runs_b, scatter_ratio) in [
        (3, 5, 3.0),
        (5, 5, 4.0),
        (3, 3, 2.0),
        (5, 3, 3.0),
        (10, 4, 2.0),
    ] {
        let promised = if runs_b < runs_a { 0.08 } else { ALPHA };
        let [_, maximum] = bounds_of_hits(PAIRS, promised);
        let false_positives = count_pairs(|| {
            let a = random.runs(runs_a, 16_000.0, 0.01);
            let b = random.runs(runs_b, 16_000.0, 0.01 * scatter_ratio);
            welch(&a, &b, 0.0).unwrap().p_value() < ALPHA
        });
        println!("{runs_a} and {runs_b}, {scatter_ratio}: {false_positives}");
        assert!(
            false_positives <= maximum,
            "{runs_a} and {runs_b}, {scatter_ratio}: {false_positives}"
        );
    }
}

#[test]
fn the_interval_contains_the_true_ratio() {
    let [minimum, _] = bounds_of_hits(PAIRS, 1.0 - ALPHA);
    let mut random = Random(3);
    for count in [3, 5, 10] {
        let covered = count_pairs(|| {
            let a = random.runs(count, 16_000.0, 0.02);
            let b = random.runs(count, 17_600.0, 0.02);
            let [low, high] = welch(&a, &b, 0.0).unwrap().interval(ALPHA);
            low <= 1.1 && 1.1 <= high
        });
        println!("{count} runs: {covered}");
        assert!(covered >= minimum, "{count} runs: {covered}");
    }
}

/// The detectable difference reported for equal pairs holds for other pairs of the same systems. The
/// scatter of runs is chosen so that half of the pairs promise 3 % or less; the test then looks for 3 %.
#[test]
fn a_difference_of_3_per_cent_is_found_at_the_promised_power() {
    let [minimum, maximum] = bounds_of_hits(PAIRS, POWER);
    let mut random = Random(4);
    for count in [3, 5, 10] {
        let mut pair = |scatter: f64, ratio: f64| -> Estimate {
            let a = random.runs(count, 16_000.0, scatter);
            let b = random.runs(count, 16_000.0 * ratio, scatter);
            welch(&a, &b, 0.0).unwrap()
        };
        // Enough pairs that their median does not scatter. The promise is a multiple of the error that
        // depends only on the degrees of freedom, so a table by degrees of freedom saves the time.
        let fewest = count as f64 - 1.0;
        let dof = |index: u32| fewest * (1.0 + f64::from(index) / 64.0);
        let multiple = |dof: f64| Estimate {
            log_ratio: 0.0,
            std_error: 1.0,
            dof,
        };
        let table: Vec<f64> = (0..=64)
            .map(|index| multiple(dof(index)).detectable(ALPHA).ln())
            .collect();
        let mut promised: Vec<f64> = (0..20 * PAIRS)
            .map(|_| {
                let estimate = pair(0.01, 1.0);
                let index = (estimate.dof / fewest - 1.0) * 64.0;
                estimate.std_error * table[index.round() as usize]
            })
            .collect();
        promised.sort_by(f64::total_cmp);
        // The logarithm of the promise is proportional to the scatter.
        let scatter = 0.01 * 1.03_f64.ln() / promised[promised.len() / 2];
        let hits = count_pairs(|| {
            let estimate = pair(scatter, 1.03);
            estimate.p_value() < ALPHA && estimate.ratio() > 1.0
        });
        println!("{count} runs, {scatter:.4}: {hits}");
        assert!(
            hits >= minimum && hits <= maximum,
            "{count} runs, {scatter}: {hits}"
        );
    }
}

/// A drift of the machine during runs in the order A B B A does not make equal systems differ.
#[test]
fn a_drift_over_interleaved_runs_shows_no_difference() {
    let [_, maximum] = bounds_of_hits(PAIRS, ALPHA);
    let mut random = Random(5);
    let false_positives = count_pairs(|| {
        let mut sides = [Vec::new(), Vec::new()];
        for index in 0..12_usize {
            let drift = 1.0 - 0.01 * index as f64;
            let side = usize::from(index % 4 == 1 || index % 4 == 2);
            sides[side].push(drift * random.runs(1, 16_000.0, 0.01)[0]);
        }
        welch(&sides[0], &sides[1], 0.0).unwrap().p_value() < ALPHA
    });
    println!("{false_positives}");
    assert!(false_positives <= maximum, "{false_positives}");
}

/// The ratio of the means of two series, with degrees of freedom by Satterthwaite.
fn ratio_of_series(a: &SeriesMean, b: &SeriesMean) -> Estimate {
    let [var_a, var_b] = [a, b].map(|series| series.variance / series.mean.powi(2));
    let variance = var_a + var_b;
    Estimate {
        log_ratio: (b.mean / a.mean).ln(),
        std_error: variance.sqrt(),
        dof: variance.powi(2) / (var_a.powi(2) / a.dof + var_b.powi(2) / b.dof),
    }
}

#[test]
fn autocorrelated_seconds_keep_the_false_positive_rate() {
    let [_, maximum] = bounds_of_hits(PAIRS, ALPHA);
    let mut random = Random(6);
    let mut exceeded = Vec::new();
    for seconds in [30, 60, 120, 600] {
        for memory in [0.0, 0.3, 0.6, 0.8, 0.9, -0.4] {
            let mut decided = 0;
            let false_positives = count_pairs(|| {
                let mut side = || series_mean(&random.seconds(seconds, 16_000.0, 0.05, memory));
                let (a, b) = (side(), side());
                let (Some(a), Some(b)) = (a, b) else {
                    return false;
                };
                decided += 1;
                ratio_of_series(&a, &b).p_value() < ALPHA
            });
            println!("{seconds} s, {memory}: {false_positives} of {decided}");
            // Of all pairs, and of the pairs with a result if at least one pair in ten has one.
            if false_positives > maximum
                || (decided >= PAIRS / 10 && false_positives > bounds_of_hits(decided, ALPHA)[1])
            {
                exceeded.push((seconds, memory, false_positives));
            }
        }
    }
    assert!(exceeded.is_empty(), "{exceeded:?}");
}

/// If each second keeps a share m of the previous deviation, it is worth (1 - m) / (1 + m) independent
/// seconds.
#[test]
fn the_effective_size_of_a_long_series_matches_theory() {
    let mut random = Random(9);
    for memory in [0.0, 0.5, 0.8] {
        let mean = series_mean(&random.seconds(50_000, 16_000.0, 0.05, memory)).unwrap();
        let theory = 50_000.0 * (1.0 - memory) / (1.0 + memory);
        let ratio = mean.effective_size / theory;
        println!("{memory}: {ratio:.3}");
        assert!((0.85..1.1).contains(&ratio), "{memory}: {mean:?}");
    }
}

#[test]
fn holm_keeps_the_false_positive_rate_of_a_family() {
    let [_, maximum] = bounds_of_hits(PAIRS, ALPHA);
    let mut random = Random(8);
    for variants in [2, 4, 8] {
        let mut uncorrected = 0;
        let false_positives = count_pairs(|| {
            let base = random.runs(5, 16_000.0, 0.02);
            let p_values: Vec<f64> = (0..variants)
                .map(|_| {
                    welch(&base, &random.runs(5, 16_000.0, 0.02), 0.0)
                        .unwrap()
                        .p_value()
                })
                .collect();
            uncorrected += u32::from(p_values.iter().any(|p| *p < ALPHA));
            holm(&p_values, ALPHA)
                .iter()
                .any(|result| result.significant)
        });
        println!("{variants}: {false_positives}, uncorrected {uncorrected}");
        assert!(false_positives <= maximum, "{variants}: {false_positives}");
        // Without the correction, two variants have a false difference in 9 of 100 families, which chance
        // may hide.
        assert!(
            variants < 4 || uncorrected > maximum,
            "{variants}: the test would pass without the correction"
        );
    }
}

/// The p value and the interval that comparisons use: by ranks, or by Welch's t if ranks do not suffice.
fn p_and_interval(a: &[f64], b: &[f64]) -> (f64, [f64; 2]) {
    if ranks_suffice([a.len(), b.len()], ALPHA) {
        let ranks = RankComparison::new(a, b, 0.0).unwrap();
        (ranks.p_value(), ranks.interval(ALPHA).unwrap())
    } else {
        let estimate = welch(a, b, 0.0).unwrap();
        (estimate.p_value(), estimate.interval(ALPHA))
    }
}

/// False alarms stay at or below 5 % and coverage is 93 to 97 %, with and without disturbed runs. There are
/// two exceptions, both on the safe side: the exact level of 4 runs per side is 97.1 %, and with 3 runs per
/// side, disturbed runs widen Welch's interval.
#[test]
fn false_alarms_and_coverage_are_as_promised_from_3_to_20_runs() {
    const PAIRS: u32 = 2_000;
    let mut random = Random(10);
    for disturbed in [false, true] {
        for count in [3, 4, 5, 6, 7, 8, 10, 12, 15, 20] {
            let mut side = |level: f64| {
                if disturbed {
                    random.disturbed_runs(count, level)
                } else {
                    random.runs(count, level, 0.02)
                }
            };
            let (mut alarms, mut covered) = (0, 0);
            for _ in 0..PAIRS {
                let (p, [low, high]) = p_and_interval(&side(16_000.0), &side(16_000.0));
                alarms += u32::from(p <= ALPHA);
                // A true ratio other than 1 shifts the logarithms, and their interval with them.
                covered += u32::from(low <= 1.0 && 1.0 <= high);
            }
            println!("{count} runs, disturbed {disturbed}: {alarms} {covered}");
            let highest = match (count, disturbed) {
                (3, true) => 0.985,
                (4, _) => 34.0 / 35.0,
                _ => 0.97,
            };
            let case = format!("{count} runs, disturbed {disturbed}: {alarms} {covered}");
            let sigma = |share: f64| (f64::from(PAIRS) * share * (1.0 - share)).sqrt();
            let within = |hits: u32, share: f64| {
                f64::from(hits) <= f64::from(PAIRS) * share + 3.0 * sigma(share)
            };
            assert!(within(alarms, ALPHA), "{case}");
            assert!(within(covered, highest), "{case}");
            assert!(within(PAIRS - covered, 0.07), "{case}");
        }
    }
}

/// One disturbed run of ten does not hide a difference of 5 % between ten runs per side.
#[test]
fn disturbed_runs_do_not_hide_a_difference() {
    let mut random = Random(11);
    let mut welch_hits = 0;
    let ranks_hits = count_pairs(|| {
        let a = random.disturbed_runs(10, 16_000.0);
        let b = random.disturbed_runs(10, 16_800.0);
        welch_hits += u32::from(welch(&a, &b, 0.0).unwrap().p_value() < ALPHA);
        p_and_interval(&a, &b).0 <= ALPHA
    });
    println!("{ranks_hits}, by Welch's t {welch_hits}");
    assert!(
        ranks_hits > 850 && welch_hits < 550,
        "{ranks_hits} {welch_hits}"
    );
}

/// The number of runs that a report recommends for finding 5 % at a scatter of 2 % is enough, and one run
/// less is not.
#[test]
fn the_recommended_number_of_runs_finds_the_difference() {
    let mut random = Random(12);
    let mut power = |count: usize| {
        count_pairs(|| {
            let a = random.runs(count, 16_000.0, 0.02);
            p_and_interval(&a, &random.runs(count, 16_800.0, 0.02)).0 <= ALPHA
        })
    };
    let needed = runs_needed(0.05, 0.02);
    let [enough, fewer] = [power(needed), power(needed - 1)];
    println!("{needed}: {enough} {fewer}");
    let [minimum, _] = bounds_of_hits(PAIRS, POWER);
    assert!(
        enough >= minimum && fewer < minimum,
        "{needed}: {enough} {fewer}"
    );
}

/// Half of the pairs of equal systems promise that a difference of 3 % or less would have been found. A
/// difference of 3 % is then found at about that power.
#[test]
fn ranks_find_the_detectable_difference_at_the_promised_power() {
    let mut random = Random(13);
    for count in [4, 5, 6, 8, 10, 20] {
        let mut promised: Vec<f64> = (0..PAIRS)
            .map(|_| {
                let a = random.runs(count, 16_000.0, 0.01);
                let b = random.runs(count, 16_000.0, 0.01);
                let ranks = RankComparison::new(&a, &b, 0.0).unwrap();
                ranks.detectable(ALPHA).unwrap().ln()
            })
            .collect();
        promised.sort_by(f64::total_cmp);
        let scatter = 0.01 * 1.03_f64.ln() / promised[promised.len() / 2];
        let hits = count_pairs(|| {
            let a = random.runs(count, 16_000.0, scatter);
            p_and_interval(&a, &random.runs(count, 16_480.0, scatter)).0 <= ALPHA
        });
        println!("{count} runs, {scatter:.4}: {hits}");
        assert!((720..=880).contains(&hits), "{count} runs: {hits}");
    }
}

/// Pairs of runs on a machine of which others leave between a tenth and all: what they leave wanders from run to run, and one
/// run in five meets a burst that takes up to half of the rest. The order is A B B A.
fn disturbed_pairs(random: &mut Random, count: usize, ratio: f64) -> [Vec<f64>; 2] {
    let mut left: f64 = -1.0;
    let mut sides = [Vec::new(), Vec::new()];
    for index in 0..2 * count {
        left = (left + 0.15 * random.normal()).clamp(-2.3, 0.0);
        let burst = if random.uniform() < 0.2 { 1.0 - 0.5 * random.uniform() } else { 1.0 };
        let side = usize::from(index % 4 == 1 || index % 4 == 2);
        let level = [10_000.0, 10_000.0 * ratio][side];
        sides[side].push(level * left.exp() * burst * (0.05 * random.normal()).exp());
    }
    sides
}

#[test]
fn pairs_of_disturbed_runs_keep_the_false_positive_rate_and_contain_the_true_ratio() {
    let [_, maximum] = bounds_of_hits(PAIRS, ALPHA);
    let [minimum, _] = bounds_of_hits(PAIRS, 1.0 - ALPHA);
    let mut random = Random(6);
    for count in [2, 3, 4, 6, 12] {
        let false_positives = count_pairs(|| {
            let [a, b] = disturbed_pairs(&mut random, count, 1.0);
            paired(&a, &b, 0.0).unwrap().p_value() < ALPHA
        });
        let covered = count_pairs(|| {
            let [a, b] = disturbed_pairs(&mut random, count, 1.3);
            let [low, high] = paired(&a, &b, 0.0).unwrap().interval(ALPHA);
            low <= 1.3 && 1.3 <= high
        });
        println!("{count} pairs: {false_positives}, {covered}");
        assert!(
            false_positives <= maximum,
            "{count} pairs: {false_positives}"
        );
        assert!(covered >= minimum, "{count} pairs: {covered}");
    }
}

/// What both runs of a pair have in common hides a difference from a comparison without pairs.
#[test]
fn pairs_find_what_the_noise_hides_otherwise() {
    let mut random = Random(7);
    let (mut by_pairs, mut without) = (0, 0);
    for _ in 0..PAIRS {
        let [a, b] = disturbed_pairs(&mut random, 12, 1.3);
        by_pairs += u32::from(paired(&a, &b, 0.0).unwrap().p_value() < ALPHA);
        without += u32::from(welch(&a, &b, 0.0).unwrap().p_value() < ALPHA);
    }
    println!("{by_pairs} by pairs, {without} without");
    assert!(
        by_pairs > 3 * without / 2 && by_pairs > PAIRS * 3 / 4,
        "{by_pairs}, {without}"
    );
}
