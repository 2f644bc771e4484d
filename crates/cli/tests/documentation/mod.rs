//! Tests of the documentation, and the generator of its reference pages.
//!
//! The reference pages are generated from the code, every link leads somewhere, every documented command and plan is one
//! that Prony accepts, and every environment variable is documented. Compiled for tests only: the program contains none of
//! this.

mod blocks;
mod environment;
mod examples;
mod links;
mod mentions;
mod reference;
mod replaced_tools;

use std::path::{Path, PathBuf};

/// Where the repository is published; links to files outside of the book use it, because the book contains only
/// `docs/src`.
const REPOSITORY_URL: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/");

/// A Markdown file.
struct Page {
    /// Path, relative to the root of the repository.
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: &Path) -> Page {
        let absolute = repository_root().join(path);
        let text = std::fs::read_to_string(&absolute);
        Page {
            path: path.to_owned(),
            text: text.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        }
    }
}

fn repository_root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

/// All pages: those of the book, and the Markdown files in the root of the repository.
fn pages() -> Vec<Page> {
    let mut paths = Vec::new();
    collect_markdown(Path::new("docs"), true, &mut paths);
    collect_markdown(Path::new(""), false, &mut paths);
    paths.sort();
    assert!(paths.len() > 30, "{paths:?}");
    paths.iter().map(|path| Page::read(path)).collect()
}

fn collect_markdown(folder: &Path, recursive: bool, paths: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(repository_root().join(folder)).expect("a folder");
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        if path.extension().is_some_and(|extension| extension == "md") {
            paths.push(path);
        } else if recursive && entry.path().is_dir() {
            collect_markdown(&path, recursive, paths);
        }
    }
}

/// Fails with the problems, one per line.
fn assert_empty(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
