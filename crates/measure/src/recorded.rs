//! A stored histogram as those of its buckets that have samples.
//!
//! A reader of a document looks at dozens of histograms. All buckets of one take 135 kB, and a few hundred have samples.

use crate::histogram::decode_counts;

/// The times of a stored histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedTimes {
    /// The buckets that have samples, ascending.
    buckets: Vec<RecordedBucket>,
    samples: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordedBucket {
    /// The shortest time of the bucket.
    low_ns: u64,
    /// The longest time of the bucket.
    high_ns: u64,
    samples: u64,
}

impl RecordedTimes {
    /// Decodes a text of [`crate::encode_histogram`].
    pub fn decode(text: &str) -> Result<RecordedTimes, String> {
        let (buckets, counts) = decode_counts(text)?;
        let mut recorded = RecordedTimes::default();
        for (bucket, samples) in counts {
            recorded.samples = recorded.samples.saturating_add(samples);
            recorded.buckets.push(RecordedBucket {
                low_ns: buckets.start_ns(bucket),
                high_ns: buckets.start_ns(bucket + 1) - 1,
                samples,
            });
        }
        Ok(recorded)
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The longest time of each bucket, nanoseconds, and its samples; ascending.
    pub fn counts(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + Clone {
        let buckets = self.buckets.iter();
        buckets.map(|bucket| (bucket.high_ns, bucket.samples))
    }

    /// The time that a share `quantile` of the samples does not exceed, nanoseconds; 0 without samples.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.samples as f64).ceil().max(1.0) as u64;
        let mut counted = 0_u64;
        for bucket in &self.buckets {
            counted = counted.saturating_add(bucket.samples);
            if counted >= rank {
                return bucket.high_ns;
            }
        }
        0
    }

    /// The longest time, nanoseconds; 0 without samples.
    pub fn max_ns(&self) -> u64 {
        self.counts().next_back().map_or(0, |(high_ns, _)| high_ns)
    }

    /// The mean, nanoseconds, as if each sample were in the middle of its bucket.
    pub fn mean_ns(&self) -> f64 {
        self.mean_of(|time_ns| time_ns)
    }

    /// The variance, square nanoseconds, as if each sample were in the middle of its bucket.
    pub fn variance_ns2(&self) -> f64 {
        let mean_ns = self.mean_ns();
        self.mean_of(|time_ns| (time_ns - mean_ns).powi(2))
    }

    fn mean_of(&self, value: impl Fn(f64) -> f64) -> f64 {
        let sums = self.buckets.iter().map(|bucket| {
            let middle_ns = bucket.low_ns + (bucket.high_ns + 1 - bucket.low_ns) / 2;
            value(middle_ns as f64) * bucket.samples as f64
        });
        sums.sum::<f64>() / self.samples.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::HISTOGRAM_MAX_NS;
    use crate::{decode_histogram, encode_histogram};
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_those_of_the_histogram(
            times in proptest::collection::vec((0..4_000_000_000_000_u64, 1..5_u64), 1..60),
            digits in 1..=3_u8,
        ) {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_MAX_NS, digits).unwrap();
            for (time_ns, count) in times {
                histogram.saturating_record_n(time_ns.isqrt() * 977, count);
            }
            let text = encode_histogram(&histogram);
            let recorded = RecordedTimes::decode(&text).unwrap();
            let steps = histogram.iter_recorded();
            let expected: Vec<(u64, u64)> = steps.map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
            prop_assert_eq!(recorded.counts().collect::<Vec<_>>(), expected);
            prop_assert_eq!((recorded.samples(), recorded.max_ns()), (histogram.len(), histogram.max()));
            for quantile in [0.0, 0.5, 0.99, 1.0] {
                let expected = histogram.highest_equivalent(histogram.value_at_quantile(quantile));
                prop_assert_eq!(recorded.quantile_ns(quantile), expected);
            }
            let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs() + 1e-6;
            prop_assert!(is_near(recorded.mean_ns(), histogram.mean()));
            prop_assert!(is_near(recorded.variance_ns2().sqrt(), histogram.stdev()));
        }
    }

    #[test]
    fn a_text_that_no_histogram_has_is_an_error() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).unwrap();
        (0..500).for_each(|value| histogram.record(value * 977).unwrap());
        let text = encode_histogram(&histogram);
        for end in 0..text.len() {
            assert!(RecordedTimes::decode(&text[..end]).is_err(), "cut at {end}");
        }
        for position in 0..text.len() {
            for letter in ["/", "A", "9"] {
                let mut broken = text.clone();
                broken.replace_range(position..=position, letter);
                // What the whole histogram refuses may be read here, never another number of samples.
                if let (Ok(recorded), Ok(all)) = (
                    RecordedTimes::decode(&broken),
                    decode_histogram::<u64>(&broken),
                ) {
                    assert_eq!(recorded.samples(), all.len());
                }
            }
        }
    }
}
