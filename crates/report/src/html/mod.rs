//! An HTML page of one or more runs.
//!
//! In: documents. Out: a page in one file that needs no network, and a script only for the cursor on its
//! charts; it embeds the documents, each with its SHA-256. Must never: let a text of a document
//! become markup, or show a figure that is not in the documents.
//!
//! A page is a pure function of its documents, of its price sheets if it has prices, and of the build: [`verify`]
//! generates it again and compares.

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
mod table;
mod trend;
mod variants;
mod verify;

pub use document::Document;
pub use prices::{PriceInputs, PriceInputsError, RunPlacement, SheetText};
pub use trend::{is_trend_page, write_trend};
pub use verify::{Verified, VerifyError, verify};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use escape::{Escaped, escape_json};
use prices::PagePrices;
use prony_store::{Build, Run};
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Start of every page. The version of the page format follows; a reader rejects a higher version than it
/// knows.
const PAGE_START: &str = "<!doctype html>\n<html lang=\"en\" data-prony-report=\"";
/// Format version of a page without prices.
const FORMAT_WITHOUT_PRICES: u32 = 1;
/// Format version of a page with prices, the newest that this code knows.
const FORMAT: u32 = 2;
/// End of every page.
const PAGE_END: &str = "</html>\n";
/// Start of an embedded document; its hash follows.
const DOCUMENT_START: &str = "<script type=\"application/json\" class=\"run\" data-sha256=\"";
const DOCUMENT_END: &str = "</script>";
/// Start of the embedded inputs of the prices.
const PRICES_START: &str = "<script type=\"application/json\" class=\"prices\" data-sha256=\"";
/// Start of the element that names the build; its version follows.
const GENERATOR_START: &str = "<meta name=\"generator\" content=\"Prony ";
/// The entry for the prices in the table of contents.
const PRICES_ENTRY: &str = "<li><a href=\"#prices\">What throughput costs</a></li>";

/// Whether a text begins like a page.
pub fn is_report(begin: &[u8]) -> bool {
    begin.starts_with(PAGE_START.as_bytes())
}

/// Writes the page of these runs, at least one, and their price-performance if `inputs` are given. The page names
/// the `build` that writes it.
///
/// # Errors
/// If the page cannot be written, a document contains a figure that is not a number, or the price inputs are
/// invalid (see [`check_price_inputs`]).
pub fn write(
    out: &mut dyn Write,
    runs: &[Run],
    inputs: Option<&PriceInputs>,
    build: &Build,
) -> io::Result<()> {
    let documents = runs.iter().map(Document::of);
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let priced = inputs.map(|inputs| PagePrices::of(inputs, &documents));
    let priced = priced.transpose().map_err(io::Error::other)?;
    let page = page(&documents, priced.as_ref(), build).map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

/// Checks whether these runs can be priced with these inputs.
///
/// # Errors
/// If a sheet has errors, an index is out of range, or the prices are in two currencies.
pub fn check_price_inputs(runs: &[Run], inputs: &PriceInputs) -> Result<(), PriceInputsError> {
    inputs.prices(&runs.iter().collect::<Vec<_>>()).map(drop)
}

/// The page of these documents.
fn page(
    documents: &[Document],
    priced: Option<&PagePrices>,
    build: &Build,
) -> Result<String, fmt::Error> {
    let mut out = String::new();
    head(&mut out, documents, priced.is_some(), build)?;
    let entry = priced.map_or("", |_| PRICES_ENTRY);
    let write_prices = |out: &mut String| match priced {
        Some(priced) => prices::write(out, &priced.prices),
        None => Ok(()),
    };
    match documents {
        [only] => {
            one::write_nav(&mut out, entry)?;
            out.push_str("<main id=\"main\">\n");
            one::write(&mut out, &only.run, 1, 2)?;
            write_prices(&mut out)?;
        }
        all => {
            several::write_nav(&mut out, all, entry)?;
            out.push_str("<main id=\"main\">\n");
            several::write(&mut out, all)?;
            write_prices(&mut out)?;
            for (index, document) in all.iter().enumerate() {
                let (number, id) = (index + 1, Escaped(&document.run.id));
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

/// The build that writes a page, as the page names it. Without the commit, builds of one version could not be
/// told apart.
fn generator(build: &Build) -> String {
    let version = &build.version;
    match &build.commit {
        Some(commit) => format!("{version} (commit {commit})"),
        None => version.clone(),
    }
}

fn head(out: &mut String, documents: &[Document], priced: bool, build: &Build) -> fmt::Result {
    let format = if priced {
        FORMAT
    } else {
        FORMAT_WITHOUT_PRICES
    };
    let title = match documents {
        [only] => one::title(&only.run),
        all => format!("{} runs side by side", all.len()),
    };
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    write!(
        out,
        "{PAGE_START}{format}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
         {GENERATOR_START}{}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – Prony</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header>\n<h1>{title}</h1>\n",
        hash(STYLE),
        hash(SCRIPT),
        Escaped(&generator(build)),
        title = Escaped(title),
    )?;
    if let [only] = documents {
        let workload = crate::text::plain(&only.run.workload.title);
        writeln!(out, "<p>{}</p>", Escaped(workload))?;
    }
    out.push_str("</header>\n");
    Ok(())
}

/// Writes the embedded documents, and an instruction to verify them.
fn foot(out: &mut String, documents: &[Document], priced: Option<&PagePrices>) -> fmt::Result {
    out.push_str(
        "<section aria-labelledby=\"documents-h\">\n<h2 id=\"documents-h\">Documents</h2>\n\
         <p>The page contains the documents that it was generated from. <code>prony verify</code> with the \
         name of this file computes their hashes and generates the page again, to verify that nothing \
         was changed.</p>\n",
    );
    let columns = ["run", "format", "SHA-256"];
    table::table(out, "Hashes of the documents", &columns)?;
    let rows = documents.iter().map(|document| {
        let run = &document.run;
        (&*run.id, &*run.schema_version.0, &*document.sha256)
    });
    let prices = priced.map(|priced| ("price sheets", "–", &*priced.sha256));
    for (name, format, hash) in rows.chain(prices) {
        let (name, format) = (Escaped(name), Escaped(format));
        writeln!(
            out,
            "<tr><th scope=\"row\">{name}</th><td>{format}</td><td><code>{hash}</code></td></tr>"
        )?;
    }
    table::end(out)?;
    out.push_str("</section>\n</main>\n");
    for document in documents {
        let json = escape_json(&document.json);
        writeln!(
            out,
            "{DOCUMENT_START}{}\">{json}{DOCUMENT_END}",
            document.sha256
        )?;
    }
    if let Some(priced) = priced {
        let json = escape_json(&priced.json);
        writeln!(
            out,
            "{PRICES_START}{}\">{json}{DOCUMENT_END}",
            priced.sha256
        )?;
    }
    write!(
        out,
        "<footer><p>Generated by Prony {}.</p></footer>\n<script>{SCRIPT}</script>\n</body>\n{PAGE_END}",
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
