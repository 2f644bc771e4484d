//! A distribution of times: exact count, sum and extremes, and a histogram for the percentiles.
//!
//! In: times in nanoseconds. Out: mean, extremes, percentiles. Must never: average percentiles, or return a
//! percentile without enough samples.

use hdrhistogram::{Counter, Histogram};
use std::ops::RangeInclusive;

/// Longest time that the histogram distinguishes, nanoseconds: one hour. Longer times are counted as one
/// hour, but `max_ns` is exact.
pub const HISTOGRAM_MAX_NS: u64 = 3_600_000_000_000;

/// Significant decimal digits of a percentile.
pub const SIGNIFICANT_DIGITS: u8 = 3;
/// Significant decimal digits of [`Distribution::coarse`].
pub(crate) const COARSE_DIGITS: u8 = 2;

/// A distribution of times. `C` is the counter of a histogram's bucket: `u32` within an interval,
/// `u64` for totals.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution<C: Counter> {
    pub samples: u64,
    /// Exact sum of the times, nanoseconds.
    pub sum_ns: u128,
    /// Sum of the squares of the times, square nanoseconds.
    pub squares_ns2: f64,
    /// Shortest time, nanoseconds; 0 if there are no samples.
    pub min_ns: u64,
    /// Longest time, nanoseconds; 0 if there are no samples.
    pub max_ns: u64,
    /// Histogram from 1 ns to [`HISTOGRAM_MAX_NS`], with [`SIGNIFICANT_DIGITS`] significant digits.
    pub histogram: Histogram<C>,
}

impl<C: Counter> Default for Distribution<C> {
    fn default() -> Self {
        Distribution::with_digits(SIGNIFICANT_DIGITS)
    }
}

impl<C: Counter> Distribution<C> {
    /// Creates a distribution with two significant digits, which takes a seventh of the memory.
    pub fn coarse() -> Self {
        Distribution::with_digits(COARSE_DIGITS)
    }

    fn with_digits(digits: u8) -> Self {
        Distribution {
            samples: 0,
            sum_ns: 0,
            squares_ns2: 0.0,
            min_ns: 0,
            max_ns: 0,
            histogram: Histogram::new_with_bounds(1, HISTOGRAM_MAX_NS, digits)
                .expect("the bounds are constants that hdrhistogram accepts"),
        }
    }

    /// Counts one time. Does not allocate.
    #[inline]
    pub fn record(&mut self, time_ns: u64) {
        if self.samples == 0 || time_ns < self.min_ns {
            self.min_ns = time_ns;
        }
        self.max_ns = self.max_ns.max(time_ns);
        self.samples += 1;
        self.sum_ns += u128::from(time_ns);
        self.squares_ns2 += time_ns as f64 * time_ns as f64;
        self.histogram.saturating_record(time_ns);
    }

    /// Arithmetic mean, nanoseconds; 0 if there are no samples.
    pub fn mean_ns(&self) -> f64 {
        if self.samples == 0 {
            return 0.0;
        }
        self.sum_ns as f64 / self.samples as f64
    }

    /// The time in nanoseconds that a share `quantile` (0 to 1) of the samples does not exceed, exact to
    /// three digits. `None` with fewer than `10 / (1 - quantile)` samples.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        if self.samples < samples_needed(quantile) {
            return None;
        }
        let value_ns = self.histogram.value_at_quantile(quantile);
        Some(value_ns.clamp(self.min_ns, self.max_ns))
    }

    pub fn add<D: Counter>(&mut self, other: &Distribution<D>) {
        self.add_summary_of(other);
        for bucket in other.histogram.iter_recorded() {
            // A bucket of u32 is full after 4 billion; the exact counts are stored separately.
            let count = C::from_u64(bucket.count_at_value().as_u64())
                .or_else(|| C::from_u32(u32::MAX))
                .unwrap_or_else(C::one);
            self.histogram
                .saturating_record_n(bucket.value_iterated_to(), count);
        }
    }

    /// Adds a distribution of the same counter, faster than [`Distribution::add`].
    pub fn add_same(&mut self, other: &Distribution<C>) {
        if self.histogram.add(&other.histogram).is_ok() {
            self.add_summary_of(other);
        } else {
            self.add(other);
        }
    }

    /// Removes all samples and keeps the memory.
    pub fn clear(&mut self) {
        if self.samples > 0 {
            self.histogram.reset();
        }
        (self.samples, self.sum_ns, self.min_ns, self.max_ns) = (0, 0, 0, 0);
        self.squares_ns2 = 0.0;
    }

    fn add_summary_of<D: Counter>(&mut self, other: &Distribution<D>) {
        let extremes = other.min_ns..=other.max_ns;
        self.add_summary(other.samples, other.sum_ns, other.squares_ns2, extremes);
    }

    /// Adds all but the histogram of another distribution.
    pub(crate) fn add_summary(
        &mut self,
        samples: u64,
        sum_ns: u128,
        squares_ns2: f64,
        extremes_ns: RangeInclusive<u64>,
    ) {
        if samples == 0 {
            return;
        }
        self.min_ns = match self.samples {
            0 => *extremes_ns.start(),
            _ => self.min_ns.min(*extremes_ns.start()),
        };
        self.max_ns = self.max_ns.max(*extremes_ns.end());
        self.samples = self.samples.saturating_add(samples);
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
        self.squares_ns2 += squares_ns2;
    }
}

