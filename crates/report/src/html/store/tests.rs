use super::*;
use crate::html::policy_of;
use crate::sample_run::{closed, test_build, written};
use prony_assertions::TextAssertions;
use prony_store::{Annotation, AnswerVerdict, Experiment, RunFilter, RunState, RunSummary};
use std::collections::BTreeSet;

const BAD: &str = "</td><script>alert(\"1\")</script>' onload='x";

fn summary() -> RunSummary {
    let run = closed();
    RunSummary::new(&run.id, &run)
}

fn hostile() -> RunSummary {
    RunSummary {
        workload: BAD.to_owned(),
        own_name: Some(BAD.to_owned()),
        server: BAD.to_owned(),
        is_drill: true,
        annotation: Annotation {
            label: Some(BAD.to_owned()),
            note: Some(BAD.to_owned()),
        },
        experiment: Some(Experiment {
            id: BAD.to_owned(),
            variant: BAD.to_owned(),
            variants: vec![BAD.to_owned()],
            position: 1,
            runs: 2,
            ..Experiment::default()
        }),
        ..summary()
    }
}

fn list(runs: &[RunSummary], filter: &RunFilter) -> String {
    let workloads: BTreeSet<String> = runs.iter().map(|run| run.workload.clone()).collect();
    let list = RunList {
        runs,
        matching: runs.len(),
        filter,
        workloads: &workloads,
        newer: None,
        older: Some("/?workload=tpcb&from=500".to_owned()),
        now_ns: summary().epoch_ns(),
    };
    written(|out| write_runs(out, &list, &test_build()))
}

#[test]
fn no_text_of_a_run_becomes_markup_on_any_list() {
    let runs = [hostile()];
    let filter = RunFilter {
        workload: Some(BAD.to_owned()),
        label: Some(BAD.to_owned()),
        server: Some(BAD.to_owned()),
        ..RunFilter::default()
    };
    let build = test_build();
    let mut live = closed();
    live.id = BAD.to_owned();
    live.state = RunState::Running;
    live.events[0].detail = BAD.to_owned();
    let events = events_of(&live).unwrap();
    let pages = [
        list(&runs, &filter),
        written(|out| write_experiments(out, &runs, &build)),
        written(|out| write_trends(out, &runs, &build)),
        written(|out| write_drills(out, &runs, 0, &build)),
        written(|out| write_problem(out, BAD, BAD, &build)),
        written(|out| write_live(out, &live, &runs[0].annotation, &build)),
        events,
    ];
    for page in pages {
        page.assert_lacks("<script>alert");
        page.assert_lacks("' onload='");
        assert!(page.contains("&lt;script&gt;"), "the text is shown: {page}");
    }
}

#[test]
fn the_policy_of_a_list_allows_its_style_and_its_own_requests_only() {
    let page = list(&[summary()], &RunFilter::default());
    let policy = policy_of(&page).expect("a policy");
    policy.assert_starts_with("default-src 'none'; style-src 'sha256-");
    policy.assert_contains("form-action 'self'");
    policy.assert_lacks("script-src");
    let live = written(|out| write_live(out, &closed(), &Annotation::default(), &test_build()));
    let policy = policy_of(&live).expect("a policy");
    policy.assert_contains("connect-src 'self'");
    policy.assert_contains("script-src 'sha256-");
    assert_eq!(policy_of("no page"), None);
}

#[test]
fn a_run_has_a_tick_a_link_and_its_verdict_and_one_in_progress_leads_to_its_page() {
    let running = RunSummary {
        id: "20261120-a".to_owned(),
        state: RunState::Running,
        answer: Some(AnswerVerdict::Undecided),
        ..summary()
    };
    let page = list(&[running, summary()], &RunFilter::default());
    page.assert_contains("<a href=\"/live/20261120-a\">20261120-a</a>");
    page.assert_contains("<td class=\"text is-running\">running</td>");
    let id = summary().id;
    page.assert_contains(&format!("<a href=\"/runs/{id}\">{id}</a>"));
    page.assert_contains(&format!("type=\"checkbox\" name=\"run\" value=\"{id}\""));
    let expected = "<td class=\"text is-doubts\">doubts</td><td>27,700 TPS</td><td>9.24 ms</td>";
    page.assert_contains(expected);
    page.assert_contains("<a href=\"/?workload=tpcb&amp;from=500\">Older runs</a>");
    page.assert_lacks("Newer runs");
    let failed = RunSummary {
        answer: Some(AnswerVerdict::Fail),
        ..summary()
    };
    let page = list(&[failed], &RunFilter::default());
    page.assert_contains("<td class=\"text is-fail\">doubts, FAIL</td>");
    list(&[], &RunFilter::default()).assert_contains("0 runs");
}

#[test]
fn runs_are_grouped_by_experiment_and_by_workload() {
    let of = |id: &str, position, variant: &str| RunSummary {
        experiment: Some(Experiment {
            id: id.to_owned(),
            position,
            runs: 4,
            variant: variant.to_owned(),
            ..Experiment::default()
        }),
        ..summary()
    };
    let runs = [
        of("e2", 1, "x"),
        of("e1", 2, "b"),
        of("e1", 1, "a"),
        summary(),
    ];
    let page = written(|out| write_experiments(out, &runs, &test_build()));
    let first = page.find("/experiments/e2").expect("listed");
    let second = page.find("/experiments/e1").expect("listed");
    assert!(first < second, "newest first: {page}");
    page.assert_contains("<td class=\"text\">a, b</td><td>2 of 4</td>");
    let page = written(|out| write_trends(out, &runs, &test_build()));
    page.assert_contains("<a href=\"/trends/tpcb\">tpcb</a></th><td>4</td>");
    let drills = |runs: &[RunSummary]| written(|out| write_drills(out, runs, 0, &test_build()));
    drills(&runs).assert_contains("No drill is stored");
    let drill = RunSummary {
        is_drill: true,
        no_commit_s: Some(0.117),
        acknowledged: Some(69_745),
        lost: Some(8_325),
        ..summary()
    };
    let page = drills(&[drill]);
    page.assert_contains(&format!("/runs/{}", summary().id));
    page.assert_contains("<td>117 ms</td><td>8,325</td><td>69,745</td>");
}

#[test]
fn a_part_of_a_path_has_no_character_with_a_meaning() {
    assert_eq!(path_part("tpcb-1_2.3~"), "tpcb-1_2.3~");
    assert_eq!(path_part("a/../b?c#\u{e4}"), "a%2F..%2Fb%3Fc%23%C3%A4");
}

#[test]
fn each_line_of_an_event_is_a_line_of_data() {
    let mut run = closed();
    run.state = RunState::Running;
    let event = events_of(&run).unwrap();
    event.assert_starts_with("event: seconds\ndata: <p class=\"verdict note\">");
    event.assert_ends_with("\n\n");
    let lines = event.trim_end().lines().skip(1);
    assert!(lines.clone().count() > 10, "charts: {event}");
    assert!(lines.into_iter().all(|line| line.starts_with("data: ")));
    run.series.clear();
    events_of(&run)
        .unwrap()
        .assert_contains("Nothing has been measured yet.");
}
