//! sysbench's histogram of latency.
//!
//! In: times and counts. Out: percentiles and bars. Must never: interpolate: a percentile is the value of a
//! bucket, so that figures equal sysbench's to the last digit.
//!
//! The histogram has 1,024 buckets of equal logarithmic width, from 0.001 ms to 100,000 ms. A time is counted
//! in the nearest bucket; a time outside of the range is counted in the first or last bucket.

use prony_measure::Distribution;

const BUCKETS: usize = 1_024;
/// The value of the first bucket, in ms.
const LOWEST_MS: f64 = 0.001;
/// The value of the last bucket, in ms.
const HIGHEST_MS: f64 = 100_000.0;
/// The number of stars in the longest bar.
const MAX_STARS: f64 = 40.0;

/// The number of buckets in which times grow by the factor e.
fn density() -> f64 {
    (BUCKETS - 1) as f64 / (HIGHEST_MS.ln() - LOWEST_MS.ln())
}

pub fn bucket_value_ms(bucket: usize) -> f64 {
    (bucket as f64 / density() + LOWEST_MS.ln()).exp()
}

fn bucket_of_ms(time_ms: f64) -> usize {
    if time_ms.is_nan() || time_ms <= LOWEST_MS {
        return 0;
    }
    let position = (time_ms.ln() - LOWEST_MS.ln()) * density();
    // Casts saturate: infinity is the last bucket.
    ((position + 0.5).floor() as usize).min(BUCKETS - 1)
}

/// Counts of latencies by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: Box::new([0; BUCKETS]),
        }
    }
}

impl Histogram {
    /// Converts a distribution. A time near the border of two buckets may be counted in the wrong one,
    /// because the distribution has different borders, although it has 18 times the number of buckets.
    pub fn from_distribution(times: &Distribution<u64>) -> Self {
        let mut histogram = Self::default();
        for recorded in times.histogram.iter_recorded() {
            let time_ns = times
                .histogram
                .median_equivalent(recorded.value_iterated_to());
            histogram.add(time_ns as f64 / 1e6, recorded.count_at_value());
        }
        histogram
    }

    /// Counts `count` equal times.
    pub fn add(&mut self, time_ms: f64, count: u64) {
        let bucket_count = &mut self.counts[bucket_of_ms(time_ms)];
        *bucket_count = bucket_count.saturating_add(count);
    }

    /// The number of times counted.
    pub fn total(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// A percentile in ms: the value of the bucket that contains the time of this rank. 0 if no time is
    /// counted or `percent` is 0.
    pub fn percentile_ms(&self, percent: u8) -> f64 {
        let total = self.total();
        if total == 0 || percent == 0 {
            return 0.0;
        }
        let rank = (total as f64 * f64::from(percent) / 100.0 + 0.5).floor() as u64;
        let mut cumulative: u64 = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            cumulative = cumulative.saturating_add(*count);
            if cumulative >= rank {
                return bucket_value_ms(bucket);
            }
        }
        HIGHEST_MS
    }

    /// The bars, below a header; empty if no time is counted.
    pub fn bars(&self) -> String {
        let longest = self.counts.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return String::new();
        }
        let mut text = "       value  ------------- distribution ------------- count\n".to_owned();
        for (bucket, count) in self.counts.iter().enumerate() {
            if *count > 0 {
                let stars = (*count as f64 / longest as f64 * MAX_STARS + 0.5).floor() as usize;
                let value_ms = bucket_value_ms(bucket);
                text += &format!("{value_ms:12.3} |{:40} {count}\n", "*".repeat(stars));
            }
        }
        text
    }

    /// The text of `--histogram`: a title, the bars, and a line with a blank after them.
    pub fn block(&self) -> String {
        let title = "Latency histogram (values are in milliseconds)\n";
        [title, &self.bars(), " \n"].concat()
    }
}
