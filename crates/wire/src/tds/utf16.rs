//! Converts text to and from UTF-16 and code page 1252, the encodings of `nvarchar` and `varchar`.
//!
//! In: UTF-8, or bytes of a server. Out: the converted text, appended. Must never: fail on hostile bytes;
//! characters that cannot be converted are replaced.

use crate::server_error::MAX_FIELD_BYTES;

/// The characters of code page 1252 from 0x80 to 0x9f; 0: not assigned.
const CP1252_HIGH: [u16; 32] = [
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039,
    0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc,
    0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];

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

/// Converts text to code page 1252 and appends it; characters that the code page lacks become `?`.
pub(crate) fn put_cp1252(text: &str, out: &mut Vec<u8>) {
    out.extend(text.chars().map(|character| {
        match u32::from(character) {
            code @ (0..0x80 | 0xa0..0x100) => code as u8,
            code => (CP1252_HIGH
                .iter()
                .position(|assigned| u32::from(*assigned) == code))
            .map_or(b'?', |index| 0x80 + index as u8),
        }
    }));
}

/// Converts code page 1252, given in pieces, to UTF-8 and appends it.
pub(crate) fn put_utf8_from_cp1252<'a>(pieces: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    for byte in pieces.flatten() {
        let character = match byte {
            0x80..0xa0 => match CP1252_HIGH[usize::from(byte - 0x80)] {
                0 => char::REPLACEMENT_CHARACTER,
                code => char::from_u32(code.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
            },
            byte => char::from(*byte),
        };
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
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

    #[test]
    fn code_page_1252_round_trips() {
        let mut bytes = Vec::new();
        put_cp1252("a€éŸ中", &mut bytes);
        assert_eq!(bytes, b"a\x80\xe9\x9f?");
        let mut utf8 = Vec::new();
        put_utf8_from_cp1252([&bytes[..4]].into_iter(), &mut utf8);
        assert_eq!(utf8, "a€éŸ".as_bytes());
    }
}
