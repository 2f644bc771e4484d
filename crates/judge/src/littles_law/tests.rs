use super::*;
use crate::sample::healthy;
use Severity::{Caveat, Invalid, Note};
use prony_assertions::TextAssertions;
use prony_store::{ErrorClass, ErrorCount, Event, EventKind, PlannedEnd, SecondPhase, Setting};

fn run_with_gap(gap: f64) -> Run {
    let mut run = healthy();
    run.measured.kinds[0].busy_s *= 1.0 + gap;
    run
}

fn severity(run: &Run) -> Option<Severity> {
    check(run).map(|check| check.severity)
}

#[test]
fn clients_that_start_late_may_be_idle() {
    let settings = [
        Setting::new("mode", "procedures"),
        Setting::new("late_starts", "500 ms apart"),
    ];
    let mut idle = run_with_gap(-0.5);
    assert_eq!(severity(&idle), Some(Invalid));
    idle.workload.settings = settings.to_vec();
    assert_eq!(check(&idle), None);
    let mut busy = run_with_gap(0.5);
    busy.workload.settings = settings.to_vec();
    assert_eq!(severity(&busy), Some(Invalid));
}

#[test]
fn a_gap_of_two_per_cent_is_tolerated() {
    for gap in [-0.019, 0.0, 0.019] {
        assert_eq!(check(&run_with_gap(gap)), None, "{gap}");
    }
    for gap in [-0.021, 0.021] {
        assert_eq!(severity(&run_with_gap(gap)), Some(Invalid), "{gap}");
    }
    let finding = check(&run_with_gap(-0.25)).unwrap().finding;
    finding.assert_contains("48.00 busy clients");
    finding.assert_contains("64 clients ran (25 % too few)");
}

#[test]
fn a_stalled_server_at_the_end_is_not_a_client_error() {
    let mut run = run_with_gap(-0.5);
    let second = |committed| Second {
        length_s: 1.0,
        phase: SecondPhase::Measured,
        committed,
        ..Second::default()
    };
    run.series = (0..60)
        .map(|s| second(if s < 30 { 32_000 } else { 0 }))
        .collect();
    check(&run).unwrap().advice.assert_contains("report it");
    run.measured.unfinished = 64;
    let stalled = check(&run).unwrap();
    assert_eq!(stalled.severity, Invalid);
    stalled.finding.assert_contains("64 transactions in flight");
    stalled.advice.assert_lacks("report it");
}

#[test]
fn the_work_of_a_user_s_own_thread_explains_a_gap() {
    let of_one_client = |gap: f64, busy_share: f64| {
        let mut run = run_with_gap(gap);
        run.measured.kinds[0].busy_s /= f64::from(run.drive.clients);
        (run.drive.clients, run.drive.threads) = (1, 1);
        run.machine_mut().health.run_queue_s = Some(0.0);
        run.machine_mut().health.busiest_thread_share = Some(busy_share);
        check(&run).expect("a gap")
    };
    let explained = of_one_client(-0.029, 0.04);
    assert_eq!(explained.severity, Caveat);
    explained.finding.assert_contains("for 4.0 % of the time");
    let large = of_one_client(-0.035, 0.04);
    assert_eq!(large.severity, Invalid);
    large.advice.assert_lacks("report it");
    for (gap, busy_share) in [(-0.029, 0.02), (0.029, 0.04)] {
        of_one_client(gap, busy_share)
            .advice
            .assert_contains("report it");
    }
}

#[test]
fn cpu_waits_excuse_a_small_gap() {
    let mut run = run_with_gap(-0.029);
    // 20 % of the 120 seconds that two threads have.
    run.machine_mut().health.run_queue_s = Some(24.0);
    let finding = check(&run).unwrap();
    assert_eq!(finding.severity, Caveat);
    finding
        .finding
        .assert_contains("had none for 20 % of the time");
    run.machine_mut().health.run_queue_s = Some(3.0);
    assert_eq!(severity(&run), Some(Invalid), "too short to explain it");
    run.machine_mut().health.run_queue_s = None;
    assert_eq!(severity(&run), Some(Invalid), "not known");
    let mut too_many = run_with_gap(0.029);
    too_many.machine_mut().health.run_queue_s = Some(24.0);
    assert_eq!(severity(&too_many), Some(Invalid));
}

#[test]
fn cpu_waits_do_not_excuse_a_large_gap() {
    for run_queue_s in [24.0, 84.0, 120.0] {
        let mut run = run_with_gap(-0.031);
        run.machine_mut().health.run_queue_s = Some(run_queue_s);
        let check = check(&run).unwrap();
        assert_eq!(check.severity, Invalid, "{run_queue_s}");
        check.finding.assert_contains("had none for");
        check.advice.assert_lacks("bug in Prony");
    }
}

#[test]
fn open_loops_are_not_checked() {
    let mut run = run_with_gap(-0.5);
    run.drive.open_loop = true;
    assert_eq!(check(&run), None);
}

#[test]
fn users_with_think_times_are_not_checked() {
    let mut run = run_with_gap(-0.9);
    run.workload.settings = vec![
        Setting::new("mode", "procedures"),
        Setting::new("pacing", "spec"),
    ];
    assert_eq!(check(&run), None);
    run.workload.settings[1] = Setting::new("pacing", "none");
    assert_eq!(severity(&run), Some(Invalid));
}

#[test]
fn very_short_partial_runs_are_not_checked() {
    let mut run = run_with_gap(-0.5);
    run.state = RunState::Partial;
    assert_eq!(severity(&run), Some(Invalid));
    run.measured.length_s = 0.9;
    assert_eq!(check(&run), None);
}

