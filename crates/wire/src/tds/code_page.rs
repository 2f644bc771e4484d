//! Converts text to and from the code page of a collation, the encoding of `char` and `varchar`.
//!
//! In: UTF-8, or bytes of a server. Out: the converted text, appended. Must never: fail on hostile bytes; characters that
//! cannot be converted are replaced. Sources: MS-TDS 2.2.5.1.2; documentation of the collations' code pages. The code
//! pages 437 and 850, of a few old collations, are not supported: they are read as 1252.

use encoding_rs::{
    BIG5, CoderResult, EUC_KR, EncoderResult, Encoding, GBK, SHIFT_JIS, UTF_8, WINDOWS_874,
    WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255,
    WINDOWS_1256, WINDOWS_1257, WINDOWS_1258,
};

/// Whether `char` and `varchar` values of a collation are UTF-8 (flag fUTF8).
pub(super) fn is_utf8(collation: [u8; 5]) -> bool {
    collation[3] & 0x04 != 0
}

/// The encoding of a collation: that of its sort order, which only the collations have whose names begin with `SQL_`, or
/// else that of its locale.
fn encoding(collation: [u8; 5]) -> &'static Encoding {
    let locale = u16::from_le_bytes([collation[0], collation[1]]);
    match collation[4] {
        _ if is_utf8(collation) => UTF_8,
        0 => encoding_of_locale(locale),
        80..=98 => WINDOWS_1250,
        104..=108 => WINDOWS_1251,
        112..=124 => WINDOWS_1253,
        128..=130 => WINDOWS_1254,
        136..=138 => WINDOWS_1255,
        144..=146 => WINDOWS_1256,
        152..=160 => WINDOWS_1257,
        192 | 193 | 200 => SHIFT_JIS,
        194 | 195 | 201 => EUC_KR,
        196 | 197 | 202 => BIG5,
        198 | 199 | 203 => GBK,
        204..=206 => WINDOWS_874,
        _ => WINDOWS_1252,
    }
}

/// The encoding of a Windows locale: the low ten bits are the language, the others the country or the script.
fn encoding_of_locale(locale: u16) -> &'static Encoding {
    match (locale & 0x3ff, locale >> 10) {
        // Hong Kong, Macao and Taiwan write Chinese traditionally.
        (0x04, 0x01 | 0x03 | 0x05) => BIG5,
        (0x04, _) => GBK,
        (0x11, _) => SHIFT_JIS,
        (0x12, _) => EUC_KR,
        (0x1e, _) => WINDOWS_874,
        (0x2a, _) => WINDOWS_1258,
        // Azerbaijani and Uzbek in Latin script, Turkish.
        (0x2c | 0x43, 0x01) | (0x1f, _) => WINDOWS_1254,
        // Serbian and Bosnian in Cyrillic script; Azerbaijani and Uzbek.
        (0x1a, 0x03 | 0x07 | 0x08) | (0x2c | 0x43, _) => WINDOWS_1251,
        // Russian, Bulgarian, Ukrainian, Belarusian, Tajik, Macedonian, Kazakh, Kyrgyz, Tatar, Mongolian, Bashkir, Yakut.
        (0x19 | 0x02 | 0x22 | 0x23 | 0x28 | 0x2f | 0x3f | 0x40 | 0x44 | 0x50 | 0x6d | 0x85, _) => {
            WINDOWS_1251
        }
        // Czech, Hungarian, Polish, Romanian, Croatian, Slovak, Albanian, Slovenian, Turkmen.
        (0x05 | 0x0e | 0x15 | 0x18 | 0x1a | 0x1b | 0x1c | 0x24 | 0x42, _) => WINDOWS_1250,
        (0x08, _) => WINDOWS_1253,
        (0x0d, _) => WINDOWS_1255,
        // Arabic, Urdu, Persian, Uighur, Dari.
        (0x01 | 0x20 | 0x29 | 0x80 | 0x8c, _) => WINDOWS_1256,
        (0x25..=0x27, _) => WINDOWS_1257,
        _ => WINDOWS_1252,
    }
}

