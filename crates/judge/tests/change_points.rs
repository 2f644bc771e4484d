//! Calibrates the search for changes in a history of runs, with histories whose changes are known.
//!
//! Each test draws from a generator with a fixed seed and is therefore deterministic. Bounds are three
//! standard deviations of the drawn count: they follow from the promise and not from the observed result.

mod random;

use prony_judge::statistics::{ALPHA, change_points};
use random::Random;

/// Histories in a test of false alarms.
const QUIET_HISTORIES: u32 = 400;
/// Histories in a test of changes, which take longer: all random orders are drawn.
const CHANGED_HISTORIES: u32 = 120;

impl Random {
    /// A run that scatters by 2 %; a share of the runs is disturbed and up to 40 % lower.
    fn run(&mut self, disturbed_share: f64) -> f64 {
        let value = 16_000.0 * (1.0 + 0.02 * self.normal());
        if self.uniform() < disturbed_share {
            value * (1.0 - 0.4 * self.uniform())
        } else {
            value
        }
    }
}

/// Three standard deviations of a count of histories with this probability.
fn margin(histories: u32, probability: f64) -> f64 {
    3.0 * (f64::from(histories) * probability * (1.0 - probability)).sqrt()
}

/// The largest count that a probability allows.
fn at_most(histories: u32, probability: f64) -> u32 {
    (f64::from(histories) * probability + margin(histories, probability)) as u32
}

/// The smallest count that a probability requires.
fn at_least(histories: u32, probability: f64) -> u32 {
    (f64::from(histories) * probability - margin(histories, probability)) as u32
}

fn count_histories(histories: u32, mut is_counted: impl FnMut() -> bool) -> u32 {
    (0..histories).map(|_| u32::from(is_counted())).sum()
}

#[test]
fn a_history_without_a_change_shows_one_in_at_most_5_per_cent() {
    let mut random = Random(1);
    for (runs, disturbed_share, step) in [
        (8, 0.0, 0.0),
        (12, 0.1, 0.0),
        (30, 0.0, 0.0),
        (30, 0.1, 0.0),
        // Rounded so that most runs are ties.
        (30, 0.0, 400.0),
        (100, 0.1, 0.0),
    ] {
        let false_alarms = count_histories(QUIET_HISTORIES, || {
            let mut history: Vec<f64> = (0..runs).map(|_| random.run(disturbed_share)).collect();
            if step > 0.0 {
                history
                    .iter_mut()
                    .for_each(|value| *value = (*value / step).round());
            }
            !change_points(&history, ALPHA).is_empty()
        });
        println!("{runs} runs, {disturbed_share} disturbed, step {step}: {false_alarms}");
        assert!(
            false_alarms <= at_most(QUIET_HISTORIES, ALPHA),
            "{runs} runs: {false_alarms}"
        );
    }
}

/// A step of 5 %, 2.5 times the scatter, in the middle or 6 runs before the end, is found within two runs of
/// its place in nine of ten histories; with one disturbed run in ten, in eight of ten.
#[test]
fn a_step_of_5_per_cent_is_found_near_its_run() {
    let mut random = Random(2);
    for (before, after, disturbed_share, promised) in
        [(10, 10, 0.0, 0.9), (24, 6, 0.0, 0.9), (20, 20, 0.1, 0.8)]
    {
        let found = count_histories(CHANGED_HISTORIES, || {
            let level = |at| if at < before { 1.0 } else { 0.95 };
            let history = (0..before + after).map(|at| level(at) * random.run(disturbed_share));
            let changes = change_points(&history.collect::<Vec<_>>(), ALPHA);
            let mut changes = changes.iter();
            changes.any(|change| change.index.abs_diff(before) <= 2)
        });
        println!("{before} and {after} runs: {found}");
        assert!(
            found >= at_least(CHANGED_HISTORIES, promised),
            "{before} and {after}: {found}"
        );
    }
}

/// After one real change, the search of both parts adds at most 5 %. A change that is dated a run too early
/// or too late leaves that run in the other part, where it is an outlier and no change.
#[test]
fn a_change_adds_no_false_ones() {
    let mut random = Random(3);
    let more_than_one = count_histories(CHANGED_HISTORIES, || {
        let level = |at| if at < 20 { 1.0 } else { 0.85 };
        let history = (0..40).map(|at| level(at) * random.run(0.0));
        change_points(&history.collect::<Vec<_>>(), ALPHA).len() > 1
    });
    println!("more than one: {more_than_one}");
    assert!(
        more_than_one <= at_most(CHANGED_HISTORIES, ALPHA),
        "{more_than_one}"
    );
}

/// Each level is lower than the one before: the search splits its parts again and again, each at a smaller level.
#[test]
fn many_nested_changes_are_found() {
    let mut random = Random(5);
    let mut found = 0;
    for _ in 0..5 {
        let level = |at: i32| 0.9_f64.powi(at / 12);
        let history = (0..144).map(|at| level(at) * random.run(0.0));
        let changes = change_points(&history.collect::<Vec<_>>(), ALPHA);
        found += changes.len();
    }
    println!("{found} of 55");
    assert!((50..=58).contains(&found), "{found}");
}

/// No cut and no period of alternating levels shows against all others.
#[test]
fn levels_that_alternate_are_found() {
    let mut random = Random(6);
    for (levels, runs) in [(4, 8), (6, 12), (10, 8)] {
        let mut found = 0;
        for _ in 0..20 {
            let level = |at: i32| if at / runs % 2 == 0 { 1.0 } else { 0.9 };
            let history = (0..levels * runs).map(|at| level(at) * random.run(0.0));
            found += change_points(&history.collect::<Vec<_>>(), ALPHA).len();
        }
        let changes = 20 * (levels as usize - 1);
        println!("{levels} levels of {runs}: {found} of {changes}");
        let share = found as f64 / changes as f64;
        assert!((0.95..1.05).contains(&share), "{levels}, {runs}: {share}");
    }
}

/// Two changes, the second one back to the first level.
#[test]
fn a_period_of_slow_runs_has_two_changes() {
    let mut random = Random(4);
    let found = count_histories(CHANGED_HISTORIES, || {
        let level = |at| if (15..27).contains(&at) { 0.9 } else { 1.0 };
        let history = (0..40).map(|at| level(at) * random.run(0.0));
        let changes = change_points(&history.collect::<Vec<_>>(), ALPHA);
        let near = |at: usize| changes.iter().any(|change| change.index.abs_diff(at) <= 2);
        near(15) && near(27)
    });
    println!("both: {found}");
    assert!(found >= at_least(CHANGED_HISTORIES, 0.9), "{found}");
}
