//! Tests of whole pages.

use super::*;
use crate::sample_run::{
    coarse_histogram, formerly_judged, open_partial, test_build, time_histograms, with_tps, written,
};
use prony_assertions::TextAssertions;
use prony_store::{ErrorCount, Event, KindFigures, Observed, ServerSecond, TransactionTime};

fn page_of(runs: &[Run]) -> String {
    written(|out| write(out, runs, None, &test_build()))
}

fn hostile_run() -> Run {
    let bad = "\"'></td></script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";
    let mut run = formerly_judged();
    let server = &mut run.server;
    for text in [&mut server.version, &mut server.database, &mut server.user] {
        *text = bad.into();
    }
    server.address = Some(prony_store::ServerAddress::Unix(bad.into()));
    server.settings.insert(bad.into(), bad.into());
    run.id = bad.into();
    run.request = serde_json::json!({"command": ["prony", "run", bad]});
    run.workload.name = bad.into();
    run.workload.title = bad.into();
    run.workload.statements = vec![format!("SELECT * FROM \"{bad}\"\n-- more")];
    run.workload.settings = vec![prony_store::Setting::new(bad, bad)];
    run.measured.kinds.push(KindFigures {
        kind: Some(bad.into()),
        ..KindFigures::default()
    });
    run.measured.errors.push(ErrorCount {
        kind: Some(bad.into()),
        class: prony_store::ErrorClass::Other,
        code: bad.into(),
        count: 1,
        example: bad.into(),
    });
    run.events.push(Event {
        detail: bad.into(),
        ..Event::default()
    });
    run.checks[0].finding = bad.into();
    run.checks[1].advice = bad.into();
    run.checks[1].id = bad.into();
    let reading = ServerSecond {
        length_s: 1.0,
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
        ..prony_store::Experiment::default()
    });
    run.machine_mut().host.name = bad.into();
    run.drive.io_reason = bad.into();
    run.build.version = bad.into();
    run
}

fn occurrences(page: &str, pattern: &str) -> usize {
    page.matches(pattern).count()
}

#[test]
fn a_page_about_sql_server_has_a_notice_on_its_licence() {
    let notice = "may forbid publishing the results of benchmarks";
    let mut run = formerly_judged();
    assert_eq!(occurrences(&page_of(&[run.clone()]), notice), 0);
    run.server.product = Some(prony_store::Product::SQL_SERVER);
    assert_eq!(occurrences(&page_of(&[run.clone()]), notice), 1);
    assert_eq!(occurrences(&page_of(&[formerly_judged(), run]), notice), 1);
}

#[test]
fn a_page_has_all_sections_and_starts_with_the_verdict() {
    let mut run = formerly_judged();
    prony_judge::judge_run(&mut run);
    let page = page_of(&[run]);
    page.assert_starts_with(PAGE_START);
    page.assert_ends_with(PAGE_END);
    let ids = [
        "id=\"verdict-1\"",
        "id=\"time-1\"",
        "id=\"latency-1\"",
        "id=\"server-1\"",
        "id=\"checks-1\"",
    ];
    let positions: Vec<usize> = ids.iter().map(|id| page.find(id).unwrap()).collect();
    assert!(positions.is_sorted(), "{positions:?}");
    page.assert_contains("Invalid (outage): this figure must not be used");
    page.assert_contains("27,700");
    for forbidden in ["NaN", "inf ", "http://", "https://", "src="] {
        page.assert_lacks(forbidden);
    }
    // Every opened element is closed.
    for name in [
        "section", "figure", "svg", "table", "details", "div", "ul", "p", "dl", "main", "article",
    ] {
        let opened =
            occurrences(&page, &format!("<{name}>")) + occurrences(&page, &format!("<{name} "));
        assert_eq!(opened, occurrences(&page, &format!("</{name}>")), "{name}");
    }
}

#[test]
fn ids_are_unique_and_every_reference_has_its_target() {
    let page = page_of(&[hostile_run(), open_partial()]);
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|after_id| after_id.split('"').next())
        .collect();
    let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), unique.len());
    for attribute in ["aria-labelledby=\"", "href=\"#", "data-table=\""] {
        page.assert_contains(attribute);
        for rest in page.split(attribute).skip(1) {
            for id in rest.split('"').next().unwrap().split(' ') {
                assert!(unique.contains(id), "{attribute}{id}");
            }
        }
    }
}

