//! The page of checks with their thresholds, from the header of `judge/src/thresholds.rs`, which a test of `judge`
//! keeps complete.

use super::page_head;
use crate::documentation::repository_root;
use prony_judge::RULES_VERSION;

/// Beginnings of paragraphs that begin a section of the page.
const SECTIONS: [(&str, &str); 4] = [
    ("What the checks promise", "What the checks find"),
    ("For comparisons", "Caveats of comparisons"),
    ("For prices", "Remarks on prices"),
    ("For other tools' output", "Checks of other tools' output"),
];

/// Links of the source's documentation, and what replaces them.
const SOURCE_LINKS: [(&str, &str); 3] = [
    ("\n([`severity_of_effect`])", ""),
    ("; the constants say which", ""),
    (
        "([`scope`](crate::scope))",
        "([explanation](../explanation/validity.md))",
    ),
];

pub fn page() -> String {
    let path = repository_root().join("crates/judge/src/thresholds.rs");
    let source = std::fs::read_to_string(path).expect("the thresholds");
    let header = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = header
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let start = lines
        .iter()
        .position(|line| line.starts_with("Where a row says"));
    let mut body = lines[start.expect("the first paragraph")..].join("\n") + "\n";
    for (from, to) in SOURCE_LINKS {
        assert!(body.contains(from), "{from} is not in the thresholds");
        body = body.replace(from, to);
    }
    for (paragraph, title) in SECTIONS {
        let start = format!("\n\n{paragraph}");
        assert!(
            body.contains(&start),
            "{paragraph} begins no paragraph of the thresholds"
        );
        body = body.replace(&start, &format!("\n\n## {title}\n\n{paragraph}"));
    }
    let introduction = format!(
        "Every check of a run, with the condition under which it appears. These are the rules of version {RULES_VERSION}; a run records the\n\
         version by which it was judged, and `prony judge RUN` judges it by the installed one. [Validity](../explanation/validity.md)\n\
         explains the verdicts.\n"
    );
    page_head("Checks and thresholds", &introduction) + &body
}
