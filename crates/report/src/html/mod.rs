//! An HTML page of one or more runs.
//!
//! In: documents. Out: a page in one file that needs no network, and a script only for the cursor on its
//! charts and for another warm-up (`recut`); all else is there without it. The page embeds the documents, each
//! with its SHA-256. Must never: let a text of a document become markup (`markup` prevents it), or show a figure
//! that is not in the documents.
//!
//! A page is a pure function of its documents, of its price sheets if it has prices, and of the build: [`verify`]
//! generates it again and compares.

mod chart;
mod client;
mod comparisons;
mod distribution;
mod document;
mod dots;
mod escape;
mod heat;
mod kinds;
mod marks;
mod markup;
mod one;
mod parts;
mod percentiles;
mod prices;
mod recut;
mod reduced;
mod repeat;
mod scale;
mod scenario;
mod seconds;
mod server;
mod several;
mod statements;
mod table;
mod trend;
mod variants;
mod verify;

use crate::html::markup::{Html, Raw, write_markup, writeln_markup};
use document::Document;
use one::Detail;
pub use prices::{PriceInputs, PriceInputsError, RunPlacement, SheetText};
pub use trend::{is_trend_page, write_trend};
pub use verify::{VerifiedPage, VerifyError, verify};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use escape::EmbeddedJson;
use prices::PagePrices;
use prony_store::{Build, Run};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("recut.js"));

/// Start of every page. The version of the page format follows; [`verify`] rejects a version newer than
/// [`NEWEST_FORMAT`].
const PAGE_START: &str = "<!doctype html>\n<html lang=\"en\" data-prony-report=\"";
/// Format version of a page without prices.
const FORMAT_WITHOUT_PRICES: u32 = 1;
/// Format version of a page with prices.
const FORMAT_WITH_PRICES: u32 = 2;
/// The newest format version that this code reads.
const NEWEST_FORMAT: u32 = FORMAT_WITH_PRICES;
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

