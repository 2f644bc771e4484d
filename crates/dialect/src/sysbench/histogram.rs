//! sysbench's histogram of latency.
//!
//! In: times and counts. Out: percentiles and bars. Must never: interpolate: a percentile is the value
//! of a bucket, so that figures equal sysbench's own to the last digit.
//!
//! 1,024 buckets of equal width in the logarithm, from 0.001 ms to 100,000 ms; a time counts in the
//! nearest. Times outside count in the first and the last one.

use prony_measure::Distribution;

/// How many.
pub const BUCKETS: usize = 1_024;
/// Value of the first, ms.
const LOWEST_MS: f64 = 0.001;
/// Value of the last, ms.
const HIGHEST_MS: f64 = 100_000.0;
/// Stars of the longest bar.
const STARS: f64 = 40.0;

/// Buckets in a factor of e.
fn density() -> f64 {
    (BUCKETS - 1) as f64 / (HIGHEST_MS.ln() - LOWEST_MS.ln())
}

/// The value of a bucket, ms.
pub fn bucket_value_ms(bucket: usize) -> f64 {
    (bucket as f64 / density() + LOWEST_MS.ln()).exp()
}

/// The bucket of a time in ms.
pub fn bucket(time_ms: f64) -> usize {
    if time_ms.is_nan() || time_ms <= LOWEST_MS {
        return 0;
    }
    let place = (time_ms.ln() - LOWEST_MS.ln()) * density();
    // Casts saturate: infinity is the last bucket.
    ((place + 0.5).floor() as usize).min(BUCKETS - 1)
}

/// Counts of latency.
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
    /// Of counts by bucket.
    pub fn of_counts(counts: [u64; BUCKETS]) -> Self {
        Histogram {
            counts: Box::new(counts),
        }
    }

    /// Of a distribution, whose cells are 18 times finer than a bucket: a time near the border of two
    /// may count in the neighbour.
    pub fn of_distribution(times: &Distribution<u64>) -> Self {
        let mut histogram = Self::default();
        for cell in times.histogram.iter_recorded() {
            let time_ns = times.histogram.median_equivalent(cell.value_iterated_to());
            histogram.add(time_ns as f64 / 1e6, cell.count_at_value());
        }
        histogram
    }

    /// Counts a time in ms as often as given.
    pub fn add(&mut self, time_ms: f64, count: u64) {
        let place = &mut self.counts[bucket(time_ms)];
        *place = place.saturating_add(count);
    }

    /// Counts by bucket.
    pub fn counts(&self) -> &[u64; BUCKETS] {
        &self.counts
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count = count.saturating_add(*more);
        }
    }

    /// How many times there are.
    pub fn total(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// A percentile in ms: the value of the bucket that holds the time whose rank is nearest to this
    /// share; 0 if there are none, or `percent` is 0.
    pub fn percentile_ms(&self, percent: u8) -> f64 {
        let total = self.total();
        if total == 0 || percent == 0 {
            return 0.0;
        }
        let rank = (total as f64 * f64::from(percent) / 100.0 + 0.5).floor() as u64;
        let mut seen: u64 = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if seen >= rank {
                return bucket_value_ms(bucket);
            }
        }
        HIGHEST_MS
    }

    /// The bars, with the line above them; nothing if there are no times.
    pub fn bars(&self) -> String {
        let longest = self.counts.iter().copied().max().unwrap_or(0);
        if longest == 0 {
            return String::new();
        }
        let mut text = "       value  ------------- distribution ------------- count\n".to_owned();
        for (bucket, count) in self.counts.iter().enumerate() {
            if *count > 0 {
                let stars = (*count as f64 / longest as f64 * STARS + 0.5).floor() as usize;
                let value_ms = bucket_value_ms(bucket);
                text += &format!("{value_ms:12.3} |{:40} {count}\n", "*".repeat(stars));
            }
        }
        text
    }

    /// `--histogram`: the bars with a title, and a line with a blank behind.
    pub fn block(&self) -> String {
        let title = "Latency histogram (values are in milliseconds)\n";
        [title, &self.bars(), " \n"].concat()
    }
}
