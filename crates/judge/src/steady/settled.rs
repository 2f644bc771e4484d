//! Whether a load that has just begun is steady, so that its measured window can begin.
//!
//! In: the seconds of the warm-up so far. Must never: prolong the warm-up of a load that is steady from its start
//! because of chance; what it misses, `warm-up`, `drift` and `latency` find in the measured window.
//!
//! The later half of the seconds, at least four, is tested for a trend by Mann and Kendall's statistic, which counts
//! the pairs of seconds that rise and fall. By chance it shows one in about one of twelve loads, whatever the
//! distribution of the seconds; the trend must also be large enough to matter.

use super::mean;
use prony_store::Second;

/// Fewest seconds that are tested.
const MIN_SECONDS: usize = 4;
/// Number of standard errors by which more seconds must rise than fall, or fall than rise, for a trend: one in 24 loads
/// of four seconds has each by chance.
const MAX_TREND_STD_ERRORS: f64 = 1.645;
/// Share by which the later seconds must also differ from the earlier ones.
const MAX_CHANGE_SHARE: f64 = 0.05;

/// The seconds of a warm-up.
#[derive(Debug, Default)]
pub struct WarmingUp {
    values: Vec<f64>,
}

impl WarmingUp {
    /// Adds a second: its throughput or, at a scheduled rate, which the throughput follows from the start, its median
    /// response time.
    pub fn add(&mut self, second: &Second, at_rate: bool) {
        let value = if at_rate {
            // A second with too few transactions for a median has its mean instead.
            second.p50_ns.map_or(second.mean_ns, |p50_ns| p50_ns as f64)
        } else {
            second.ended() as f64 / second.length_s
        };
        self.values.push(value);
    }

    /// Whether the last seconds are alike, apart from chance.
    pub fn is_steady(&self) -> bool {
        let count = self.values.len();
        if count < MIN_SECONDS {
            return false;
        }
        let recent = &self.values[(count / 2).min(count - MIN_SECONDS)..];
        !(has_trend(recent) && changes_enough(recent))
    }
}

/// Whether more pairs of values rise than fall, or fall than rise, than chance explains.
fn has_trend(values: &[f64]) -> bool {
    let count = values.len() as f64;
    let pairs =
        (0..values.len()).flat_map(|a| values[a + 1..].iter().map(move |b| (values[a], *b)));
    let score: i64 = pairs
        .map(|(a, b)| i64::from(b > a) - i64::from(b < a))
        .sum();
    let std_error = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    // The score changes in steps of two: half a step is subtracted.
    score.abs() as f64 - 1.0 > MAX_TREND_STD_ERRORS * std_error
}

/// Whether the later half differs from the earlier one by a share that matters.
fn changes_enough(values: &[f64]) -> bool {
    let (earlier, later) = values.split_at(values.len() / 2);
    let (earlier, later) = (mean(earlier), mean(later));
    (later - earlier).abs() > MAX_CHANGE_SHARE * later.max(earlier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::with_series;
    use crate::steady::{check_drift, check_warm_up};
    use prony_store::Severity;

    /// Seconds of a load whose throughput is this share of 2,000 a second at each second, and scatters by `deviation`
    /// and by chance.
    struct Load<'a> {
        share_at: &'a dyn Fn(usize) -> f64,
        deviation: f64,
        random: prony_plan::SplitMix,
    }

    impl Load<'_> {
        fn second(&mut self, at: usize) -> Second {
            let mut normal = || (0..12).map(|_| self.random.uniform()).sum::<f64>() - 6.0;
            let rate = 2_000.0 * (self.share_at)(at) * (1.0 + self.deviation * normal());
            Second {
                length_s: 1.0,
                committed: (rate + rate.sqrt() * normal()).max(0.0) as u64,
                ..Second::default()
            }
        }
    }

    /// The warm-up of a load, as `drive` decides it: it begins with the second after the decision, from 5 to 30 s.
    fn warm_up(load: &mut Load<'_>) -> usize {
        let mut warming = WarmingUp::default();
        (0..29)
            .find(|at| {
                warming.add(&load.second(*at), false);
                *at >= 3 && warming.is_steady()
            })
            .map_or(30, |at| at + 2)
    }

    const LOADS: u64 = 500;

    fn warm_ups(
        deviation: f64,
        share_at: &dyn Fn(usize) -> f64,
    ) -> impl Iterator<Item = (usize, Load<'_>)> {
        (0..LOADS).map(move |seed| {
            let mut load = Load {
                share_at,
                deviation,
                random: prony_plan::SplitMix::new(seed),
            };
            (warm_up(&mut load), load)
        })
    }

    #[test]
    fn a_load_that_is_steady_from_its_start_warms_up_for_five_seconds() {
        for (deviation, promised) in [(0.0, 0.99), (0.01, 0.99), (0.03, 0.95), (0.1, 0.9)] {
            let warm_ups: Vec<usize> = warm_ups(deviation, &|_| 1.0).map(|found| found.0).collect();
            let short = warm_ups.iter().filter(|seconds| **seconds == 5).count() as f64;
            let share = short / LOADS as f64;
            assert!(share >= promised, "{deviation}: {share}");
            let longest = warm_ups.iter().max();
            assert!(longest < Some(&12), "{deviation}: {longest:?}");
        }
    }

    #[test]
    fn after_a_warm_up_the_window_is_steady_in_95_of_100() {
        for time_constant_s in [0.5, 1.0, 2.0, 3.5, 5.0] {
            for deviation in [0.0, 0.01, 0.03] {
                let share_at = |at| 1.0 - (-(at as f64 + 0.5) / time_constant_s).exp();
                let steady = warm_ups(deviation, &share_at).filter_map(|(seconds, mut load)| {
                    let window = (seconds..seconds + 60).map(|at| load.second(at).committed);
                    let run = with_series(&window.collect::<Vec<u64>>());
                    let mut found = [check_warm_up(&run), check_drift(&run)]
                        .into_iter()
                        .flatten();
                    found
                        .all(|found| found.severity < Severity::Caveat)
                        .then_some(())
                });
                let share = steady.count() as f64 / LOADS as f64;
                assert!(share >= 0.95, "{time_constant_s} {deviation}: {share}");
            }
        }
    }

    #[test]
    fn a_load_that_rises_all_the_time_warms_up_for_as_long_as_it_may() {
        let long = warm_ups(0.02, &|at| 1.0 + at as f64 / 5.0).filter(|found| found.0 == 30);
        assert!(long.count() as f64 >= 0.95 * LOADS as f64);
    }

    #[test]
    fn at_a_rate_the_response_time_must_be_steady() {
        let seconds = |p50_ms: [u64; 5]| {
            let mut warming = WarmingUp::default();
            for p50_ms in p50_ms {
                let second = Second {
                    length_s: 1.0,
                    committed: 1000,
                    p50_ns: Some(p50_ms * 1_000_000),
                    ..Second::default()
                };
                warming.add(&second, true);
            }
            warming.is_steady()
        };
        assert!(seconds([9, 10, 9, 10, 9]));
        assert!(!seconds([50, 30, 20, 15, 12]));
    }
}
