//! `prony runs`: listing, labels and deletion; `prony judge`.

use crate::document::{complete_run, new_run, set_figures};
use crate::home::Home;
use prony_assertions::TextAssertions;
use prony_judge::RULES_VERSION;
use serde_json::json;

fn store_run(home: &Home, id: &str, workload: &str, started_at: &str) {
    let mut run = complete_run(id, started_at);
    run["workload"]["name"] = json!(workload);
    home.store(&run);
}

fn home_with_runs() -> Home {
    let home = Home::new();
    store_run(&home, "20261121-1001", "tpcb", "2026-11-21T10:01:00Z");
    store_run(&home, "20261121-1002", "tpcc", "2026-11-21T10:02:00Z");
    store_run(&home, "20261122-1003", "tpcc", "2026-11-22T10:03:00Z");
    home
}

/// The ids in the output of `prony runs`.
fn ids(listed: &str) -> Vec<&str> {
    let words = listed.lines().filter_map(|line| line.split(' ').next());
    words.filter(|word| word.starts_with("2026")).collect()
}

#[test]
fn filters_select_runs_that_match_all_filters() {
    let home = home_with_runs();
    let listed = |options: &[&str]| home.run(&[&["runs"], options].concat(), 0);
    assert_eq!(ids(&listed(&[])).len(), 3);
    assert_eq!(ids(&listed(&["--workload", "tpcb"])), ["20261121-1001"]);
    let since = ["--workload", "tpcc", "--since", "2026-11-22T00:00:00Z"];
    assert_eq!(ids(&listed(&since)), ["20261122-1003"]);
    assert_eq!(
        ids(&listed(&["--verdict", "not-judged", "-n", "0"])).len(),
        3
    );
    let no_match = listed(&["--verdict", "invalid"]);
    assert_eq!(no_match, "No stored run matches.\n");
    home.run(&["runs", "--since", "yesterday"], 2);
    home.run(&["runs", "--verdict", "good"], 2);
}

