//! Requirements of runs and repeats.

use super::relative::against_baseline;
use super::*;
use crate::sample::{found, healthy, with_series};
use AnswerVerdict::{Fail, Pass, Undecided};
use prony_assertions::TextAssertions;
use prony_store::{Event, GrowthReading, KindFigures, Latency};

fn requirement(text: &str) -> Requirement {
    Requirement::parse(text).unwrap()
}

fn answered(mut run: Run, text: &str) -> (AnswerVerdict, RequirementResult) {
    run.answer = unanswered(&[requirement(text)]);
    answer_run(&mut run, &[]);
    let answer = run.answer.unwrap();
    (answer.verdict, answer.results[0].clone())
}

/// 60 seconds of 15,900 to 16,100 transactions each.
fn steady() -> Run {
    let counts: Vec<u64> = (0..60)
        .map(|second| 15_900 + (second * 7 % 11) * 20)
        .collect();
    with_series(&counts)
}

#[test]
fn a_figure_is_decided_by_its_whole_interval() {
    for (text, verdict) in [
        ("throughput>15000", Pass),
        ("throughput>17000", Fail),
        ("throughput>16000", Undecided),
        ("throughput>=14000/s", Pass),
    ] {
        let (answer, result) = answered(steady(), text);
        assert_eq!(
            (answer, result.verdict),
            (verdict, verdict),
            "{text}: {result:?}"
        );
        let [low, high] = result.interval.expect("an interval");
        assert!(
            15_900.0 < low && low < 16_000.0 && 16_000.0 < high && high < 16_100.0,
            "{result:?}"
        );
    }
    // Each second is like the one before: its mean has no interval, and is not far outside what the seconds were.
    let wave: Vec<u64> = (0..20)
        .map(|second: u64| 15_900 + 20 * second.min(20 - second))
        .collect();
    for (text, verdict) in [
        ("throughput>15000", Pass),
        ("throughput>17000", Fail),
        ("throughput>15900", Undecided),
    ] {
        assert_eq!(answered(with_series(&wave), text).0, verdict, "{text}");
    }
    // Too few seconds for an interval.
    let (answer, result) = answered(with_series(&[16_000; 5]), "throughput>15000");
    assert_eq!(answer, Undecided);
    result.reason.unwrap().assert_contains("20 whole seconds");
    let (_, result) = answered(steady(), "absent_kind.p99<1ms");
    result.reason.unwrap().assert_contains("absent_kind");
}

#[test]
fn the_mean_of_a_rare_kind_is_less_certain_than_that_of_all() {
    let times = |fast: u64, slow: u64| {
        let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        histogram.record_n(1_000_000, fast).unwrap();
        histogram.record_n(90_000_000, slow).unwrap();
        Latency {
            samples: histogram.len(),
            mean_ns: histogram.mean(),
            histogram: prony_store::encode_histogram(&histogram),
            ..Latency::default()
        }
    };
    let mut run = steady();
    for (index, second) in run.series.iter_mut().enumerate() {
        second.mean_ns = 1e6 + (index * 7 % 11) as f64 * 1e3;
    }
    run.measured.kinds[0].response = times(960_000, 100);
    for (name, fast, slow) in [("rare", 18, 2), ("frequent", 900_000, 90)] {
        run.measured.kinds.push(KindFigures {
            kind: Some(name.to_owned()),
            response: times(fast, slow),
            ..KindFigures::default()
        });
    }
    // Two slow ones of twenty: their mean is 9.9 ms, and might as well be 5 or 20 ms.
    let (verdict, result) = answered(run.clone(), "rare.mean<11ms");
    assert_eq!(verdict, Undecided, "{result:?}");
    let [low, high] = result.interval.expect("it has a histogram");
    assert!(low < 5e6 && high > 15e6, "{result:?}");
    assert_eq!(answered(run.clone(), "rare.mean<60ms").0, Pass);
    assert_eq!(answered(run, "frequent.mean<1.1ms").0, Pass);
}

