//! Tests of the form of a test report.

use super::*;
use crate::html::{PageContents, verify, write, write_contents};
use crate::sample_run::{formerly_judged, test_build, with_tps, written};
use prony_assertions::TextAssertions;
use prony_store::{
    Check, DeclaredFact, PublishedMetric, QueryCounts, RunState, Severity, scenario,
};

fn page_of(runs: &[Run]) -> String {
    let contents = PageContents {
        form: PageForm::ApsaraDb,
        runs,
        ..PageContents::default()
    };
    written(|out| write_contents(out, &contents, &test_build()))
}

fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\"")).expect(id);
    let end = page[start..].find("</section>").expect(id);
    &page[start..start + end]
}

#[test]
fn a_test_report_has_each_section_and_is_verified_in_its_form() {
    for runs in [
        vec![formerly_judged()],
        vec![formerly_judged(), with_tps(formerly_judged(), 900)],
    ] {
        let page = page_of(&runs);
        for (id, title) in SECTIONS {
            section(&page, id).assert_contains(title);
            assert!(page.contains(&format!("<a href=\"#{id}\">")), "{id}");
        }
        verify(&page, &test_build()).expect("unchanged");
        let changed = page.replace(" data-form=\"apsaradb\"", "");
        assert!(verify(&changed, &test_build()).is_err());
        let full = written(|out| write(out, &runs, None, &test_build()));
        assert_eq!(PageForm::of_page(&full), PageForm::Full);
        verify(&full, &test_build()).expect("unchanged");
    }
}

#[test]
fn what_nobody_knows_is_called_not_observed() {
    let mut run = formerly_judged();
    run.observed = None;
    run.server.settings.clear();
    run.measured.queries = None;
    let page = page_of(&[run.clone()]);
    let instance = section(&page, "instance");
    for fact in [
        "instance type",
        "memory",
        "IOPS limit",
        "maximum connections",
    ] {
        let row = format!("<th scope=\"row\">{fact}</th><td>not observed</td>");
        assert!(instance.contains(&row), "{fact}: {instance}");
    }
    section(&page, "parameters").assert_contains("not observed");
    section(&page, "missing").assert_contains("instance type, ");
    let declared = &mut run.server.declared;
    declared
        .declare(DeclaredFact::Machine, "<b>mysql.x4")
        .unwrap();
    let page = page_of(&[run]);
    let row = "<th scope=\"row\">instance type</th><td>&lt;b&gt;mysql.x4 (declared)</td>";
    section(&page, "instance").assert_contains(row);
    section(&page, "missing").assert_lacks("instance type, ");
}

#[test]
fn results_are_medians_by_clients_and_invalid_runs_do_not_count() {
    let finding = |severity| Check {
        id: "errors".to_owned(),
        severity,
        kind: None,
        finding: "many".to_owned(),
        advice: String::new(),
    };
    let run = |clients, tps| {
        let mut run = with_tps(formerly_judged(), tps);
        run.state = RunState::Complete;
        // A run without any check would be judged again.
        run.checks = vec![finding(Severity::Note)];
        run.drive.clients = clients;
        let seconds = run.measured.length_s as u64;
        run.measured.queries = Some(QueryCounts {
            reads: 1_400 * seconds,
            writes: 400 * seconds,
            others: 200 * seconds,
            ..QueryCounts::default()
        });
        run
    };
    let mut invalid = run(16, 9_000);
    invalid.checks = vec![finding(Severity::Invalid)];
    let runs = [
        run(8, 1_000),
        run(16, 1_500),
        run(16, 1_700),
        run(8, 1_100),
        run(16, 1_600),
        invalid,
    ];
    let page = page_of(&runs);
    let results = section(&page, "results");
    let name = plain(&runs[0].workload.name);
    for row in [
        format!("<th scope=\"row\">{name}</th><td>8</td><td>2</td><td>1,050</td>"),
        format!("<th scope=\"row\">{name}</th><td>16</td><td>3 of 4 count</td><td>1,600</td>"),
    ] {
        assert!(results.contains(&row), "{row}: {results}");
    }
    results.assert_contains("<td>2,000</td><td>84,000</td><td>24,000</td>");
    let mut other = run(16, 5_000);
    other.drive.protocol = None;
    let page = page_of(&[runs[1].clone(), other]);
    let results = section(&page, "results");
    for tps in ["1,500", "5,000"] {
        let row = format!("<th scope=\"row\">{name}</th><td>16</td><td>1</td><td>{tps}</td>");
        assert!(
            results.contains(&row),
            "another protocol is another load: {results}"
        );
    }
    assert!(!page.contains("highest"), "rows are not ranked");
}

#[test]
fn published_facts_and_figures_stand_beside_those_of_the_test() {
    let mut run = formerly_judged();
    let settings = &mut run.server.settings;
    settings.insert("max_connections".to_owned(), 151.into());
    run.scenario = Some(Scenario {
        id: "mysql57-rw-4c16g-cached".to_owned(),
        source: "ApsaraDB-2022".to_owned(),
        published: vec![scenario::PublishedFigure {
            name: PublishedMetric::Reads,
            value: 2_224_362.0,
            high: None,
            unit: "statements in 60 s".to_owned(),
        }],
        original: scenario::OriginalSetup {
            setup: scenario::PublishedSetup {
                machine: Some("rds.mysql.m1.medium".to_owned()),
                max_connections: Some(4_000),
                iops: Some(7_000),
                ..scenario::PublishedSetup::default()
            },
            ..scenario::OriginalSetup::default()
        },
        size_share: 1.0,
        ..Scenario::default()
    });
    let page = page_of(&[run]);
    let instance = section(&page, "instance");
    for row in [
        "<th scope=\"row\">maximum connections</th><td>151</td><td>4,000</td>",
        "<th scope=\"row\">IOPS limit</th><td>not observed</td><td>7,000</td>",
        "<th scope=\"row\">instance type</th><td>not observed</td><td>rds.mysql.m1.medium</td>",
    ] {
        instance.assert_contains(row);
    }
    section(&page, "results").assert_contains("<td>2,224,362</td>");
    section(&page, "purpose").assert_contains("mysql57-rw-4c16g-cached (ApsaraDB-2022)");
}

#[test]
fn numbers_of_runs_are_ranges() {
    for (numbers, expected) in [
        (&[3][..], "run 3"),
        (&[1, 2], "runs 1, 2"),
        (&[1, 2, 3, 6, 8, 9, 10, 11], "runs 1 to 3, 6, 8 to 11"),
    ] {
        assert_eq!(facts::runs_text(numbers), expected);
    }
}
