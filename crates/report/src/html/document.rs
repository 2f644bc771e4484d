//! A Run and its text.
//!
//! In: a Run, or the text of one. Out: both, with the hash of the text. Must never: draw from anything
//! but what the text says.

use prony_store::Run;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io;

/// A document of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What the text says; with checks, where nobody had judged the run when it was stored.
    pub run: Run,
    /// The text, as the store writes it.
    pub json: String,
    /// SHA-256 of the text, hexadecimal: what `sha256sum` says of a stored document of this form.
    pub sha256: String,
}

impl Document {
    /// The document of a run.
    ///
    /// # Errors
    /// If it holds a figure that is not a number: JSON has none.
    pub fn of(run: &Run) -> io::Result<Document> {
        Ok(Document::read(serde_json::to_string(run)?)?)
    }

    /// The document of a text.
    ///
    /// # Errors
    /// If the text is no Run.
    pub fn read(json: String) -> Result<Document, serde_json::Error> {
        let mut run = serde_json::from_str(&json)?;
        // The text stays as the store has it, and so does its hash.
        prony_judge::judge_unjudged(&mut run);
        let sha256 = sha256(json.as_bytes());
        Ok(Document { run, json, sha256 })
    }
}

/// The hash of bytes, hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // A String takes all that is written to it.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;

    #[test]
    fn the_hash_is_that_of_the_text() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
        let run = closed();
        let document = Document::of(&run).unwrap();
        assert_eq!(document.run, run);
        assert_eq!(document.sha256, sha256(document.json.as_bytes()));
        let mut broken = run;
        broken.measured.seconds = f64::NAN;
        assert!(Document::of(&broken).is_err());
    }
}
