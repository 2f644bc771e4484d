//! Converts text to and from UTF-16, the encoding of `nvarchar`.
//!
//! In: UTF-8, or bytes of a server. Out: the converted text, appended. Must never: fail on hostile bytes;
//! characters that cannot be converted are replaced.

use crate::server_error::MAX_FIELD_BYTES;

/// Converts text to UTF-16 and appends it.
pub(crate) fn put_utf16(text: &str, out: &mut Vec<u8>) {
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

/// Converts UTF-8 bytes to UTF-16 and appends them; invalid sequences become U+FFFD.
pub(crate) fn put_utf16_lossy(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        put_utf16(chunk.valid(), out);
        if !chunk.invalid().is_empty() {
            put_utf16("\u{fffd}", out);
        }
    }
}

/// Decodes UTF-16; unpaired surrogates become U+FFFD.
fn decode_chars(utf16: impl Iterator<Item = [u8; 2]>) -> impl Iterator<Item = char> {
    char::decode_utf16(utf16.map(u16::from_le_bytes))
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Converts UTF-16, given in pieces, to UTF-8 and appends it. An odd byte at the end is dropped.
pub(crate) fn put_utf8_from_utf16<'a>(pieces: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mut low_byte = None;
    let units = pieces.flatten().filter_map(|byte| match low_byte.take() {
        Some(low) => Some([low, *byte]),
        None => {
            low_byte = Some(*byte);
            None
        }
    });
    for character in decode_chars(units) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// UTF-16 as text for display, truncated to [`MAX_FIELD_BYTES`]. Allocates once.
pub(crate) fn display_text(utf16: &[u8]) -> String {
    let mut text = String::with_capacity((utf16.len() / 2 * 3).min(MAX_FIELD_BYTES));
    for character in decode_chars(utf16.as_chunks().0.iter().copied()) {
        if text.len() + character.len_utf8() > MAX_FIELD_BYTES {
            break;
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_round_trips_at_every_split() {
        let original = "a€ß😀";
        let mut utf16 = Vec::new();
        put_utf16(original, &mut utf16);
        assert_eq!(display_text(&utf16), original);
        for cut in 0..=utf16.len() {
            let (first, second) = utf16.split_at(cut);
            let mut utf8 = Vec::new();
            put_utf8_from_utf16([first, second].into_iter(), &mut utf8);
            assert_eq!(utf8, original.as_bytes());
        }
        assert_eq!(display_text(&[0, 0xd8]), "\u{fffd}");
        let mut lossy = Vec::new();
        put_utf16_lossy(b"a\xff", &mut lossy);
        assert_eq!(display_text(&lossy), "a\u{fffd}");
    }
}
