//! Verifies that a page is unchanged.
//!
//! In: the text of a file. Out: the documents of the page, or an error. Must never: trust a hash in the
//! file without computing it.
//!
//! Hashes detect accidental and partial changes. They are not a signature: somebody can change a document,
//! compute its hash and generate a new page.

use super::about;
use super::document::Document;
use super::embedded::{Content, EmbeddedError, EmbeddedText};
use super::escape::Escaped;
use super::prices::PagePrices;
use super::{
    FORMAT, GENERATOR_START, PAGE_END, PAGE_START, PageForm, generate_page, generator_text,
};
use crate::text::{cut, plain};
use prony_store::Build;

#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedPage {
    pub documents: Vec<Document>,
    /// The version and the commit of the build that generated the page; `None` if the build that verifies it
    /// did. Only the documents were checked if another build generated the page.
    pub generated_by_other_build: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The file does not start with the first line of a page.
    #[error(
        "this is not a report with a checksum, as `prony report` writes (`prony trend` does not)"
    )]
    NotAReport,
    /// A later version of Prony generated the page.
    #[error(
        "this report has a newer format ({0}; this Prony reads up to {FORMAT}): verify it with the Prony that wrote it"
    )]
    NewerFormat(String),
    /// The end of the page is missing.
    #[error("this report is cut off: its end is missing")]
    CutOff,
    /// The page contains no document.
    #[error("this report contains no document")]
    NoDocument,
    /// A document does not match the hash in the page.
    #[error("document {number} was changed: {reason}")]
    DocumentChanged {
        /// The number of the document, from 1.
        number: usize,
        reason: String,
    },
    /// A document cannot be read.
    #[error("document {number} is not a run of Prony: {reason}")]
    DocumentUnreadable {
        /// The number of the document, from 1.
        number: usize,
        reason: String,
    },
    /// The price sheets do not match the hash in the page, or cannot be read.
    #[error("the price sheets in the page were changed: {0}")]
    PricesChanged(String),
    /// The documents are unchanged, but the page around them is not.
    #[error(
        "the page was changed: its documents are unchanged, but line {line} differs from what Prony \
         generates from them"
    )]
    PageChanged {
        /// The first line that differs, from 1.
        line: usize,
    },
}

impl VerifyError {
    /// Whether a report was changed, as opposed to the file not being a report.
    pub fn is_changed(&self) -> bool {
        matches!(
            self,
            VerifyError::DocumentChanged { .. }
                | VerifyError::PricesChanged(_)
                | VerifyError::PageChanged { .. }
                | VerifyError::CutOff
        )
    }
}

/// Verifies the hashes of a page's documents. If `build`, the running one, generated the page, generates it
/// again and compares.
///
/// # Errors
/// If the text is not a report, or was changed.
pub fn verify(text: &str, build: &Build) -> Result<VerifiedPage, VerifyError> {
    let format = text
        .strip_prefix(PAGE_START)
        .ok_or(VerifyError::NotAReport)?;
    let format = format.split('"').next().unwrap_or_default();
    match format.parse::<u32>() {
        Ok(format) if format <= FORMAT => {}
        Ok(newer) => return Err(VerifyError::NewerFormat(newer.to_string())),
        Err(_) => return Err(VerifyError::NotAReport),
    }
    if !text.ends_with(PAGE_END) {
        return Err(VerifyError::CutOff);
    }
    let mut documents = read_documents(text)?;
    about::read(text, &mut documents);
    if documents.is_empty() {
        return Err(VerifyError::NoDocument);
    }
    let page_prices = read_prices(text, &documents)?;
    let after = text
        .split_once(GENERATOR_START)
        .map_or("", |(_, after)| after);
    let generator = after.split('"').next().unwrap_or_default();
    let is_by_this_build = generator == Escaped(&generator_text(build)).to_string();
    if is_by_this_build {
        let form = PageForm::of_page(text);
        let regenerated = generate_page(&documents, page_prices.as_ref(), form, build);
        let regenerated = regenerated.unwrap_or_default();
        if regenerated != text {
            let lines = regenerated.lines().zip(text.lines());
            return Err(VerifyError::PageChanged {
                line: lines.take_while(|(a, b)| a == b).count() + 1,
            });
        }
    }
    Ok(VerifiedPage {
        documents,
        generated_by_other_build: (!is_by_this_build).then(|| cut(&plain(generator), 80)),
    })
}

fn read_documents(text: &str) -> Result<Vec<Document>, VerifyError> {
    let texts = EmbeddedText::read_all(text, Content::Run).zip(1..);
    let documents = texts.map(|(json, number)| {
        let json = json.map_err(|error| match error {
            EmbeddedError::CutOff => VerifyError::CutOff,
            EmbeddedError::Changed(reason) => VerifyError::DocumentChanged { number, reason },
        })?;
        Document::parse(json).map_err(|error| VerifyError::DocumentUnreadable {
            number,
            reason: plain(&error.to_string()),
        })
    });
    documents.collect()
}

fn read_prices(text: &str, documents: &[Document]) -> Result<Option<PagePrices>, VerifyError> {
    let json = EmbeddedText::read_all(text, Content::Prices).next();
    let json = json.transpose().map_err(|error| match error {
        EmbeddedError::CutOff => VerifyError::CutOff,
        EmbeddedError::Changed(reason) => VerifyError::PricesChanged(reason),
    })?;
    let prices = json.map(|json| PagePrices::parse(json, documents));
    prices
        .transpose()
        .map_err(|error| VerifyError::PricesChanged(error.to_string()))
}
