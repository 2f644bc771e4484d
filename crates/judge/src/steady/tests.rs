use super::*;
use crate::checks::find_check;
use crate::sample::{healthy, observed_mut, observed_run, with_series};
use prony_assertions::TextAssertions;
use prony_store::SessionGroup;
use serde_json::json;

/// A fixed noise of a few per cent, so that a test is deterministic.
fn with_noise(index: usize, mean_rate: f64) -> u64 {
    let noise = ((index * 7919 + 104_729) % 101) as f64 / 101.0 - 0.5;
    (mean_rate * (1.0 + 0.04 * noise)) as u64
}

fn run(seconds: usize, mean_rate: impl Fn(usize) -> f64) -> Run {
    let counts: Vec<u64> = (0..seconds)
        .map(|second| with_noise(second, mean_rate(second)))
        .collect();
    with_series(&counts)
}

fn ids(run: &Run) -> Vec<String> {
    let checks = ["warm-up", "drift", "unsteady"].into_iter();
    let found = checks.filter_map(|id| find_check(id)?.check(run));
    found.map(|check| check.id).collect()
}

#[test]
fn a_row_of_ten_seconds_counts_as_ten() {
    let mut run = with_series(&[1000; 130]);
    let expected = per_second_rates(&run, |second| second.committed).expect("long enough");
    let (single_seconds, last_ten) = run.series.split_at(120);
    let mut sum = last_ten[0].clone();
    sum.length_s = 10.0;
    sum.committed *= 10;
    run.series = [single_seconds, &[sum]].concat();
    assert_eq!(
        per_second_rates(&run, |second| second.committed),
        Some(expected)
    );
}

#[test]
fn a_steady_run_has_no_findings() {
    assert_eq!(ids(&healthy()), [""; 0], "no series");
    for seconds in [20, 60, 61, 119, 3600] {
        assert_eq!(ids(&run(seconds, |_| 16_000.0)), [""; 0], "{seconds}");
    }
    // A small number of transactions scatters by its square root.
    let low_counts: Vec<u64> = (0..60)
        .map(|at| [3, 9, 5, 12, 2, 7, 8][at * 5 % 7])
        .collect();
    assert_eq!(ids(&with_series(&low_counts)), [""; 0]);
}

#[test]
fn a_warm_up_inside_the_window_is_reported() {
    let cold = run(60, |at| if at < 12 { 9_000.0 } else { 16_000.0 });
    let check = check_warm_up(&cold).expect("a warm-up");
    assert_eq!(check.severity, Severity::Caveat);
    check.finding.assert_contains("first 12 s");
    check.finding.assert_contains("44 % less");
    assert_eq!(check.advice, "Warm up for longer: --warmup 28s.");
    assert_eq!(ids(&cold), ["warm-up"], "the warm-up explains the rest");
    // Two slow seconds of an hour do not matter.
    let hour = run(3600, |at| if at < 2 { 9_000.0 } else { 16_000.0 });
    assert_eq!(ids(&hour), [""; 0]);
}

/// The share of 400 runs whose throughput wanders by `deviation`, with this correlation from second to second, that
/// are doubted by a warm-up.
fn false_warm_ups(seconds: usize, deviation: f64, correlation: f64) -> f64 {
    let mut random = prony_plan::SplitMix::new(5);
    let mut normal = move || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
    let innovation = deviation * (1.0 - correlation * correlation).sqrt();
    let doubted = (0..400).filter(|_| {
        let mut level = deviation * normal();
        let counts: Vec<u64> = (0..seconds)
            .map(|_| {
                let count = 2_000.0 * (1.0 + level);
                level = correlation * level + innovation * normal();
                count as u64
            })
            .collect();
        check_warm_up(&with_series(&counts)).is_some_and(|check| check.severity >= Severity::Caveat)
    });
    doubted.count() as f64 / 400.0
}

#[test]
fn throughput_that_wanders_is_no_warm_up() {
    for seconds in [20, 60] {
        for (deviation, correlation) in [
            (0.05, 0.5),
            (0.08, 0.5),
            (0.08, 0.7),
            (0.05, 0.8),
            (0.08, 0.9),
        ] {
            let share = false_warm_ups(seconds, deviation, correlation);
            assert!(
                share <= 0.02,
                "{seconds} s, {deviation}, {correlation}: {share}"
            );
        }
    }
    // A start that is faster than the rest.
    let hot = run(60, |at| if at < 8 { 20_000.0 } else { 16_000.0 });
    assert_eq!(check_warm_up(&hot), None);
    assert_eq!(ids(&hot), ["drift"]);
}

#[test]
fn falling_throughput_is_drift() {
    let falling = run(120, |at| 16_000.0 - 25.0 * at as f64);
    let check = check_drift(&falling).expect("a drift");
    assert_eq!(check.severity, Severity::Invalid, "more than 10 %");
    check.finding.assert_contains("fell by 18 %");
    // Relative to its start, not to the mean of the window; the bins average 98 % a little.
    let nearly_all = run(120, |at| 16_000.0 * (1.0 - 0.98 * at as f64 / 119.0));
    let check = check_drift(&nearly_all).expect("a drift");
    check.finding.assert_contains("fell by 96 %");
    let severity = |slope: f64| {
        let falling = run(120, move |at| 16_000.0 - slope * at as f64);
        check_drift(&falling).map(|check| check.severity)
    };
    assert_eq!(severity(8.0), Some(Severity::Caveat), "6 %");
    assert_eq!(severity(3.0), Some(Severity::Note), "2 %");
    assert_eq!(severity(0.8), None, "0.6 %");
}