/// Number of samples that a percentile needs: ten above it, such as 10,000 for `0.999`.
pub fn samples_needed(quantile: f64) -> u64 {
    // 1 - 0.99 is not exactly 0.01: round, or p99 would need 1,001.
    (10.0 / (1.0 - quantile).max(1e-12)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_need_enough_samples() {
        let needed = [0.5, 0.9, 0.95, 0.99, 0.999].map(samples_needed);
        assert_eq!(needed, [20, 100, 200, 1_000, 10_000]);
        let mut times = Distribution::<u32>::default();
        (0..9_999).for_each(|time_ns| times.record(time_ns * 1_000));
        assert_eq!(times.quantile_ns(0.999), None);
        times.record(7);
        assert!(times.quantile_ns(0.999).is_some());
        assert_eq!((times.min_ns, times.max_ns), (0, 9_998_000));
    }

    #[test]
    fn a_coarse_distribution_takes_a_seventh_of_the_memory_and_can_be_added() {
        let mut coarse = Distribution::<u32>::coarse();
        let fine = Distribution::<u32>::default();
        assert!(7 * coarse.histogram.len() <= fine.histogram.len() + 1);
        (1..=10_000).for_each(|time_ns| coarse.record(time_ns * 1_000));
        let mut sum = Distribution::<u64>::default();
        sum.add(&coarse);
        assert_eq!((sum.samples, sum.max_ns), (10_000, 10_000_000));
        let median_ns = sum.quantile_ns(0.5).expect("enough samples");
        assert!(median_ns.abs_diff(5_000_000) <= 50_000, "{median_ns}");
    }

    #[test]
    fn the_maximum_is_exact_above_an_hour() {
        let mut times = Distribution::<u32>::default();
        (0..40).for_each(|_| times.record(3 * HISTOGRAM_MAX_NS + 1));
        assert_eq!(times.max_ns, 3 * HISTOGRAM_MAX_NS + 1);
        assert_eq!(times.mean_ns(), (3 * HISTOGRAM_MAX_NS + 1) as f64);
        assert!(times.quantile_ns(0.5).is_some());
    }

    proptest! {
        #[test]
        fn merging_equals_recording_into_one(
            times in proptest::collection::vec((0u64..10_000_000_000, 0usize..3), 1..400)
        ) {
            let mut single = Distribution::<u64>::default();
            let mut distributions = [(); 3].map(|()| Distribution::<u32>::default());
            for &(time_ns, index) in &times {
                single.record(time_ns);
                distributions[index].record(time_ns);
            }
            let mut total = Distribution::<u64>::default();
            distributions.iter().for_each(|part| total.add(part));
            let mut row = Distribution::<u32>::default();
            distributions.iter().for_each(|part| row.add_same(part));
            for merged in [(total.samples, total.sum_ns, total.min_ns, total.max_ns),
                           (row.samples, row.sum_ns, row.min_ns, row.max_ns)] {
                prop_assert_eq!(merged, (single.samples, single.sum_ns, single.min_ns, single.max_ns));
            }
            for quantile in [0.5, 0.9, 0.95] {
                prop_assert_eq!(total.quantile_ns(quantile), single.quantile_ns(quantile));
                prop_assert_eq!(row.quantile_ns(quantile), single.quantile_ns(quantile));
            }
        }

        #[test]
        fn percentiles_are_right_to_three_digits(
            mut times in proptest::collection::vec(0u64..HISTOGRAM_MAX_NS, 1_000..1_200)
        ) {
            let mut recorded = Distribution::<u32>::default();
            times.iter().for_each(|&time_ns| recorded.record(time_ns));
            times.sort_unstable();
            for quantile in [0.5, 0.9, 0.99] {
                let rank = (quantile * times.len() as f64).ceil() as usize;
                let exact_ns = times[rank.clamp(1, times.len()) - 1] as f64;
                let computed_ns = recorded.quantile_ns(quantile).unwrap() as f64;
                prop_assert!((computed_ns - exact_ns).abs() <= exact_ns / 1_000.0 + 1.0,
                    "q{quantile}: {computed_ns} for {exact_ns}");
            }
        }
    }
}
