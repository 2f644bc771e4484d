//! The pages of a store, which `prony serve` makes: lists of runs, trends, experiments and drills, and a run in progress.
//!
//! In: summaries of runs, or a run in progress. Out: pages that link to each other and to the pages of `prony report`, by
//! the paths below. Must never: let a text of a document or a label become markup, or send anything but GET requests.

mod lists;
mod live;

pub use lists::{RunList, write_drills, write_experiments, write_runs, write_trends};
pub use live::{events_of, write_live};

use super::PageParts;
use crate::html::markup::{Html, markup, write_markup, writeln_markup};
use prony_store::Build;
use std::fmt;
use std::io::{self, Write};

const STYLE: &str = concat!(include_str!("../page.css"), include_str!("store.css"));
const LIVE_SCRIPT: &str = include_str!("live.js");

/// The lists, with their paths, in the order of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPage {
    Runs,
    Experiments,
    Trends,
    Drills,
}

impl ListPage {
    pub const ALL: [ListPage; 4] = [
        ListPage::Runs,
        ListPage::Experiments,
        ListPage::Trends,
        ListPage::Drills,
    ];

    fn path_and_title(self) -> (&'static str, &'static str) {
        match self {
            ListPage::Runs => ("/", "Runs"),
            ListPage::Experiments => ("/experiments", "Experiments"),
            ListPage::Trends => ("/trends", "Trends"),
            ListPage::Drills => ("/drills", "Drills"),
        }
    }

    pub fn path(self) -> &'static str {
        self.path_and_title().0
    }
}

/// A text as a part of a path, percent-encoded.
pub fn path_part(text: &str) -> String {
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
                part.push(char::from(byte));
            }
            byte => part += &format!("%{byte:02X}"),
        }
    }
    part
}

/// A page that says what is wrong with a request, and what to do.
pub fn write_problem(
    out: &mut dyn Write,
    problem: &str,
    hint: &str,
    build: &Build,
) -> io::Result<()> {
    write_page(out, problem, None, "", build, |out| {
        writeln_markup!(out, "<p>{}</p>", hint)
    })
}

/// Writes a page; `current` is the list that it is, and `script` its script.
fn write_page(
    out: &mut dyn Write,
    title: &str,
    current: Option<ListPage>,
    script: &'static str,
    build: &Build,
    write_main: impl FnOnce(&mut Html) -> fmt::Result,
) -> io::Result<()> {
    let page = page_text(title, current, script, build, write_main).map_err(io::Error::other)?;
    out.write_all(page.into_string().as_bytes())
}

fn page_text(
    title: &str,
    current: Option<ListPage>,
    script: &'static str,
    build: &Build,
    write_main: impl FnOnce(&mut Html) -> fmt::Result,
) -> Result<Html, fmt::Error> {
    let parts = PageParts {
        style: STYLE,
        script,
        allows: match script {
            "" => "form-action 'self'; ",
            _ => "form-action 'self'; connect-src 'self'; ",
        },
    };
    let start = markup!("<!doctype html>\n<html lang=\"en\" data-prony-store=\"1\">");
    let mut out = Html::default();
    super::write_head(&mut out, start, title, parts, build)?;
    out.push_str(
        "<a class=\"skip\" href=\"#main\">Skip to the list</a>\n\
         <nav aria-label=\"Pages\"><ul class=\"pages\">",
    );
    for page in ListPage::ALL {
        let is_current = if Some(page) == current { " aria-current=\"page\"" } else { "" };
        let (path, title) = page.path_and_title();
        write_markup!(
            out,
            "<li><a href=\"{}\"{}>{}</a></li>",
            path,
            super::Raw(is_current),
            title
        )?;
    }
    write_markup!(
        out,
        "</ul></nav>\n<header><h1>{}</h1></header>\n<main id=\"main\">\n",
        title
    )?;
    write_main(&mut out)?;
    writeln_markup!(
        out,
        "</main>\n<footer><p>Prony {}.</p></footer>",
        super::generator_text(build)
    )?;
    if !script.is_empty() {
        write_markup!(out, "<script>{}</script>\n", super::Raw(script))?;
    }
    out.push_str("</body>\n</html>\n");
    Ok(out)
}

#[cfg(test)]
mod tests;
