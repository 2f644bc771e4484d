//! The generator of the reference pages.
//!
//! Each page is generated from the code alone, so that two runs write the same text. `make docs-reference` writes
//! the pages; the test fails if one of them is not current.

mod checks;
pub mod commands;
mod comparability;
mod fairness;
#[path = "../../../../judge/tests/simulated/found_faults.rs"]
mod found_faults;
mod run_document;
mod services;
mod settings;
mod small_pages;
mod workloads;

use super::repository_root;
use std::fmt::Write;

/// The name of a page, and the function that generates its text.
type GeneratedPage = (&'static str, fn() -> String);

/// The generated pages in `docs/src/reference`.
const PAGES: [GeneratedPage; 9] = [
    ("checks.md", checks::page),
    ("commands.md", commands::page),
    ("comparability.md", comparability::page),
    ("exit-codes.md", small_pages::exit_codes),
    ("metrics.md", small_pages::metrics),
    ("plan-files.md", settings::page),
    ("run-document.md", run_document::page),
    ("services.md", services::page),
    ("workloads.md", workloads::page),
];

fn page_head(title: &str, introduction: &str) -> String {
    format!(
        "<!-- Generated from the code by `make docs-reference`: edit the code, not this page. -->\n\n# {title}\n\n{introduction}\n"
    )
}

/// The text of a table's cell: outside of code, `<` would begin an HTML tag.
fn cell(text: &str) -> String {
    let mut cell = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            cell.push('`');
        }
        match index % 2 {
            0 => cell.push_str(&part.replace('<', "&lt;").replace('*', "\\*")),
            _ => cell.push_str(part),
        }
    }
    cell.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.map(str::to_owned)) + &line([(); N].map(|()| "---".to_owned()));
    for row in rows {
        text += &line(row.map(|text| cell(&text)));
    }
    text
}

/// A text as code; nothing for an empty one.
fn code(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("`{text}`"),
    }
}

/// A text of the help, in which defaults in words and such remarks stand between brackets.
fn without_brackets(help: &str) -> String {
    match help.split_once(" [") {
        Some((text, remark)) => format!("{text}; {}", remark.trim_end_matches(']')),
        None => help.to_owned(),
    }
}

#[test]
fn the_reference_pages_are_current() {
    let folder = repository_root().join("docs/src/reference");
    let writes = std::env::var_os("PRONY_WRITE_DOCS").is_some();
    let mut problems = String::new();
    for (name, generate) in PAGES {
        let (path, text) = (folder.join(name), generate());
        if writes {
            std::fs::write(&path, &text).expect("the page is written");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != text {
            writeln!(
                problems,
                "docs/src/reference/{name} is not current: run `make docs-reference`"
            )
            .expect("a text");
        }
        assert_eq!(
            text,
            generate(),
            "{name} is generated twice with different results"
        );
    }
    assert!(problems.is_empty(), "\n{problems}");
}
