//! Whole pages.

use super::*;
use crate::sample_run::{closed, open_partial};
use prony_store::{ErrorCount, Event, KindFigures, Observed, ServerSecond};

fn drawn(runs: &[Run]) -> String {
    let mut out = Vec::new();
    write(&mut out, runs).unwrap();
    String::from_utf8(out).unwrap()
}

/// A run in which every text is hostile.
fn hostile() -> Run {
    let bad = "\"'></td></script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";
    let mut run = closed();
    let server = &mut run.server;
    for text in [
        &mut server.version,
        &mut server.address,
        &mut server.database,
        &mut server.user,
    ] {
        *text = bad.into();
    }
    server.engine = bad.into();
    server.settings.insert(bad.into(), bad.into());
    run.id = bad.into();
    run.asked = serde_json::json!({"command": ["prony", "run", bad]});
    run.workload.name = bad.into();
    run.workload.title = bad.into();
    run.workload.statements = vec![format!("SELECT * FROM \"{bad}\"\n-- more")];
    run.workload.settings = vec![bad.into()];
    run.measured.kinds.push(KindFigures {
        kind: bad.into(),
        ..KindFigures::default()
    });
    run.measured.errors.push(ErrorCount {
        kind: bad.into(),
        class: bad.into(),
        code: bad.into(),
        count: 1,
        example: bad.into(),
    });
    run.events.push(Event {
        what: bad.into(),
        detail: bad.into(),
        ..Event::default()
    });
    run.checks[0].finding = bad.into();
    run.checks[1].advice = bad.into();
    run.checks[1].id = bad.into();
    let reading = ServerSecond {
        seconds: 1.0,
        waits: [(bad.to_owned(), 2)].into(),
        ..ServerSecond::default()
    };
    run.observed = Some(Observed {
        series: vec![reading],
        ..Observed::default()
    });
    run.experiment = Some(prony_store::Experiment {
        id: bad.into(),
        variant: bad.into(),
        order: bad.into(),
        ..prony_store::Experiment::default()
    });
    run.host.name = bad.into();
    run.drive.io_reason = bad.into();
    run.build.version = bad.into();
    run
}

fn count(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

#[test]
fn a_page_has_all_parts_and_its_verdict_comes_first() {
    let page = drawn(&[closed()]);
    assert!(page.starts_with(BEGIN) && page.ends_with(END));
    let places = [
        "id=\"verdict-1\"",
        "id=\"time-1\"",
        "id=\"latency-1\"",
        "id=\"server-1\"",
        "id=\"checks-1\"",
    ];
    let places: Vec<usize> = places.iter().map(|id| page.find(id).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("Valid, with 1 caveat: client-limit."));
    assert!(page.contains("27,700"));
    for missing in ["NaN", "inf ", "http://", "https://", "src="] {
        assert!(!page.contains(missing), "{missing}");
    }
    // Each opened element is closed.
    for name in [
        "section", "figure", "svg", "table", "details", "div", "ul", "p", "dl", "main", "article",
    ] {
        let opened = count(&page, &format!("<{name}>")) + count(&page, &format!("<{name} "));
        assert_eq!(opened, count(&page, &format!("</{name}>")), "{name}");
    }
}

#[test]
fn ids_are_unique_and_every_reference_has_its_target() {
    let page = drawn(&[hostile(), open_partial()]);
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len());
    for attribute in ["aria-labelledby=\"", "href=\"#", "data-table=\""] {
        assert!(page.contains(attribute));
        for rest in page.split(attribute).skip(1) {
            for id in rest.split('"').next().unwrap().split(' ') {
                assert!(unique.contains(id), "{attribute}{id}");
            }
        }
    }
}

#[test]
fn no_text_of_a_document_becomes_markup() {
    let (page, plain) = (drawn(&[hostile()]), drawn(&[closed()]));
    // The page's own script, and the document.
    assert_eq!(count(&page, "<script"), 2);
    assert_eq!(count(&page, "</script"), 2);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    let (before, rest) = page.split_once(DOCUMENT).unwrap();
    let around = format!("{before}{}", rest.split_once(DOCUMENT_END).unwrap().1);
    for bad in ["<img", "alert(1)</script", "\"'>", "onerror=alert(2)>"] {
        assert!(!around.contains(bad), "{bad}");
    }
    assert_eq!(count(&page, "<body"), count(&plain, "<body"));
    let pair = drawn(&[hostile(), closed()]);
    assert_eq!(count(&pair, "<script"), 3);
    assert!(!pair.contains("<img"));
    let back = verify(&page).unwrap();
    assert_eq!(
        back.documents[0].run,
        hostile(),
        "and yet the document has it"
    );
}

#[test]
fn runs_side_by_side_name_what_differs() {
    let mut other = closed();
    other.measured.kinds[0].tps *= 1.1;
    other
        .server
        .settings
        .insert("shared_buffers".into(), "8GB".into());
    let page = drawn(&[closed(), other]);
    assert!(page.contains("COMPARABLE, WITH CAVEATS"), "{page}");
    assert!(page.contains("+10.0 %") && page.contains("8GB"));
    let mut stranger = closed();
    stranger.workload.scale += 1;
    let page = drawn(&[closed(), stranger]);
    assert!(page.contains("NOT COMPARABLE") && page.contains("No ratio is given"));
}

#[test]
fn a_run_without_figures_is_a_page_too() {
    let page = drawn(&[Run::default()]);
    assert!(page.contains("STILL RUNNING") && page.contains("No course over time"));
    assert!(page.contains("No command") && !page.contains("NaN"));
    verify(&page).unwrap();
}

