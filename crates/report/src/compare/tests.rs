//! Comparisons in all formats: text, JSON, Markdown and XML.

mod mixed;
mod names;

use super::*;
use crate::sample_run::{closed, written};
use prony_assertions::TextAssertions;
use prony_judge::compare::sides::{CompareOptions, Side, compare_sides};
use prony_judge::requirements::answer_side;
use prony_store::{IndustryMetric, Requirement};

/// Contains what could act as markup, a table cell, a line break or a control code in some format.
const HOSTILE_NAME: &str = "x</code><script>alert(\"1\")</script>' onload='x | y\n| z\u{1b}[31m & ]]> `a` *b* _c_ @all #1 \\| http://e.x www.e.x";

fn run(id: &str, tps: f64) -> Run {
    let mut run = closed();
    run.id = id.to_owned();
    run.measured.kinds[0].tps = tps;
    run.measured.kinds[0].response.p99_ns = Some((1e11 / tps) as u64);
    run
}

fn runs(id_prefix: &str, tps: &[f64]) -> Vec<Run> {
    let numbered_tps = tps.iter().enumerate();
    numbered_tps
        .map(|(index, tps)| run(&format!("{id_prefix}{index}"), *tps))
        .collect()
}

struct ComparisonViews {
    comparison: SidesComparison,
    text: String,
    json: serde_json::Value,
    markdown: String,
    xml: String,
}

fn compare_named(name: &str, sides: &[Vec<Run>]) -> ComparisonViews {
    compare_required(name, sides, &[], false)
}

fn compare_required(
    name: &str,
    sides: &[Vec<Run>],
    requirements: &[&str],
    pass_undecided: bool,
) -> ComparisonViews {
    let runs: Vec<Vec<&Run>> = sides.iter().map(|runs| runs.iter().collect()).collect();
    let named: Vec<Side<'_>> = runs
        .iter()
        .map(|runs| Side {
            name: name.to_owned(),
            runs: runs.clone(),
        })
        .collect();
    let comparison = compare_sides(&named, &CompareOptions::default());
    let requirements: Vec<Requirement> = requirements
        .iter()
        .map(|text| Requirement::parse(text).unwrap())
        .collect();
    let compared = comparison.side_comparisons.iter().zip(&runs[1..]);
    let answers = compared.filter_map(|(side, runs)| {
        let answer = answer_side(&requirements, &comparison, side, runs, &[])?;
        Some((side.letter.to_string(), answer))
    });
    let answers = &SideAnswers {
        answers: answers.collect(),
        pass_undecided,
    };
    let style = Style::plain();
    let json_text = written(|out| write_json(out, &comparison, answers, None));
    ComparisonViews {
        text: written(|out| write(out, &style, &runs, &comparison, answers)),
        json: serde_json::from_str(&json_text).unwrap(),
        markdown: written(|out| write_markdown(out, &runs, &comparison, answers)),
        xml: written(|out| write_junit(out, &runs, &comparison, answers)),
        comparison,
    }
}

fn compare_runs(sides: &[Vec<Run>]) -> ComparisonViews {
    compare_named("", sides)
}

const STEADY: [f64; 3] = [9_900.0, 10_000.0, 10_100.0];
const FASTER: [f64; 3] = [10_900.0, 11_000.0, 11_100.0];

#[test]
fn comparable_runs_have_a_ratio_and_a_caution() {
    let views = compare_runs(&[vec![run("a", 10_000.0)], vec![run("b", 11_000.0)]]);
    views.text.assert_contains("\nCOMPARABLE, WITH 1 CAVEAT\n");
    views.text.assert_contains("+10.0 %");
    views.text.assert_contains("One run per side");
    views.text.assert_contains("repeats");
    let unwrapped = views.text.split_whitespace().collect::<Vec<_>>().join(" ");
    unwrapped.assert_starts_with(
        "Not known whether B differs from A, because there is 1 run per side: TPS 10,000 and 11,000 (+10.0 %), p99 10.0 ms \
         and 9.09 ms (-9.1 %). COMPARABLE",
    );
    unwrapped.assert_contains("5 runs per side are needed to detect a difference of 5 %.");
    for verdict in ["faster", "slower", "higher", "lower"] {
        assert!(!unwrapped.contains(verdict), "{verdict}:\n{}", views.text);
    }
    let p99 = |line: &&str| line.trim_start().starts_with("p99 ") && line.ends_with(" none");
    assert!(views.text.lines().any(|line| p99(&line)), "{}", views.text);
    assert_eq!(views.json["runs_needed"]["runs"], 5);
    assert_eq!(
        views.json["side_comparisons"][0]["figures"][0].get("significance"),
        None
    );
    let several = compare_runs(&[vec![run("a", 10_000.0)], runs("b", &STEADY)]);
    let answer = several.json["answer"][0].as_str().unwrap();
    answer
        .assert_starts_with("Not known whether B differs from A, because A has 1 run: TPS 10,000");
    several.text.assert_contains("5 runs per side are");
}

