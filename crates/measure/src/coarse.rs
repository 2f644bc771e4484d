//! Histograms of two significant digits, and their text for a series of intervals.
//!
//! A run stores the distribution of each second. At two digits, and compressed together, the histograms of
//! an hour take a few megabytes.
//!
//! The text is base64 of a zlib stream. Uncompressed, each histogram is the number of values that follow, then
//! the values, all as LEB128: a positive value is the count of the next bucket, a negative one skips that
//! many empty buckets, with the signs in ZigZag encoding. These are the counts of HdrHistogram's V2 encoding for two digits
//! and a lowest value of 1. The text may come from a foreign file: decoding never panics, and never
//! allocates more than [`MAX_SERIES_BYTES`].

use crate::distribution::{COARSE_DIGITS, Distribution, HISTOGRAM_MAX_NS, samples_needed};
use crate::histogram::{Buckets, CountReader, take_number};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use hdrhistogram::Counter;
use prony_document::append_leb128;
use std::io::{Read, Write};

const BUCKETS: Buckets = Buckets::with_digits(COARSE_DIGITS);
/// Maximum size of an uncompressed series, bytes. An hour of seconds takes 1 to 3 MB.
pub const MAX_SERIES_BYTES: usize = 1 << 26;
/// Compression level. The highest levels take several times as long and save 2 %.
const COMPRESSION_LEVEL: u32 = 6;

/// The bucket of a time. Buckets below 256 ns are 1 ns wide.
pub fn bucket_of(time_ns: u64) -> u32 {
    BUCKETS.index_of(time_ns.min(HISTOGRAM_MAX_NS))
}

/// The shortest and the longest time of a bucket, nanoseconds.
pub fn bucket_bounds_ns(bucket: u32) -> (u64, u64) {
    let bucket = bucket.min(LAST_BUCKET);
    (BUCKETS.start_ns(bucket), BUCKETS.start_ns(bucket + 1) - 1)
}

const LAST_BUCKET: u32 = BUCKETS.index_of(HISTOGRAM_MAX_NS);

/// A histogram of times with two significant digits. It takes memory only for buckets that are not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoarseHistogram {
    /// Bucket and count, in the order of the buckets; no count is 0.
    counts: Vec<(u32, u64)>,
}

impl CoarseHistogram {
    /// The histogram of a distribution.
    pub fn of<C: Counter>(times: &Distribution<C>) -> CoarseHistogram {
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for step in times.histogram.iter_recorded() {
            let bucket = bucket_of(step.value_iterated_to());
            let count = step.count_at_value().as_u64();
            match counts.last_mut() {
                Some((last, sum)) if *last == bucket => *sum = sum.saturating_add(count),
                _ => counts.push((bucket, count)),
            }
        }
        CoarseHistogram { counts }
    }

    pub fn add(&mut self, other: &CoarseHistogram) {
        let mut others = other.counts.iter().copied().peekable();
        for (bucket, count) in std::mem::take(&mut self.counts) {
            while let Some(before) = others.next_if(|(other, _)| *other < bucket) {
                self.counts.push(before);
            }
            let added = others.next_if(|(other, _)| *other == bucket);
            let sum = count.saturating_add(added.map_or(0, |(_, other)| other));
            self.counts.push((bucket, sum));
        }
        self.counts.extend(others);
    }

    pub fn samples(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// The buckets that are not empty, ascending: shortest time, longest time (nanoseconds), and count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.counts.iter().map(|(bucket, count)| {
            let (low_ns, high_ns) = bucket_bounds_ns(*bucket);
            (low_ns, high_ns, *count)
        })
    }

    /// The mean time, nanoseconds, as if each sample were in the middle of its bucket: at most 0.4 % off.
    /// `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        let (mut sum_ns, mut samples) = (0.0, 0.0);
        for (low_ns, high_ns, count) in self.buckets() {
            let middle_ns = (low_ns + high_ns) as f64 / 2.0;
            sum_ns += middle_ns * count as f64;
            samples += count as f64;
        }
        (samples > 0.0).then(|| sum_ns / samples)
    }

    /// The time in nanoseconds that a share `quantile` (0 to 1) of the samples does not exceed, exact to two
    /// digits. `None` with fewer than `10 / (1 - quantile)` samples.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let samples = self.samples();
        if samples < samples_needed(quantile) {
            return None;
        }
        let rank = ((quantile * samples as f64).ceil() as u64).clamp(1, samples);
        let mut counted = 0_u64;
        for (_, high_ns, count) in self.buckets() {
            counted = counted.saturating_add(count);
            if counted >= rank {
                return Some(high_ns);
            }
        }
        None
    }

    /// Appends the histogram to the bytes of a series, not compressed.
    pub fn append_to(&self, series: &mut Vec<u8>) {
        let mut values = Vec::with_capacity(self.counts.len() + 8);
        let mut next_bucket = 0;
        for (bucket, count) in &self.counts {
            if *bucket > next_bucket {
                values.push(-i64::from(bucket - next_bucket));
            }
            values.push(i64::try_from(*count).unwrap_or(i64::MAX));
            next_bucket = bucket + 1;
        }
        append_leb128(values.len() as u64, series);
        for value in values {
            append_leb128(((value << 1) ^ (value >> 63)) as u64, series);
        }
    }

    /// Reads the first histogram of the bytes of a series, and moves `series` behind it.
    pub fn take_from(series: &mut &[u8]) -> Result<CoarseHistogram, &'static str> {
        let value_count = take_number(series)?;
        let mut counts = Vec::new();
        let mut reader = CountReader::of(LAST_BUCKET + 1);
        for _ in 0..value_count {
            counts.extend(reader.read(series)?);
        }
        Ok(CoarseHistogram { counts })
    }
}

