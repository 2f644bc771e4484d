//! Runs as one HTML page.
//!
//! In: documents. Out: a page of one file that needs no network and, but for a cursor on its charts, no
//! script; the documents themselves are in it, each with its SHA-256. Must never: let a text of a
//! document become markup, or show a figure that is not in the documents.
//!
//! A page is a pure function of its documents: [`verify`] draws it anew and compares.

mod chart;
mod distribution;
mod document;
mod escape;
mod marks;
mod one;
mod repeat;
mod scale;
mod seconds;
mod server;
mod several;
mod verify;

pub use document::Document;
pub use verify::{Verified, VerifyError, verify};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use escape::{Text, embedded};
use prony_store::Run;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// How every page begins. The number is the form of the page: a reader refuses a higher one.
const BEGIN: &str = "<!doctype html>\n<html lang=\"en\" data-prony-report=\"";
/// The form of the pages that are written here.
const FORM: u32 = 1;
/// How every page ends.
const END: &str = "</html>\n";
/// How an embedded document begins; its hash follows.
const DOCUMENT: &str = "<script type=\"application/json\" class=\"run\" data-sha256=\"";
const DOCUMENT_END: &str = "</script>";

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
    out.write_all(page(&documents).map_err(io::Error::other)?.as_bytes())
}

/// The page of these documents.
fn page(documents: &[Document]) -> Result<String, fmt::Error> {
    let mut out = String::new();
    head(&mut out, documents)?;
    match documents {
        [only] => {
            one::nav(&mut out)?;
            out.push_str("<main id=\"main\">\n");
            one::write(&mut out, &only.run, 1, 2)?;
        }
        all => {
            several::nav(&mut out, all)?;
            out.push_str("<main id=\"main\">\n");
            several::write(&mut out, all)?;
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
    foot(&mut out, documents)?;
    Ok(out)
}

fn head(out: &mut String, documents: &[Document]) -> fmt::Result {
    let title = match documents {
        [only] => one::title(&only.run),
        all => format!("{} runs side by side", all.len()),
    };
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    write!(
        out,
        "{BEGIN}{FORM}\">\n<head>\n<meta charset=\"utf-8\">\n\
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
fn foot(out: &mut String, documents: &[Document]) -> fmt::Result {
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
    out.push_str("</tbody></table></div>\n</section>\n</main>\n");
    for document in documents {
        let json = embedded(&document.json);
        writeln!(out, "{DOCUMENT}{}\">{json}{DOCUMENT_END}", document.sha256)?;
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
