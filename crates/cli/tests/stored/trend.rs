//! `prony trend` end to end: which runs it uses, the changes that it finds, and every output format.

use crate::document::run_of_a_minute;
use crate::home::Home;
use prony_assertions::TextAssertions;
use serde_json::{Value, json};

/// Stores a complete run of 60 s on the `day` of a month, modified by `change`.
fn store_run(home: &Home, day: u32, tps: f64, change: impl Fn(&mut Value)) {
    let id = format!("202611{day:02}-1000-tpcb");
    let started_at = format!("2026-11-{day:02}T10:00:00+00:00");
    let mut run = run_of_a_minute(&id, &started_at, tps, [8e9 / tps, 9e6], 480.0);
    change(&mut run);
    home.store(&run);
}

/// Twenty days; from the 13th on, the server has another version and is slower. The run of the 5th has other
/// clients, and that of the 16th is of another workload.
fn home_with_history() -> Home {
    let home = Home::new();
    for day in 1..=20 {
        let tps = if day < 13 { 1_000.0 } else { 900.0 } + f64::from(day * 7 % 5);
        store_run(&home, day, tps, |run| {
            if day >= 13 {
                run["server"]["version"] = json!("18.1\u{1b}[2J<b>");
            }
            match day {
                // Eight times the clients wait eight times as long (Little's law).
                5 => {
                    run["drive"]["clients"] = json!(64);
                    let all = &mut run["measured"]["kinds"][0];
                    all["busy_s"] = json!(8.0 * 480.0);
                    all["response"]["mean_ns"] = json!(64e9 / tps);
                    all["service"]["mean_ns"] = json!(64e9 / tps);
                }
                16 => run["workload"]["name"] = json!("other"),
                _ => {}
            }
        });
    }
    home
}

/// The runs since the change answer, not those before it.
#[test]
fn the_runs_since_the_last_change_answer_what_is_required() {
    let home = home_with_history();
    let text = home.run(&["trend", "tpcb", "--require", "throughput>950/s"], 8);
    text.assert_starts_with("FAIL: throughput 90");
    let text = home.run(&["trend", "tpcb", "--require", "throughput>850/s"], 0);
    text.assert_starts_with("PASS: throughput 90");
    for day in 1..=6 {
        let run = format!("202611{day:02}-1000-tpcb");
        home.run(&["runs", "label", &run, "release"], 0);
    }
    let required = [
        "trend",
        "tpcb",
        "--require",
        "not slower than release by 3%",
    ];
    let text = home.run(&[&required[..], &["--json"]].concat(), 8);
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["answer"]["verdict"], "FAIL");
}

#[test]
fn a_change_is_dated_and_explained_and_other_runs_are_left_out() {
    let home = home_with_history();
    let text = home.run(&["trend", "tpcb"], 0);
    text.assert_contains("\ntpcb: TPS of 18 runs, 2026-11-01 to 2026-11-20\n");
    text.assert_contains("20261113-1000-tpcb");
    text.assert_contains("18.1");
    text.assert_contains("- clients 64, not 8");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let json = home.run(&["trend", "tpcb", "--json"], 0);
    let trend: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(trend["changes"].as_array().map(Vec::len), Some(1), "{json}");
    let change = &trend["changes"][0];
    assert_eq!(
        (&change["index"], &change["is_better"]),
        (&json!(11), &json!(false))
    );
    let what: Vec<&str> = change["differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|found| found["what"].as_str())
        .collect();
    assert!(what.iter().any(|what| what.contains("version")), "{what:?}");
    assert_eq!(trend["left_out"][0]["run"], "20261105-1000-tpcb");
}

#[test]
fn filters_and_another_reference_select_the_runs() {
    let home = home_with_history();
    let since = home.run(&["trend", "tpcb", "--since", "2026-11-14T00:00:00Z"], 0);
    since.assert_contains(" runs): the median is 90");
    home.run(&["runs", "label", "20261102-1000", "nightly"], 0);
    let labelled = home.run(&["trend", "tpcb", "--label", "nightly"], 0);
    labelled.assert_contains("tpcb: TPS of 1 run");
    let like = home.run(&["trend", "tpcb", "--like", "20261105-1000"], 0);
    like.assert_contains("\ntpcb: TPS of 1 run\n");
    like.assert_contains("- clients 8, not 64 (18 runs, such as");
    let p99 = home.run(&["trend", "tpcb", "--figure", "p99", "-n", "9"], 0);
    p99.assert_contains("\ntpcb: p99 response time of 9 runs");
    home.messages(&["trend", "tpcb", "--figure", "p98"], 2)
        .assert_contains("TPS, mean response");
    home.run(&["trend", "tpcc"], 2);
    home.run(&["trend", "tpcb", "--like", "20261116-1000"], 2);
}

#[test]
fn the_page_replaces_only_an_older_page() {
    let home = home_with_history();
    let path = home.0.join("trend.html");
    let file = path.to_str().expect("UTF-8");
    for _ in 0..2 {
        home.run(&["trend", "tpcb", "--output", file], 0);
    }
    let page = std::fs::read_to_string(&path).expect("a page");
    assert_eq!(page.matches("<circle ").count(), 18);
    page.assert_contains("18.1").assert_lacks("<b>");
    assert_eq!(home.run(&["trend", "tpcb", "--output", "-"], 0), page);
    std::fs::write(&path, "notes").expect("it is written");
    home.run(&["trend", "tpcb", "--output", file], 2);
}

#[test]
fn a_history_of_invalid_runs_says_where_the_reasons_are() {
    let home = Home::new();
    store_run(&home, 3, 1000.0, |run| {
        run["measured"]["kinds"][0]["busy_s"] = json!(0.01);
    });
    home.messages(&["trend", "tpcb"], 2)
        .assert_contains("prony judge 20261103-1000-tpcb --again");
    // A figure that no run has is wrong whatever the runs are worth.
    home.messages(&["trend", "tpcb", "--figure", "p98"], 2)
        .assert_contains("20261103-1000-tpcb has no figure p98")
        .assert_contains("did you mean p9");
}