/// The text of a series of histograms, from the bytes of [`CoarseHistogram::append_to`].
pub fn encode_series(series: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(COMPRESSION_LEVEL));
    // Writing to memory does not fail.
    let written = encoder.write_all(series).and_then(|()| encoder.finish());
    written.map_or(String::new(), |bytes| STANDARD.encode(bytes))
}

/// The bytes of a series, to be read with [`CoarseHistogram::take_from`].
///
/// # Errors
/// If the text is not one of [`encode_series`], or longer than [`MAX_SERIES_BYTES`].
pub fn decode_series(text: &str) -> Result<Vec<u8>, String> {
    decode_limited(text, MAX_SERIES_BYTES)
}

fn decode_limited(text: &str, max_bytes: usize) -> Result<Vec<u8>, String> {
    let compressed = STANDARD
        .decode(text)
        .map_err(|error| format!("a series of histograms is not base64: {error}"))?;
    let mut series = Vec::new();
    ZlibDecoder::new(compressed.as_slice())
        .take(max_bytes as u64 + 1)
        .read_to_end(&mut series)
        .map_err(|error| format!("a series of histograms cannot be read: {error}"))?;
    if series.len() > max_bytes {
        return Err("a series of histograms is too long".to_owned());
    }
    Ok(series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use proptest::prelude::*;

    fn histogram(times_ns: &[u64]) -> CoarseHistogram {
        let mut times = Distribution::<u32>::default();
        times_ns.iter().for_each(|time_ns| times.record(*time_ns));
        CoarseHistogram::of(&times)
    }

    #[test]
    fn buckets_are_those_of_hdrhistogram_with_two_digits() {
        let coarse = Distribution::<u32>::coarse().histogram;
        for time_ns in (0..42).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, 5 << bit, 3 << bit]) {
            let time_ns = time_ns.min(HISTOGRAM_MAX_NS);
            let (low_ns, high_ns) = bucket_bounds_ns(bucket_of(time_ns));
            let bounds_ns = (
                coarse.lowest_equivalent(time_ns),
                coarse.highest_equivalent(time_ns),
            );
            assert_eq!((low_ns, high_ns), bounds_ns, "{time_ns}");
        }
        assert_eq!(bucket_of(HISTOGRAM_MAX_NS), LAST_BUCKET);
        assert_eq!(bucket_of(u64::MAX), LAST_BUCKET);
    }

    #[test]
    fn a_percentile_needs_enough_samples() {
        let times_ns: Vec<u64> = (1..=999).map(|n| n * 1_000).collect();
        let short = histogram(&times_ns);
        assert_eq!(short.quantile_ns(0.99), None);
        assert_eq!((short.samples(), histogram(&[]).mean_ns()), (999, None));
        let median_ns = short.quantile_ns(0.5).unwrap() as f64;
        assert!((median_ns / 500_000.0 - 1.0).abs() < 0.01, "{median_ns}");
        let mean_ns = short.mean_ns().unwrap();
        assert!((mean_ns / 500_000.0 - 1.0).abs() < 0.004, "{mean_ns}");
    }

    #[test]
    fn a_corrupted_series_is_an_error_and_never_panics() {
        let mut series = Vec::new();
        histogram(&[70_000, 70_001, 3_000_000]).append_to(&mut series);
        for end in 0..series.len() {
            assert!(CoarseHistogram::take_from(&mut &series[..end]).is_err());
        }
        for index in 0..series.len() {
            for flip in [0x01, 0x40, 0x80, 0xff] {
                let mut broken = series.clone();
                broken[index] ^= flip;
                let _ = CoarseHistogram::take_from(&mut broken.as_slice());
            }
        }
        let beyond_last = [2, 0xff, 0xff, 0xff, 0xff, 0x0f, 2];
        assert!(CoarseHistogram::take_from(&mut &beyond_last[..]).is_err());
        assert!(CoarseHistogram::take_from(&mut &[0xff; 12][..]).is_err());
        let text = encode_series(&series);
        assert_eq!(decode_series(&text).unwrap(), series);
        for end in (0..text.len()).step_by(4) {
            assert!(decode_series(&text[..end]).is_err(), "cut at {end}");
        }
        // A short text may expand to any length.
        let bomb = encode_series(&[0; 100_001]);
        assert!(bomb.len() < 1_000);
        decode_limited(&bomb, 100_000)
            .unwrap_err()
            .assert_contains("too long");
        assert!(decode_limited(&bomb, 100_001).is_ok());
    }

    proptest! {
        #[test]
        fn a_series_survives_encoding_and_sums_are_exact(
            intervals in proptest::collection::vec(
                proptest::collection::vec(0u64..10_000_000_000, 0..200), 1..6)
        ) {
            let mut series = Vec::new();
            let histograms: Vec<_> = intervals.iter().map(|times_ns| histogram(times_ns)).collect();
            histograms.iter().for_each(|histogram| histogram.append_to(&mut series));
            let bytes = decode_series(&encode_series(&series)).unwrap();
            let mut rest = bytes.as_slice();
            let mut sum = CoarseHistogram::default();
            for histogram in &histograms {
                let read = CoarseHistogram::take_from(&mut rest).unwrap();
                prop_assert_eq!(&read, histogram);
                sum.add(&read);
            }
            prop_assert!(rest.is_empty());
            prop_assert_eq!(sum, histogram(&intervals.concat()));
        }
    }
}