/// However far apart the seconds of two single runs are, they are not a basis for a verdict.
#[test]
fn seconds_of_single_runs_give_no_verdict() {
    let seconds = |id: &str, tps: f64| {
        let mut run = run(id, tps);
        let second = run.series[1].clone();
        let each = (0..60_u32).map(|at| prony_store::Second {
            at_s: f64::from(at),
            committed: tps as u64 + u64::from(at * at * 7919 % 101),
            ..second.clone()
        });
        run.series = each.collect();
        run.events.clear();
        vec![run]
    };
    let views = compare_runs(&[seconds("a", 10_000.0), seconds("b", 4_000.0)]);
    let answer = views.json["answer"][0].as_str().unwrap();
    answer.assert_starts_with(
        "Not known whether B differs from A, because there is 1 run per side: TPS 10,000 and 4,000 (-60.0 %), p99",
    );
    let sentence = "TPS: A 10,000, B 4,000 (-60.0 %); no statement about a difference: there is 1 run per side.";
    views.xml.assert_contains(sentence);
}

#[test]
fn repeats_are_reported_with_their_interval() {
    let views = compare_named("", &[runs("a", &STEADY), runs("b", &FASTER)]);
    let answer = "B is 10.0 % faster than A (TPS: 7.6 to 12.4 %, 3 runs each, assuming a normal distribution), p99 9.1 % lower (7.1 to 11.0 %).";
    let words = views.text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.assert_starts_with(answer);
    views.text.assert_contains("\nCOMPARABLE\n");
    assert_eq!(views.json["answer"][0], answer);
    let markdown = &views.markdown;
    markdown.assert_starts_with("**B is 10.0 % faster than A (TPS");
    let xml = &views.xml;
    xml.assert_contains("TPS: B is 10.0 % faster than A (95 % interval 7.");
    views.xml.assert_contains("3 runs each, assuming");
    let xml = &views.xml;
    xml.assert_contains("p99: -9.1 % (95 % interval -11.0 to -7.1 %); not tested.");
    views.text.assert_lacks("One run");
    let one_against_three = compare_runs(&[runs("a", &STEADY), runs("b", &[9_950.0])]).text;
    one_against_three.assert_contains("One run of B: ");
    one_against_three.assert_lacks("per side:");
    let views = compare_runs(&[runs("a", &FASTER), runs("b", &STEADY)]);
    let text = &views.text;
    text.assert_starts_with("B is 9.1 % slower than A (TPS: ");
    views.xml.assert_contains("TPS: B is 9.1 % slower than A");
    let equal_sides = compare_runs(&[
        runs("a", &STEADY),
        runs("b", &[9_950.0, 10_000.0, 10_060.0]),
    ]);
    let answer = equal_sides.json["answer"][0].as_str().unwrap();
    answer.assert_starts_with("No difference found between A and B (TPS: -");
    answer.assert_contains(" would probably have been found), p99 the same (-");
    let sentence = "TPS: no difference found between A and B (95 % interval -";
    equal_sides.xml.assert_contains(sentence);
    let end = " or more would probably have been found.";
    equal_sides.xml.assert_contains(end);
    // An interval that is wide says nothing about equality.
    let wide = compare_runs(&[runs("a", &[5_000.0, 20_000.0]), runs("b", &STEADY)]);
    let answer = wide.json["answer"][0].as_str().unwrap();
    answer
        .assert_contains("p99 not certain (")
        .assert_lacks("the same");
    // At a rate, the throughput says nothing of the server.
    let at_rate = [runs("a", &STEADY), runs("b", &FASTER)].map(|mut runs| {
        for run in &mut runs {
            run.drive.rate_tps = Some(10_000.0);
        }
        runs
    });
    let at_rate = compare_runs(&at_rate);
    let answer = at_rate.json["answer"][0].as_str().unwrap();
    answer.assert_starts_with("B has 9.1 % lower p99 than A (");
    answer.assert_lacks("TPS");
}