#[test]
fn text_from_documents_is_escaped() {
    let (page, plain) = (page_of(&[hostile_run()]), page_of(&[formerly_judged()]));
    // The page's own script and the embedded document.
    assert_eq!(occurrences(&page, "<script"), 2);
    assert_eq!(occurrences(&page, "</script"), 2);
    page.assert_lacks("<img").assert_lacks("<!--");
    for bad in ["<img", "alert(1)</script", "\"'>", "onerror=alert(2)>"] {
        page.assert_lacks(bad);
    }
    assert_eq!(occurrences(&page, "<body"), occurrences(&plain, "<body"));
    let pair = page_of(&[hostile_run(), formerly_judged()]);
    assert_eq!(occurrences(&pair, "<script"), 3);
    pair.assert_lacks("<img");
    let verified = verify(&page, &test_build()).unwrap();
    let mut read = verified.documents[0].run.clone();
    // Its id is that of no run, which reading it says.
    read.checks.retain(|check| check.id != "contradiction");
    assert_eq!(read, hostile_run(), "the document is unchanged");
}

#[test]
fn a_page_of_several_runs_lists_the_differences() {
    let mut other = with_tps(formerly_judged(), 30_470);
    other
        .server
        .settings
        .insert("shared_buffers".into(), "8GB".into());
    let page = page_of(&[formerly_judged(), other]);
    page.assert_contains("<strong>Not known whether run 2 differs from run 1, because ");
    page.assert_contains("COMPARABLE, WITH CAVEATS");
    page.assert_contains("+10.0 %").assert_contains("8GB");
    let mut incomparable = formerly_judged();
    incomparable.workload.scale += 1;
    let page = page_of(&[formerly_judged(), incomparable]);
    page.assert_contains("NOT COMPARABLE");
    page.assert_contains("No ratio is given");
}

#[test]
fn a_run_without_figures_has_a_page() {
    let page = page_of(&[Run::default()]);
    page.assert_contains("STILL RUNNING");
    page.assert_contains("No figures over time");
    page.assert_contains("No command").assert_lacks("NaN");
    verify(&page, &test_build()).unwrap();
}

#[test]
fn verify_detects_every_change() {
    let page = page_of(&[formerly_judged(), open_partial()]);
    let verified = verify(&page, &test_build()).unwrap();
    assert_eq!(verified.documents.len(), 2);
    assert_eq!(verified.generated_by_other_build, None);
    let [first, second] = [&verified.documents[0].json, &verified.documents[1].json];
    let exchanged = page.replacen(&first.sha256, &second.sha256, 2);
    assert!(matches!(
        verify(&exchanged, &test_build()),
        Err(VerifyError::DocumentChanged { number: 1, .. })
    ));
    let changed = page.replacen("<b>27,700</b>", "<b>99,700</b>", 1);
    assert_ne!(changed, page);
    assert!(matches!(
        verify(&changed, &test_build()),
        Err(VerifyError::PageChanged { .. })
    ));
    let other_version = changed.replacen("content=\"Prony ", "content=\"Prony 7.", 1);
    verify(&other_version, &test_build())
        .unwrap()
        .generated_by_other_build
        .unwrap()
        .assert_starts_with("7.");
    assert_eq!(
        verify(&page[..page.len() - 20], &test_build()),
        Err(VerifyError::CutOff)
    );
    // A different build may generate a different page from the same documents.
    for commit in [Some("fedcba98".to_owned()), None] {
        let other_build = Build {
            commit,
            ..test_build()
        };
        let generator = verify(&changed, &other_build)
            .unwrap()
            .generated_by_other_build;
        assert_eq!(generator.unwrap(), "0.1.0 (commit 01234567)");
    }
    let newer = page.replacen("report=\"1\"", "report=\"3\"", 1);
    assert_eq!(
        verify(&newer, &test_build()),
        Err(VerifyError::NewerFormat("3".into()))
    );
    for text in ["", "<!doctype html>\n<html>", "{}"] {
        assert_eq!(verify(text, &test_build()), Err(VerifyError::NotAReport));
    }
}

#[test]
fn pages_with_invalid_documents_have_specific_errors() {
    let begin = format!("{PAGE_START}1\">");
    assert_eq!(
        verify(&format!("{begin}{PAGE_END}"), &test_build()),
        Err(VerifyError::NoDocument)
    );
    let mut element = Html::default();
    let text = EmbeddedText::new("{}".to_owned());
    text.write(&mut element, Content::Run).unwrap();
    let page = format!("{begin}{element}{PAGE_END}");
    assert!(matches!(
        verify(&page, &test_build()),
        Err(VerifyError::DocumentUnreadable { number: 1, .. })
    ));
    let page = format!(
        "{begin}{}{}{PAGE_END}",
        Content::Run.element_start(),
        text.sha256
    );
    assert_eq!(verify(&page, &test_build()), Err(VerifyError::CutOff));
}

