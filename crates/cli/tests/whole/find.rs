//! The highest rate at which a real server meets what is required.

use crate::common::*;
use prony_store::{ExperimentKind, Setting};
use serde_json::Value;

const SHORT: &str = "--step 1s --warmup 200ms --clients 4 --no-observe";

#[test]
fn a_rate_is_found_and_its_steps_are_one_experiment_with_a_curve() {
    let bench = TestBench::new("found");
    bench.ok("load select-only --scale 1");
    let output = bench.prony(&format!(
        "find select-only --require p50<1s --precision 20% --max-steps 8 --label most {SHORT} --json"
    ));
    // How much it is, and whether neighbours disturb it, depends on the machine.
    let code = output.status.code().expect("a code");
    assert!([0, 7, 8, 9].contains(&code), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let steps = document["steps"].as_array().expect("steps");
    assert!((2..=8).contains(&steps.len()), "{document}");
    let messages = stderr_text(&output);
    messages.assert_contains("step 2: ");
    if let Some(low) = document["capacity"]["low"].as_f64() {
        let passed = steps.iter().find(|step| step["rate"] == low);
        let achieved = passed.expect("its step")["achieved"].as_f64();
        assert!(achieved.expect("a figure") > 0.8 * low, "{document}");
    }
    let store = RunStore::open(Some(&bench.home)).expect("a store");
    let stored = store.list(&RunFilter::default()).expect("a listing").runs;
    assert_eq!(stored.len(), steps.len(), "the estimate is not stored");
    for (summary, step) in stored.iter().rev().zip(steps) {
        let run = store.load(&summary.id).expect("a document");
        let experiment = run.experiment.as_ref().expect("an experiment");
        assert_eq!(document["experiment"], *experiment.id);
        let rate = run.drive.rate_tps.expect("a rate");
        assert_eq!(step["rate"].as_f64(), Some(rate));
        assert!(
            matches!(experiment.kind, ExperimentKind::Search(_)),
            "{experiment:?}"
        );
        assert_eq!(experiment.point, [Setting::new("rate", rate.to_string())]);
    }
    let listed = bench.ok_without_server("runs --label most");
    assert_eq!(
        listed.lines().filter(|line| line.starts_with("20")).count(),
        steps.len()
    );
    // Other limits are answered by the same steps, and one more that follows them.
    let (count, again) = (
        steps.len(),
        "find select-only --require max<1us --resume last --json",
    );
    for (max_steps, expected) in [(count, count), (count + 1, count + 1)] {
        let output = bench.prony(&format!("{again} --max-steps {max_steps} {SHORT}"));
        assert_eq!(output.status.code(), Some(8), "{output:?}");
        let resumed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(resumed["experiment"], document["experiment"]);
        assert_eq!(resumed["capacity"]["state"], "below", "{resumed}");
        let stored = store.list(&RunFilter::default()).expect("a listing").runs;
        assert_eq!(
            (stored.len(), resumed["steps"].as_array().map(Vec::len)),
            (expected, Some(expected))
        );
    }
    let output = bench.prony("find select-only --p99 1s --resume last --clients 5");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // Another load is refused before a step of it is stored among the others.
    let other = format!("{again} --protocol simple --max-steps {}", count + 2);
    let output = bench.prony(&format!("{other} {SHORT}"));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        stderr_text(&output).contains("its protocol was "),
        "{output:?}"
    );
    let stored = store.list(&RunFilter::default()).expect("a listing").runs;
    assert_eq!(stored.len(), count + 1);
    let output = bench.prony_without_server("compare last");
    let text = stdout_text(&output);
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    text.assert_starts_with("less than ");
    let page = bench.home.join("curve.html").display().to_string();
    bench.ok_without_server(&format!("report last --output {page}"));
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("id=\"capacity-times-t\""), "the drawing");
    assert!(page.contains(" at max below 1.00 µs"), "the answer");
    assert!(
        page.contains("No rate that was measured meets it."),
        "what it rests on"
    );
    for other in ["knee", "NOT COMPARABLE", "No ratio is given"] {
        assert!(
            !page.contains(&format!("{other}<")) && !page.contains(&format!(">{other}")),
            "{other}"
        );
    }
}

