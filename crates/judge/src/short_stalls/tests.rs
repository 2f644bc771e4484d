//! Stalls in synthetic runs.

use super::*;
use crate::sample::with_series;
use prony_assertions::TextAssertions;
use prony_store::Gap;

/// 64 clients with transactions of 4 ms for 30 s, in which the server stands still at these times.
fn with_stalls(stalls: &[(f64, f64)]) -> Run {
    let mut run = with_series(&[16_000; 30]);
    run.measured.length_s = 30.0;
    run.measured.kinds[0].busy_s = 64.0 * 30.0;
    run.measured.kinds[0].response.p99_ns = Some(9_000_000);
    let series = run.series.iter_mut();
    series.for_each(|second| second.max_ns = 20_000_000);
    for (at_s, length_s) in stalls {
        for second in &mut run.series {
            let start_s = at_s.max(second.at_s);
            let end_s = (at_s + length_s).min(second.at_s + 1.0);
            if end_s > start_s {
                let length_s = end_s - start_s;
                second.gaps.push(Gap {
                    at_s: start_s,
                    length_s,
                });
                second.committed -= (16_000.0 * length_s) as u64;
            }
            if (second.at_s..second.at_s + 1.0).contains(&(at_s + length_s)) {
                second.max_ns = (length_s * 1e9) as u64;
            }
        }
    }
    run
}

fn severity(run: &Run) -> Option<Severity> {
    check_short_stall(run).map(|check| check.severity)
}

#[test]
fn a_table_locked_for_some_tenths_of_a_second_every_five_is_named() {
    let at_s = [11.9, 16.8, 21.8, 26.8, 31.9, 36.8];
    let run = with_stalls(&at_s.map(|at_s| (at_s, 0.4)));
    let check = check_short_stall(&run).unwrap();
    assert_eq!(check.severity, Severity::Caveat);
    let expected = "All clients waited 0.40 s every 5.0 s (6 times, first 11.9 s after the start of the load): no \
                    transaction ended for 8.0 % of the window.";
    assert_eq!(check.finding, expected);
    assert_eq!(check_client_stall(&run), None, "it has been told");
    assert_eq!(stall::check(&run), None);
    let longer = with_stalls(&at_s.map(|at_s| (at_s, 0.7)));
    assert_eq!(severity(&longer), Some(Severity::Invalid), "14 %");
    let rare = with_stalls(&[(12.5, 0.11), (22.5, 0.11), (32.5, 0.11)]);
    assert_eq!(severity(&rare), Some(Severity::Caveat), "1.1 %, regularly");
    let irregular = with_stalls(&[(12.5, 0.11), (14.2, 0.11), (32.5, 0.11)]);
    assert_eq!(severity(&irregular), Some(Severity::Note));
    assert_eq!(
        severity(&with_stalls(&[(12.5, 0.2)])),
        None,
        "less than 1 %"
    );
}

#[test]
fn stalls_of_a_light_open_loop_are_no_usual_transactions() {
    let mut run = with_stalls(&[(12.5, 0.4), (14.2, 0.4), (21.5, 0.4), (32.5, 0.4)]);
    run.drive.clients = 8;
    run.drive.open_loop = true;
    run.drive.rate_tps = Some(200.0);
    let series = run.series.iter_mut();
    series.for_each(|second| second.committed = 200);
    // Most of the time in transactions is that of the 320 that were due in the stalls.
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    (0..5_680).for_each(|_| histogram.record(1_000_000).unwrap());
    (0..320).for_each(|_| histogram.record(200_000_000).unwrap());
    let all = &mut run.measured.kinds[0];
    all.service.histogram = prony_store::encode_histogram(&histogram);
    all.service.p50_ns = Some(1_000_000);
    all.response.p999_ns = Some(400_000_000);
    all.busy_s = 70.0;
    assert_eq!(severity(&run), Some(Severity::Caveat));
    run.drive.rate_tps = Some(40.0);
    assert_eq!(
        severity(&run),
        None,
        "half a second without a start is chance"
    );
}

