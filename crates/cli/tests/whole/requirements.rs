//! What a user requires of a run: the answer on the screen, in the document, for CI servers, and as exit code.

use crate::common::*;
use prony_store::AnswerVerdict;

/// What is counted decides however noisy the machine is: no run misses these limits by chance.
#[test]
fn counted_limits_are_missed_in_any_run() {
    let bench = TestBench::new("required");
    bench.ok("load select-only --scale 1");
    let run = "run select-only --clients 2 --transactions 200 --require max<1us";
    let printed = |options: &str| {
        let output = bench.prony(&format!("{run} {options}"));
        let text = stdout_text(&output);
        assert_eq!(output.status.code(), Some(8), "{text}");
        text
    };
    let text = printed("--require errors<1000000 --label nightly");
    text.assert_starts_with("FAIL: max ");
    text.assert_contains("errors 0, required below 1,000,000");
    let answer = last_run(&bench).answer.expect("an answer");
    assert_eq!(answer.verdict, AnswerVerdict::Fail);
    assert_eq!(answer.results[0].verdict, AnswerVerdict::Fail);
    let listed = bench.ok_without_server("runs --label nightly --json");
    listed.assert_contains("\"answer\": \"FAIL\"");
    let text = printed("--format github");
    assert!(
        text.starts_with("::error title=prony ") && text.lines().count() == 1,
        "{text}"
    );
    let text = printed("--format junit");
    text.assert_contains_all(["name=\"max&lt;1us\"", "failures=\"1\""]);
}

/// The label has one run, which says nothing about other runs.
#[test]
fn a_limit_beside_a_label_needs_repeats() {
    let bench = TestBench::new("beside");
    bench.ok("load select-only --scale 1");
    let run = "run select-only --clients 2 --transactions 200";
    bench.prony(&format!("{run} --label main"));
    let required = |requirement: &str| {
        let mut command = bench.command(run);
        command.args(["--url", &bench.url, "--require", requirement]);
        command.output().expect("it starts")
    };
    let output = required("not slower than main by 3%");
    assert!(matches!(output.status.code(), Some(7 | 9)), "{output:?}");
    let answer = last_run(&bench).answer.expect("an answer");
    assert_eq!(answer.verdict, AnswerVerdict::Undecided);
    let output = required("throughput>=97% of absent");
    let text = stderr_text(&output);
    assert!(
        output.status.code() == Some(2) && text.contains("absent"),
        "{text}"
    );
}

/// What the workload does not have is found before the load, and what a later variant would fail by before the first one.
#[test]
fn what_cannot_be_answered_or_run_is_refused_before_the_first_run() {
    let bench = TestBench::new("early");
    bench.ok("load select-only --scale 1");
    let run = "run select-only --transactions 20";
    for (options, code, part) in [
        (
            "--require nope.p99<3ms",
            2,
            "select-only has no transaction nope",
        ),
        ("--require NOPM>100", 2, "select-only has no NOPM"),
        (
            "--sweep clients=1,50000",
            3,
            "50000 clients need more than the ",
        ),
        ("--sweep settings.work_mem=4MB,nope", 2, "nope"),
        (
            "--repeats 2 --require nope.p99<3ms",
            2,
            "no transaction nope",
        ),
    ] {
        assert_code(&bench.prony(&format!("{run} {options}")), code).assert_contains(part);
        assert!(stored_runs(&bench.home).is_empty(), "{options}");
    }
}
