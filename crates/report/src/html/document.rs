//! A Run with its JSON text.
//!
//! In: a Run, or its JSON text. Out: both, with the hash of the text. Must never: contain a Run that differs
//! from the text, except in checks.

use super::reduced::{Limits, reduce};
use prony_store::{DocumentError, Run, parse_document};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io;

/// A document of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The Run parsed from the text; checks are added if it has none.
    pub run: Run,
    /// The JSON text, as the store writes it.
    pub json: String,
    /// SHA-256 of the text in hexadecimal, as printed by `sha256sum` for the stored document. If the document
    /// is reduced, `reduced_from` of the Run has the hash of the stored one.
    pub sha256: String,
}

impl Document {
    /// Creates the document of a run, reduced if the run is long for a page with `documents`.
    ///
    /// # Errors
    /// If a figure of the Run is not a number, which JSON cannot represent.
    pub fn from_run(run: &Run, documents: usize) -> io::Result<Document> {
        let mut json = serde_json::to_string(run)?;
        let limits = Limits::of_page_with(documents);
        if let Some(reduced) = reduce(run, &sha256(json.as_bytes()), limits) {
            json = serde_json::to_string(&reduced)?;
        }
        Document::parse(json).map_err(io::Error::other)
    }

    /// Parses a document from its JSON text.
    ///
    /// # Errors
    /// If the text is not a Run.
    pub fn parse(json: String) -> Result<Document, DocumentError> {
        let mut run = parse_document(json.as_bytes())?;
        // Checks are added only to the Run, not to the text.
        prony_judge::judge_if_unjudged(&mut run);
        let sha256 = sha256(json.as_bytes());
        Ok(Document { run, json, sha256 })
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a String never fails.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;

    #[test]
    fn the_hash_is_computed_from_the_text() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
        let run = closed();
        let document = Document::from_run(&run, 1).unwrap();
        assert_eq!(document.run, run);
        assert_eq!(document.sha256, sha256(document.json.as_bytes()));
        let mut broken = run;
        broken.measured.length_s = f64::NAN;
        assert!(Document::from_run(&broken, 1).is_err());
    }
}
