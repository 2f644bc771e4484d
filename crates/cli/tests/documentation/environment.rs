//! The page of environment variables names all variables of Prony that the sources read or set, and no others.

use super::{Page, repository_root};
use std::collections::BTreeSet;
use std::path::Path;

/// Variables that only the build, the tests and Prony itself use.
const INTERNAL: &[&str] = &[
    "PRONY_COMMAND",
    "PRONY_COMMIT",
    "PRONY_MARIADB_BINDIR",
    "PRONY_TEST_DOWNLOAD",
    "PRONY_TEST_PARENT",
    "PRONY_TEST_ROLE",
    "PRONY_TEST_SQLSERVER",
];

/// The names of variables that stand between these characters.
fn variables(text: &str, quote: char, found: &mut BTreeSet<String>) {
    let is_name = |name: &&str| {
        let rest = name.strip_prefix("PRONY_").unwrap_or_default();
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    found.extend(text.split(quote).filter(is_name).map(str::to_owned));
}

fn variables_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            variables_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("UTF-8");
            variables(&text, '"', found);
        }
    }
}

#[test]
fn the_page_of_the_environment_names_every_variable() {
    let mut used = BTreeSet::new();
    for entry in std::fs::read_dir(repository_root().join("crates")).expect("a folder") {
        variables_below(&entry.expect("an entry").path().join("src"), &mut used);
    }
    for internal in INTERNAL {
        assert!(used.remove(*internal), "{internal} is in no source");
    }
    let page = Page::read(Path::new("docs/src/reference/environment.md"));
    let mut documented = BTreeSet::new();
    variables(&page.text, '`', &mut documented);
    assert_eq!(
        documented, used,
        "docs/src/reference/environment.md names the left ones, the sources have the right ones"
    );
}
