//! The verdict under the figure, the judgement of a stored run, and times of failed transactions.

use super::{flat_text, text};
use crate::sample_run;
use crate::style::Style;
use crate::terminal::{FormerJudgement, write_judgement};
use prony_assertions::TextAssertions;
use prony_store::{FindingKind, RunState, Severity};

#[test]
fn the_verdict_is_one_line_under_the_figure() {
    let mut run = sample_run::closed();
    let text = text(&run, None);
    let verdict = "  Valid, but too short to judge steadiness, with 1 doubt: client-limit.";
    let at = text.lines().position(|line| line == verdict);
    assert!(at.is_some_and(|at| at < 12), "{text}");
    run.checks.truncate(1);
    flat_text(&run).assert_contains("Valid, but too short to judge steadiness.");
    run.measured.length_s = 20.0;
    run.series = vec![run.series[4].clone(); 20];
    flat_text(&run).assert_contains("Valid: no problems were found.");
    run.rules_version = Some(1);
    let others = "Not judged by this version of Prony, only by rules of version 1 (prony judge RUN does it).";
    flat_text(&run).assert_contains(others);
    run.rules_version = Some(prony_judge::RULES_VERSION);
    run.checks[0].severity = Severity::Invalid;
    flat_text(&run).assert_contains("Invalid (littles-law): this figure must not be used");
    run.checks.clear();
    run.state = RunState::Running;
    assert!(!flat_text(&run).contains("Valid"), "not judged yet");
    run.state = RunState::Partial;
    let text = flat_text(&run);
    text.assert_contains("Not judged, and partial");
    text.assert_lacks("Valid");
}

#[test]
fn doubt_is_named_and_scope_is_one_sentence() {
    let mut run = sample_run::closed();
    let check = |id: &str, severity, kind| prony_store::Check {
        id: id.to_owned(),
        severity,
        kind,
        finding: "found".to_owned(),
        advice: "Do this.".to_owned(),
    };
    let (doubt, scope) = (Some(FindingKind::Doubt), Some(FindingKind::Scope));
    run.checks = vec![
        check("one-host", Severity::Caveat, scope),
        check("checkpoint", Severity::Caveat, scope),
    ];
    let text = flat_text(&run);
    let verdict = "Valid, but too short to judge steadiness. Scope: client and server on one machine; no checkpoint.";
    text.assert_contains(verdict);
    text.assert_contains("scope one-host: found Do this.");
    run.checks.push(check("steal", Severity::Caveat, doubt));
    let text = flat_text(&run);
    let verdict = "Valid, but too short to judge steadiness, with 1 doubt: steal. Scope: client and server on one machine; no";
    text.assert_contains(verdict);
    assert!(text.find("doubt steal").unwrap() < text.find("scope one-host").unwrap());
}

#[test]
fn a_judgement_says_what_differs_from_the_former_one() {
    let mut run = sample_run::closed();
    run.rules_version = Some(2);
    let former = FormerJudgement {
        rules_version: None,
        checks: run.checks.split_off(1),
    };
    let judgement = |former: &FormerJudgement| {
        let mut out = Vec::new();
        write_judgement(&mut out, &Style::plain(), &run, former).unwrap();
        String::from_utf8(out).unwrap()
    };
    let text = judgement(&former);
    let expected = "Against no recorded rules: new: littles-law (note); no longer found: client-limit (doubt).";
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .assert_contains(expected);
    let same = FormerJudgement {
        rules_version: Some(2),
        checks: run.checks.clone(),
    };
    judgement(&same).assert_contains("Against rules of version 2: the same findings.");
}

#[test]
fn times_of_failed_transactions_have_tables_of_their_own() {
    let mut run = sample_run::closed();
    flat_text(&run).assert_lacks("failed transactions kind");
    // With a single kind, its own row is shown.
    let all = run.measured.kinds.last_mut().unwrap();
    let mut failed = all.response.clone();
    failed.max_ns = 7_000_000_000;
    (all.attempts, all.failed_response) = (Some(all.response.clone()), Some(failed));
    let text = flat_text(&run);
    let committed = text
        .find("Response time of committed transactions kind")
        .unwrap();
    let attempts = text.find("all transactions that ended: committed, rolled back, failed kind");
    let failed = text
        .find("Response time of failed transactions kind")
        .unwrap();
    assert!(
        committed < attempts.unwrap() && attempts.unwrap() < failed,
        "{text}"
    );
    text[failed..].assert_contains("7.00 s");
}