#[test]
fn what_is_counted_decides_in_any_run() {
    let failed = |failed| {
        let mut run = steady();
        run.measured.kinds[0].failed = failed;
        run
    };
    assert_eq!(answered(failed(0), "errors=0").0, Pass);
    assert_eq!(answered(failed(1), "errors=0").0, Fail);
    assert_eq!(answered(failed(9_000), "errors<1%").0, Pass);
    assert_eq!(answered(failed(10_000), "errors<1%").0, Fail);
    let mut run = steady();
    run.events.push(Event {
        at_s: 20.0,
        until_s: Some(23.5),
        kind: prony_store::EventKind::Outage,
        ..Event::default()
    });
    assert_eq!(answered(run.clone(), "outage<4s").0, Pass);
    assert_eq!(answered(run.clone(), "outage<3s").0, Fail);
    // An invalid run meets nothing, and misses what it counted.
    run.checks.push(found("restart", Severity::Invalid));
    assert_eq!(answered(run.clone(), "outage<4s").0, Undecided);
    let (verdict, result) = answered(run.clone(), "throughput>17000");
    assert_eq!(verdict, Undecided);
    let reason = result.reason.unwrap();
    assert_eq!(reason, "the run's figures must not be used (restart)");
    assert_eq!(answered(run.clone(), "outage<3s").0, Fail);
    // The work of others only makes an outage longer.
    run.checks.last_mut().unwrap().id = "neighbours".to_owned();
    assert_eq!(answered(run.clone(), "outage<4s").0, Pass);
    let verdict = answered(run, "throughput>15000").0;
    assert_eq!(verdict, Undecided);
}

#[test]
fn lost_commits_are_those_that_the_server_does_not_have() {
    let grown = |after| {
        let mut run = healthy();
        run.growth = vec![GrowthReading {
            before: Some(1_000),
            after,
            committed: 500,
            ambiguous: 2,
            ..GrowthReading::default()
        }];
        run
    };
    let (verdict, result) = answered(grown(Some(1_497)), "lost=0");
    assert_eq!((verdict, result.value), (Fail, Some(3.0)));
    assert_eq!(answered(grown(Some(1_501)), "lost=0").0, Pass);
    assert_eq!(answered(grown(None), "lost=0").0, Undecided);
    assert_eq!(answered(healthy(), "lost=0").0, Undecided);
}

#[test]
fn repeats_are_decided_by_their_values() {
    let run = |tps: f64| {
        let mut run = steady();
        run.measured.kinds[0] = KindFigures {
            tps,
            ..run.measured.kinds[0].clone()
        };
        run
    };
    let verdict = |tps: &[f64]| {
        let runs: Vec<Run> = tps.iter().map(|tps| run(*tps)).collect();
        let runs: Vec<&Run> = runs.iter().collect();
        let requirements = [requirement("throughput>15000")];
        answer_repeats(&requirements, &runs, runs.len(), &[])
            .unwrap()
            .verdict
    };
    assert_eq!(verdict(&[16_000.0, 16_100.0]), Pass);
    assert_eq!(verdict(&[16_000.0, 14_000.0]), Undecided);
    assert_eq!(verdict(&[16_000.0, 16_100.0, 16_050.0]), Pass);
    assert_eq!(verdict(&[14_000.0, 14_100.0, 14_050.0]), Fail);
    // Its answer stays that of its seconds when these are no longer in memory.
    let required = [requirement("throughput>15000")];
    let mut answered = run(16_000.0);
    answered.answer = unanswered(&required);
    answer_run(&mut answered, &[]);
    answered.series.clear();
    let answer = answer_repeats(&required, &[&answered], 1, &[]);
    assert_eq!(answer.unwrap().verdict, Pass);
    // Each passes by itself, and they differ so much that a further run may not.
    assert_eq!(verdict(&[15_500.0, 19_000.0, 23_000.0]), Undecided);
}

