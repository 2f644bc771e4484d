//! `prony reproduce SUITE` on a real server: a whole suite at a small fraction of its size, stopped and continued.

use crate::common::*;
use std::io::Read;

const SUITE: &str = "reproduce alloydb-64 --shrink 1/25000 --clients 2 --warmup 0s --duration 3s";

fn row(run: &Run) -> &str {
    run.scenario
        .as_ref()
        .map_or("", |scenario| scenario.id.as_str())
}

/// Starts the suite, stops it with Ctrl-C in its second row, and returns what it printed to stderr.
fn stop_in_the_second_row(bench: &TestBench) -> String {
    let mut command = bench.command(SUITE);
    command
        .args(["--url", &bench.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stderr = child.stderr.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    // Each row loads its data first.
    wait_until(&bench.home, any_committed);
    wait_until(&bench.home, |run| {
        row(run) == "tpcc-64vcpu-cached" && any_committed(run)
    });
    send_signal(&child, "-INT");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    reader.join().expect("it ends").expect("text")
}

#[test]
fn a_suite_is_estimated_stopped_continued_and_shown_as_one_table() {
    assert!(WAIT_TIMEOUT.as_secs() >= 60, "three loads fit into it");
    let bench = TestBench::new("suite");
    let progress = stop_in_the_second_row(&bench);
    progress.assert_contains_all([
        "3 runs: about",
        "of data is needed",
        "no price sheet is given",
        "run 1 of 3: variant tpcc-64vcpu-30pct, repeat 1",
        "The same command continues the suite.",
    ]);
    let states: Vec<(String, RunState)> = stored_runs(&bench.home)
        .iter()
        .map(|run| (row(run).to_owned(), run.state))
        .collect();
    let expected = [
        ("tpcc-64vcpu-30pct", RunState::Complete),
        ("tpcc-64vcpu-cached", RunState::Partial),
    ];
    assert_eq!(states, expected.map(|(id, state)| (id.to_owned(), state)));

    let output = bench.prony(SUITE);
    let (table, progress) = (ok_stdout(&output), stderr_text(&output));
    progress.assert_contains("1 row is done already");
    progress.assert_contains("Continues 20");
    progress.assert_lacks("run 1 of 3");
    let runs = stored_runs(&bench.home);
    let complete: Vec<&str> = runs
        .iter()
        .filter(|run| run.state == RunState::Complete)
        .map(row)
        .collect();
    assert_eq!(
        complete,
        [
            "tpcc-64vcpu-30pct",
            "tpcc-64vcpu-cached",
            "select-only-64vcpu"
        ]
    );
    let experiment = |run: &Run| run.experiment.clone().expect("a suite is an experiment");
    let id = experiment(&runs[0]).id;
    assert!(runs.iter().all(|run| experiment(run).id == id));
    assert!(
        runs.iter()
            .all(|run| run.suite().is_some_and(|suite| !suite.request.is_empty()))
    );
    assert_eq!(experiment(&runs[3]).position, 3);
    check_table(&table);
    check_page(&bench, &id);

    // It is complete: the same command would begin again, and so would another size.
    let again = bench.ok(&format!("{SUITE} --estimate"));
    again.assert_contains("3 runs: about");
    again.assert_lacks("done already");
    let json = bench.ok(&format!("{SUITE} --estimate --json"));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(3), "{json}");
    assert!(json["rows"][0]["load_s"].as_f64() >= Some(1.0), "{json}");
    for wrong in [
        SUITE.replace("--clients 2", "--clients 0"),
        format!("{SUITE} --only="),
    ] {
        let refused = bench.prony(&format!("{wrong} --estimate"));
        assert_eq!(refused.status.code(), Some(2), "{wrong}");
    }
    assert_eq!(stored_runs(&bench.home).len(), 4);
}

/// The table has all rows in the document's order, with published and measured figures and no deviation.
fn check_table(table: &str) {
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let line = |id: &str| {
        let rows = lines.iter().position(|line| line.first() == Some(&id));
        rows.unwrap_or_else(|| panic!("{id}: {table}"))
    };
    let rows = [
        "tpcc-64vcpu-30pct",
        "tpcc-64vcpu-cached",
        "select-only-64vcpu",
    ]
    .map(line);
    assert!(rows.is_sorted(), "{table}");
    for (row, figure) in [(rows[0], "NOPM 589,598"), (rows[2], "TPS 467,583")] {
        assert!(lines[row].join(" ").contains(figure), "{table}");
    }
    table.assert_contains("not comparable");
    table.assert_lacks("+").assert_lacks(" -");
    let flat = table.unwrapped();
    flat.assert_contains("load time (s) 2,205");
    flat.assert_contains("such a row had a shorter window, fewer clients, less data");
}

/// The page has the same table, and is unchanged when it is verified.
fn check_page(bench: &TestBench, id: &str) {
    let page = bench.home.join("suite.html");
    let arguments = format!("report {id} --output {}", page.display());
    bench.ok_without_server(&arguments);
    let text = std::fs::read_to_string(&page).expect("a page");
    text.assert_contains_all([
        "The suite alloydb-64: order entry and select-only",
        "<td>589,598</td>",
        "not comparable",
    ]);
    bench.ok_without_server(&format!("verify {}", page.display()));
}

#[test]
fn rows_of_one_size_share_their_data_and_only_selects_rows() {
    let bench = TestBench::new("suite_hot");
    let arguments = "reproduce apsaradb-postgresql --only 4c32g-0.1b --repeats 2 --shrink 1/5000 --clients 2 --duration 1s";
    let output = bench.prony(arguments);
    let table = ok_stdout(&output);
    assert_eq!(stderr_text(&output).matches("prony load tpcb").count(), 1);
    table.assert_contains("hotset-4c32g-0.1b-rw");
    assert!(
        table.contains("not run"),
        "the other rows are listed: {table}"
    );
    let runs = stored_runs(&bench.home);
    let loaded = |run: &Run| {
        run.scenario
            .as_ref()
            .is_some_and(|scenario| scenario.loaded)
    };
    let rows: Vec<(&str, bool)> = runs.iter().map(|run| (row(run), loaded(run))).collect();
    assert_eq!(
        rows,
        [
            ("hotset-4c32g-0.1b-ro", true),
            ("hotset-4c32g-0.1b-ro", false),
            ("hotset-4c32g-0.1b-rw", false),
            ("hotset-4c32g-0.1b-rw", false)
        ]
    );
    // All selected rows are done: nothing is run again.
    let output = bench.prony(arguments);
    stderr_text(&output).assert_contains("2 rows are done already");
    assert_eq!(stored_runs(&bench.home).len(), 4);
    let output = bench.prony(&format!("{arguments} --no-store"));
    assert_eq!(output.status.code(), Some(2));
}
