//! Failed transactions, outages and users that ended, in synthetic runs.

use super::*;
use crate::sample::healthy;
use EventKind::{Outage, UserEnded};
use Severity::{Caveat, Invalid, Note};
use prony_assertions::TextAssertions;

fn with_event(kind: EventKind, at_s: f64, until_s: Option<f64>) -> Run {
    let mut run = healthy();
    run.events.push(Event {
        at_s,
        until_s,
        kind,
        detail: "the relation is gone".to_owned(),
        count: 3,
        ..Event::default()
    });
    run
}

#[test]
fn a_run_without_commits_is_invalid() {
    let mut run = healthy();
    assert_eq!(check_nothing_committed(&run), None);
    run.measured.kinds[0].committed = 0;
    run.measured.kinds[0].failed = 9;
    let check = check_nothing_committed(&run).unwrap();
    assert_eq!(check.severity, Invalid);
    check.finding.assert_contains("60.0 s (9 failed)");
}

#[test]
fn severity_follows_the_share_of_failed_transactions() {
    let mut run = healthy();
    assert_eq!(check_errors(&run), None);
    run.measured.kinds[0].rolled_back = 10_000;
    assert_eq!(
        check_errors(&run),
        None,
        "an intended rollback is not an error"
    );
    run.measured.kinds[0].failed = 1;
    assert_eq!(check_errors(&run).unwrap().severity, Caveat);
    run.measured.kinds[0].failed = 20_000;
    run.measured.errors = vec![
        ErrorCount {
            kind: Some("tpcb".to_owned()),
            class: ErrorClass::Deadlock,
            code: "40P01".to_owned(),
            count: 19_000,
            ..ErrorCount::default()
        },
        ErrorCount::default(),
    ];
    let check = check_errors(&run).unwrap();
    assert_eq!(check.severity, Invalid);
    assert_eq!(
        check.finding,
        "20,000 transactions failed, 2.0 % of those that ended; most often deadlock (40P01) in \
         tpcb, 19,000 times."
    );
}

#[test]
fn errors_of_a_connection_pooler_get_their_own_advice() {
    let mut run = healthy();
    run.measured.kinds[0].failed = 20_000;
    let error = |code: &str| ErrorCount {
        code: code.to_owned(),
        count: 20_000,
        ..ErrorCount::default()
    };
    run.measured.errors = vec![error("42P05")];
    check_errors(&run)
        .unwrap()
        .advice
        .assert_contains("--protocol simple");
    run.measured.errors = vec![error("40P01")];
    check_errors(&run)
        .unwrap()
        .advice
        .assert_lacks("--protocol");
}

#[test]
fn outages_in_the_window_are_reported() {
    assert_eq!(check_outage(&healthy()), None);
    assert_eq!(check_outage(&with_event(Outage, 1.0, Some(9.0))), None);
    assert_eq!(check_outage(&with_event(Outage, 71.0, None)), None);
    let check = check_outage(&with_event(Outage, 20.0, Some(22.5))).unwrap();
    assert_eq!(check.severity, Caveat);
    check
        .finding
        .assert_contains("lost once: 3 connections, for 2.50 s.");
    check.finding.assert_contains("for 0.20 % of the window");
    let check = check_outage(&with_event(Outage, 60.0, None)).unwrap();
    check.finding.assert_contains("for 10.0 s");
    assert_eq!(check.severity, Invalid, "it lasted to the end");
    check.finding.assert_contains("From 60.0 s on");
    let check = check_outage(&with_event(Outage, 69.5, None)).unwrap();
    assert_eq!(check.severity, Caveat, "just before the end");
}

#[test]
fn a_long_outage_makes_the_run_invalid() {
    // 3.7 of 10 s, first for 3 of the 64 clients, then for all.
    let mut run = with_event(Outage, 13.0, Some(16.7));
    run.measured.length_s = 10.0;
    assert_eq!(check_outage(&run).unwrap().severity, Caveat, "3 of 64");
    run.events[0].count = 64;
    let check = check_outage(&run).unwrap();
    assert_eq!(check.severity, Invalid);
    check.finding.assert_contains("for 37 % of the window");
    check.advice.assert_contains("--expect-outage");
    run.plan = serde_json::json!({ "run": { "expect_outage": true } });
    let check = check_outage(&run).unwrap();
    assert_eq!(check.severity, Note);
    check.advice.assert_lacks("--expect-outage");
    // Half of the clients, repeatedly, as if one of two threads lost its connections.
    run.plan = serde_json::Value::Null;
    run.events.clear();
    for at_s in [11.0, 14.0, 17.0] {
        run.events
            .extend(with_event(Outage, at_s, Some(at_s + 0.5)).events);
    }
    let check = check_outage(&run).unwrap();
    assert_eq!(check.severity, Caveat);
    let told = "lost 3 times: up to 3 connections, for at most 500 ms.";
    check.finding.assert_contains(told);
    run.events.iter_mut().for_each(|event| event.count = 32);
    assert_eq!(check_outage(&run).unwrap().severity, Invalid, "7.5 %");
    // The part of an outage that lies before the window does not count.
    let mut started_early = with_event(Outage, 2.0, Some(10.2));
    started_early.events[0].count = 64;
    assert_eq!(check_outage(&started_early).unwrap().severity, Caveat);
}

#[test]
fn an_expected_outage_that_does_not_end_makes_the_run_invalid() {
    let mut run = with_event(Outage, 60.0, None);
    run.plan = serde_json::json!({ "run": { "expect_outage": true } });
    assert_eq!(check_outage(&run).unwrap().severity, Invalid);
}

#[test]
fn transactions_that_fail_by_an_expected_outage_are_a_caveat() {
    let mut run = healthy();
    run.measured.kinds[0].failed = 20_000;
    let error = |class, count| ErrorCount {
        class,
        count,
        ..ErrorCount::default()
    };
    run.measured.errors = vec![
        error(ErrorClass::LostConnection, 15_000),
        error(ErrorClass::Deadlock, 5_000),
    ];
    assert_eq!(check_errors(&run).unwrap().severity, Invalid);
    run.plan = serde_json::json!({ "run": { "expect_outage": true } });
    assert_eq!(check_errors(&run).unwrap().severity, Caveat);
    run.measured.errors = vec![
        error(ErrorClass::LostConnection, 5_000),
        error(ErrorClass::Deadlock, 15_000),
    ];
    assert_eq!(check_errors(&run).unwrap().severity, Invalid);
}

#[test]
fn users_that_ended_early_are_reported() {
    assert_eq!(check_users_ended(&healthy()), None);
    assert_eq!(check_users_ended(&with_event(Outage, 20.0, None)), None);
    // A user that ended in the warm-up is reported, because it is missing in the window.
    let check = check_users_ended(&with_event(UserEnded, 1.0, None)).unwrap();
    assert_eq!(check.severity, Caveat);
    check.finding.assert_starts_with("3 users of 64 ended");
    check.finding.assert_ends_with("the relation is gone");
}