#[test]
fn very_large_changes_are_not_printed_in_digits() {
    let views = compare_runs(&[
        runs("a", &[5_000.0, 20_000.0]),
        runs("b", &[4_000.0, 30_000.0]),
    ]);
    let unwrapped = views.text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("to over +1,000 %"), "{}", views.text);
    unwrapped.assert_starts_with("The runs scatter too much to say whether B differs from A (");
    assert!(
        unwrapped.contains("over 1,000 % would probably have been found"),
        "{}",
        views.text
    );
    let sentence = "a difference of over 1,000 % or more";
    views.xml.assert_contains(sentence);
}

#[test]
fn incomparable_runs_have_no_ratio() {
    let (a, mut b) = (run("a", 10_000.0), run("b", 11_000.0));
    b.workload.settings = vec![prony_store::Setting::new("profile", "\u{1b}[31mhammerdb")];
    b.server.version = "9".repeat(200);
    let views = compare_runs(&[vec![a], vec![b]]);
    let told = &views.text;
    told.assert_starts_with("NOT COMPARABLE: mode (statements against not set): the clients did");
    assert_eq!(views.text.matches("NOT COMPARABLE").count(), 1);
    views.text.assert_contains("profile");
    for text in [&views.text, &views.markdown, &views.xml] {
        assert!(
            !text.contains("| change |")
                && !text.contains("interval |")
                && !text.contains('\u{1b}'),
            "{text}"
        );
        text.assert_lacks("TPS").assert_lacks("10.0 %");
    }
    let long = views.text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(long, None);
    views.xml.assert_contains("failures=\"1\"");
    views.xml.assert_contains("tests=\"1\"");
    assert_eq!(views.json["verdict"], "not_comparable");
}

#[test]
fn each_reason_names_the_properties_that_differ() {
    let (a, mut b) = (run("a", 10_000.0), run("b", 11_000.0));
    b.server.version = "9".to_owned();
    b.server.tls = Some("TLSv1.3".to_owned());
    b.drive.threads += 1;
    let text = compare_runs(&[vec![a], vec![b]]).text;
    for line in [
        "\n  server version: it may explain a difference.\n",
        "\n  TLS: encryption costs CPU time at both ends.\n",
        "\n  threads: the client's own cost is part of every figure.\n",
    ] {
        text.assert_contains(line);
    }
    let properties = ["a", "b", "c", "d"].map(str::to_owned);
    assert_eq!(list_properties(&properties[..3]), "a, b, c");
    assert_eq!(list_properties(&properties), "a, b and 2 others");
}

#[test]
fn only_the_first_notes_are_listed_for_a_person() {
    let with_settings = |id: &str, tps: f64| {
        let mut run = run(id, tps);
        for number in 0..100 {
            let name = format!("setting_{number:02}");
            run.server.settings.insert(name, id.into());
        }
        run
    };
    let views = compare_runs(&[
        vec![with_settings("a", 10_000.0)],
        vec![with_settings("b", 11_000.0)],
    ]);
    views.text.assert_contains("setting_19");
    views.text.assert_lacks("setting_20");
    views.text.assert_contains("80 more: --json");
    views.json.to_string().assert_contains("setting_99");
}

#[test]
fn json_contains_the_whole_comparison() {
    let (a, mut b) = (runs("a", &STEADY), runs("b", &FASTER));
    for run in &mut b {
        run.drive.clients += 1;
    }
    let json = compare_required("", &[a, b], &["not slower than A by 3%"], false).json;
    assert_eq!(json["verdict"], "with_caveats");
    let compared = &json["side_comparisons"][0];
    assert_eq!(compared["differences"][0]["what"], "clients");
    let first = &compared["figures"][0];
    assert_eq!(
        (&first["a"]["median"], &first["name"]),
        (&10_000.0.into(), &"TPS".into())
    );
    assert_eq!(
        json["sides"][1]["runs"],
        serde_json::json!(["b0", "b1", "b2"])
    );
    assert_eq!(first["b"]["values"][2], 11_100.0);
    assert_eq!(first["significance"]["basis"], "normal");
    let p99_significance = &json["side_comparisons"][0]["figures"][1]["significance"];
    assert!(
        p99_significance.get("is_significant").is_none() && p99_significance.get("p").is_none(),
        "{p99_significance}"
    );
    assert_eq!(json["primary"], "TPS");
    assert_eq!(first["significance"]["is_significant"], true);
    let answer = &json["answers"][0];
    assert_eq!(
        (&answer["label"], &answer["answer"]["verdict"]),
        (&"B".into(), &"PASS".into())
    );
    let result = &answer["answer"]["results"][0];
    assert_eq!(
        (&result["requirement"], &result["compared"]),
        (&"not slower than A by 3%".into(), &"TPS".into())
    );
}

