use super::*;
use crate::sample::with_series;
use crate::steady::check_drift;
use prony_assertions::TextAssertions;
use prony_plan::SplitMix;
use prony_store::{Event, MachineSecond, Observed, ServerSecond};

/// The counts of seconds: 1,000 times the model's value, with noise that decays over the following seconds.
fn noisy(seconds: usize, noise: f64, seed: u64, model: impl Fn(usize) -> f64) -> Vec<u64> {
    let mut random = SplitMix::new(seed);
    let mut remembered = 0.0;
    let counts = (0..seconds).map(|at| {
        remembered = 0.6 * remembered + noise * (random.uniform() - 0.5);
        (1_000.0 * model(at) * (1.0 + remembered)).max(0.0) as u64
    });
    counts.collect()
}

fn found(counts: &[u64]) -> Option<Finding> {
    check_burst(&with_series(counts))
}

#[test]
fn credits_that_run_out_are_named_with_the_time_and_both_levels() {
    for (seconds, at) in [(60, 25), (300, 120), (900, 700)] {
        let counts = noisy(
            seconds,
            0.1,
            5,
            |second| if second < at { 4.0 } else { 1.5 },
        );
        let finding = found(&counts).expect("a fall");
        let fall = find_fall(&with_series(&counts)).unwrap();
        assert!(
            (fall.at_s - at as f64).abs() <= seconds as f64 / 24.0,
            "{} {at}",
            fall.at_s
        );
        assert!((fall.from / 4_000.0 - 1.0).abs() < 0.05 && (fall.to / 1_500.0 - 1.0).abs() < 0.05);
        let text = &finding.finding;
        text.assert_contains("Likely limit: burst credits or throttling");
        finding.finding.assert_contains("and stayed there");
        assert_eq!(
            check_drift(&with_series(&counts)),
            None,
            "one finding of one fall"
        );
    }
}

#[test]
fn throttling_that_comes_and_goes_is_found() {
    let counts = noisy(
        600,
        0.06,
        9,
        |second| if second % 200 < 100 { 4.0 } else { 2.0 },
    );
    let finding = found(&counts).expect("falls");
    finding.finding.assert_contains("more times later");
}

#[test]
fn honest_runs_have_no_levels() {
    type Model = (&'static str, fn(usize) -> f64);
    let models: [Model; 10] = [
        ("short wave", |at| 1.0 + 0.4 * (at as f64 / 8.0).sin()),
        ("large wave", |at| 1.0 + 0.4 * (at as f64 / 20.0).sin()),
        ("one wave", |at| 1.0 + 0.4 * (at as f64 / 48.0).sin()),
        ("steady", |_| 1.0),
        ("slope", |at| 1.0 - 0.3 * at as f64 / 300.0),
        ("wave", |at| 1.0 + 0.15 * (at as f64 / 20.0).sin()),
        ("checkpoint", |at| if at % 60 < 8 { 0.5 } else { 1.0 }),
        ("warm-up", |at| 1.0 - 0.6 * (-(at as f64) / 30.0).exp()),
        ("decay", |at| 0.5 + 0.5 * (-(at as f64) / 80.0).exp()),
        ("small step", |at| if at < 150 { 1.0 } else { 0.85 }),
    ];
    for (name, model) in models {
        for seed in 0..30 {
            let noise = [0.05, 0.15, 0.3][seed as usize % 3];
            let counts = noisy(300, noise, seed, model);
            assert_eq!(found(&counts), None, "{name}, seed {seed}");
        }
    }
}

#[test]
fn what_the_server_did_explains_a_fall_and_steal_is_told() {
    let counts = noisy(300, 0.05, 1, |second| if second < 100 { 4.0 } else { 2.0 });
    let mut run = with_series(&counts);
    run.measured.length_s = 300.0;
    let second = |at: u32| ServerSecond {
        at_s: f64::from(at),
        length_s: 1.0,
        machine: Some(MachineSecond {
            steal_share: Some(if at < 110 { 0.0 } else { 0.4 }),
            ..MachineSecond::default()
        }),
        ..ServerSecond::default()
    };
    run.observed = Some(Observed {
        series: (0..310).map(second).collect(),
        ..Observed::default()
    });
    let finding = check_burst(&run).unwrap().finding;
    finding.assert_contains("withheld 40 % of the server's CPU time after it, and 0 % before");
    let event = |at_s: f64| Event {
        at_s,
        kind: EventKind::Backup,
        ..Event::default()
    };
    run.observed.as_mut().unwrap().events = vec![event(109.0)];
    assert_eq!(check_burst(&run), None, "a backup began with the fall");
    run.observed.as_mut().unwrap().events = vec![event(5.0)];
    assert!(check_burst(&run).is_some(), "it ran before the fall too");
}
