//! Whether a page is still what was written.
//!
//! In: the text of a file. Out: the documents of the page, or what is wrong. Must never: trust a hash
//! that stands in the file without computing it.
//!
//! Hashes find what was changed by accident or in parts. They are no signature: who changes a
//! document, its hash and the page that is drawn from both has made a new page.

use super::document::{Document, sha256};
use super::escape::unembedded;
use super::prices::Priced;
use super::{BEGIN, DOCUMENT, DOCUMENT_END, END, FORM, PRICES, page};

/// A page that is what was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Its documents.
    pub documents: Vec<Document>,
    /// Another version of Prony drew it, so that only the documents were compared.
    pub drawn_by: Option<String>,
}

/// Why a file is no page, or not the one that was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Something else.
    #[error("this is no report of Prony's: it does not begin as one")]
    NoReport,
    /// Of a later Prony.
    #[error(
        "this report is of a newer form ({0}; this Prony reads {FORM}): use that one to verify it"
    )]
    Newer(String),
    /// The end is missing.
    #[error("this report is cut off: its end is missing")]
    CutOff,
    /// No document is in it.
    #[error("this report holds no document")]
    Empty,
    /// A document is not what the hash was computed of.
    #[error("document {number} was changed: its SHA-256 is {found}, the page says {said}")]
    Changed {
        /// Which, from 1.
        number: usize,
        /// The hash that stands in the page.
        said: String,
        /// The hash of what is there.
        found: String,
    },
    /// A document is none.
    #[error("document {number} is no run of Prony: {reason}")]
    Unreadable {
        /// Which, from 1.
        number: usize,
        /// Why.
        reason: String,
    },
    /// What the prices follow from is not what the hash was computed of, or no such thing.
    #[error("the price sheets in the page were changed: {0}")]
    Prices(String),
    /// The documents are right and the page is not.
    #[error(
        "the page was changed: its documents are as they were written, but line {line} is not what is \
         drawn from them"
    )]
    Redrawn {
        /// The first line that differs, from 1.
        line: usize,
    },
}

impl VerifyError {
    /// Whether somebody or something changed a report, as against a file that is none.
    pub fn is_changed(&self) -> bool {
        matches!(
            self,
            VerifyError::Changed { .. }
                | VerifyError::Prices(_)
                | VerifyError::Redrawn { .. }
                | VerifyError::CutOff
        )
    }
}

/// Computes the hashes of a page's documents anew; if this version drew it, draws it anew too.
///
/// # Errors
/// If it is no report, or was changed.
pub fn verify(text: &str) -> Result<Verified, VerifyError> {
    let form = text.strip_prefix(BEGIN).ok_or(VerifyError::NoReport)?;
    let form = form.split('"').next().unwrap_or_default();
    match form.parse::<u32>() {
        Ok(form) if form <= FORM => {}
        Ok(newer) => return Err(VerifyError::Newer(newer.to_string())),
        Err(_) => return Err(VerifyError::NoReport),
    }
    if !text.ends_with(END) {
        return Err(VerifyError::CutOff);
    }
    let documents = documents(text)?;
    if documents.is_empty() {
        return Err(VerifyError::Empty);
    }
    let priced = priced(text, &documents)?;
    let ours = env!("CARGO_PKG_VERSION");
    let drawn_by =
        between(text, "<meta name=\"generator\" content=\"Prony ", "\"").unwrap_or_default();
    if drawn_by != ours {
        let drawn_by = Some(crate::text::cut(&crate::text::plain(drawn_by), 40));
        return Ok(Verified {
            documents,
            drawn_by,
        });
    }
    let drawn = page(&documents, priced.as_ref()).unwrap_or_default();
    if drawn != text {
        let same = drawn.lines().zip(text.lines()).take_while(|(a, b)| a == b);
        return Err(VerifyError::Redrawn {
            line: same.count() + 1,
        });
    }
    let drawn_by = None;
    Ok(Verified {
        documents,
        drawn_by,
    })
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    text.split_once(begin)?
        .1
        .split_once(end)
        .map(|(found, _)| found)
}

fn documents(text: &str) -> Result<Vec<Document>, VerifyError> {
    let each = text.split(DOCUMENT).skip(1).enumerate();
    each.map(|(place, rest)| one(place + 1, rest)).collect()
}

/// The prices of a page that has some.
fn priced(text: &str, documents: &[Document]) -> Result<Option<Priced>, VerifyError> {
    let Some((_, rest)) = text.split_once(PRICES) else {
        return Ok(None);
    };
    let (said, rest) = rest.split_once("\">").ok_or(VerifyError::CutOff)?;
    let (json, _) = rest.split_once(DOCUMENT_END).ok_or(VerifyError::CutOff)?;
    let json = unembedded(json);
    let found = sha256(json.as_bytes());
    if found != said {
        let said = crate::text::cut(&crate::text::plain(said), 64);
        let what = format!("their SHA-256 is {found}, the page says {said}");
        return Err(VerifyError::Prices(what));
    }
    let read = Priced::read(json, documents);
    read.map(Some)
        .map_err(|error| VerifyError::Prices(error.to_string()))
}

fn one(number: usize, rest: &str) -> Result<Document, VerifyError> {
    let (said, rest) = rest.split_once("\">").ok_or(VerifyError::CutOff)?;
    let (json, _) = rest.split_once(DOCUMENT_END).ok_or(VerifyError::CutOff)?;
    let json = unembedded(json);
    let found = sha256(json.as_bytes());
    if found != said {
        let said = crate::text::cut(&crate::text::plain(said), 64);
        return Err(VerifyError::Changed {
            number,
            said,
            found,
        });
    }
    Document::read(json).map_err(|error| VerifyError::Unreadable {
        number,
        reason: crate::text::plain(&error.to_string()),
    })
}
