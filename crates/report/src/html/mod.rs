//! Runs as one HTML page.
//!
//! In: documents. Out: a page of one file that needs no network and, but for a cursor on its charts, no
//! script; the documents themselves are in it, each with its SHA-256. Must never: let a text of a
//! document become markup, or show a figure that is not in the documents.
//!
//! A page is a pure function of its documents, and of its price sheets where it has prices: [`verify`]
//! draws it anew and compares.

mod chart;
mod distribution;
mod document;
mod escape;
mod marks;
mod one;
mod prices;
mod repeat;
mod scale;
mod scenario;
mod seconds;
mod server;
mod several;
mod variants;
mod verify;

pub use document::Document;
pub use prices::{PlacedRun, PriceQuestion, QuestionError, SheetText};
pub use verify::{Verified, VerifyError, verify};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use escape::{Text, embedded};
use prices::Priced;
use prony_store::Run;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How every page begins. The number is the form of the page: a reader refuses a higher one.
const BEGIN: &str = "<!doctype html>\n<html lang=\"en\" data-prony-report=\"";
/// The form of a page without prices.
const PLAIN: u32 = 1;
/// The form of a page with prices, the newest that is known here.
const FORM: u32 = 2;
/// How every page ends.
const END: &str = "</html>\n";
/// How an embedded document begins; its hash follows.
const DOCUMENT: &str = "<script type=\"application/json\" class=\"run\" data-sha256=\"";
const DOCUMENT_END: &str = "</script>";
/// How the embedded question begins that the prices answer.
const PRICES: &str = "<script type=\"application/json\" class=\"prices\" data-sha256=\"";
/// The entry of the prices in the table of contents.
const PRICES_ENTRY: &str = "<li><a href=\"#prices\">What throughput costs</a></li>";

/// Whether a text begins as a page does.
pub fn is_report(begin: &[u8]) -> bool {
    begin.starts_with(BEGIN.as_bytes())
}

/// Writes the page of these runs, which are at least one.
///
/// # Errors
/// If it cannot be written, or a document holds a figure that is not a number.
pub fn write(out: &mut dyn Write, runs: &[Run]) -> io::Result<()> {
    let documents = runs.iter().map(Document::of);
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let page = page(&documents, None).map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

/// Whether a question about these runs is one that prices answer.
///
/// # Errors
/// If a sheet has mistakes, a place is nowhere, or the prices are in two currencies.
pub fn question(runs: &[Run], question: &PriceQuestion) -> Result<(), QuestionError> {
    question.prices(&runs.iter().collect::<Vec<_>>()).map(drop)
}

/// Writes the page of these runs with what their throughput costs.
///
/// # Errors
/// As [`write`], and if the question is none that prices answer.
pub fn write_priced(out: &mut dyn Write, runs: &[Run], question: &PriceQuestion) -> io::Result<()> {
    let documents = runs.iter().map(Document::of);
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let priced = Priced::of(question, &documents).map_err(io::Error::other)?;
    let page = page(&documents, Some(&priced)).map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

/// The page of these documents.
fn page(documents: &[Document], priced: Option<&Priced>) -> Result<String, fmt::Error> {
    let mut out = String::new();
    head(&mut out, documents, priced.is_some())?;
    let entry = priced.map_or("", |_| PRICES_ENTRY);
    let costs = |out: &mut String| match priced {
        Some(priced) => prices::write(out, &priced.prices),
        None => Ok(()),
    };
    match documents {
        [only] => {
            one::nav(&mut out, entry)?;
            out.push_str("<main id=\"main\">\n");
            one::write(&mut out, &only.run, 1, 2)?;
            costs(&mut out)?;
        }
        all => {
            several::nav(&mut out, all, entry)?;
            out.push_str("<main id=\"main\">\n");
            several::write(&mut out, all)?;
            costs(&mut out)?;
            for (place, document) in all.iter().enumerate() {
                let (number, id) = (place + 1, Text(&document.run.id));
                writeln!(
                    out,
                    "<article id=\"run-{number}\" aria-labelledby=\"run-{number}-h\">\
                     <h2 id=\"run-{number}-h\">Run {number}: {id}</h2>"
                )?;
                one::write(&mut out, &document.run, number, 3)?;
                out.push_str("</article>\n");
            }
        }
    }
    foot(&mut out, documents, priced)?;
    Ok(out)
}

fn head(out: &mut String, documents: &[Document], priced: bool) -> fmt::Result {
    let form = if priced { FORM } else { PLAIN };
    let title = match documents {
        [only] => one::title(&only.run),
        all => format!("{} runs side by side", all.len()),
    };
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    write!(
        out,
        "{BEGIN}{form}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"generator\" content=\"Prony {}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – Prony</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header>\n<h1>{title}</h1>\n",
        hash(STYLE),
        hash(SCRIPT),
        env!("CARGO_PKG_VERSION"),
        title = Text(title),
    )?;
    if let [only] = documents {
        writeln!(
            out,
            "<p>{}</p>",
            Text(crate::text::plain(&only.run.workload.title))
        )?;
    }
    out.push_str("</header>\n");
    Ok(())
}

/// The documents, and how to see that nobody changed them.
fn foot(out: &mut String, documents: &[Document], priced: Option<&Priced>) -> fmt::Result {
    out.push_str(
        "<section aria-labelledby=\"documents-h\">\n<h2 id=\"documents-h\">Documents</h2>\n\
         <p>The page holds the documents that it was drawn from, whole. <code>prony verify</code> with \
         the name of this file computes their hashes again and draws the page anew, to see whether \
         any of it was changed.</p>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" \
         aria-label=\"Hashes of the documents\"><table><thead><tr><th scope=\"col\">run</th>\
         <th scope=\"col\">form</th><th scope=\"col\">SHA-256</th></tr></thead><tbody>\n",
    );
    for document in documents {
        let (run, hash) = (&document.run, &document.sha256);
        let (id, form) = (Text(&run.id), Text(&run.schema_version));
        writeln!(
            out,
            "<tr><th scope=\"row\">{id}</th><td>{form}</td><td><code>{hash}</code></td></tr>"
        )?;
    }
    if let Some(priced) = priced {
        let hash = &priced.sha256;
        writeln!(
            out,
            "<tr><th scope=\"row\">price sheets</th><td>–</td><td><code>{hash}</code></td></tr>"
        )?;
    }
    out.push_str("</tbody></table></div>\n</section>\n</main>\n");
    for document in documents {
        let json = embedded(&document.json);
        writeln!(out, "{DOCUMENT}{}\">{json}{DOCUMENT_END}", document.sha256)?;
    }
    if let Some(priced) = priced {
        let json = embedded(&priced.json);
        writeln!(out, "{PRICES}{}\">{json}{DOCUMENT_END}", priced.sha256)?;
    }
    write!(
        out,
        "<footer><p>Drawn by Prony {}.</p></footer>\n<script>{SCRIPT}</script>\n</body>\n{END}",
        env!("CARGO_PKG_VERSION")
    )
}

/// Opens a section with its heading.
fn section(out: &mut String, level: usize, id: &str, title: &str) -> fmt::Result {
    writeln!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h{level} id=\"{id}-h\">{title}</h{level}>"
    )
}

#[cfg(test)]
mod tests;