#[test]
fn a_fall_over_the_whole_window_is_no_warm_up() {
    // Half of the fall is in the first third.
    let falling = run(300, |at| {
        16_000.0 * (1.0 - 0.2 * (at as f64 / 300.0).sqrt())
    });
    assert_eq!(ids(&falling), ["drift"]);
}

#[test]
fn a_step_late_in_the_window_is_drift() {
    let step = run(120, |at| if at < 90 { 16_000.0 } else { 14_000.0 });
    let check = check_drift(&step).expect("a step");
    assert_eq!(check.severity, Severity::Caveat, "a quarter of the window");
    check.finding.assert_contains("in a step 90 s into");
}

#[test]
fn waves_are_unsteady() {
    let wave = |height: f64| {
        run(200, move |at| {
            16_000.0 * (1.0 + height * (at as f64 / 9.0).sin())
        })
    };
    let severity = |height| check_unsteady(&wave(height)).map(|check| check.severity);
    assert_eq!(severity(0.05), None);
    assert_eq!(severity(0.4), Some(Severity::Caveat));
    assert_eq!(severity(0.9), Some(Severity::Invalid));
    let mut expected = wave(0.9);
    expected.plan = json!({ "run": { "expect_outage": true } });
    assert_eq!(
        check_unsteady(&expected).unwrap().severity,
        Severity::Caveat
    );
}

#[test]
fn short_runs_runs_with_outages_and_idle_ends_are_not_judged() {
    assert_eq!(ids(&run(19, |at| 1000.0 * at as f64)), [""; 0]);
    let mut lost = run(60, |at| if at < 12 { 9_000.0 } else { 16_000.0 });
    lost.events.push(prony_store::Event {
        at_s: 20.0,
        kind: prony_store::EventKind::Outage,
        ..Default::default()
    });
    assert_eq!(ids(&lost), [""; 0]);
    let mut counted = run(60, |at| if at < 50 { 16_000.0 } else { 900.0 });
    assert!(!ids(&counted).is_empty());
    counted.drive.stop = Some(prony_store::PlannedEnd::TransactionsPerClient(1000));
    assert_eq!(ids(&counted), [""; 0]);
}

/// A change that coincides with another's load names it.
#[test]
fn load_that_comes_and_goes_with_a_change_is_named() {
    // The throughput in each second, and when others load the server.
    type Case = (fn(usize) -> f64, std::ops::Range<usize>, &'static str);
    let cases: [Case; 3] = [
        (|at| if at < 30 { 1000.0 } else { 820.0 }, 30..60, "drift"),
        (|at| if at < 10 { 600.0 } else { 1000.0 }, 0..10, "warm-up"),
        (
            |at| {
                if (20..32).contains(&at) { 500.0 } else { 1000.0 }
            },
            20..32,
            "unsteady",
        ),
    ];
    for (rate, busy_seconds, id) in cases {
        let with_load = |change: &dyn Fn(&mut prony_store::ServerSecond, bool)| {
            let mut run = Run {
                series: run(60, rate).series,
                ..observed_run()
            };
            run.measured.length_s = 60.0;
            for (at, row) in observed_mut(&mut run).series.iter_mut().enumerate() {
                change(row, at >= 10 && busy_seconds.contains(&(at - 10)));
            }
            let check = find_check(id).and_then(|check| check.check(&run));
            check.unwrap_or_else(|| panic!("no {id}"))
        };
        let plain = with_load(&|_, _| {});
        assert!(!plain.finding.contains("In these seconds") && plain.advice != END_RIVAL);
        let always = with_load(&|row, _| row.other_commits = Some(2_000));
        always.finding.assert_lacks("In these seconds");
        let sessions = with_load(&|row, is_busy| {
            row.sessions = vec![SessionGroup {
                database: "shop".to_owned(),
                user: "u".to_owned(),
                application: "app".to_owned(),
                busy: if is_busy { 4 } else { 0 },
                ..SessionGroup::default()
            }];
        });
        let expected = " sessions of others (database shop, user u, program app) were busy in the \
                        server, in the other seconds 0.0.";
        sessions.finding.assert_ends_with(expected);
        assert_eq!(sessions.advice, END_RIVAL);
        let commits =
            with_load(&|row, is_busy| row.other_commits = Some(if is_busy { 2_000 } else { 3 }));
        let expected =
            " transactions per second committed in other databases, in the other seconds 3.";
        commits.finding.assert_contains(expected);
        let cpu = with_load(&|row, is_busy| {
            let machine = row.machine.get_or_insert_default();
            machine.server_cpu_s = Some(if is_busy { 4.8 } else { 11.2 });
        });
        let expected = " % of the CPUs of the server's machine, in the other seconds 0 %.";
        cpu.finding.assert_contains(expected);
    }
}