/// Passes the text in the encoding of a collation to `sink`, in pieces; characters that the encoding lacks become `?`.
pub(super) fn encode(mut text: &str, collation: [u8; 5], mut sink: impl FnMut(&[u8])) {
    if text.is_ascii() || is_utf8(collation) {
        return sink(text.as_bytes());
    }
    let mut encoder = encoding(collation).new_encoder();
    let mut buffer = [0; 256];
    loop {
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(text, &mut buffer, true);
        sink(&buffer[..written]);
        text = &text[read..];
        match result {
            EncoderResult::InputEmpty => return,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(_) => sink(b"?"),
        }
    }
}

/// Converts bytes in the encoding of a collation, given in pieces, to UTF-8 and appends it; invalid bytes become U+FFFD.
pub(super) fn decode<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    collation: [u8; 5],
    out: &mut Vec<u8>,
) {
    let mut decoder = encoding(collation).new_decoder_without_bom_handling();
    let mut buffer = [0; 256];
    // An empty last piece tells the decoder that the text ends.
    let last = [(&[][..], true)];
    for (mut piece, is_last) in pieces.map(|piece| (piece, false)).chain(last) {
        loop {
            let (result, read, written, _) = decoder.decode_to_utf8(piece, &mut buffer, is_last);
            out.extend_from_slice(&buffer[..written]);
            piece = &piece[read..];
            if result == CoderResult::InputEmpty {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The collations of a locale, and of a sort order.
    fn of_locale(locale: u16) -> [u8; 5] {
        let [low, high] = locale.to_le_bytes();
        [low, high, 0xd0, 0, 0]
    }

    #[test]
    fn each_code_page_round_trips_in_pieces() {
        for (collation, text, bytes) in [
            // Latin1_General, and SQL_Latin1_General_CP1_CI_AS, the default.
            (of_locale(0x0409), "a€éŸ", &b"a\x80\xe9\x9f"[..]),
            ([9, 4, 0xd0, 0, 52], "a€éŸ", b"a\x80\xe9\x9f"),
            // Cyrillic_General, and SQL_Latin1_General_CP1251_CI_AS, which has the locale of Latin.
            (of_locale(0x0419), "Щи", b"\xd9\xe8"),
            ([9, 4, 0xd0, 0, 106], "Щи", b"\xd9\xe8"),
            // Chinese_PRC, Chinese_Taiwan_Stroke, Japanese, Korean_Wansung.
            (of_locale(0x0804), "中a文", b"\xd6\xd0a\xce\xc4"),
            (of_locale(0x0404), "中文", b"\xa4\xa4\xa4\xe5"),
            (of_locale(0x0411), "ソb", b"\x83\x5cb"),
            (of_locale(0x0412), "한", b"\xc7\xd1"),
            // Polish, Greek, Turkish, Hebrew, Arabic, Lithuanian, Thai.
            (of_locale(0x0415), "ł", b"\xb3"),
            (of_locale(0x0408), "Ω", b"\xd9"),
            (of_locale(0x041f), "ğ", b"\xf0"),
            (of_locale(0x040d), "ש", b"\xf9"),
            (of_locale(0x0401), "ش", b"\xd4"),
            (of_locale(0x0427), "ž", b"\xfe"),
            (of_locale(0x041e), "ไ", b"\xe4"),
            // Serbian in both scripts.
            (of_locale(0x0c1a), "ж", b"\xe6"),
            (of_locale(0x081a), "ž", b"\x9e"),
            // UTF-8.
            ([9, 4, 0xd0, 0x04, 0], "中", "中".as_bytes()),
        ] {
            let mut encoded = Vec::new();
            encode(text, collation, |piece| encoded.extend_from_slice(piece));
            assert_eq!(encoded, bytes, "{text} {collation:x?}");
            for cut in 0..=bytes.len() {
                let mut decoded = Vec::new();
                let (first, second) = bytes.split_at(cut);
                decode([first, second].into_iter(), collation, &mut decoded);
                assert_eq!(decoded, text.as_bytes(), "{collation:x?}");
            }
        }
    }

    #[test]
    fn characters_that_a_code_page_lacks_are_replaced() {
        let mut encoded = Vec::new();
        let long = "中é".repeat(300);
        encode(&long, of_locale(0x0409), |piece| {
            encoded.extend_from_slice(piece)
        });
        assert_eq!(encoded, b"?\xe9".repeat(300));
        let mut decoded = Vec::new();
        decode([&b"a\xd6"[..]].into_iter(), of_locale(0x0804), &mut decoded);
        assert_eq!(decoded, "a\u{fffd}".as_bytes());
    }
}
