//! The serialised form of a distribution of times.

use super::{InvalidInterval, check_counts};
use crate::distribution::{Distribution, HISTOGRAM_MAX_NS};
use crate::histogram::{decode_histogram, encode_histogram};
use hdrhistogram::Counter;
use serde::{Deserialize, Serialize};

/// The serialised form of a [`Distribution`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerializedTimes {
    pub(super) samples: u64,
    #[serde(with = "large_number")]
    sum_ns: u128,
    squares_ns2: f64,
    min_ns: u64,
    max_ns: u64,
    /// Text of [`encode_histogram`].
    histogram: String,
}

impl SerializedTimes {
    pub fn new<C: Counter>(times: &Distribution<C>) -> SerializedTimes {
        SerializedTimes {
            samples: times.samples,
            sum_ns: times.sum_ns,
            squares_ns2: times.squares_ns2,
            min_ns: times.min_ns,
            max_ns: times.max_ns,
            histogram: encode_histogram(&times.histogram),
        }
    }

    pub(super) fn into_distribution(self) -> Result<Distribution<u32>, InvalidInterval> {
        self.into_distribution_like(Distribution::default())
    }

    /// Restores the distribution; an error if its histogram does not have the same buckets as `empty`.
    ///
    /// # Errors
    /// As said, or its histogram contradicts its counts.
    pub fn into_distribution_like<C: Counter>(
        self,
        empty: Distribution<C>,
    ) -> Result<Distribution<C>, InvalidInterval> {
        check_counts(&[self.samples])?;
        let mut times = empty;
        if self.samples > 0 {
            let histogram = decode_histogram(&self.histogram);
            let histogram = histogram.map_err(InvalidInterval::Histogram)?;
            if histogram.sigfig() != times.histogram.sigfig()
                || histogram.low() != times.histogram.low()
                || histogram.high() != times.histogram.high()
            {
                return Err(InvalidInterval::Histogram(
                    "the buckets of a histogram differ from the run's".to_owned(),
                ));
            }
            times.histogram = histogram;
        }
        times.samples = self.samples;
        times.sum_ns = self.sum_ns;
        times.squares_ns2 = self.squares_ns2;
        times.min_ns = self.min_ns;
        times.max_ns = self.max_ns;
        if is_consistent(&times) {
            Ok(times)
        } else {
            Err(InvalidInterval::Count(
                "a histogram does not match its count, sum or extremes",
            ))
        }
    }
}

/// Whether count, sum, extremes and histogram can belong to the same samples.
fn is_consistent<C: Counter>(times: &Distribution<C>) -> bool {
    let (histogram, samples) = (&times.histogram, u128::from(times.samples));
    let (min_ns, max_ns) = (times.min_ns, times.max_ns);
    let sums = samples * u128::from(min_ns)..=samples.saturating_mul(u128::from(max_ns));
    // Times above an hour are all in the last buckets.
    let is_in_bucket = |bucket_ns: u64, time_ns: u64| {
        time_ns > HISTOGRAM_MAX_NS || histogram.equivalent(bucket_ns, time_ns)
    };
    histogram.len() == times.samples
        && min_ns <= max_ns
        && (samples > 0 || max_ns == 0)
        && sums.contains(&times.sum_ns)
        && (samples == 0
            || is_in_bucket(histogram.min(), min_ns) && is_in_bucket(histogram.max(), max_ns))
        && (0.0..=f64::MAX).contains(&times.squares_ns2)
}

/// A sum of times: a number, or decimal text if it does not fit into 64 bits.
pub(super) mod large_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum LargeNumber {
        Number(u64),
        Text(String),
    }

    pub fn serialize<S: Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(*number) {
            Ok(number) => to.serialize_u64(number),
            Err(_) => to.collect_str(number),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        match LargeNumber::deserialize(from)? {
            LargeNumber::Number(number) => Ok(number.into()),
            LargeNumber::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}
