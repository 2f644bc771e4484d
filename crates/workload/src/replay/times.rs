//! The recorded times of a statement: their number, mean and percentiles, in a few bytes.

use super::encoding::{Cursor, put_list, put_number};

/// Buckets per doubling of the time: a percentile is exact to 5 %.
const BUCKETS_PER_DOUBLING: f64 = 14.0;

/// The distribution of times in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoggedTimes {
    count: u64,
    sum_us: u64,
    /// Number of times by bucket.
    buckets: Vec<u64>,
}

fn bucket(time_us: u64) -> usize {
    ((time_us.max(1) as f64).log2() * BUCKETS_PER_DOUBLING).round() as usize
}

fn time_us(bucket: usize) -> f64 {
    (bucket as f64 / BUCKETS_PER_DOUBLING).exp2()
}

impl LoggedTimes {
    pub fn add(&mut self, time_us: u64) {
        let bucket = bucket(time_us);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(time_us);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Nanoseconds; `None` without a time.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_us as f64 * 1e3 / self.count as f64)
    }

    /// The time that this share of the times does not exceed, in nanoseconds.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0_u64;
        let bucket = self.buckets.iter().position(|count| {
            // A damaged file may have any numbers.
            seen = seen.saturating_add(*count);
            seen >= rank
        })?;
        Some(time_us(bucket) * 1e3)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        put_number(self.sum_us, out);
        put_list(&self.buckets, |count, out| put_number(*count, out), out);
    }

    pub fn read(cursor: &mut Cursor<'_>) -> Option<LoggedTimes> {
        let sum_us = cursor.number()?;
        let length = cursor.number()?;
        // A time of 2^64 µs has bucket 896.
        if length > 1000 {
            return None;
        }
        let buckets = (0..length)
            .map(|_| cursor.number())
            .collect::<Option<Vec<_>>>()?;
        Some(LoggedTimes {
            count: buckets
                .iter()
                .fold(0, |sum: u64, count| sum.saturating_add(*count)),
            sum_us,
            buckets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_close_and_survive_the_file() {
        let mut times = LoggedTimes::default();
        assert_eq!((times.mean_ns(), times.quantile_ns(0.5)), (None, None));
        for time_us in 1..=10_000 {
            times.add(time_us);
        }
        let mut bytes = Vec::new();
        times.write(&mut bytes);
        let times = LoggedTimes::read(&mut Cursor::new(&bytes)).expect("complete");
        assert_eq!(times.count(), 10_000);
        assert_eq!(times.mean_ns(), Some(5_000_500.0));
        for (share, expected_ns) in [(0.5, 5e6), (0.95, 9.5e6), (0.99, 9.9e6)] {
            let ratio = times.quantile_ns(share).expect("times") / expected_ns;
            assert!((ratio - 1.0).abs() < 0.05, "{share}: {ratio}");
        }
    }
}