#[test]
fn a_limit_relative_to_a_label_needs_repeats_on_both_sides() {
    let baseline = |tps: &[f64]| {
        let runs = tps.iter().map(|tps| {
            let mut run = healthy();
            run.id = format!("{tps}");
            run.measured.kinds[0].tps = *tps;
            run
        });
        Baseline {
            label: "main".to_owned(),
            runs: runs.collect(),
        }
    };
    let main = baseline(&[16_000.0, 16_050.0, 15_950.0, 16_020.0, 15_980.0]);
    let verdict = |text: &str, tps: &[f64]| {
        let runs = baseline(tps).runs;
        let runs: Vec<&Run> = runs.iter().collect();
        against_baseline(&requirement(text), &runs, &main).verdict
    };
    let same = [16_010.0, 15_960.0, 16_030.0, 15_990.0, 16_000.0];
    let slow = same.map(|tps| 0.9 * tps);
    assert_eq!(verdict("not slower than main by 3%", &same), Pass);
    assert_eq!(verdict("not slower than main by 3%", &slow), Fail);
    assert_eq!(verdict("throughput>=85% of main", &slow), Pass);
    assert_eq!(verdict("throughput>=85% of main", &slow[..1]), Undecided);
    assert_eq!(verdict("max<=110% of main", &same), Undecided);
}

fn invalid(mut run: Run) -> Run {
    run.checks.push(found("outage", Severity::Invalid));
    run
}

fn failed(count: u64) -> Run {
    let mut run = steady();
    run.measured.kinds[0].failed = count;
    run
}

fn of_repeats(runs: &[Run], planned: usize, text: &str) -> RequirementResult {
    let runs: Vec<&Run> = runs.iter().collect();
    let answer = answer_repeats(&[requirement(text)], &runs, planned, &[]).unwrap();
    assert_eq!(answer.verdict, answer.results[0].verdict);
    answer.results[0].clone()
}

#[test]
fn what_one_repeat_counted_misses_the_limit_for_all() {
    let crashed = [failed(0), invalid(failed(2)), failed(0)];
    let result = of_repeats(&crashed, 3, "errors=0");
    assert_eq!((result.verdict, result.value), (Fail, Some(2.0)));
    // A repeat that must not be used and counted nothing is left out.
    let noisy = [failed(0), invalid(failed(0)), failed(0)];
    assert_eq!(of_repeats(&noisy, 3, "errors=0").verdict, Pass);
    // The worst of several is shown.
    let many = [failed(1), failed(7), failed(3)];
    assert_eq!(of_repeats(&many, 3, "errors=0").value, Some(7.0));
    assert_eq!(of_repeats(&many, 3, "errors<50").value, Some(7.0));
}

#[test]
fn an_unfinished_experiment_passes_nothing() {
    let mut cut = steady();
    cut.state = RunState::Partial;
    for runs in [&[steady()][..], &[steady(), cut], &[]] {
        for text in ["errors=0", "throughput>15000", "throughput>17000"] {
            let result = of_repeats(runs, 4, text);
            assert_eq!(result.verdict, Undecided, "{text}");
            let reason = format!("{} of 4 runs were completed", runs.len().min(1));
            assert_eq!(result.reason, Some(reason), "{text}");
        }
    }
    let counted = of_repeats(&[failed(1)], 4, "errors=0");
    assert_eq!(counted.verdict, Fail);
}

#[test]
fn two_values_are_no_interval_and_no_rate_is_negative() {
    let run = |tps: f64| {
        let mut run = with_series(&[16_000; 5]);
        run.measured.kinds[0].tps = tps;
        run
    };
    let two = of_repeats(&[run(236.0), run(262.0)], 2, "throughput>1");
    assert_eq!((two.verdict, two.interval), (Undecided, None));
    let far = of_repeats(&[run(1.0), run(400.0), run(600.0)], 3, "throughput>1");
    assert_eq!(far.verdict, Undecided);
    assert_eq!(far.interval.unwrap()[0], 0.0);
}

#[test]
fn a_baseline_is_the_newest_runs_of_a_label_that_can_be_compared() {
    let labelled = |id: usize, scale, tps| {
        let mut run = healthy();
        run.id = format!("202611{id:02}");
        run.workload.scale = scale;
        run.measured.kinds[0].tps = tps;
        run
    };
    let own_scale = healthy().workload.scale;
    // Twelve newer ones are of other data; of the own, the old ones were faster.
    let mut runs: Vec<Run> = (15..27).map(|id| labelled(id, 7, 16_000.0)).collect();
    runs.extend((5..15).map(|id| labelled(id, own_scale, 16_000.0 + id as f64)));
    runs.extend((0..5).map(|id| labelled(id, own_scale, 90_000.0)));
    let main = Baseline {
        label: "main".to_owned(),
        runs,
    };
    let now: Vec<Run> = (0..5)
        .map(|id| labelled(30 + id, own_scale, 16_005.0 + id as f64))
        .collect();
    let now: Vec<&Run> = now.iter().collect();
    let result = against_baseline(&requirement("throughput>=97% of main"), &now, &main);
    assert_eq!(result.verdict, Pass, "{result:?}");
}

