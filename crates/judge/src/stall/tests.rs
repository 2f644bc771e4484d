//! Seconds without transactions, in synthetic runs.

use super::*;
use crate::sample::{healthy, with_series};
use prony_assertions::TextAssertions;
use prony_store::Event;
use serde_json::json;

#[test]
fn stalled_seconds_are_counted_and_their_times_reported() {
    let mut counts = [1000; 20];
    for index in [3, 4, 5, 12] {
        counts[index] = 0;
    }
    counts[12] = 99;
    let mut run = with_series(&counts);
    run.measured.length_s = 100.0;
    let check = check(&run).expect("a stall");
    assert_eq!(check.severity, Severity::Caveat);
    check.finding.assert_contains("In 4 of 20 seconds");
    let named = "from 13 s to 16 s and from 22 s to 23 s after";
    check.finding.assert_contains(named);
    check.finding.assert_contains("seconds with 1,000 or more");
}

#[test]
fn steady_and_slow_runs_have_no_stall() {
    assert_eq!(check(&healthy()), None, "no series");
    assert_eq!(check(&with_series(&[1000; 20])), None);
    let mut counts = [1000; 20];
    counts[7] = 100;
    assert_eq!(check(&with_series(&counts)), None, "a tenth of the median");
    let mut slow = [9; 20];
    slow[7] = 0;
    assert_eq!(
        check(&with_series(&slow)),
        None,
        "too few transactions to tell"
    );
    slow = [10; 20];
    slow[7] = 0;
    assert!(check(&with_series(&slow)).is_some());
    slow[7] = 1;
    assert_eq!(check(&with_series(&slow)), None, "a tenth is not a stall");
    let three_per_second = [3, 0, 2, 4, 0, 0, 5, 1, 3, 0, 2, 6];
    assert_eq!(
        check(&with_series(&three_per_second)),
        None,
        "three per second"
    );
}

/// A run of 12 s whose server was stopped for 7.5 s, and similar runs.
#[test]
fn a_stall_of_most_of_the_window_is_invalid() {
    let severity = |counts: &[u64]| {
        let mut run = with_series(counts);
        run.measured.length_s = counts.len() as f64;
        check(&run).map(|check| check.severity)
    };
    let stopped = [500, 510, 230, 0, 0, 0, 0, 0, 0, 0, 260, 490];
    assert_eq!(severity(&stopped), Some(Severity::Invalid));
    let locked = [40, 41, 12, 0, 0, 0, 0, 0, 25, 42];
    assert_eq!(severity(&locked), Some(Severity::Invalid));
    let slow = [11, 10, 12, 0, 0, 0, 9, 11];
    assert_eq!(severity(&slow), Some(Severity::Invalid));
    let trickle = [500, 500, 2, 1, 0, 3, 1, 2, 500, 500];
    assert_eq!(severity(&trickle), Some(Severity::Invalid));
    // One empty second is not enough to make a short run invalid.
    let one_empty = [500, 500, 500, 0, 500, 500, 500, 500, 500, 500];
    assert_eq!(severity(&one_empty), Some(Severity::Caveat));
    let mut minute = [500; 60];
    (minute[20], minute[40], minute[50]) = (0, 0, 0);
    assert_eq!(severity(&minute), Some(Severity::Caveat), "5 %");
    minute[51] = 0;
    assert_eq!(severity(&minute), Some(Severity::Invalid));
    assert_eq!(severity(&[0; 12]), None, "no second to compare with");
}

#[test]
fn a_stall_in_an_expected_outage_is_a_note() {
    let mut run = with_series(&[500, 510, 230, 0, 0, 0, 0, 0, 0, 0, 260, 490]);
    assert_eq!(check(&run).unwrap().severity, Severity::Invalid);
    run.plan = json!({ "run": { "expect_outage": false } });
    assert_eq!(check(&run).unwrap().severity, Severity::Invalid);
    run.plan = json!({ "run": { "expect_outage": true } });
    let check = check(&run).expect("it is named");
    assert_eq!(check.severity, Severity::Note);
    check.advice.assert_contains("expects an outage");
}

#[test]
fn long_transactions_of_clients_in_step_are_no_stall() {
    // 64 clients, each of whose transactions takes two seconds.
    let mut run = with_series(&[0, 64, 0, 64, 0, 60, 4, 60, 0, 64, 0, 64]);
    assert!(check(&run).is_some(), "by the counts alone");
    run.measured.kinds[0].service.p50_ns = Some(2_000_000_000);
    assert_eq!(check(&run), None);
    // Too few transactions for a median.
    run.measured.kinds[0].service.p50_ns = None;
    run.measured.kinds[0].service.min_ns = 1_900_000_000;
    assert_eq!(check(&run), None);
    // A gap that is longer than two transactions, although these take two seconds each.
    let mut stopped = with_series(&[0, 64, 0, 64, 0, 0, 0, 0, 0, 0, 64, 0, 64]);
    stopped.measured.kinds[0].service.p50_ns = Some(2_000_000_000);
    assert_eq!(check(&stopped).unwrap().severity, Severity::Invalid);
    // With two kinds, the slower one decides.
    let mut mixed = with_series(&[20, 0, 0, 20, 0, 0, 20, 0, 0, 20]);
    assert!(check(&mixed).is_some());
    let mut report = mixed.measured.kinds[0].clone();
    report.kind = Some("report".to_owned());
    report.service.p50_ns = Some(3_000_000_000);
    mixed.measured.kinds.push(report);
    assert_eq!(check(&mixed), None);
}

