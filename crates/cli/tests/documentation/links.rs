//! Every link of the documentation leads to a file and a heading that exist, and the table of contents lists every
//! page of the book.

use super::{Page, REPOSITORY_URL, assert_empty, pages, repository_root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The text without code blocks, and without code in lines, where brackets are no links.
fn without_code(text: &str) -> String {
    let mut prose = String::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            // Parts with an odd index are between backticks.
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    prose
}

/// The targets of all links and images, in Markdown and in HTML.
fn targets(text: &str) -> Vec<String> {
    let prose = without_code(text);
    let mut targets = Vec::new();
    for (start, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        let rests = prose.split(start).skip(1);
        targets.extend(rests.filter_map(|rest| Some(rest.split_once(end)?.0.to_owned())));
    }
    targets
}

/// The anchors of the headings, as GitHub and mdBook name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        in_block ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if in_block || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let words = heading.trim().to_lowercase().replace(' ', "-");
        let is_kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
        let anchor: String = words.chars().filter(is_kept).collect();
        let count = counts.entry(anchor.clone()).or_default();
        anchors.insert(match *count {
            0 => anchor,
            count => format!("{anchor}-{count}"),
        });
        *count += 1;
    }
    anchors
}

/// Resolves `.` and `..` of a path without reading the file system.
fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => _ = normalized.pop(),
            Component::CurDir => {}
            other => normalized.push(other),
        }
    }
    normalized
}

fn link_problem(page: &Page, target: &str, pages: &[Page]) -> Option<String> {
    let in_repository = target.strip_prefix(REPOSITORY_URL);
    if target.contains("://") && in_repository.is_none() {
        return None;
    }
    let mut parts = in_repository.unwrap_or(target).splitn(2, '#');
    let (file, anchor) = (parts.next()?, parts.next());
    let path = if in_repository.is_some() {
        PathBuf::from(file)
    } else if file.is_empty() {
        page.path.clone()
    } else {
        normalized(&page.path.parent()?.join(file))
    };
    if !repository_root().join(&path).exists() {
        return Some(format!("{} does not exist", path.display()));
    }
    let is_in_book = |path: &Path| path.starts_with("docs/src");
    if in_repository.is_none() && is_in_book(&page.path) && !is_in_book(&path) {
        return Some(format!(
            "{} is not part of the book: link to {REPOSITORY_URL}{}",
            path.display(),
            path.display()
        ));
    }
    let anchor = anchor?;
    let linked = pages.iter().find(|page| page.path == path)?;
    let exists = anchors(&linked.text).contains(anchor);
    (!exists).then(|| format!("{} has no heading #{anchor}", path.display()))
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let pages = pages();
    let mut problems = Vec::new();
    let mut count = 0;
    for page in &pages {
        for target in targets(&page.text) {
            count += 1;
            if let Some(problem) = link_problem(page, &target, &pages) {
                problems.push(format!("{}: {target}: {problem}", page.path.display()));
            }
        }
    }
    assert!(count > 200, "only {count} links found");
    assert_empty(&problems);
}

#[test]
fn the_table_of_contents_lists_every_page_once() {
    let summary = Page::read(Path::new("docs/src/SUMMARY.md"));
    let mut listed = BTreeSet::new();
    for target in targets(&summary.text) {
        let path = Path::new("docs/src").join(&target);
        assert!(listed.insert(path), "{target} is listed twice");
    }
    let book = pages()
        .into_iter()
        .map(|page| page.path)
        .filter(|path| path.starts_with("docs/src") && *path != summary.path);
    assert_eq!(listed, book.collect());
}

/// The README is for a first look; everything else is in the book.
#[test]
fn the_readme_is_short() {
    let readme = Page::read(Path::new("README.md"));
    assert!(readme.text.len() < 6000, "{} bytes", readme.text.len());
}

#[test]
fn a_dead_link_is_found() {
    let page = |path: &str, text: &str| Page {
        path: path.into(),
        text: text.into(),
    };
    let pages = [
        page("docs/src/README.md", "# A page\n\n## Exit codes: all\n"),
        page("README.md", ""),
    ];
    for (from, target, is_dead) in [
        (1, "docs/src/README.md", false),
        (1, "docs/src/README.md#exit-codes-all", false),
        (1, "docs/src/README.md#exit", true),
        (1, "docs/src/NOTHING.md", true),
        (1, "https://example.org/nothing", false),
        (0, "#a-page", false),
        (0, "../../README.md", true),
        (0, &format!("{REPOSITORY_URL}README.md"), false),
        (0, &format!("{REPOSITORY_URL}NOTHING.md"), true),
    ] {
        let problem = link_problem(&pages[from], target, &pages);
        assert_eq!(problem.is_some(), is_dead, "{target}: {problem:?}");
    }
}
