//! The search step by step.

use super::*;
use prony_store::AnswerVerdict::{Fail, Pass, Undecided};

const SEARCH: Search = Search {
    start: 800.0,
    is_estimate: true,
    precision: 0.02,
    max_steps: 13,
};

fn steps(steps: &[(f64, AnswerVerdict)]) -> Vec<RateVerdict> {
    let steps = steps.iter();
    steps
        .map(|&(rate, verdict)| RateVerdict {
            rate,
            verdict,
            share_of_limit: None,
            is_unknown: false,
            length_s: 20.0,
            delivered: 0.0,
            is_full: false,
        })
        .collect()
}

fn next(given: &[(f64, AnswerVerdict)]) -> NextStep {
    SEARCH.next_step(&steps(given))
}

fn rate(rate: f64) -> NextStep {
    NextStep::Measure { rate, lengths: 1 }
}

/// Searches a server that takes rates up to this one; returns the answer and the number of steps.
fn search(search: Search, limit: f64) -> (Capacity, usize) {
    let mut measured = Vec::new();
    loop {
        match search.next_step(&measured) {
            NextStep::Done(capacity) => return (capacity, measured.len()),
            NextStep::Measure { rate, .. } => measured.push(RateVerdict {
                rate,
                verdict: if rate <= limit { Pass } else { Fail },
                share_of_limit: None,
                is_unknown: false,
                length_s: 20.0,
                delivered: 0.0,
                is_full: false,
            }),
        }
    }
}

#[test]
fn any_limit_is_found_in_thirteen_steps() {
    for limit in [
        20.0, 99.0, 321.0, 640.0, 799.0, 800.0, 1_000.0, 1_234.0, 7_000.0,
    ] {
        for start in [
            SEARCH,
            Search {
                is_estimate: false,
                ..SEARCH
            },
        ] {
            let (found, count) = search(start, limit);
            assert_eq!(found.state, CapacityState::Found, "{limit}: {found:?}");
            let rate = found.rate.unwrap();
            assert!((rate / limit - 1.0).abs() < 0.025, "{limit}: {found:?}");
            assert!(count <= 13, "{limit}: {count}");
        }
    }
}

#[test]
fn the_answer_is_where_the_figure_crosses_its_limit() {
    let step = |rate: f64, share: f64| RateVerdict {
        rate,
        verdict: if share < 1.0 { Pass } else { Fail },
        share_of_limit: Some(share),
        is_unknown: false,
        length_s: 20.0,
        delivered: 0.0,
        is_full: false,
    };
    // A server that is full at 1,200.
    let steps = [900.0, 950.0, 1_080.0].map(|rate| step(rate, 200.0 / (1_200.0 - rate)));
    let found = SEARCH.capacity(&steps);
    assert!((found.rate.unwrap() - 1_000.0).abs() < 1e-6, "{found:?}");
    // Far from the limit there is no line, and outside of the bounds it does not count.
    let found = SEARCH.capacity(&[step(900.0, 0.1), step(950.0, 0.1), step(1_000.0, 90.0)]);
    assert_eq!(found.rate, Some((950.0_f64 * 1_000.0).sqrt()));
    let found = SEARCH.capacity(&[step(500.0, 0.7), step(950.0, 0.71), step(1_000.0, 1.1)]);
    assert_eq!(found.rate, Some((950.0_f64 * 1_000.0).sqrt()));
    // A longer step weighs more.
    let longer = RateVerdict {
        length_s: 100.0,
        ..step(1_000.0, 0.9)
    };
    let [low, high] = [step(900.0, 0.9), step(1_100.0, 1.1)];
    let by = |middle| SEARCH.capacity(&[low, middle, high]).rate.unwrap();
    assert!(by(longer) > by(step(1_000.0, 0.9)) + 20.0);
}