#[test]
fn what_is_required_is_answered_first() {
    let sides = |tps: &[f64]| [runs("a", &STEADY), runs("b", tps)];
    let required = ["not slower than A by 3%"];
    let views = compare_required("", &sides(&[9_000.0, 9_100.0, 9_050.0]), &required, true);
    views.text.assert_starts_with("FAIL: TPS 90.5 % of A's (");
    views.markdown.assert_starts_with("- FAIL: TPS");
    views.xml.assert_contains("failures=\"1\"");
    views.xml.assert_contains("<failure message=\"FAIL: TPS");
    let views = compare_required("", &sides(&STEADY), &required, false);
    views.text.assert_starts_with("PASS: TPS 100.0 % of A's");
    views.xml.assert_contains("failures=\"0\"");
    let undecided = sides(&[9_600.0, 9_700.0, 9_800.0]);
    let single = [vec![run("a", 10_000.0)], vec![run("b", 4_000.0)]];
    for (pass_undecided, failures) in [(true, "failures=\"0\""), (false, "failures=\"1\"")] {
        for sides in [&undecided[..], &single] {
            let views = compare_required("", sides, &required, pass_undecided);
            views.text.assert_starts_with("UNDECIDED: TPS ");
            views.xml.assert_contains(failures);
            assert_eq!(views.json["answers"][0]["answer"]["verdict"], "UNDECIDED");
        }
    }
    // With several sides, each line names its side.
    let sides = [runs("a", &FASTER), runs("b", &STEADY), runs("c", &FASTER)];
    let views = compare_required("", &sides, &["p99<=105% of A"], false);
    let lines: Vec<&str> = views.markdown.lines().take(2).collect();
    lines[0].assert_starts_with("- B: FAIL: p99 110.");
    lines[1].assert_starts_with("- C: PASS: p99 100.0");
    views.text.assert_starts_with("B: FAIL: p99 110.");
}

#[test]
fn four_variants_fit_a_screen() {
    let named = [("base", 1.0), ("wal", 1.1), ("hash", 1.0), ("pages", 0.8)];
    let sides = named.map(|(name, factor)| {
        let mut runs = runs(name, &STEADY.map(|tps| tps * factor));
        for run in &mut runs {
            run.server.version = format!("18.{}", name.len());
        }
        runs
    });
    let runs: Vec<Vec<&Run>> = sides.iter().map(|runs| runs.iter().collect()).collect();
    let sides = named.iter().zip(&runs).map(|((name, _), runs)| Side {
        name: (*name).to_owned(),
        runs: runs.clone(),
    });
    let comparison = compare_sides(&sides.collect::<Vec<_>>(), &CompareOptions::default());
    let answers = &SideAnswers::default();
    let text = written(|out| write(out, &Style::plain(), &runs, &comparison, answers));
    for part in [
        "  base   3 runs: tpcb, scale 100",
        "wal is 10.0 % faster than base (TPS: 97.5 % interval 6.9 to 13.2 %, 3 runs",
        "No difference found between base and hash",
        "pages is 20.0 % slower than base (TPS: ",
        "pages: caveat: server version 18.5, not 18.4 (",
        "All runs are too short",
        "Holm",
    ] {
        text.assert_contains(part);
    }
    let mut lines = text.lines();
    let row = lines.find(|line| line.starts_with("  wal ") && line.contains('%'));
    let cells: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(&cells[..5], ["wal", "3", "11,000", "+10.0", "%"]);
    assert!(text.lines().count() <= 48, "{text}");
}

#[test]
fn each_of_several_sides_has_its_own_row() {
    let views = compare_runs(&[runs("a", &STEADY), runs("b", &FASTER), runs("c", &STEADY)]);
    for part in [
        "\n  B     3  11,000  +10.0 %",
        "\n  C     3  10,000   +0.0 %",
        "97.5 % interval",
        "Holm",
    ] {
        views.text.assert_contains(part);
    }
    assert_eq!(views.xml.matches("<testsuite ").count(), 2);
    assert!(
        views
            .markdown
            .contains("| | A, median | C, median | change | interval |"),
        "{}",
        views.markdown
    );
    // One case for comparability, and one for each figure.
    let cases = views.xml.matches("<testcase ").count();
    assert_eq!(
        cases,
        2 * (1 + views.comparison.side_comparisons[0].figures.len())
    );
}
