//! Histograms as text: HdrHistogram V2, uncompressed, base64.
//!
//! In: a histogram, or text that may come from a foreign file. Out: the other. Must never: panic,
//! or reserve memory because a text asks for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};

/// The text of a histogram; empty if it has no samples.
pub fn encode_histogram<C: Counter>(histogram: &Histogram<C>) -> String {
    if histogram.is_empty() {
        return String::new();
    }
    let mut bytes = Vec::new();
    match V2Serializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Only a count above i64::MAX in one cell cannot be written.
        Err(_) => String::new(),
    }
}

/// The histogram of a text of [`encode_histogram`].
///
/// # Errors
/// In words, if the text is not one.
pub fn decode_histogram<C: Counter>(text: &str) -> Result<Histogram<C>, String> {
    let bytes = STANDARD
        .decode(text)
        .map_err(|error| format!("a histogram is not base64: {error}"))?;
    // Cookie, then the length of the payload, then 32 bytes of header: the length is believed
    // only if the bytes are really there.
    let declared = match bytes.get(4..8) {
        Some(length) => u32::from_be_bytes([length[0], length[1], length[2], length[3]]),
        None => return Err("a histogram is too short".into()),
    };
    if declared as usize > bytes.len() {
        return Err("a histogram is shorter than it says".into());
    }
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| format!("a histogram cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for value in [1, 5, 80_000, 80_001, 3_000_000_000] {
            histogram.record_n(value, 7).unwrap();
        }
        let text = encode_histogram(&histogram);
        assert_eq!(decode_histogram::<u64>(&text).unwrap(), histogram);
        assert_eq!(decode_histogram::<u32>(&text).unwrap().len(), 35);
    }

    #[test]
    fn every_broken_text_is_an_error_or_a_histogram_but_never_a_panic() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        (0..500).for_each(|value| histogram.record(value * 977).unwrap());
        let text = encode_histogram(&histogram);
        for end in 0..text.len() {
            assert!(
                decode_histogram::<u64>(&text[..end]).is_err(),
                "cut at {end}"
            );
        }
        let bytes = STANDARD.decode(&text).unwrap();
        for place in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut broken = bytes.clone();
                broken[place] ^= flip;
                let _ = decode_histogram::<u32>(&STANDARD.encode(broken));
            }
        }
    }
}