/// Whether a text starts like a page; the first bytes are enough.
pub fn is_report(text: &[u8]) -> bool {
    text.starts_with(PAGE_START.as_bytes())
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
    let documents = runs.iter();
    let documents = documents.map(|run| Document::from_run(run, runs.len()));
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let page_prices = inputs.map(|inputs| PagePrices::from_inputs(inputs, &documents));
    let page_prices = page_prices.transpose().map_err(io::Error::other)?;
    let page = generate_page(&documents, page_prices.as_ref(), build).map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

/// Checks whether these runs can be priced with these inputs.
///
/// # Errors
/// If a sheet has errors, an index is out of range, or the prices are in two currencies.
pub fn check_price_inputs(runs: &[Run], inputs: &PriceInputs) -> Result<(), PriceInputsError> {
    inputs
        .compute_prices(&runs.iter().collect::<Vec<_>>())
        .map(drop)
}

/// Generates the page of these documents.
fn generate_page(
    documents: &[Document],
    page_prices: Option<&PagePrices>,
    build: &Build,
) -> Result<String, fmt::Error> {
    let mut out = Html::default();
    write_head(&mut out, documents, page_prices.is_some(), build)?;
    let prices_entry = page_prices.map_or("", |_| PRICES_ENTRY);
    let write_prices = |out: &mut Html| match page_prices {
        Some(page_prices) => prices::write(out, &page_prices.prices),
        None => Ok(()),
    };
    match documents {
        [document] => {
            one::write_nav(&mut out, prices_entry)?;
            out.push_str("<main id=\"main\">\n");
            one::write(&mut out, &document.run, 1, 2, Detail::Full)?;
            write_prices(&mut out)?;
        }
        documents => {
            several::write_nav(&mut out, documents, prices_entry)?;
            out.push_str("<main id=\"main\">\n");
            several::write(&mut out, documents)?;
            write_prices(&mut out)?;
            let detail = if documents.len() > reduced::MAX_DETAILED_DOCUMENTS {
                Detail::Brief
            } else {
                Detail::Full
            };
            if detail == Detail::Brief {
                writeln_markup!(
                    out,
                    "<p class=\"small\">A page of more than {} runs shows less of each run. <code>prony \
                     report</code> with the id of one run shows its parts of the response time, its server \
                     over time, its distributions and its settings.</p>",
                    reduced::MAX_DETAILED_DOCUMENTS
                )?;
            }
            for (index, document) in documents.iter().enumerate() {
                let (number, id) = (index + 1, &document.run.id);
                writeln_markup!(
                    out,
                    "<article id=\"run-{number}\" aria-labelledby=\"run-{number}-h\">\
                     <h2 id=\"run-{number}-h\">Run {number}: {id}</h2>",
                    number = number,
                    id = id
                )?;
                one::write(&mut out, &document.run, number, 3, detail)?;
                out.push_str("</article>\n");
            }
        }
    }
    write_foot(&mut out, documents, page_prices)?;
    Ok(out.into_string())
}

/// The text by which a page names the build that wrote it. The commit distinguishes builds of one version.
fn generator_text(build: &Build) -> String {
    let version = &build.version;
    match &build.commit {
        Some(commit) => format!("{version} (commit {commit})"),
        None => version.clone(),
    }
}

fn write_head(
    out: &mut Html,
    documents: &[Document],
    has_prices: bool,
    build: &Build,
) -> fmt::Result {
    let format = if has_prices {
        FORMAT_WITH_PRICES
    } else {
        FORMAT_WITHOUT_PRICES
    };
    let title = match documents {
        [document] => one::title(&document.run),
        documents => format!("{} runs side by side", documents.len()),
    };
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    write_markup!(
        out,
        "{0}{1}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'sha256-{2}'; script-src 'sha256-{3}'; base-uri 'none'; form-action 'none'\">\n\
         {4}{5}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{6} – Prony</title>\n<style>{7}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header>\n<h1>{6}</h1>\n",
        Raw(PAGE_START),
        format,
        hash(STYLE),
        hash(SCRIPT),
        Raw(GENERATOR_START),
        &generator_text(build),
        title,
        Raw(STYLE)
    )?;
    if let [document] = documents {
        let workload = crate::text::plain(&document.run.workload.title);
        writeln_markup!(out, "<p>{}</p>", workload)?;
    }
    let runs = documents.iter().map(|document| &document.run);
    if let Some(notice) = crate::licence::publication_notice(runs) {
        writeln_markup!(out, "<p>{}</p>", notice)?;
    }
    out.push_str("</header>\n");
    Ok(())
}

/// Writes the embedded documents, and an instruction to verify them.
fn write_foot(
    out: &mut Html,
    documents: &[Document],
    page_prices: Option<&PagePrices>,
) -> fmt::Result {
    out.push_str(
        "<section aria-labelledby=\"documents-h\">\n<h2 id=\"documents-h\">Documents</h2>\n\
         <p>The page contains the documents that it was generated from. <code>prony verify</code> with the \
         name of this file computes their hashes and generates the page again, to verify that nothing \
         was changed.</p>\n",
    );
    let columns = ["run", "format", "SHA-256"];
    table::start_table(out, "Hashes of the documents", &columns)?;
    let rows = documents.iter().map(|document| {
        let run = &document.run;
        (&*run.id, &*run.schema_version.0, &*document.sha256)
    });
    let prices = page_prices.map(|page_prices| ("price sheets", "–", &*page_prices.sha256));
    for (name, format, hash) in rows.chain(prices) {
        writeln_markup!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td><code>{}</code></td></tr>",
            name,
            format,
            hash
        )?;
    }
    table::end_table(out)?;
    for document in documents {
        if let Some(full) = &document.run.reduced_from {
            let (id, hash) = (&document.run.id, &full.sha256);
            writeln_markup!(
                out,
                "<p>The document of {} in this page is reduced; the SHA-256 of the full document is \
                 <code>{}</code>.</p>",
                id,
                hash
            )?;
        }
    }
    out.push_str("</section>\n</main>\n");
    for document in documents {
        let json = EmbeddedJson(&document.json);
        writeln_markup!(
            out,
            "{}{}\">{}{}",
            Raw(DOCUMENT_START),
            document.sha256,
            json,
            Raw(DOCUMENT_END)
        )?;
    }
    if let Some(page_prices) = page_prices {
        let json = EmbeddedJson(&page_prices.json);
        writeln_markup!(
            out,
            "{}{}\">{}{}",
            Raw(PRICES_START),
            page_prices.sha256,
            json,
            Raw(DOCUMENT_END)
        )?;
    }
    write_markup!(
        out,
        "<footer><p>Generated by Prony {}.</p></footer>\n<script>{}</script>\n</body>\n{}",
        env!("CARGO_PKG_VERSION"),
        Raw(SCRIPT),
        Raw(PAGE_END)
    )
}

/// Opens a section with its heading.
fn start_section(out: &mut Html, level: usize, id: &str, title: &str) -> fmt::Result {
    writeln_markup!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h{level} id=\"{id}-h\">{title}</h{level}>",
        id = id,
        level = level,
        title = title
    )
}

#[cfg(test)]
mod tests;