/// A run of 5 s, and so many transactions of 1 ms and of 5 ms.
fn short(clients: u32, fast: u64, slow: u64) -> Run {
    let mut run = with_series(&[(fast + slow) / 5; 5]);
    run.drive.clients = clients;
    let mut histogram = hdrhistogram::Histogram::<u64>::new(3).unwrap();
    histogram.record_n(1_000_000, fast).unwrap();
    histogram.record_n(5_000_000, slow).unwrap();
    let response = &mut run.measured.kinds[0].response;
    response.samples = fast + slow;
    response.p99_ns = (fast + slow >= 1_000).then(|| histogram.value_at_quantile(0.99));
    response.histogram = prony_store::encode_histogram(&histogram);
    run
}

#[test]
fn a_percentile_that_is_surely_above_its_limit_fails_without_an_interval() {
    for (run, text, verdict) in [
        (short(8, 0, 300), "p99<1us", Fail),
        (short(8, 0, 300), "p50<1us", Fail),
        (short(8, 0, 300), "p99<10ms", Undecided),
        // Those above the limit may all be of one second, which was slow by chance.
        (short(1, 2_955, 45), "p99<2ms", Undecided),
        (short(64, 2_700, 300), "p99<2ms", Fail),
    ] {
        let result = answered(run, text).1;
        assert_eq!(result.verdict, verdict, "{text}: {result:?}");
    }
    let result = answered(short(8, 0, 300), "p99<1us").1;
    assert_eq!(result.value, None);
    let reason = result.reason.unwrap();
    let shown = "but 300 transactions show with 95 % confidence that it is at least 5.00 ms";
    reason.assert_contains(shown);
    // What must not be used, or ended early, shows nothing.
    let mut cut = short(8, 0, 300);
    cut.state = RunState::Partial;
    assert_eq!(answered(cut, "p99<1us").1.verdict, Undecided);
    // Two repeats that are certain are certain together.
    let two = [short(8, 0, 3_000), short(8, 0, 3_000)];
    assert_eq!(of_repeats(&two, 2, "p99<2ms").verdict, Fail);
}

/// A run of 20 s, each second slower or faster than the one before, by at most 10 % in all: so many transactions of 1 ms and
/// of 5 ms.
fn wave(fast: u64, slow: u64) -> Run {
    let times = short(8, fast, slow);
    let mut run = with_series(&[(fast + slow) / 20; 20]);
    run.measured = times.measured;
    for (index, second) in run.series.iter_mut().enumerate() {
        let level = 100 + index.min(20 - index) as u64;
        second.mean_ns = 10_000.0 * level as f64;
        second.p99_ns = run.measured.kinds[0]
            .response
            .p99_ns
            .map(|_| 50_000 * level);
    }
    run
}

#[test]
fn a_percentile_of_seconds_that_depend_on_each_other_is_decided_by_limits_that_are_far_away() {
    let decided = |text: &str, run: Run| answered(run, text).0;
    // The seconds have no 95th percentile, and their means take its place.
    for figure in ["p99", "p95"] {
        for (limit, verdict) in [("6ms", Pass), ("4ms", Fail), ("5.2ms", Undecided)] {
            let text = format!("{figure}<{limit}");
            let mut run = wave(18_000, 2_000);
            run.measured.kinds[0].response.p95_ns = Some(5_000_000);
            assert_eq!(decided(&text, run), verdict, "{text}");
        }
    }
    // Too few transactions for the percentile.
    assert_eq!(decided("p99<4ms", wave(0, 300)), Fail);
    assert_eq!(decided("p99<4.8ms", wave(0, 300)), Undecided);
    let mut without_histogram = wave(18_000, 2_000);
    without_histogram.measured.kinds[0]
        .response
        .histogram
        .clear();
    let (verdict, result) = answered(without_histogram, "p99<6ms");
    assert_eq!(verdict, Undecided);
    let reason = result.reason.unwrap();
    reason.assert_contains("the run's histogram");
}