/// A killed run has no count of the transactions in flight.
#[test]
fn a_stall_at_the_end_of_a_killed_run_is_detected() {
    let mut run = run_with_gap(-0.5);
    run.state = RunState::Partial;
    run.measured.unfinished = 0;
    let idle_second = Second {
        phase: SecondPhase::Measured,
        length_s: 1.0,
        ..Second::default()
    };
    let seconds = run.measured.length_s * 0.5;
    run.series = vec![idle_second; seconds as usize];
    let finding = check(&run).unwrap().finding;
    let expected = format!("nothing ended in the last {seconds:.1} s, with transactions in flight");
    finding.assert_contains(&expected);
    run.state = RunState::Complete;
    let finding = check(&run).unwrap().finding;
    finding.assert_ends_with("by Little's law.");
}

#[test]
fn runs_with_lost_connections_are_not_checked() {
    let mut lost = run_with_gap(-0.5);
    lost.measured.errors.push(ErrorCount {
        class: ErrorClass::LostConnection,
        count: 1,
        ..ErrorCount::default()
    });
    assert_eq!(severity(&lost), Some(Note));
    let mut outage = run_with_gap(-0.5);
    outage.events.push(Event {
        at_s: 20.0,
        until_s: Some(21.0),
        kind: EventKind::Outage,
        count: 64,
        ..Event::default()
    });
    assert_eq!(severity(&outage), Some(Note));
    // An outage that ended before the window began does not matter.
    outage.events[0].at_s = 1.0;
    outage.events[0].until_s = Some(2.0);
    assert_eq!(severity(&outage), Some(Invalid));
}

#[test]
fn transactions_long_relative_to_the_window_are_not_checked() {
    let mut run = healthy();
    let figures = &mut run.measured.kinds[0];
    // 64 clients for 60 s: 0.7 s per transaction.
    figures.committed = 5_485;
    assert_eq!(severity(&run), Some(Note));
}

#[test]
fn a_stall_at_the_edge_is_a_caveat() {
    let mut run = run_with_gap(-0.03);
    run.measured.kinds[0].response.max_ns = 2_000_000_000;
    assert_eq!(severity(&run), Some(Caveat));
    run.measured.kinds[0].response.max_ns = 1_000_000_000;
    assert_eq!(severity(&run), Some(Invalid));
    // A stall of more than a tenth of the window is not an effect of its edges.
    let mut long = run_with_gap(-0.11);
    long.measured.kinds[0].response.max_ns = 30_000_000_000;
    assert_eq!(severity(&long), Some(Invalid));
}

/// One client, of whose window of 10 s a transaction of 3.3 s at an edge takes a third.
#[test]
fn a_long_transaction_at_an_edge_of_a_short_window_is_no_error_of_prony() {
    let one_client = |busy_s: f64| {
        let mut run = healthy();
        run.drive.clients = 1;
        run.machine_mut().health.busiest_thread_share = Some(0.02);
        run.measured.length_s = 10.0;
        let figures = &mut run.measured.kinds[0];
        (figures.committed, figures.busy_s) = (6_700, busy_s);
        run
    };
    let mut at_end = one_client(6.7);
    check(&at_end)
        .unwrap()
        .advice
        .assert_contains("bug in Prony");
    at_end.measured.in_flight_s = Some(3.3);
    let found = check(&at_end).unwrap();
    assert_eq!(found.severity, Invalid);
    found.finding.assert_contains("had taken 3.30 s of it");
    found.advice.assert_lacks("Prony");
    // A small part of the missing time explains nothing.
    at_end.measured.in_flight_s = Some(1.0);
    check(&at_end)
        .unwrap()
        .advice
        .assert_contains("bug in Prony");
    let mut at_start = one_client(13.29);
    at_start.measured.in_flight_s = Some(0.0);
    check(&at_start)
        .unwrap()
        .advice
        .assert_contains("bug in Prony");
    at_start.measured.kinds[0].response.max_ns = 3_300_000_000;
    let found = check(&at_start).unwrap();
    found.finding.assert_contains("(3.30 s) at an edge");
    assert_eq!(found.severity, Invalid);
}

/// Of 64 clients, one had a transaction of 3.3 s: the other 63 did not cross an edge with one as long.
#[test]
fn one_long_transaction_does_not_explain_the_time_of_all_clients() {
    let mut run = run_with_gap(0.03);
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    histogram.record_n(4_000_000, 1_000_000).unwrap();
    histogram.record(3_300_000_000).unwrap();
    let response = &mut run.measured.kinds[0].response;
    response.max_ns = 3_300_000_000;
    response.histogram = prony_store::encode_histogram(&histogram);
    let sum_s = sum_of_longest_s(response, 64);
    assert!((sum_s - 3.552).abs() < 0.01, "{sum_s}");
    check(&run).unwrap().advice.assert_contains("bug in Prony");
    histogram.record_n(3_300_000_000, 40).unwrap();
    run.measured.kinds[0].response.histogram = prony_store::encode_histogram(&histogram);
    assert_eq!(severity(&run), Some(Caveat));
}

#[test]
fn clients_with_a_transaction_count_may_finish_early() {
    let mut too_few = run_with_gap(-0.2);
    too_few.drive.stop = Some(PlannedEnd::TransactionsPerClient(1000));
    assert_eq!(check(&too_few), None);
    let mut too_many = run_with_gap(0.2);
    too_many.plan = too_few.plan.clone();
    assert_eq!(severity(&too_many), Some(Invalid));
    too_few.drive.stop = Some(PlannedEnd::DurationS(60.0));
    assert_eq!(severity(&too_few), Some(Invalid));
}
