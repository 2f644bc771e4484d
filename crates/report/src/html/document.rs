//! A Run with its JSON text, and the label and note that its store keeps beside it. Must never: contain a Run that differs
//! from the text, except in checks.

use super::embedded::EmbeddedText;
use prony_store::{Annotation, DocumentError, Run, parse_document};
use std::io;

#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The Run parsed from the text; checks are added if it has none.
    pub run: Run,
    /// The JSON text, as the store writes it.
    pub json: EmbeddedText,
    pub annotation: Annotation,
}

impl Document {
    /// # Errors
    /// If a figure of the Run is not a number, which JSON cannot represent.
    pub fn from_run(run: &Run) -> io::Result<Document> {
        let json = EmbeddedText::new(serde_json::to_string(run)?);
        Document::parse(json).map_err(io::Error::other)
    }

    pub fn parse(json: EmbeddedText) -> Result<Document, DocumentError> {
        let mut run = parse_document(json.text.as_bytes())?;
        // Checks are added only to the Run, not to the text.
        prony_judge::judge_if_unjudged(&mut run);
        Ok(Document {
            run,
            json,
            annotation: Annotation::default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::formerly_judged;

    #[test]
    fn a_document_has_its_run_and_no_figure_that_is_not_a_number() {
        let mut run = formerly_judged();
        assert_eq!(Document::from_run(&run).unwrap().run, run);
        run.measured.length_s = f64::NAN;
        assert!(Document::from_run(&run).is_err());
    }
}