#[test]
fn think_time_low_rates_and_long_transactions_are_no_stall() {
    let stalls = [(12.5, 0.4), (17.5, 0.4), (22.5, 0.4), (27.5, 0.4)];
    let run = with_stalls(&stalls);
    assert_eq!(severity(&run), Some(Severity::Caveat));
    let mut thinking = run.clone();
    let series = thinking.series.iter_mut();
    series.for_each(|second| second.max_ns = 20_000_000);
    assert_eq!(severity(&thinking), None, "no transaction waited");
    let mut long = run.clone();
    long.measured.kinds[0].response.mean_ns = 2.5e8;
    assert_eq!(severity(&long), None, "transactions of 0.25 s");
    let mut by_kind = run.clone();
    by_kind.measured.kinds[0].service.p50_ns = Some(210_000_000);
    assert_eq!(severity(&by_kind), None);
    let mut slow = run.clone();
    let series = slow.series.iter_mut();
    series.for_each(|second| second.committed = 40);
    assert_eq!(severity(&slow), None, "40 transactions a second");
    // One client whose every thousandth transaction takes 0.4 s, at times that no rhythm explains.
    let mut single = with_stalls(&[(12.5, 0.4), (14.0, 0.4), (22.5, 0.4), (23.1, 0.4)]);
    assert_eq!(severity(&single), Some(Severity::Caveat));
    single.drive.clients = 1;
    single.measured.kinds[0].busy_s = 30.0;
    assert_eq!(severity(&single), None, "the rarest are not known");
    single.measured.kinds[0].response.p999_ns = Some(400_000_000);
    assert_eq!(severity(&single), None);
    single.measured.kinds[0].response.p999_ns = Some(30_000_000);
    assert_eq!(severity(&single), Some(Severity::Caveat));
}

#[test]
fn stalls_across_and_of_whole_seconds_are_one() {
    let stalls = [(12.8, 0.5), (20.9, 2.3), (28.9, 0.3)];
    let run = with_stalls(&stalls);
    assert_eq!(stalls_of_all(&run).len(), 3);
    let check = check_short_stall(&run).unwrap();
    assert!(
        check.finding.contains("waited 2.30 s every 8.0 s")
            || check.finding.contains("every 8.0 s"),
        "{check:?}"
    );
    let whole = with_stalls(&[(12.8, 1.5), (20.9, 2.3), (28.9, 2.3)]);
    assert_eq!(check_short_stall(&whole), None);
    let finding = stall::check(&whole).unwrap().finding;
    finding.assert_contains(" They came every 8.0 s.");
    // A server that is stopped until the end.
    let mut at_end = with_stalls(&[(39.2, 0.8)]);
    assert_eq!(severity(&at_end), None);
    at_end.measured.in_flight_max_s = Some(0.8);
    assert_eq!(severity(&at_end), Some(Severity::Note));
}

#[test]
fn a_client_that_stands_still_while_others_go_on_is_named() {
    let mut run = with_stalls(&[]);
    assert_eq!(check_client_stall(&run), None);
    run.series[14].max_ns = 4_000_000_000;
    let check = check_client_stall(&run).unwrap();
    assert_eq!(check.severity, Severity::Caveat);
    let expected = "One client of 64 waited 4.00 s, 21.0 s after the start of the load, while others went on: 99 % of the \
                    transactions took no longer than 9.00 ms.";
    assert_eq!(check.finding, expected);
    let mut alone = run.clone();
    alone.drive.clients = 1;
    assert_eq!(check_client_stall(&alone), None);
    let mut nothing_ended = run.clone();
    for kind in &mut nothing_ended.measured.kinds {
        kind.response.samples = 0;
    }
    assert_eq!(check_client_stall(&nothing_ended), None);
    // Regularly, each for less than a second.
    let mut regular = with_stalls(&[]);
    for at in [3, 8, 13, 18, 23] {
        regular.series[at].max_ns = 400_000_000;
    }
    let check = check_client_stall(&regular).unwrap();
    check
        .finding
        .assert_contains("waited 0.40 s every 5.0 s (5 times");
    regular.series[18].max_ns = 20_000_000;
    regular.series[8].max_ns = 20_000_000;
    regular.series[5].max_ns = 400_000_000;
    assert_eq!(
        check_client_stall(&regular),
        None,
        "a slow transaction now and then"
    );
    // Until the end of the window.
    let mut at_end = with_stalls(&[]);
    at_end.measured.in_flight_max_s = Some(7.0);
    check_client_stall(&at_end)
        .unwrap()
        .finding
        .assert_contains("waited 7.00 s, 33.0 s");
    // All transactions of the workload vary as much.
    let mut varying = run.clone();
    let series = varying.series.iter_mut();
    series.for_each(|second| second.max_ns = 900_000_000);
    varying.series[14].max_ns = 4_000_000_000;
    assert_eq!(check_client_stall(&varying), None);
    // The backlog of an open loop, without histograms.
    run.drive.open_loop = true;
    assert_eq!(check_client_stall(&run), None);
}