#[test]
fn a_rising_start_is_a_warm_up() {
    let mut counts: Vec<u64> = (1..=40).map(|at| at * 25).collect();
    assert_eq!(check(&with_series(&counts)), None);
    counts[30] = 0;
    assert!(check(&with_series(&counts)).is_some());
}

#[test]
fn a_stall_at_the_start_is_not_a_warm_up() {
    let severity = |counts: &[u64]| {
        let mut run = with_series(counts);
        run.measured.length_s = counts.len() as f64;
        check(&run).map(|check| check.severity)
    };
    let most_slow = [1, 1, 1, 1, 1, 1, 1, 500, 500, 500, 500, 500];
    assert_eq!(severity(&most_slow), Some(Severity::Invalid));
    let uneven = [9, 3, 12, 2, 500, 510, 490, 500, 520, 500];
    assert_eq!(severity(&uneven), Some(Severity::Invalid));
    let mut minute = [500; 60];
    minute[..3].copy_from_slice(&[2, 2, 1]);
    assert_eq!(severity(&minute), None, "5 %");
    minute[3] = 1;
    assert_eq!(severity(&minute), Some(Severity::Invalid));
}

/// The journal of a killed run of several hours: after the first hour ten seconds share a row.
#[test]
fn rows_of_ten_seconds_are_judged_by_their_rate() {
    let noise = |at: u64| 950 + at * 7919 % 101;
    let row = |at: u64, seconds: u64| Second {
        at_s: at as f64,
        length_s: seconds as f64,
        phase: SecondPhase::Measured,
        committed: (at..at + seconds).map(noise).sum(),
        ..Second::default()
    };
    let mut run = healthy();
    run.measured.length_s = 10_800.0;
    run.series = (0..3_600).map(|at| row(at, 1)).collect();
    run.series
        .extend((3_600..10_800).step_by(10).map(|at| row(at, 10)));
    assert_eq!(check(&run), None);
    run.series[4_000].committed = 0;
    let check = check(&run).expect("a stall");
    assert_eq!(check.severity, Severity::Caveat);
    check.finding.assert_contains("In 10 of 10,800 seconds");
    check.finding.assert_contains("from 7600 s to 7610 s");
    check.finding.assert_contains("seconds with 1,0");
}

#[test]
fn clients_that_start_with_think_time_are_no_stall() {
    let mut counts = [40; 40];
    (counts[0], counts[1], counts[2]) = (0, 0, 2);
    let mut run = with_series(&counts);
    run.measured.length_s = 40.0;
    assert_eq!(check(&run).unwrap().severity, Severity::Invalid);
    run.measured.kinds[0].busy_s = 10.0;
    assert_eq!(check(&run), None);
    run.series[20].committed = 0;
    assert!(check(&run).is_some(), "in the middle of the window");
}

#[test]
fn failed_and_rolled_back_transactions_count_as_ended() {
    let mut counts = [1000; 20];
    counts[7] = 0;
    let mut run = with_series(&counts);
    run.series[7].failed = 200;
    assert_eq!(check(&run), None);
}

#[test]
fn seconds_of_the_warm_up_partial_seconds_and_outages_are_no_stall() {
    let mut counts = [1000; 20];
    counts[7] = 0;
    let stalled = with_series(&counts);
    assert!(check(&stalled).is_some());
    let mut run = stalled.clone();
    run.series[7].phase = SecondPhase::Warmup;
    assert_eq!(check(&run), None);
    let mut run = stalled.clone();
    run.series[7].length_s = 0.01;
    assert_eq!(check(&run), None);
    let mut run = stalled.clone();
    run.events.push(Event {
        at_s: 16.4,
        until_s: Some(18.2),
        kind: EventKind::Outage,
        ..Event::default()
    });
    assert_eq!(check(&run), None);
    run.events[0].until_s = Some(16.9);
    assert!(check(&run).is_some(), "it was over by then");
    run.events[0].until_s = None;
    assert_eq!(check(&run), None, "it lasted to the end");
}

#[test]
fn the_idle_end_of_a_run_by_count_is_no_stall() {
    let mut counts = [1000; 20];
    counts[18] = 5;
    counts[19] = 1;
    let mut run = with_series(&counts);
    assert!(check(&run).is_some());
    run.drive.stop = Some(prony_store::PlannedEnd::TransactionsPerClient(1000));
    assert_eq!(check(&run), None);
}

#[test]
fn long_lists_of_stretches_are_shortened() {
    let mut counts = [1000; 30];
    for index in [1, 4, 7, 10, 13, 16] {
        counts[index] = 0;
    }
    let finding = check(&with_series(&counts)).expect("stalls").finding;
    finding.assert_contains("2 more times");
}
