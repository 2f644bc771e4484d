//! Histograms as text: HdrHistogram V2, uncompressed, base64. A sequence of empty buckets takes a few bytes.
//!
//! The text may come from a foreign file or another machine: decoding never panics, and never allocates more
//! memory than the text has or a histogram of [`crate::Distribution`] needs.

use crate::distribution::{HISTOGRAM_MAX_NS, SIGNIFICANT_DIGITS};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};
use prony_document::take_leb128;

/// First bytes of an uncompressed histogram (HdrHistogram's `V2_COOKIE`).
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
/// Length of the header: cookie, length of the payload, normalizing offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;
/// More continuation bytes than any count has. hdrhistogram would decode them to `i64::MIN` and negate that,
/// which overflows.
const OVERLONG_COUNT: [u8; 9] = [0xff; 9];

/// The text of a histogram; empty if it has no samples.
pub fn encode_histogram<C: Counter>(histogram: &Histogram<C>) -> String {
    if histogram.is_empty() {
        return String::new();
    }
    let mut bytes = Vec::new();
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Only a count above i64::MAX in one bucket cannot be written.
        Err(_) => String::new(),
    }
}

/// Decodes a text of [`encode_histogram`].
///
/// # Errors
/// If the text is not such a histogram, or needs more memory than those of [`crate::Distribution`].
pub fn decode_histogram<C: Counter>(text: &str) -> Result<Histogram<C>, String> {
    let bytes = decode_base64(text)?;
    let mut windows = check_header(&bytes)?.payload.windows(OVERLONG_COUNT.len());
    if windows.any(|window| window == OVERLONG_COUNT) {
        return Err("a histogram has a count that is too long".to_owned());
    }
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| format!("a histogram cannot be read: {error}"))
}

/// The buckets of a text of [`encode_histogram`] that are not empty, ascending, with their counts.
///
/// # Errors
/// If the text is not such a histogram, has other buckets than a [`crate::Distribution`] with this number of digits, or a
/// count that is too large for `C`.
pub(crate) fn decode_buckets<C: Counter>(text: &str, digits: u8) -> Result<Vec<(u32, C)>, String> {
    let bytes = decode_base64(text)?;
    let header = check_header(&bytes)?;
    if (header.digits, header.lowest, header.highest) != (digits.into(), 1, HISTOGRAM_MAX_NS) {
        return Err("the buckets of a histogram differ from the run's".to_owned());
    }
    Ok(header.counts(Buckets::with_digits(digits))?)
}

/// The counts of a text of [`encode_histogram`], as [`decode_buckets`], and the buckets that it has.
///
/// # Errors
/// If the text is not such a histogram, or its buckets begin elsewhere than at 1 ns.
pub(crate) fn decode_counts(text: &str) -> Result<(Buckets, Vec<(u32, u64)>), String> {
    let bytes = decode_base64(text)?;
    let header = check_header(&bytes)?;
    if header.lowest != 1 {
        return Err("the buckets of a histogram do not begin at 1 ns".to_owned());
    }
    let buckets = Buckets::with_digits(header.digits as u8);
    Ok((buckets, header.counts(buckets)?))
}

fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    STANDARD
        .decode(text)
        .map_err(|error| format!("a histogram is not base64: {error}"))
}

/// The buckets of a histogram from 1 ns to [`HISTOGRAM_MAX_NS`], as HdrHistogram numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buckets {
    /// Binary logarithm of the number of buckets per octave.
    octave_bits: u32,
}

impl Buckets {
    /// Two significant digits need a resolution of at least 1 in 100, that is 128 buckets per octave.
    pub const fn with_digits(digits: u8) -> Buckets {
        let octave_bits = 10_u32.pow(digits as u32).next_power_of_two().ilog2();
        Buckets { octave_bits }
    }

    /// The bucket of a time. Buckets of the first two octaves are 1 ns wide.
    pub const fn index_of(self, time_ns: u64) -> u32 {
        // The position of the highest bit above the first ones is the number of low bits that a bucket ignores.
        let first_bits = self.octave_bits + 1;
        let shift = u64::BITS - first_bits - (time_ns | ((1 << first_bits) - 1)).leading_zeros();
        (shift << self.octave_bits) + (time_ns >> shift) as u32
    }

    /// The shortest time of a bucket, nanoseconds.
    pub const fn start_ns(self, index: u32) -> u64 {
        let octave = 1 << self.octave_bits;
        match index / octave {
            0 => index as u64,
            number => ((index % octave + octave) as u64) << (number - 1),
        }
    }

    /// The number of buckets: all octaves up to that of [`HISTOGRAM_MAX_NS`].
    pub const fn count(self) -> u32 {
        self.index_of(HISTOGRAM_MAX_NS.next_power_of_two())
    }
}

/// Reads counts of buckets: a positive number is the count of the next bucket, a negative one skips that many empty
/// buckets, with the signs in ZigZag encoding.
pub(crate) struct CountReader {
    next: u64,
    end: u64,
}

impl CountReader {
    pub fn of(buckets: u32) -> CountReader {
        CountReader {
            next: 0,
            end: buckets.into(),
        }
    }

    /// Reads a number; returns bucket and count, if it is a count above 0.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<(u32, u64)>, &'static str> {
        let encoded = take_number(bytes)?;
        let value = (encoded >> 1) as i64 ^ -((encoded & 1) as i64);
        let Ok(count) = u64::try_from(value) else {
            self.next = self.next.saturating_add(value.unsigned_abs());
            return Ok(None);
        };
        if self.next >= self.end {
            return Err("a histogram has more buckets than Prony uses");
        }
        let bucket = self.next as u32;
        self.next += 1;
        Ok((count > 0).then_some((bucket, count)))
    }
}

