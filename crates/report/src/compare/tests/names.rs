//! Names in documents remain plain names in every format.

use super::*;

#[test]
fn names_from_documents_stay_plain_text() {
    let with_bad_names = |mut runs: Vec<Run>, more: &str| {
        for run in &mut runs {
            run.workload.name = BAD.to_owned();
            run.server.version = format!("{BAD}{more}");
            run.server.database = BAD.to_owned();
            run.rates = vec![IndustryMetric {
                name: BAD.into(),
                value: 5.0 * run.measured.kinds[0].tps,
                ..IndustryMetric::default()
            }];
            run.id = format!("{BAD}{}", run.id);
        }
        runs
    };
    let sides = [
        with_bad_names(runs("a", &STEADY), "1"),
        with_bad_names(runs("b", &FASTER), "2"),
    ];
    let views = shown_as(BAD, &sides, &Limits::default());
    assert!(
        !views.text.contains('\u{1b}') && views.text.contains("<script>"),
        "{}",
        views.text
    );
    for line in views.markdown.lines() {
        let allowed = line.replace("<code>", "").replace("</code>", "");
        assert!(
            !allowed.contains(['<', '>', '`', '@', '_', '[', '\\', '\u{1b}']),
            "{line}"
        );
        assert!(!line.contains("http:") && !line.contains("www."), "{line}");
        assert!(
            !allowed
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
    let mut open: Vec<&str> = Vec::new();
    let body = xml.split_once("?>").unwrap().1;
    for piece in body.split('<').skip(1) {
        let (tag, rest) = piece.split_once('>').expect("it ends");
        assert!(!rest.contains('>'), "{piece}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{piece}");
            continue;
        }
        assert!(tag.matches('"').count().is_multiple_of(2), "{piece}");
        for entity in piece.split('&').skip(1) {
            let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
            assert!(known.iter().any(|one| entity.starts_with(one)), "{piece}");
        }
        if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert_eq!(open, [""; 0]);
}