#[test]
fn a_shortened_list_says_how_many_runs_there_are() {
    let home = home_with_runs();
    let messages = |options: &[&str]| {
        let output = home.prony(&[&["runs"], options].concat());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let shortened = "prony: the newest 2 of 3 runs; -n 0 lists all\n";
    assert_eq!(messages(&["-n", "2"]), shortened);
    assert_eq!(messages(&["-n", "2", "--workload", "tpcc"]), "");
    assert_eq!(messages(&["-n", "0"]), "");
}

#[test]
fn labels_and_notes_are_shown_and_do_not_change_the_document() {
    let home = home_with_runs();
    let path = home.0.join("runs/20261121-1002.json");
    let before = std::fs::read(&path).expect("it is there");
    for wrong in ["before\u{1b}[2J vacuum", "two\nlines", "last"] {
        home.run(&["runs", "label", "20261121-1002", wrong], 2);
    }
    home.run(
        &["runs", "label", "20261121-1002", "before\\x1b[2J vacuum"],
        0,
    );
    home.run(&["runs", "note", "last", "the newest"], 0);
    let listed = home.run(&["runs"], 0);
    listed.assert_contains("[before\\x1b[2J vacuum]\n");
    listed.assert_contains("\n  the newest\n");
    assert!(!listed.contains('\u{1b}'), "{listed:?}");
    let labelled = home.run(&["runs", "--label", "before\\x1b[2J vacuum"], 0);
    assert_eq!(ids(&labelled), ["20261121-1002"]);
    let stdout = home.run(&["show", "20261121-1002"], 0);
    stdout.assert_ends_with(
        "\n20261121-1002 [before\\x1b[2J vacuum]: prony show 20261121-1002 --full\n",
    );
    let full = home.run(&["show", "20261121-1002", "--full"], 0);
    full.assert_starts_with("label: before\\x1b[2J vacuum\n");
    let newest = home.run(&["show", "last"], 0);
    newest.assert_contains("\n  note    the newest\n");
    assert_eq!(home.run(&["show", "before\\x1b[2J vacuum"], 0), stdout);
    home.run(&["runs", "label", "last", "before\\x1b[2J vacuum"], 0);
    home.run(&["show", "before\\x1b[2J vacuum"], 2);
    home.run(&["runs", "label", "last", ""], 0);
    assert_eq!(std::fs::read(&path).expect("it is there"), before);
    home.run(&["runs", "label", "20261121-1002", ""], 0);
    home.run(&["runs"], 0).assert_lacks("vacuum");
    home.run(&["runs", "label", "20261121", "of several"], 2);
}

#[test]
fn diff_settings_lists_what_differs_between_two_runs() {
    let home = home_with_runs();
    let text = home.run(&["diff-settings", "20261121-1001", "20261122"], 0);
    for expected in [
        "A  20261121-1001\n",
        "name  tpcb  tpcc\n",
        "\n1 setting differs, ",
    ] {
        assert!(text.contains(expected), "no `{expected}` in\n{text}");
    }
    let json = home.run(&["diff-settings", "20261121-1001", "last", "--json"], 0);
    let differences: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let expected = json!([{"group": "workload", "name": "name", "a": "tpcb", "b": "tpcc"}]);
    assert_eq!(differences, expected);
    home.run(&["diff-settings", "20261121-1001"], 2);
}

#[test]
fn deleting_removes_all_named_runs_or_none() {
    let home = home_with_runs();
    home.run(&["runs", "label", "20261121-1001", "x"], 0);
    home.run(&["runs", "delete", "20261121-1001", "20269999"], 2);
    assert_eq!(ids(&home.run(&["runs"], 0)).len(), 3);
    home.run(&["runs", "delete", "20261121"], 2);
    home.run(&["runs", "delete", "20261121-1001", "20261122"], 0);
    assert_eq!(ids(&home.run(&["runs"], 0)), ["20261121-1002"]);
    let files = std::fs::read_dir(home.0.join("runs")).expect("a folder");
    assert_eq!(files.count(), 1);
    home.run(&["runs", "delete", "last"], 0);
    assert_eq!(ids(&home.run(&["runs"], 0)).len(), 0);
}

#[test]
fn a_huge_rate_is_printed_in_short_form() {
    let home = home_with_runs();
    home.messages(
        &[
            "run",
            "tpcb",
            "--url",
            "postgres://127.0.0.1:1/x",
            "--rate",
            "1e300",
        ],
        2,
    )
    .assert_contains("is 1e300")
    .assert_lacks("0000000000");
}

#[test]
fn very_many_wrong_options_are_counted() {
    let home = Home::new();
    let options: Vec<String> = (0..150).map(|number| format!("x{number}=1")).collect();
    let options = options.iter().flat_map(|option| ["--option", option]);
    let arguments: Vec<&str> = ["run", "tpcb"].into_iter().chain(options).collect();
    home.messages(&arguments, 2)
        .assert_contains("and 50 more problems");
}

/// Stores a complete run of 60 s on a unix socket, judged by these rules with one finding.
fn store_judged_run(home: &Home, id: &str, rules_version: u32) {
    let mut run = complete_run(id, "2026-11-21T10:00:00+00:00");
    run["rules_version"] = json!(rules_version);
    set_figures(&mut run, 60.0, 1600.0, [5e6, 9e6], 480.0);
    run["checks"] =
        json!([{"id": "former", "severity": "caveat", "finding": "a former rule", "advice": ""}]);
    home.store(&run);
}

#[test]
fn judge_applies_the_current_rules_and_stores_their_findings_on_request() {
    let home = Home::new();
    store_judged_run(&home, "20261121-1001", 1);
    let path = home.0.join("runs/20261121-1001.json");
    let before = std::fs::read(&path).expect("it is there");
    let judged = home.run(&["judge", "last"], 0);
    for expected in [
        &format!("20261121-1001, judged by rules of version {RULES_VERSION}"),
        "Valid: no problems were found. Scope: client and server on one machine.",
        "note     one-host",
        "Against rules of version 1: new: one-host (note)",
        "no longer found: former (doubt).",
    ] {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        judged.unwrapped().assert_contains(&expected.join(" "));
    }
    assert_eq!(std::fs::read(&path).expect("it is there"), before);
    home.run(&["judge", "last", "--again"], 0);
    let stdout = home.run(&["show", "last", "--json"], 0);
    let stored: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(stored["rules_version"], RULES_VERSION);
    assert_eq!(stored["checks"][0]["id"], "one-host");
    assert_eq!(stored["checks"][0]["kind"], "scope");
    assert_eq!(stored["measured"]["kinds"][0]["committed"], 96_000);
    let again = home.run(&["judge", "last"], 0);
    again.assert_contains(&format!(
        "Against rules of version {RULES_VERSION}: the same findings."
    ));
    home.run(&["judge", "nothing"], 2);
}

#[test]
fn a_run_in_progress_is_not_judged() {
    let home = Home::new();
    let mut run = new_run();
    run["id"] = json!("20261121-1001");
    let path = home.write_file("running.json", &run.to_string());
    home.run(&["judge", &path], 2);
}

#[test]
fn a_document_that_contradicts_itself_is_named_wherever_it_is_read() {
    let home = Home::new();
    store_judged_run(&home, "20261121-1001", RULES_VERSION);
    store_judged_run(&home, "20261121-1002", RULES_VERSION);
    let words = |text: String| text.unwrapped();
    let shown = words(home.run(&["show", "20261121-1002"], 0));
    shown.assert_contains(
        "not those of its figures: former (doubt), no-split (note), one-host (note)",
    );
    assert_eq!(home.run(&["runs"], 0).matches("invalid").count(), 2);
    home.run(&["judge", "20261121-1001", "--again"], 0);
    home.run(&["judge", "20261121-1002", "--again"], 0);
    assert_eq!(home.run(&["runs"], 0).matches("invalid").count(), 0);
    let path = home.0.join("runs/20261121-1002.json");
    let document = std::fs::read_to_string(&path).expect("it is there");
    let page = home.0.join("page.html").display().to_string();
    home.run(&["report", "20261121-1002", "--output", &page], 0);
    home.run(&["verify", &page], 0);
    std::fs::write(&path, document.replace("1600.0", "16000.0")).expect("it is written");
    let contradiction = "tps of all in the window is 16000, computed 1600";
    let shown = words(home.run(&["show", "20261121-1002"], 0));
    shown.assert_contains("Invalid (contradiction)");
    shown.assert_contains(contradiction);
    home.run(&["runs"], 0).assert_contains("invalid");
    let compared = home.run(&["compare", "20261121-1001", "20261121-1002"], 7);
    compared.assert_contains("contradiction");
    home.run(&["report", "20261121-1002", "--output", &page], 0);
    let text = std::fs::read_to_string(&page).expect("a page");
    text.assert_contains(contradiction);
    let output = home.prony(&["verify", &page]);
    let errors = words(String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(7), "{errors}");
    errors.assert_contains(contradiction);
    String::from_utf8_lossy(&output.stdout).assert_lacks("unchanged");
    // Without its findings a run is not valid, but judged.
    let unjudged = document.replace(
        &format!("\"rules_version\":{RULES_VERSION}"),
        "\"rules_version\":null",
    );
    let mut unjudged: serde_json::Value = serde_json::from_str(&unjudged).expect("JSON");
    unjudged["checks"] = json!([]);
    unjudged["measured"]["kinds"][0]["busy_s"] = json!(1.0);
    std::fs::write(&path, unjudged.to_string()).expect("it is written");
    let shown = home.run(&["show", "20261121-1002"], 0);
    shown.assert_contains("Invalid (littles-law)");
    home.run(&["runs"], 0).assert_contains("invalid");
    unjudged["rules_version"] = json!(RULES_VERSION - 1);
    std::fs::write(&path, unjudged.to_string()).expect("it is written");
    let shown = home.run(&["show", "20261121-1002"], 0);
    shown.assert_contains("Not judged by this version");
    home.run(&["runs"], 0).assert_contains("not-judged");
}

#[test]
fn compare_never_mixes_rule_sets() {
    let home = Home::new();
    store_judged_run(&home, "20261121-1001", 1);
    store_judged_run(&home, "20261121-1002", 1);
    let path = home.0.join("runs/20261121-1002.json");
    let document = std::fs::read_to_string(&path).expect("it is there");
    let document = document.replace("\"former\"", "\"another\"");
    std::fs::write(&path, document).expect("it is written");
    let compare = || home.run(&["compare", "20261121-1001", "20261121-1002"], 0);
    assert!(
        compare().contains("former"),
        "runs judged by the same rules keep their findings"
    );
    home.run(&["judge", "20261121-1002", "--again"], 0);
    assert!(
        !compare().contains("former"),
        "both are judged by the current rules"
    );
}
