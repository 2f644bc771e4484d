//! The serialised form of a distribution of times, and its sparse form, which adding needs.

use super::{InvalidInterval, check_counts};
use crate::distribution::{Distribution, HISTOGRAM_MAX_NS};
use crate::histogram::{Buckets, decode_buckets, encode_histogram};
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

    /// Restores the distribution; an error if its histogram does not have the same buckets as `empty`.
    ///
    /// # Errors
    /// As said, or its histogram contradicts its counts.
    pub fn into_distribution_like<C: Counter>(
        self,
        mut empty: Distribution<C>,
    ) -> Result<Distribution<C>, InvalidInterval> {
        self.into_sparse(empty.histogram.sigfig())?
            .add_to(&mut empty);
        Ok(empty)
    }

    /// Decodes the histogram, whose number of significant digits must be this one.
    pub(super) fn into_sparse<C: Counter>(
        self,
        digits: u8,
    ) -> Result<SparseTimes<C>, InvalidInterval> {
        check_counts(&[self.samples])?;
        let buckets = match self.samples {
            0 => Vec::new(),
            _ => decode_buckets(&self.histogram, digits).map_err(InvalidInterval::Histogram)?,
        };
        if self.is_consistent(&buckets, Buckets::with_digits(digits)) {
            Ok(SparseTimes {
                samples: self.samples,
                sum_ns: self.sum_ns,
                squares_ns2: self.squares_ns2,
                min_ns: self.min_ns,
                max_ns: self.max_ns,
                buckets,
                all_buckets: Buckets::with_digits(digits),
            })
        } else {
            Err(InvalidInterval::Count(
                "a histogram does not match its count, sum or extremes",
            ))
        }
    }

    /// Whether count, sum, extremes and histogram can belong to the same samples.
    fn is_consistent<C: Counter>(&self, counts: &[(u32, C)], buckets: Buckets) -> bool {
        let (samples, min_ns, max_ns) = (u128::from(self.samples), self.min_ns, self.max_ns);
        let sums = samples * u128::from(min_ns)..=samples.saturating_mul(u128::from(max_ns));
        // Times above an hour are all in the last buckets.
        let is_in = |bucket: Option<&(u32, C)>, time_ns: u64| {
            let bucket = bucket.map(|(bucket, _)| *bucket);
            time_ns > HISTOGRAM_MAX_NS || bucket == Some(buckets.index_of(time_ns))
        };
        let counted = counts.iter().map(|(_, count)| u128::from(count.as_u64()));
        counted.sum::<u128>() == samples
            && min_ns <= max_ns
            && (samples > 0 || max_ns == 0)
            && sums.contains(&self.sum_ns)
            && (samples == 0 || is_in(counts.first(), min_ns) && is_in(counts.last(), max_ns))
            && (0.0..=f64::MAX).contains(&self.squares_ns2)
    }
}

/// The times of another machine, decoded and checked. Only buckets that are not empty take memory, and time when they are
/// added.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SparseTimes<C> {
    pub(super) samples: u64,
    pub(super) sum_ns: u128,
    squares_ns2: f64,
    min_ns: u64,
    max_ns: u64,
    /// Index and count of each bucket, ascending.
    buckets: Vec<(u32, C)>,
    all_buckets: Buckets,
}

impl<C: Counter> SparseTimes<C> {
    pub(super) fn add_to(&self, sum: &mut Distribution<C>) {
        sum.add_summary(
            self.samples,
            self.sum_ns,
            self.squares_ns2,
            self.min_ns..=self.max_ns,
        );
        for (bucket, count) in &self.buckets {
            let start_ns = self.all_buckets.start_ns(*bucket);
            sum.histogram.saturating_record_n(start_ns, *count);
        }
    }
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