#[test]
fn extreme_numbers_are_drawn_at_finite_positions() {
    for number in [-1.0, 0.0, 1e-300, 1e300, f64::MAX] {
        let mut run = hostile_run();
        run.window.warmup_s = number;
        run.measured.length_s = number;
        run.measured.kinds[0].tps = number;
        run.series[2].at_s = number;
        run.series[3].length_s = number;
        run.series[1].p50_ns = Some(u64::MAX);
        run.events[0].at_s = -number;
        run.events[0].until_s = Some(number);
        let observed = run.observed.as_mut().unwrap();
        observed.series[0].at_s = number;
        observed.series[0].length_s = number;
        observed.series[0].log_bytes = Some(u64::MAX);
        let page = page_of(&[run.clone(), run]);
        let (drawing, _) = page.split_once(Content::Run.element_start()).unwrap();
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
        verify(&page, &test_build()).unwrap();
    }
}

fn run_of_variant(variant: &str, repeat: u32, tps: u64) -> Run {
    let mut run = with_tps(formerly_judged(), tps);
    run.id = format!("{}-{repeat}", variant.len());
    run.experiment = Some(prony_store::Experiment {
        id: "x".to_owned(),
        variant: variant.to_owned(),
        repeat,
        ..prony_store::Experiment::default()
    });
    run
}

#[test]
fn variants_of_an_experiment_are_compared_by_their_medians() {
    let markup = "<b>new</b>";
    let mut runs = vec![
        run_of_variant("base", 1, 100),
        run_of_variant(markup, 1, 150),
        run_of_variant(markup, 2, 154),
        run_of_variant("base", 2, 104),
    ];
    let page = page_of(&runs);
    let part = page
        .split("<caption>The variants, by the medians")
        .nth(1)
        .unwrap();
    let part = part.split("<caption>The runs;").next().unwrap();
    part.assert_contains(">102<").assert_contains(">152<");
    part.assert_contains("&lt;b&gt;new&lt;/<wbr>b&gt;");
    part.assert_lacks(markup);
    assert!(
        page.contains("<h1>tpcb: &lt;b&gt;new&lt;/b&gt; against base</h1>")
            && !page.contains(markup),
        "the question is the title"
    );
    let position = |text: &str| page.find(text).expect(text);
    let in_order = [
        "% faster than base (TPS: ",
        ">COMPARABLE",
        "id=\"effects",
        "The variants, by the medians",
    ];
    let positions = in_order.map(position);
    assert!(positions.is_sorted(), "{in_order:?}: {positions:?}");
    // The runs of a variant look alike.
    assert_eq!(
        page.matches("<path class=\"line l1\" d=\"M1 5H35\"/></svg>&lt;b&gt;new")
            .count(),
        1
    );
    page.assert_lacks("</svg>run 3");
    assert!(
        !page.contains("against run 1"),
        "runs are not compared with each other"
    );
    page.assert_contains("id=\"variant-2\"");
    page.assert_lacks("id=\"variant-3\"");
    page.assert_contains("&lt;b&gt;new&lt;/b&gt; against base</h2>");
    page.assert_contains("<td class=\"line-text\">base, repeat 2</td>");
    // With a run outside the experiment, runs are compared instead of variants, but repeats of one variant
    // are not compared with each other.
    runs.push(formerly_judged());
    let page = page_of(&runs);
    page.assert_lacks("The variants, by the medians");
    let sections = |page: &str| -> Vec<usize> {
        (2..=9)
            .filter(|n| page.contains(&format!("<section id=\"pair-{n}\"")))
            .collect()
    };
    assert_eq!(sections(&page), [2, 3, 5], "run 4 is a repeat of run 1");
    // Repeats of one variant get a median and no comparison.
    let page = page_of(&[
        run_of_variant("base", 1, 100),
        run_of_variant("base", 2, 104),
    ]);
    page.assert_contains("The variants, by the medians");
    page.assert_lacks(" against ");
}

/// Covers a killed run: its document was rebuilt from the journal without checks.
#[test]
fn an_unjudged_run_is_judged_and_its_document_is_unchanged() {
    let mut run = formerly_judged();
    run.state = prony_store::RunState::Partial;
    run.checks.clear();
    run.rules_version = None;
    let page = page_of(std::slice::from_ref(&run));
    page.assert_contains("PARTIAL RESULT");
    page.assert_contains("partial-run");
    page.assert_lacks("no problems were found");
    let verified = verify(&page, &test_build()).unwrap();
    let stored = serde_json::to_string(&run).unwrap();
    assert_eq!(verified.documents[0].json.text, stored);
    run.measured = prony_store::Figures {
        kinds: vec![Default::default()],
        ..Default::default()
    };
    run.series.clear();
    let page = page_of(&[run.clone(), run]);
    page.assert_contains("Invalid (nothing-committed): there is no figure");
    page.assert_contains("Nothing was measured.</strong>");
    page.assert_lacks("0</b> transactions/s");
    verify(&page, &test_build()).unwrap();
}