#[test]
fn the_sides_of_the_crossing_are_measured_for_longer_and_the_line_decides_between_verdicts() {
    let step = |rate: f64, share: f64, verdict| RateVerdict {
        rate,
        verdict,
        share_of_limit: Some(share),
        is_unknown: false,
        length_s: 20.0,
        delivered: 0.0,
        is_full: false,
    };
    let share = |rate: f64| 200.0 / (1_200.0 - rate);
    let exact = |rate, verdict| step(rate, share(rate), verdict);
    let mut steps = vec![
        exact(850.0, Pass),
        exact(970.0, Undecided),
        exact(1_080.0, Fail),
    ];
    let side = |steps: &[RateVerdict]| match SEARCH.next_step(steps) {
        NextStep::Measure { rate, lengths: 2 } => rate,
        other => panic!("{other:?}"),
    };
    assert_eq!(side(&steps), 962.0);
    steps.push(RateVerdict {
        length_s: 40.0,
        ..exact(962.0, Undecided)
    });
    assert_eq!(side(&steps), 1_040.0);
    // Each of two steps is wrong by chance, and the others know it.
    steps.extend([exact(990.0, Fail), exact(1_010.0, Pass)]);
    let found = SEARCH.capacity(&steps);
    assert_eq!((found.low, found.high), (Some(850.0), Some(1_080.0)));
    assert!((found.rate.unwrap() - 1_000.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_rate_that_fails_for_another_reason_than_its_time_is_not_the_answer() {
    // The time would cross its limit at 1,000, but from 850 on there are too many errors.
    let step = |rate: f64| RateVerdict {
        rate,
        verdict: if rate < 850.0 { Pass } else { Fail },
        share_of_limit: (rate < 850.0).then(|| 200.0 / (1_200.0 - rate)),
        is_unknown: false,
        length_s: 20.0,
        delivered: 0.0,
        is_full: false,
    };
    for start in [700.0, 800.0, 1_100.0] {
        let search = Search { start, ..SEARCH };
        let mut measured = Vec::new();
        let found = loop {
            match search.next_step(&measured) {
                NextStep::Done(capacity) => break capacity,
                NextStep::Measure { rate, .. } => measured.push(step(rate)),
            }
        };
        assert_eq!(found.state, CapacityState::Found, "{start}: {found:?}");
        let [rate, high] = [found.rate, found.high].map(Option::unwrap);
        assert!(
            rate < high && (rate / 850.0 - 1.0).abs() < 0.03,
            "{found:?}"
        );
    }
}

#[test]
fn a_search_without_a_bound_says_so() {
    let (found, count) = search(SEARCH, f64::INFINITY);
    assert_eq!((found.state, count), (CapacityState::AtLeast, 13));
    assert_eq!((found.rate, found.high), (None, None));
    let (found, count) = search(SEARCH, 0.0);
    assert_eq!((found.state, found.low), (CapacityState::Below, None));
    assert!(count < 13, "{count}");
    let undecided = SEARCH.capacity(&steps(&[(800.0, Undecided)]));
    assert_eq!(undecided.state, CapacityState::Unknown);
}

#[test]
fn the_lowest_rate_that_fails_is_measured_twice() {
    let narrow = [(800.0, Pass), (820.0, Fail)];
    assert_eq!(next(&narrow), rate(820.0));
    let confirmed = [narrow[0], narrow[1], (820.0, Fail)];
    assert!(
        matches!(next(&confirmed), NextStep::Done(found) if found.state == CapacityState::Found)
    );
    // It was a disturbance, and the limit is above.
    let disturbed = [narrow[0], narrow[1], (820.0, Pass), (1_000.0, Fail)];
    assert_eq!(next(&disturbed), rate(906.0));
}

#[test]
fn an_undecided_rate_is_narrowed_and_then_measured_for_longer() {
    let wide = [(800.0, Pass), (900.0, Undecided), (1_000.0, Fail)];
    assert_eq!(next(&wide), rate(849.0));
    let close = [
        (890.0, Pass),
        (900.0, Undecided),
        (910.0, Undecided),
        (928.0, Fail),
    ];
    assert_eq!(
        next(&close),
        NextStep::Measure {
            rate: 900.0,
            lengths: 2
        }
    );
    let often = [
        (890.0, Pass),
        (900.0, Undecided),
        (900.0, Undecided),
        (900.0, Undecided),
        (928.0, Fail),
    ];
    // The gap above is still wide enough for a step.
    assert_eq!(next(&often), rate(914.0));
    assert_eq!(next(&[(800.0, Undecided)]), rate(640.0));
}

#[test]
fn a_rate_without_a_figure_is_measured_for_longer_and_not_lowered() {
    let mut unknown = steps(&[(100.0, Undecided); 3]);
    for step in &mut unknown {
        step.is_unknown = true;
    }
    for (count, lengths) in [(1, 2), (2, 4)] {
        let longer = NextStep::Measure {
            rate: 100.0,
            lengths,
        };
        assert_eq!(SEARCH.next_step(&unknown[..count]), longer);
    }
    assert!(matches!(
        SEARCH.next_step(&unknown),
        NextStep::Done(found) if found.state == CapacityState::Unknown
    ));
}

#[test]
fn a_contradiction_is_measured_again_and_named_if_it_stays() {
    let first = [(800.0, Fail), (640.0, Pass), (900.0, Pass)];
    assert_eq!(next(&first), rate(800.0));
    let mut all = first.to_vec();
    all.push((800.0, Fail));
    assert_eq!(next(&all), rate(900.0));
    all.extend([(800.0, Fail), (900.0, Pass), (900.0, Pass)]);
    let NextStep::Done(found) = next(&all) else {
        panic!("it stays");
    };
    assert_eq!(found.state, CapacityState::Contradictory);
    assert_eq!((found.low, found.high), (Some(640.0), None));
}

#[test]
fn rates_have_three_digits() {
    for (given, expected) in [
        (1_234.5, 1_230.0),
        (0.123_45, 0.123),
        (99.96, 100.0),
        (987_654.0, 988_000.0),
    ] {
        assert_eq!(measure(given), rate(expected));
    }
}

/// Searches a server of which this is delivered at a rate; it is full if that is less.
fn search_delivered(start: f64, delivered: impl Fn(f64) -> f64) -> (Capacity, usize) {
    let search = Search { start, ..SEARCH };
    let mut measured = Vec::new();
    loop {
        match search.next_step(&measured) {
            NextStep::Done(capacity) => return (capacity, measured.len()),
            NextStep::Measure { rate, lengths } => {
                let delivered = delivered(rate);
                let is_full = delivered < rate;
                measured.push(RateVerdict {
                    rate,
                    verdict: if is_full { Fail } else { Pass },
                    share_of_limit: None,
                    is_unknown: false,
                    length_s: 20.0 * f64::from(lengths),
                    delivered,
                    is_full,
                });
            }
        }
    }
}

#[test]
fn what_a_full_server_delivers_is_its_ceiling() {
    for start in [600.0, 800.0, 1_050.0, 4_000.0] {
        let (found, count) = search_delivered(start, |rate| rate.min(1_000.0));
        assert_eq!(found.state, CapacityState::Found, "{start}: {found:?}");
        assert!(
            (found.rate.unwrap() / 1_000.0 - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert!(count <= 9, "{start}: {count} steps");
    }
}

#[test]
fn a_server_that_delivers_less_in_a_long_queue_is_searched_up_to_its_peak() {
    let collapses = |rate: f64| if rate <= 900.0 { rate } else { 500.0 };
    for start in [700.0, 1_000.0] {
        let (found, _) = search_delivered(start, collapses);
        assert!(
            (found.rate.unwrap() / 900.0 - 1.0).abs() < 0.05,
            "{found:?}"
        );
    }
}

#[test]
fn steps_that_differ_by_chance_do_not_contradict_each_other_at_a_ceiling() {
    let step = |rate: f64, delivered: f64| RateVerdict {
        rate,
        verdict: if delivered < rate { Fail } else { Pass },
        share_of_limit: None,
        is_unknown: false,
        length_s: 20.0,
        delivered,
        is_full: delivered < rate,
    };
    let steps = [
        step(800.0, 800.0),
        step(990.0, 960.0),
        step(1_000.0, 1_000.0),
        step(1_030.0, 1_010.0),
        step(960.0, 960.0),
        step(1_040.0, 990.0),
    ];
    let found = SEARCH.capacity(&steps);
    let rate = found.rate.unwrap();
    assert!((985.0..1_005.0).contains(&rate), "{found:?}");
    assert_ne!(found.state, CapacityState::Contradictory);
    assert!(found.low.unwrap() < rate && rate < found.high.unwrap());
    // Those that were full are not all there is: they are the ones in which it was lower.
    let seen: Vec<f64> = steps
        .iter()
        .filter(|step| step.is_full)
        .map(|step| step.delivered)
        .collect();
    assert!(rate > seen.iter().sum::<f64>() / seen.len() as f64);
}

#[test]
fn a_ceiling_that_has_fallen_is_none() {
    let full = |rate: f64, delivered: f64| RateVerdict {
        delivered,
        is_full: true,
        ..steps(&[(rate, Fail)])[0]
    };
    let passed = RateVerdict {
        delivered: 1_000.0,
        ..steps(&[(1_000.0, Pass)])[0]
    };
    let agreeing = [passed, full(1_250.0, 1_200.0), full(1_230.0, 1_201.0)];
    let ceiling = Ceiling::of(&agreeing).expect("two steps showed it");
    assert!((ceiling.rate - 1_200.5).abs() < 1.0, "{ceiling:?}");
    assert!(ceiling.error < 0.02, "{ceiling:?}");
    // One step says nothing of how much it varies.
    let alone = Ceiling::of(&agreeing[..2]).expect("one step showed it");
    assert!(alone.error > 0.1, "{alone:?}");
    // Below it the server delivered half of it since.
    let fallen = [passed, full(1_250.0, 1_200.0), full(1_180.0, 600.0)];
    assert_eq!(Ceiling::of(&fallen), None);
    // An interrupted step counts for nothing.
    let mut interrupted = full(1_220.0, 0.0);
    interrupted.length_s = 0.0;
    let with_it = [agreeing[0], agreeing[1], agreeing[2], interrupted];
    // It failed, as whatever else is no ceiling.
    interrupted.verdict = Undecided;
    let undecided = [agreeing[0], agreeing[1], agreeing[2], interrupted];
    assert_eq!(Ceiling::of(&with_it), None);
    assert_eq!(Ceiling::of(&undecided), Some(ceiling));
}
