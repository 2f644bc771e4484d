//! An HTML page of one or more runs.
//!
//! In: documents. Out: a page in one file that needs no network, and a script only for the cursor on its
//! charts, for another warm-up (`recut`) and to save the documents; all else is there without it. The page embeds the
//! documents (`embedded`), each with its SHA-256. Must never: let a text of a document become markup (`markup` prevents
//! it), or show a figure that is not in the documents.
//!
//! A page is a pure function of its documents, of its price sheets if it has prices, and of the build: [`verify`]
//! generates it again and compares.

mod about;
mod capacity;
mod client;
mod comparisons;
mod distribution;
mod document;
mod dots;
mod drawing;
mod embedded;
mod endpoints;
mod escape;
mod figure;
mod form;
mod heat;
mod kinds;
mod machines;
mod marks;
mod markup;
mod one;
mod over_time;
mod parts;
mod percentiles;
mod prices;
mod recut;
mod repeat;
mod scale;
mod scenario;
mod seconds;
mod server;
mod several;
mod statements;
pub mod store;
mod suite;
mod sweep;
mod table;
mod timeline;
mod trend;
mod variants;
mod verify;

use crate::html::markup::{Html, Markup, Raw, markup, write_markup, writeln_markup};
use comparisons::PageSides;
use document::Document;
pub use form::PageForm;
use one::RunPlace;
pub use prices::{PriceInputs, PriceInputsError, RunPlacement, SheetText};
pub use trend::{is_trend_page, write_trend};
pub use verify::{VerifiedPage, VerifyError, verify};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use embedded::{Content, EmbeddedText};
use over_time::MAX_RUNS_IN_FULL;
use prices::PagePrices;
use prony_judge::price::Prices;
use prony_store::{Annotation, Build, Run};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{self, Write};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("recut.js"));

/// Start of every page. The version of the page format follows; [`verify`] rejects a version newer than [`FORMAT`].
const PAGE_START: &str = "<!doctype html>\n<html lang=\"en\" data-prony-report=\"";
const FORMAT: u32 = 1;
const PAGE_END: &str = "</html>\n";
/// Start of the element that names the build; its version follows.
const GENERATOR_START: &str = "<meta name=\"generator\" content=\"Prony ";
const PRICES_ENTRY: &str = "<li><a href=\"#prices\">What throughput costs</a></li>";

/// Whether a text starts like a page; the first bytes are enough.
pub fn is_report(text: &[u8]) -> bool {
    text.starts_with(PAGE_START.as_bytes())
}

/// Writes the page of these runs, at least one, and their price-performance if `inputs` are given. The page names
/// the `build` that writes it.
pub fn write(
    out: &mut dyn Write,
    runs: &[Run],
    inputs: Option<&PriceInputs>,
    build: &Build,
) -> io::Result<()> {
    let contents = PageContents {
        runs,
        prices: inputs,
        ..PageContents::default()
    };
    write_contents(out, &contents, build)
}

#[derive(Clone, Copy, Debug, Default)]
pub struct PageContents<'a> {
    pub form: PageForm,
    /// The runs, at least one.
    pub runs: &'a [Run],
    /// The label and note of each run; of the first ones if there are fewer.
    pub annotations: &'a [Annotation],
    pub prices: Option<&'a PriceInputs>,
}

