//! Names in documents remain plain names in every format.

use super::*;
use prony_assertions::TextAssertions;

#[test]
fn names_from_documents_stay_plain_text() {
    let with_hostile_names = |mut runs: Vec<Run>, version_suffix: &str| {
        for run in &mut runs {
            run.workload.name = HOSTILE_NAME.to_owned();
            run.server.version = format!("{HOSTILE_NAME}{version_suffix}");
            run.server.database = HOSTILE_NAME.to_owned();
            run.rates = vec![IndustryMetric {
                name: HOSTILE_NAME.into(),
                value: 5.0 * run.measured.kinds[0].tps,
                ..IndustryMetric::default()
            }];
            run.id = format!("{HOSTILE_NAME}{}", run.id);
        }
        runs
    };
    let sides = [
        with_hostile_names(runs("a", &STEADY), "1"),
        with_hostile_names(runs("b", &FASTER), "2"),
    ];
    let views = compare_named(HOSTILE_NAME, &sides);
    assert!(
        !views.text.contains('\u{1b}') && views.text.contains("<script>"),
        "{}",
        views.text
    );
    for line in views.markdown.lines() {
        let without_code = line.replace("<code>", "").replace("</code>", "");
        assert!(
            !without_code.contains(['<', '>', '`', '@', '_', '[', '\\', '\u{1b}']),
            "{line}"
        );
        line.assert_lacks("http:").assert_lacks("www.");
        assert!(
            !without_code
                .trim_start_matches("**")
                .trim_end_matches("**")
                .contains('*'),
            "{line}"
        );
        if line.starts_with('|') {
            let cells = line.matches('|').count() - 1;
            assert!(cells == 4 || cells == 5, "{cells}: {line}");
        }
    }
    assert!(
        !views.xml.contains("<script") && !views.xml.contains('\u{1b}'),
        "{}",
        views.xml
    );
    assert_balanced(&views.xml);
}

/// Every opened element is closed, and no attribute contains a character that would end it.
fn assert_balanced(xml: &str) {
    let mut open_elements: Vec<&str> = Vec::new();
    let body = xml.split_once("?>").unwrap().1;
    for piece in body.split('<').skip(1) {
        let (tag, content) = piece.split_once('>').expect("the tag ends");
        assert!(!content.contains('>'), "{piece}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open_elements.pop(), Some(name), "{piece}");
            continue;
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{piece}");
        for entity in piece.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
            assert!(
                known
                    .iter()
                    .any(|entity_name| entity.starts_with(entity_name)),
                "{piece}"
            );
        }
        if !tag.ends_with('/') {
            open_elements.push(tag.split(' ').next().unwrap());
        }
    }
    assert_eq!(open_elements, [""; 0]);
}