#[test]
fn a_limit_that_no_rate_meets_fails_and_one_that_says_nothing_is_refused() {
    let bench = TestBench::new("not_found");
    bench.ok("load select-only --scale 1");
    let output = bench.prony(&format!(
        "find select-only --require max<1us --from 400 --max-steps 2 {SHORT}"
    ));
    let text = stdout_text(&output);
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    text.assert_starts_with("less than 200 /s at max below 1.00 µs");
    text.assert_contains_all(["server CPUs  verdict", "\n  200 ", "\n  400 ", "  fail: "]);
    let output = bench.prony("find select-only --require throughput>5");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        stderr_text(&output).contains("find varies the rate itself"),
        "{output:?}"
    );
    let plan = bench.home.write(
        "swept.toml",
        "[workload]\nname = \"select-only\"\n[sweep]\nclients = [1, 2]\n",
    );
    let output = bench.prony(&format!("find {} --p99 20ms", plan.display()));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        stderr_text(&output).contains("a plan of one run"),
        "{output:?}"
    );
}

#[test]
fn the_clients_of_a_closed_loop_are_searched() {
    let bench = TestBench::loaded("find_clients", 1);
    let output = bench.prony(
        "find select-only --over clients --p99 60s --step 1s --warmup 0s --max-steps 3 --no-observe --json",
    );
    let document: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("JSON on stdout");
    let clients: Vec<u64> = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["clients"].as_u64().unwrap())
        .collect();
    assert_eq!(clients[..2], [1, 2], "{document}");
    assert!(
        document["best"]["tps"].as_f64().unwrap() > 0.0,
        "{document}"
    );
    assert_eq!(document["sweep"]["axis"], "clients", "{document}");
    assert!(document["is_unfinished"].is_boolean(), "{document}");
    // The same steps answer another requirement, and the search goes on after them.
    let again = "find select-only --over clients --require max<1us --step 1s --warmup 0s --no-observe --resume last";
    let output = bench.prony(&format!("{again} --max-steps 4 --json"));
    assert_eq!(output.status.code(), Some(8), "{output:?}");
    let resumed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(resumed["experiment"], document["experiment"]);
    // Two misses end the doubling, and the first search had at least two steps.
    assert_eq!(resumed["steps"], {
        let mut steps = document["steps"].clone();
        for step in steps.as_array_mut().expect("steps") {
            step["verdict"] = "FAIL".into();
        }
        steps
    });
    let output = bench.prony(&format!("{again} --format junit"));
    stdout_text(&output).assert_contains("FAIL: no number of clients at max");
    // With the first requirement there is more to measure.
    let more = again.replace("max<1us", "p99<60s");
    let output = bench.prony(&format!("{more} --max-steps 4 --json"));
    let resumed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let count = resumed["steps"].as_array().expect("steps").len();
    assert!(
        count > clients.len() || resumed["is_unfinished"] == false,
        "{resumed}"
    );
    assert_code(
        &bench.prony(&format!("{more} --protocol simple --max-steps 6")),
        2,
    )
    .assert_contains("its protocol was ");
    // What is stored answers as the search did.
    let compared = bench.prony_without_server("compare last");
    let text = stdout_text(&compared);
    text.assert_contains(" at p99 below 60.0 s");
    let page = bench.home.join("clients.html").display().to_string();
    bench.ok_without_server(&format!("report last --output {page}"));
    let page = std::fs::read_to_string(page).expect("a page");
    page.assert_contains("<h1>select-only: the best number of clients at p99 below 60.0 s</h1>");
    page.assert_contains("<strong>");
    page.assert_contains(" at p99 below 60.0 s");
    let refused = bench.prony("find select-only --over clients --from 100");
    assert_eq!(refused.status.code(), Some(2));
}
