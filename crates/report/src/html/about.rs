//! What tells a reader which run this is: its label and note, when it started, its load and its id.
//!
//! In: a document, with the label and note that its store keeps beside it. Out: the lines under a title, and the
//! attribute that carries labels and notes of a page, from which `verify` generates it again. Must never: change a
//! document, which has neither.

use super::document::Document;
use crate::html::markup::{Html, markup, writeln_markup};
use crate::text::plain;
use crate::text::setup::load_size;
use crate::text::trend::minute;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_store::Annotation;
use std::fmt;

/// The start of the attribute; JSON in base64 follows.
const ATTRIBUTE: &str = " data-annotations=\"";

/// Writes the label and note of a run, if it has any, and what identifies it.
pub fn write(out: &mut Html, document: &Document) -> fmt::Result {
    let Document {
        run, annotation, ..
    } = document;
    let text = |text: &Option<String>| text.as_deref().map(plain).unwrap_or_default();
    if !annotation.is_empty() {
        writeln_markup!(
            out,
            "<p class=\"about\"><strong>{}</strong> {}</p>",
            text(&annotation.label),
            text(&annotation.note)
        )?;
    }
    let mut facts = vec![load_size(&run.drive), format!("run {}", plain(&run.id))];
    if !run.started_at.is_empty() {
        facts.insert(0, format!("{} UTC", minute(&run.started_at)));
    }
    writeln_markup!(out, "<p class=\"small\">{}</p>", facts.join(" · "))
}

/// The attribute with the labels and notes of all documents; empty if there is none.
pub fn attribute(documents: &[Document]) -> Html {
    let annotations: Vec<&Annotation> = documents.iter().map(|one| &one.annotation).collect();
    match serde_json::to_vec(&annotations) {
        Ok(json) if annotations.iter().any(|one| !one.is_empty()) => {
            markup!("{}{}\"", super::Raw(ATTRIBUTE), STANDARD.encode(json))
        }
        _ => Html::default(),
    }
}

/// Gives the documents of a page their labels and notes. An attribute that cannot be read gives none: the page that is
/// generated again then differs.
pub fn read(page: &str, documents: &mut [Document]) {
    let start = page.split('\n').nth(1).unwrap_or_default();
    let value = start
        .split_once(ATTRIBUTE)
        .and_then(|(_, tail)| tail.split_once('"'));
    let json = value.and_then(|(base64, _)| STANDARD.decode(base64).ok());
    let annotations = json.and_then(|json| serde_json::from_slice::<Vec<Annotation>>(&json).ok());
    for (document, annotation) in documents.iter_mut().zip(annotations.unwrap_or_default()) {
        document.annotation = annotation;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::{PageContents, VerifyError, verify, write_contents};
    use crate::sample_run::{closed, test_build, written};
    use prony_assertions::TextAssertions;

    #[test]
    fn a_page_names_its_run_and_no_label_can_be_changed() {
        let annotations = [Annotation {
            label: Some("<b>release\n</b>".to_owned()),
            note: Some("before \"the\" switch".to_owned()),
        }];
        let mut run = closed();
        run.started_at = "2026-11-29T12:10:34Z".to_owned();
        let contents = PageContents {
            runs: &[run],
            annotations: &annotations,
            ..PageContents::default()
        };
        let page = written(|out| write_contents(out, &contents, &test_build()));
        page.assert_contains(
            "<strong>&lt;b&gt;release &lt;/b&gt;</strong> before &quot;the&quot; switch</p>",
        );
        let id = &contents.runs[0].id;
        page.assert_contains(&format!("2026-11-29 12:10 UTC · 64 clients · run {id}</p>"));
        let verified = verify(&page, &test_build()).expect("unchanged");
        assert_eq!(verified.documents[0].annotation, annotations[0]);
        let changed = page.replace("before &quot;", "after &quot;");
        let changed = verify(&changed, &test_build());
        assert!(matches!(changed, Err(VerifyError::PageChanged { .. })));
    }
}