#[test]
fn what_was_written_is_verified_and_each_change_is_found() {
    let page = drawn(&[closed(), open_partial()]);
    let found = verify(&page).unwrap();
    assert_eq!(found.documents.len(), 2);
    assert_eq!(found.drawn_by, None);
    let seed = page.replacen("\"seed\":42", "\"seed\":43", 1);
    assert!(matches!(
        verify(&seed),
        Err(VerifyError::Changed { number: 1, .. })
    ));
    let shown = page.replacen("<b>27,700</b>", "<b>99,700</b>", 1);
    assert_ne!(shown, page);
    assert!(matches!(verify(&shown), Err(VerifyError::Redrawn { .. })));
    let other = shown.replacen("content=\"Prony ", "content=\"Prony 7.", 1);
    assert!(verify(&other).unwrap().drawn_by.unwrap().starts_with("7."));
    assert_eq!(verify(&page[..page.len() - 20]), Err(VerifyError::CutOff));
    let newer = page.replacen("report=\"1\"", "report=\"3\"", 1);
    assert_eq!(verify(&newer), Err(VerifyError::Newer("3".into())));
    for none in ["", "<!doctype html>\n<html>", "{}"] {
        assert_eq!(verify(none), Err(VerifyError::NoReport));
    }
}

#[test]
fn a_page_whose_document_is_none_is_told_apart() {
    let begin = format!("{BEGIN}1\">");
    assert_eq!(verify(&format!("{begin}{END}")), Err(VerifyError::Empty));
    let hash = document::sha256(b"{}");
    let page = format!("{begin}{DOCUMENT}{hash}\">{{}}{DOCUMENT_END}{END}");
    assert!(matches!(
        verify(&page),
        Err(VerifyError::Unreadable { number: 1, .. })
    ));
    let page = format!("{begin}{DOCUMENT}{hash}{END}");
    assert_eq!(verify(&page), Err(VerifyError::CutOff));
}

#[test]
fn whatever_numbers_a_document_holds_the_drawing_stays_finite() {
    for number in [-1.0, 0.0, 1e-300, 1e300, f64::MAX] {
        let mut run = hostile();
        run.window.warmup_s = number;
        run.measured.seconds = number;
        run.measured.kinds[0].tps = number;
        run.series[2].at_s = number;
        run.series[3].seconds = number;
        run.series[1].p50_ns = Some(u64::MAX);
        run.events[0].at_s = -number;
        run.events[0].until_s = Some(number);
        let seen = run.observed.as_mut().unwrap();
        seen.series[0].at_s = number;
        seen.series[0].seconds = number;
        seen.series[0].log_bytes = Some(u64::MAX);
        let page = drawn(&[run.clone(), run]);
        let (drawing, _) = page.split_once(DOCUMENT).unwrap();
        for attribute in [
            "x=\"",
            "y=\"",
            "x1=\"",
            "y1=\"",
            "width=\"",
            "height=\"",
            "d=\"M",
        ] {
            for rest in drawing.split(&format!(" {attribute}")).skip(1) {
                let value = rest.split('"').next().unwrap();
                assert!(
                    !value.contains("NaN") && !value.contains("inf"),
                    "{attribute}{value}"
                );
            }
        }
        assert!(!drawing.contains("width=\"-"), "{number}");
        verify(&page).unwrap();
    }
}

#[test]
fn the_variants_of_an_experiment_stand_by_their_medians() {
    let run = |variant: &str, repeat: u32, tps: f64| {
        let mut run = closed();
        run.id = format!("{variant}-{repeat}");
        run.measured.kinds[0].tps = tps;
        run.experiment = Some(prony_store::Experiment {
            id: "x".to_owned(),
            variant: variant.to_owned(),
            repeat,
            ..prony_store::Experiment::default()
        });
        run
    };
    let odd = "<b>new</b>";
    let mut runs = vec![
        run("base", 1, 100.0),
        run(odd, 1, 150.0),
        run(odd, 2, 154.0),
        run("base", 2, 104.0),
    ];
    let page = drawn(&runs);
    let part = page
        .split("<caption>The variants, by the medians")
        .nth(1)
        .unwrap();
    let part = part
        .split("<caption>The runs, in the order given")
        .next()
        .unwrap();
    assert!(part.contains(">102<") && part.contains(">152<"), "{part}");
    assert!(
        part.contains("&lt;b&gt;new&lt;/b&gt;") && !part.contains(odd),
        "{part}"
    );
    assert!(part.contains("COMPARABLE"), "{part}");
    // Of something else besides, they are runs like others.
    runs.push(closed());
    assert!(!drawn(&runs).contains("The variants, by the medians"));
}

/// A run that was killed: the store made its document of the journal, and nobody judged it.
#[test]
fn what_nobody_judged_is_judged_and_its_document_stays_as_it_was() {
    let mut run = closed();
    run.state = prony_store::State::Partial;
    run.checks.clear();
    let page = drawn(std::slice::from_ref(&run));
    assert!(page.contains("PARTIAL RESULT") && page.contains("partial-run"));
    assert!(!page.contains("nothing was found against it"));
    let found = verify(&page).unwrap();
    let stored = serde_json::to_string(&run).unwrap();
    assert_eq!(found.documents[0].json, stored);
    assert_eq!(
        found.documents[0].sha256,
        document::sha256(stored.as_bytes())
    );
    run.measured = prony_store::Figures {
        kinds: vec![Default::default()],
        ..Default::default()
    };
    run.series.clear();
    let page = drawn(&[run.clone(), run]);
    assert!(page.contains("Invalid (nothing-committed): there is no figure"));
    assert!(page.contains("Nothing was measured.</strong>"));
    assert!(!page.contains("0</b> transactions/s"));
    verify(&page).unwrap();
}