/// Writes the page of these contents.
///
/// # Errors
/// If the page cannot be written, a document contains a figure that is not a number, or the price inputs are
/// invalid (see [`check_price_inputs`]).
pub fn write_contents(
    out: &mut dyn Write,
    contents: &PageContents<'_>,
    build: &Build,
) -> io::Result<()> {
    let documents = contents.runs.iter().map(Document::from_run);
    let mut documents = documents.collect::<Result<Vec<_>, _>>()?;
    for (document, annotation) in documents.iter_mut().zip(contents.annotations) {
        document.annotation = annotation.clone();
    }
    let page_prices = contents
        .prices
        .map(|inputs| PagePrices::from_inputs(inputs, &documents));
    let page_prices = page_prices.transpose().map_err(io::Error::other)?;
    let page = generate_page(&documents, page_prices.as_ref(), contents.form, build);
    let page = page.map_err(io::Error::other)?;
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

fn generate_page(
    documents: &[Document],
    page_prices: Option<&PagePrices>,
    form: PageForm,
    build: &Build,
) -> Result<String, fmt::Error> {
    let mut out = Html::default();
    let prices = page_prices.map(|page_prices| &page_prices.prices);
    write_header(&mut out, documents, prices, form, build)?;
    let prices_entry = page_prices.map_or("", |_| PRICES_ENTRY);
    let write_prices = |out: &mut Html| match prices {
        Some(prices) => prices::write(out, prices),
        None => Ok(()),
    };
    match documents {
        documents if form == PageForm::ApsaraDb => {
            form::write_nav(&mut out, prices_entry)?;
            out.push_str("<main id=\"main\">\n");
            form::write(&mut out, documents, prices)?;
            write_prices(&mut out)?;
        }
        [document] => {
            one::write_nav(&mut out, &document.run, prices_entry)?;
            out.push_str("<main id=\"main\">\n");
            let place = RunPlace {
                number: 1,
                runs: 1,
                heading_level: 2,
            };
            one::write(&mut out, &document.run, place)?;
            write_prices(&mut out)?;
        }
        documents => {
            let sides = PageSides::of(documents);
            several::write_nav(&mut out, documents, &sides, prices_entry)?;
            out.push_str("<main id=\"main\">\n");
            several::write(&mut out, documents, &sides, prices)?;
            write_runs(&mut out, documents)?;
        }
    }
    write_foot(&mut out, documents, page_prices)?;
    Ok(out.into_string())
}

fn write_runs(out: &mut Html, documents: &[Document]) -> fmt::Result {
    if documents.len() > MAX_RUNS_IN_FULL {
        writeln_markup!(
            out,
            "<p class=\"small\">A page of more than {} runs shows less of each run. <code>prony \
             report</code> with the id of one run shows its parts of the response time, its server \
             over time, its distributions and its settings.</p>",
            MAX_RUNS_IN_FULL
        )?;
    }
    for (index, document) in documents.iter().enumerate() {
        let number = index + 1;
        let label = document.annotation.label.as_deref();
        let name = crate::text::plain(label.unwrap_or(&document.run.id));
        writeln_markup!(
            out,
            "<article id=\"run-{number}\" aria-labelledby=\"run-{number}-h\">\
             <h2 id=\"run-{number}-h\">Run {number}: {name}</h2>",
            number = number,
            name = name
        )?;
        about::write(out, document)?;
        let place = RunPlace {
            number,
            runs: documents.len(),
            heading_level: 3,
        };
        one::write(out, &document.run, place)?;
        out.push_str("</article>\n");
    }
    Ok(())
}

/// The text by which a page names the build that wrote it. The commit distinguishes builds of one version.
fn generator_text(build: &Build) -> String {
    let version = &build.version;
    match &build.commit {
        Some(commit) => format!("{version} (commit {commit})"),
        None => version.clone(),
    }
}

/// What a page may use, by its content security policy.
#[derive(Clone, Copy, Debug)]
struct PageParts {
    style: &'static str,
    /// Empty if there is none.
    script: &'static str,
    /// Directives of the policy, each with a semicolon and a space.
    allows: &'static str,
}

impl PageParts {
    /// Those of a page in one file, which allows its style and its script and nothing else.
    const fn of_file(script: &'static str) -> PageParts {
        PageParts {
            style: STYLE,
            script,
            allows: "form-action 'none'; ",
        }
    }
}

const POLICY_START: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";

/// The policy of a page, for the header of an HTTP response; `None` if the text is no page.
pub fn policy_of(page: &str) -> Option<String> {
    let (_, after) = page.split_once(POLICY_START)?;
    let (policy, _) = after.split_once('"')?;
    Some(policy.to_owned())
}

fn write_head(
    out: &mut Html,
    start: Html,
    title: &str,
    parts: PageParts,
    build: &Build,
) -> fmt::Result {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    let script_policy = match parts.script {
        "" => Html::default(),
        script => markup!("script-src 'sha256-{}'; ", hash(script)),
    };
    write_markup!(
        out,
        "{}\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {}default-src 'none'; style-src 'sha256-{}'; {}{}base-uri 'none'\">\n\
         {}{}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} – Prony</title>\n<style>{}</style>\n</head>\n<body>\n",
        start,
        Raw(POLICY_START),
        hash(parts.style),
        script_policy,
        Raw(parts.allows),
        Raw(GENERATOR_START),
        generator_text(build),
        title,
        Raw(parts.style)
    )
}

fn write_header(
    out: &mut Html,
    documents: &[Document],
    prices: Option<&Prices>,
    form: PageForm,
    build: &Build,
) -> fmt::Result {
    let title = match documents {
        [document] => one::title(&document.run),
        documents => several::title_of_several(documents, prices),
    };
    let title = match form {
        PageForm::ApsaraDb => format!("Test report: {title}"),
        PageForm::Full => title,
    };
    let start = markup!(
        "{}{}\"{}{}>",
        Raw(PAGE_START),
        FORMAT,
        form.attribute(),
        about::attribute(documents)
    );
    write_head(out, start, &title, PageParts::of_file(SCRIPT), build)?;
    writeln_markup!(
        out,
        "<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header>\n<h1>{}</h1>",
        title
    )?;
    if let [document] = documents {
        let workload = crate::text::plain(&document.run.workload.title);
        writeln_markup!(out, "<p>{}</p>", workload)?;
        about::write(out, document)?;
    }
    let runs = documents.iter().map(|document| &document.run);
    write_paragraphs(&mut *out, crate::licence::publication_notice(runs))?;
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
    let columns = ["run", "format", "SHA-256", ""];
    table::start_table(out, "Hashes of the documents", &columns)?;
    for Document { run, json, .. } in documents {
        write_document_row(out, &run.id, &run.schema_version.0, json)?;
    }
    if let Some(page_prices) = page_prices {
        write_document_row(out, "price sheets", "–", &page_prices.json)?;
    }
    table::end_table(out)?;
    out.push_str("</section>\n</main>\n");
    for document in documents {
        document.json.write(out, Content::Run)?;
    }
    if let Some(page_prices) = page_prices {
        page_prices.json.write(out, Content::Prices)?;
    }
    write_markup!(
        out,
        "<footer><p>Generated by Prony {}.</p></footer>\n<script>{}</script>\n</body>\n{}",
        env!("CARGO_PKG_VERSION"),
        Raw(SCRIPT),
        Raw(PAGE_END)
    )
}

/// Writes the row of an embedded text. The script shows its button, which saves the text.
fn write_document_row(
    out: &mut Html,
    name: &str,
    format: &str,
    json: &EmbeddedText,
) -> fmt::Result {
    writeln_markup!(
        out,
        "<tr><th scope=\"row\">{name}</th><td>{format}</td><td><code>{hash}</code></td>\
         <td><button class=\"save\" data-file=\"{name}.json\" hidden>Save</button></td></tr>",
        name = name,
        format = format,
        hash = json.sha256
    )
}

/// The attributes of a fold of charts.
fn chart_fold(is_open: bool) -> Raw {
    Raw(if is_open { " class=\"fold\" open" } else { " class=\"fold\"" })
}

/// Writes what a reader can unfold; nothing if there is no content.
fn write_fold(
    out: &mut Html,
    attributes: impl Markup,
    summary: &str,
    content: Html,
) -> fmt::Result {
    if content == Html::default() {
        return Ok(());
    }
    writeln_markup!(
        out,
        "<details{}><summary>{}</summary>\n{}</details>",
        attributes,
        summary,
        content
    )
}

/// Writes each text as a paragraph.
fn write_paragraphs(out: &mut Html, texts: impl IntoIterator<Item = impl Markup>) -> fmt::Result {
    let mut texts = texts.into_iter();
    texts.try_for_each(|text| writeln_markup!(out, "<p>{}</p>", text))
}

fn write_absent(out: &mut Html, what: &str, why: &str) -> fmt::Result {
    writeln_markup!(out, "<p class=\"absent\">{}: {}.</p>", what, why)
}

fn write_verdict_line(out: &mut Html, class: &str, text: &str) -> fmt::Result {
    writeln_markup!(
        out,
        "<p class=\"verdict {}\"><strong>{}</strong></p>",
        class,
        text
    )
}

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
