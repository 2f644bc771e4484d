//! Texts that a page contains for programs: its documents, and the inputs of its prices.
//!
//! In: a text. Out: a script element with the text, compressed by gzip and in base64, and its SHA-256; and the reverse.
//! `page.js` reads the same elements in the browser. Must never: give back another text, or trust a hash without
//! computing it.

use crate::html::markup::{Html, Raw, writeln_markup};
use crate::text::{cut, plain};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use prony_store::hex;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{Read, Write};

/// The longest text that is read, bytes: that of the largest stored document.
const MAX_TEXT_BYTES: u64 = 1 << 30;
/// A longer text, that of a day, is compressed a little less: a good compression of a week takes a minute.
const LARGE_TEXT_BYTES: usize = 32 << 20;
/// RFC 1952: the header without a name, a comment, a time or other fields, in which a text could be hidden.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
const ELEMENT_END: &str = "</script>";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The document of a run.
    Run,
    /// The inputs of the prices.
    Prices,
}

impl Content {
    /// The start of an element; its hash follows.
    pub fn element_start(self) -> &'static str {
        match self {
            Content::Run => "<script type=\"application/gzip\" class=\"run\" data-sha256=\"",
            Content::Prices => "<script type=\"application/gzip\" class=\"prices\" data-sha256=\"",
        }
    }
}

/// A text, and the form in which a page has it.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedText {
    pub text: String,
    /// SHA-256 of the text in hexadecimal, as printed by `sha256sum` for the stored document.
    pub sha256: String,
    /// The compressed text in base64. Two machines may compress a text differently, so a page that is generated
    /// again has the form that was read.
    base64: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbeddedError {
    /// The end of the element is missing.
    CutOff,
    /// The text is not what the hash says; the reason.
    Changed(String),
}

impl EmbeddedText {
    pub fn new(text: String) -> EmbeddedText {
        let level = match text.len() {
            ..=LARGE_TEXT_BYTES => Compression::default(),
            _ => Compression::fast(),
        };
        let mut encoder = GzEncoder::new(Vec::new(), level);
        // Writing to memory does not fail.
        let written = encoder.write_all(text.as_bytes());
        let compressed = written.and_then(|()| encoder.finish()).unwrap_or_default();
        EmbeddedText {
            sha256: sha256(text.as_bytes()),
            text,
            base64: STANDARD.encode(compressed),
        }
    }

    pub fn write(&self, out: &mut Html, content: Content) -> fmt::Result {
        writeln_markup!(
            out,
            "{}{}\">{}{}",
            Raw(content.element_start()),
            self.sha256,
            self.base64,
            Raw(ELEMENT_END)
        )
    }

    pub fn read_all(
        page: &str,
        content: Content,
    ) -> impl Iterator<Item = Result<EmbeddedText, EmbeddedError>> {
        let elements = page.split(content.element_start()).skip(1);
        elements.map(EmbeddedText::read)
    }

    fn read(element: &str) -> Result<EmbeddedText, EmbeddedError> {
        let (stated_hash, content) = element.split_once("\">").ok_or(EmbeddedError::CutOff)?;
        let (base64, _) = content
            .split_once(ELEMENT_END)
            .ok_or(EmbeddedError::CutOff)?;
        let text = decompress(base64).map_err(EmbeddedError::Changed)?;
        let (sha256, stated_hash) = (sha256(text.as_bytes()), cut(&plain(stated_hash), 64));
        if sha256 != stated_hash {
            let reason =
                format!("the SHA-256 of the text is {sha256}, the page says {stated_hash}");
            return Err(EmbeddedError::Changed(reason));
        }
        Ok(EmbeddedText {
            text,
            sha256,
            base64: base64.to_owned(),
        })
    }
}

/// The text of an element. Fails if the element has more than that text.
fn decompress(base64: &str) -> Result<String, String> {
    let unreadable = |error: &dyn fmt::Display| format!("the text cannot be decompressed: {error}");
    let compressed = STANDARD
        .decode(base64)
        .map_err(|error| unreadable(&error))?;
    let mut decoder = GzDecoder::new(compressed.as_slice());
    let mut text = String::new();
    let mut limited = decoder.by_ref().take(MAX_TEXT_BYTES + 1);
    limited
        .read_to_string(&mut text)
        .map_err(|error| unreadable(&error))?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        Err("the text is longer than 1 GiB".to_owned())
    } else if compressed.starts_with(&GZIP_HEADER) && decoder.into_inner().is_empty() {
        Ok(text)
    } else {
        Err("there is data beside the text".to_owned())
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(text: &EmbeddedText) -> Html {
        let mut out = Html::default();
        text.write(&mut out, Content::Run).unwrap();
        out
    }

    fn read(page: &str) -> Result<EmbeddedText, EmbeddedError> {
        EmbeddedText::read_all(page, Content::Run).next().unwrap()
    }

    #[test]
    fn a_text_is_given_back_byte_for_byte() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(EmbeddedText::new("abc".to_owned()).sha256, abc);
        for text in [
            "",
            "</script><!--",
            "\u{e9}\u{202e}\0\r\n",
            &"long ".repeat(99_999),
        ] {
            let embedded = EmbeddedText::new(text.to_owned());
            let page = element(&embedded);
            assert_eq!(page.matches("</script").count(), 1);
            assert_eq!(read(&page).unwrap(), embedded);
        }
    }

    #[test]
    fn no_change_of_an_element_gives_another_text() {
        let embedded = EmbeddedText::new("a text of a page".repeat(9));
        let page = element(&embedded);
        assert_eq!(read(&page[..page.len() - 12]), Err(EmbeddedError::CutOff));
        let start = Content::Run.element_start().len() + 66;
        for position in start..page.len() - ELEMENT_END.len() - 1 {
            let mut changed = page.as_bytes().to_vec();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last bits of the stream have no meaning.
            if let Ok(text) = read(&changed) {
                assert_eq!(text.text, embedded.text, "{position}");
            }
        }
    }

    #[test]
    fn data_beside_the_text_is_refused() {
        let embedded = EmbeddedText::new("text".to_owned());
        let compressed = STANDARD.decode(&embedded.base64).unwrap();
        let with_more = [compressed.as_slice(), b"more"].concat();
        let with_name = flate2::GzBuilder::new().filename("hidden");
        let mut with_name = with_name.write(Vec::new(), Compression::default());
        with_name.write_all(b"text").unwrap();
        for bytes in [with_more, with_name.finish().unwrap()] {
            let changed = EmbeddedText {
                base64: STANDARD.encode(bytes),
                ..embedded.clone()
            };
            let reason = "there is data beside the text".to_owned();
            assert_eq!(
                read(&element(&changed)),
                Err(EmbeddedError::Changed(reason))
            );
        }
    }
}