#[test]
fn many_runs_have_one_section_of_comparisons() {
    let page = page_of(&vec![formerly_judged(); 12]);
    assert_eq!(occurrences(&page, "<section id=\"pair-"), 0);
    assert_eq!(occurrences(&page, "<details id=\"pair-"), 11);
    assert_eq!(occurrences(&page, "<section id=\"comparisons\""), 1);
    assert_eq!(occurrences(&page, "href=\"#comparisons\""), 1);
    let plot = page.split("id=\"effects-t\"").nth(1).unwrap();
    let plot = plot.split("</figure>").next().unwrap();
    plot.assert_contains(">run 12, TPS</text>");
    verify(&page, &test_build()).unwrap();
}

/// A run of this many seconds, with readings of its server and histograms of five kinds of transaction.
fn long_run(seconds: u32) -> Run {
    let mut run = formerly_judged();
    let second = run.series[1].clone();
    let second = |n: u32| prony_store::Second {
        at_s: f64::from(n),
        committed: 27_000 + u64::from(n * 7_919 % 997),
        p99_ns: Some(9_000_000 + u64::from(n * 104_729 % 1_009) * 1_000),
        ..second.clone()
    };
    run.series = (0..seconds).map(second).collect();
    let intervals = seconds / 10;
    let kinds = [
        "new_order",
        "payment",
        "order_status",
        "delivery",
        "stock_level",
    ];
    let kinds = kinds.iter().zip(1..).map(|(kind, salt)| {
        let histogram = |interval: u32| {
            let times = (1..100).map(|n| (20_000 * n, 1 + u64::from(interval) * salt * n % 31));
            coarse_histogram(times)
        };
        let histograms = (0..intervals).map(histogram);
        time_histograms(TransactionTime::Response, Some(kind), histograms)
    });
    run.histograms = Some(prony_store::HistogramSeries {
        times: kinds.collect(),
        rows: vec![10; intervals as usize],
    });
    let reading = |n: u32| ServerSecond {
        at_s: f64::from(n),
        length_s: 1.0,
        log_bytes: Some(2_246_168 + u64::from(n)),
        waits: [
            ("IO/WALSync".to_owned(), n % 5),
            ("LWLock/WALWrite".to_owned(), n % 3),
        ]
        .into(),
        ..ServerSecond::default()
    };
    run.observed = Some(Observed {
        series: (0..seconds).map(reading).collect(),
        ..Observed::default()
    });
    run
}

/// The page around the documents does not grow with the runs, and the documents are in it as they are.
#[test]
fn pages_of_long_runs_and_of_many_are_small_and_have_the_whole_documents() {
    for (count, seconds) in [(1, 3_600), (6, 300), (30, 60)] {
        let run = long_run(seconds);
        let page = page_of(&vec![run.clone(); count]);
        let (around, _) = page.split_once(Content::Run.element_start()).unwrap();
        println!(
            "{count} runs of {seconds} s: {} and {} bytes",
            around.len(),
            page.len()
        );
        assert!(around.len() < 3_000_000, "{}", around.len());
        let is_brief = page.contains("A page of more than 6 runs shows less of each run.");
        assert_eq!(is_brief, count > 6);
        let verified = verify(&page, &test_build()).unwrap();
        assert_eq!(verified.documents.len(), count);
        for document in &verified.documents {
            assert_eq!(document.json.text, serde_json::to_string(&run).unwrap());
        }
    }
}

#[test]
fn a_page_of_disturbed_runs_says_what_its_comparison_rests_on() {
    let run = |variant: &str, repeat: u32, tps: u64| {
        let mut run = run_of_variant(variant, repeat, tps);
        run.checks = vec![prony_store::Check {
            id: "neighbours".to_owned(),
            severity: prony_store::Severity::Invalid,
            ..run.checks[0].clone()
        }];
        run
    };
    let runs = [
        run("base", 1, 1000),
        run("new", 1, 1500),
        run("new", 2, 606),
        run("base", 2, 404),
    ];
    let page = page_of(&runs);
    let label = "RUNS INVALID (neighbours), compared by pairs that took turns";
    assert_eq!(
        page.matches(label).count(),
        2,
        "at the top, and of the variant"
    );
    page.assert_lacks("COMPARABLE, WITH");
    page.assert_contains("only their ratios may be used");
    page.assert_contains("<strong>new is 50.0 % faster than base (TPS: ");
    page.assert_contains("2 pairs of runs, assuming that their ratios are log-normal");
}