/// The fields of a header that matter, and what follows it.
struct Header<'a> {
    /// Significant decimal digits.
    digits: u32,
    /// The lowest and the highest time that the histogram distinguishes, nanoseconds.
    lowest: u64,
    highest: u64,
    /// The counts.
    payload: &'a [u8],
}

impl Header<'_> {
    /// The counts above 0, by the number of their bucket.
    fn counts<C: Counter>(&self, buckets: Buckets) -> Result<Vec<(u32, C)>, &'static str> {
        let mut payload = self.payload;
        let mut reader = CountReader::of(buckets.count());
        let mut counts = Vec::new();
        while !payload.is_empty() {
            if let Some((bucket, read)) = reader.read(&mut payload)? {
                let count = C::from_u64(read).ok_or("a histogram has a count that is too large")?;
                counts.push((bucket, count));
            }
        }
        Ok(counts)
    }
}

/// Checks the fields that the deserializer trusts.
fn check_header(bytes: &[u8]) -> Result<Header<'_>, &'static str> {
    let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err("a histogram is too short");
    };
    let u32_at = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let u64_at = |at: usize| u64::from(u32_at(at)) << 32 | u64::from(u32_at(at + 4));
    // A compressed histogram could expand to any size.
    if header[..4] != COOKIE {
        return Err("a histogram is not in the format V2, uncompressed");
    }
    if u32_at(4) as usize > payload.len() {
        return Err("a histogram is shorter than its header says");
    }
    if u32_at(12) > u32::from(SIGNIFICANT_DIGITS) || u64_at(24) > HISTOGRAM_MAX_NS {
        return Err("a histogram has more buckets than Prony uses");
    }
    Ok(Header {
        digits: u32_at(12),
        lowest: u64_at(16),
        highest: u64_at(24),
        payload: &payload[..u32_at(4) as usize],
    })
}

/// Takes a number off the front of the bytes, in LEB128.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    take_leb128(bytes).ok_or(if bytes.is_empty() {
        "a histogram is cut off"
    } else {
        "a histogram has a count that is too long"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::V2DeflateSerializer;
    use prony_assertions::TextAssertions;

    #[test]
    fn a_histogram_survives_encoding() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).unwrap();
        for value in [1, 5, 80_000, 80_001, 3_000_000_000] {
            histogram.record_n(value, 7).unwrap();
        }
        let text = encode_histogram(&histogram);
        assert_eq!(decode_histogram::<u64>(&text).unwrap(), histogram);
        assert_eq!(decode_histogram::<u32>(&text).unwrap().len(), 35);
    }

    #[test]
    fn a_corrupted_text_never_panics() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).unwrap();
        (0..500).for_each(|value| histogram.record(value * 977).unwrap());
        let text = encode_histogram(&histogram);
        for end in 0..text.len() {
            assert!(
                decode_histogram::<u64>(&text[..end]).is_err(),
                "cut at {end}"
            );
        }
        let bytes = STANDARD.decode(&text).unwrap();
        for index in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[index] ^= flip;
                let _ = decode_histogram::<u32>(&STANDARD.encode(broken));
            }
        }
    }

    fn with_payload(payload: &[u8]) -> String {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).unwrap();
        histogram.record(1).unwrap();
        let mut bytes = STANDARD.decode(encode_histogram(&histogram)).unwrap();
        bytes.truncate(HEADER_BYTES);
        bytes[4..8].copy_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
        STANDARD.encode(bytes)
    }

    #[test]
    fn counts_and_buckets_that_no_histogram_has_are_errors() {
        // The payloads hold i64::MIN empty buckets, a number that never ends, i64::MAX samples, and a bucket
        // beyond the last one.
        let cases: [&[u8]; 4] = [
            &[0xff; 9],
            &[0xff; 40],
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            &[0xff, 0xff, 0xff, 0xff, 0x0f, 2],
        ];
        for payload in cases {
            let text = with_payload(payload);
            assert!(decode_histogram::<u32>(&text).is_err(), "{payload:x?}");
        }
        assert_eq!(
            decode_histogram::<u64>(&with_payload(&[1, 2]))
                .unwrap()
                .len(),
            1
        );
        // This payload holds 2^34 samples in one bucket, which has 32 bits.
        let large = with_payload(&[1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]);
        assert!(decode_histogram::<u64>(&large).is_ok());
        assert!(decode_histogram::<u32>(&large).is_err());
    }

    #[test]
    fn a_histogram_that_would_need_more_memory_is_refused() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, HISTOGRAM_MAX_NS, 3).unwrap();
        histogram.record(1).unwrap();
        let mut compressed = Vec::new();
        let serialized = V2DeflateSerializer::new().serialize(&histogram, &mut compressed);
        assert!(serialized.is_ok());
        let error = decode_histogram::<u64>(&STANDARD.encode(compressed)).unwrap_err();
        error.assert_contains("uncompressed");
        for (highest, digits) in [(u64::MAX, 3), (HISTOGRAM_MAX_NS, 5)] {
            let mut fine = Histogram::<u64>::new_with_bounds(1, highest, digits).unwrap();
            fine.record(1).unwrap();
            let error = decode_histogram::<u64>(&encode_histogram(&fine)).unwrap_err();
            error.assert_contains("more buckets");
        }
    }
}
