//! Histograms as text: HdrHistogram V2, uncompressed, base64. A sequence of empty buckets takes a few bytes.
//!
//! The text may come from a foreign file or another machine: decoding never panics, and never allocates more
//! memory than the text has or a histogram of [`crate::Distribution`] needs.

use crate::distribution::{HISTOGRAM_MAX_NS, SIGNIFICANT_DIGITS};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};

/// First bytes of an uncompressed histogram (HdrHistogram's `V2_COOKIE`).
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
/// Length of the header: cookie, length of the payload, normalizing offset, digits, lowest, highest, ratio.
pub(crate) const HEADER_BYTES: usize = 40;
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
    Deserializer::new()
        .deserialize(&mut decode_text(text)?.as_slice())
        .map_err(|error| format!("a histogram cannot be read: {error}"))
}

/// The header and the counts of a text of [`encode_histogram`], once they are checked.
pub(crate) fn decode_text(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = STANDARD
        .decode(text)
        .map_err(|error| format!("a histogram is not base64: {error}"))?;
    let length = check_header_and_counts(&bytes)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Checks the fields that the deserializer trusts. Returns the length of header and counts.
fn check_header_and_counts(bytes: &[u8]) -> Result<usize, &'static str> {
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
    let mut windows = payload.windows(OVERLONG_COUNT.len());
    if windows.any(|bytes| bytes == OVERLONG_COUNT) {
        return Err("a histogram has a count that is too long");
    }
    Ok(HEADER_BYTES + u32_at(4) as usize)
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
