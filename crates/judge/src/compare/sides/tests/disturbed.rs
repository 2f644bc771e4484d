//! Comparisons of runs that others disturbed.

use super::*;
use crate::new_check;
use crate::noise::{CLIENT_CPU_FIGURE, RunNoise, SERVER_CPU_FIGURE, condense_readings};
use crate::sample::{observed_mut, observed_run};
use Verdict::WithCaveats;
use prony_assertions::TextAssertions;
use prony_store::RunOrder;

/// What others leave of the machine in four repeats: the throughput of both runs of a pair depends on it.
const LEFT: [f64; 4] = [1.0, 0.4, 0.7, 0.5];

/// The runs of a variant whose throughput is this share of what others leave; the server needs `cpu_us` for a transaction.
/// All are invalid by their neighbours.
fn disturbed(variant: &str, share: [f64; 4], cpu_us: f64) -> Vec<Run> {
    let runs = LEFT.iter().zip(share).enumerate();
    let runs = runs.map(|(index, (left, share))| {
        let mut run = observed_run();
        let tps = 10_000.0 * left * share;
        run.id = format!("{variant}{index}");
        run.measured.kinds[0].tps = tps;
        run.measured.kinds[0].response.p99_ns = Some((1e12 / tps) as u64);
        run.machine_mut().health.cpu_per_transaction_us = Some(20.0 + 0.1 * index as f64);
        run.experiment = Some(Experiment {
            id: "x".to_owned(),
            variant: variant.to_owned(),
            repeat: index as u32 + 1,
            position: index as u32 + 1,
            runs: 8,
            order: RunOrder::Interleaved,
            ..Experiment::default()
        });
        let cpus = tps * cpu_us * (1.0 + 0.001 * index as f64) / 1e6;
        for row in &mut observed_mut(&mut run).series {
            let machine = row.machine.as_mut().unwrap();
            machine.server_cpu_s = Some(cpus);
            machine.busy_share = Some(cpus / 16.0 + 1.0 - left * 0.9);
        }
        invalid_by(&mut run, "neighbours");
        run
    });
    runs.collect()
}

fn invalid_by(run: &mut Run, id: &str) {
    let check = new_check(id, Severity::Invalid, "found", "Do this.");
    run.checks.extend(check);
}

fn set_order(sides: &mut [Vec<Run>; 2], order: RunOrder) {
    for run in sides.iter_mut().flatten() {
        run.experiment.as_mut().unwrap().order = order;
    }
}

const EQUAL: [f64; 4] = [1.0; 4];
const FASTER: [f64; 4] = [1.10, 1.11, 1.09, 1.10];

/// The second side is faster by 10 % in each pair, and needs 5 % less CPU time.
fn sides() -> [Vec<Run>; 2] {
    [disturbed("a", EQUAL, 100.0), disturbed("b", FASTER, 95.0)]
}

fn compared(sides: &[Vec<Run>; 2]) -> SidesComparison {
    compare(&[&sides[0], &sides[1]])
}

fn figure<'a>(comparison: &'a SidesComparison, name: &str) -> Option<&'a FigureComparison> {
    let mut figures = comparison.side_comparisons[0].figures.iter();
    figures.find(|figure| figure.name == name)
}

#[test]
fn pairs_decide_what_the_noise_hides_from_single_runs() {
    let comparison = compared(&sides());
    assert_eq!(
        comparison.label(),
        "RUNS INVALID (neighbours), compared by pairs that took turns, whose noise the intervals include"
    );
    assert_eq!(comparison.verdict, WithCaveats);
    assert_eq!(comparison.primary.as_deref(), Some("TPS"));
    let tps = figure(&comparison, "TPS").unwrap();
    let significance = tps.significance.unwrap();
    assert_eq!(
        (significance.basis, significance.is_significant),
        (Basis::Pairs, Some(true))
    );
    assert!((tps.ratio - 1.10).abs() < 1e-3, "{tps:?}");
    assert!(
        significance.low > 1.08 && significance.high < 1.12,
        "{significance:?}"
    );
    let headline = comparison.headline_figures(&comparison.side_comparisons[0]);
    let names: Vec<&str> = headline.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["TPS", SERVER_CPU_FIGURE, "p99"]);
    assert!((headline[1].ratio - 0.95).abs() < 1e-3, "{:?}", headline[1]);
    let disturbed = comparison.disturbed.as_ref().unwrap();
    let [low, high] = disturbed.noise[0].unwrap();
    assert!(
        (low - 0.1).abs() < 0.01 && (high - 0.64).abs() < 0.01,
        "{low} {high}"
    );
    // No requirement passes.
    let [a, b] = &sides();
    assert_eq!(
        verdict([a, b], "not slower than A by 3%"),
        AnswerVerdict::Undecided
    );
}

#[test]
fn runs_that_did_not_take_turns_are_compared_by_cpu_time_only() {
    let mut sides = sides();
    set_order(&mut sides, RunOrder::Sequential);
    let comparison = compared(&sides);
    assert_eq!(
        comparison.label(),
        "RUNS INVALID (neighbours), compared by CPU time per transaction only"
    );
    assert_eq!(figure(&comparison, "TPS"), None);
    assert_eq!(comparison.primary.as_deref(), Some(SERVER_CPU_FIGURE));
    let server = figure(&comparison, SERVER_CPU_FIGURE).unwrap();
    assert_eq!(server.significance.unwrap().is_significant, Some(true));
    // Beside other noise the same work takes other CPU time.
    let mut unequal = sides.clone();
    for run in &mut unequal[1] {
        for row in &mut observed_mut(run).series {
            *row.machine.as_mut().unwrap().busy_share.as_mut().unwrap() += 0.05;
        }
    }
    assert_eq!(compared(&unequal).label(), "NOT COMPARABLE");
    // The server's CPU time is not the run's alone if other clients load it.
    for run in sides.iter_mut().flatten() {
        invalid_by(run, "foreign-load");
    }
    let comparison = compared(&sides);
    assert_eq!(figure(&comparison, SERVER_CPU_FIGURE), None);
    assert_eq!(comparison.primary.as_deref(), Some(CLIENT_CPU_FIGURE));
}

#[test]
fn a_request_chooses_between_throughput_and_cpu_time() {
    let sides = sides();
    let sides = sides.each_ref().map(|runs| Side {
        name: String::new(),
        runs: runs.iter().collect(),
    });
    for (requested, primary) in [("cpu", SERVER_CPU_FIGURE), ("throughput", "TPS")] {
        let options = CompareOptions {
            primary: Some(requested.to_owned()),
            ..CompareOptions::default()
        };
        let comparison = compare_sides(&sides, &options);
        assert_eq!(comparison.primary.as_deref(), Some(primary));
        assert!(!comparison.tests_another_than(requested) && comparison.tests_another_than("p99"));
    }
}

#[test]
fn a_fault_of_the_run_is_never_looked_beyond() {
    let mut sides = sides();
    invalid_by(&mut sides[1][2], "errors");
    sides[0][3].state = RunState::Partial;
    let comparison = compared(&sides);
    let left_out = |side: usize| {
        let left_out = comparison.sides[side].left_out.iter();
        left_out
            .map(|run| (run.position, run.reason.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(left_out(1), [(3, "errors, neighbours")]);
    assert_eq!(left_out(0), [(4, "neighbours")]);
    assert_eq!(
        figure(&comparison, "TPS").unwrap().a.values.len(),
        2,
        "two pairs are left"
    );
    // Without enough others, nothing is compared.
    for run in &mut sides[1] {
        invalid_by(run, "outage");
    }
    let comparison = compared(&sides);
    assert_eq!(comparison.label(), "NOT COMPARABLE");
    assert_eq!(comparison.disturbed, None);
    // Variation without others is no noise.
    let mut sides = self::sides();
    for run in sides.iter_mut().flatten() {
        run.checks.clear();
        invalid_by(run, "unsteady");
    }
    assert_eq!(compared(&sides).label(), "NOT COMPARABLE");
    for run in sides.iter_mut().flatten() {
        invalid_by(run, "steal");
    }
    let label = compared(&sides).label();
    label.assert_starts_with("RUNS INVALID (steal, unsteady), ");
}

#[test]
fn runs_that_nobody_disturbed_are_preferred() {
    let mut sides = sides();
    for run in sides.iter_mut().flat_map(|side| &mut side[..2]) {
        run.checks.clear();
    }
    let comparison = compared(&sides);
    assert_eq!(comparison.disturbed, None);
    assert_eq!(comparison.sides[0].left_out.len(), 2);
    // One that is left is too few.
    invalid_by(&mut sides[0][0], "neighbours");
    let label = compared(&sides).label();
    label.assert_starts_with("5 OF 8 RUNS INVALID (neighbours), ");
}

#[test]
fn noise_that_hides_everything_is_refused() {
    let scattered = [3.0, 0.4, 1.9, 0.5];
    let mut sides = [
        disturbed("a", EQUAL, 100.0),
        disturbed("b", scattered, 95.0),
    ];
    let with_cpu = compared(&sides);
    assert_eq!(with_cpu.verdict, WithCaveats, "CPU time says something");
    let significance = figure(&with_cpu, "TPS").unwrap().significance.unwrap();
    assert_eq!(significance.is_significant, Some(false));
    for run in sides.iter_mut().flatten() {
        run.observed = None;
        run.machine_mut().health.cpu_per_transaction_us = None;
    }
    let comparison = compared(&sides);
    assert_eq!(comparison.label(), "NOT COMPARABLE");
    let side = &comparison.side_comparisons[0];
    assert!(side.figures.is_empty());
    let difference = &side.differences[0];
    assert_eq!(
        (&*difference.what, difference.severity),
        ("invalid by", Severity::Invalid)
    );
    difference.why.assert_contains("too much or not alike");
}

#[test]
fn condensed_readings_tell_the_same() {
    let [runs, _] = sides();
    let mut condensed = runs[1].clone();
    condense_readings(&mut condensed);
    let series = &condensed.observed.as_ref().unwrap().series;
    assert_eq!(series.len(), 1);
    let shares = [&runs[1], &condensed].map(|run| RunNoise::of(run).share().unwrap());
    assert!((shares[0] - shares[1]).abs() < 1e-9, "{shares:?}");
    let cpu = [&runs[1], &condensed].map(|run| crate::noise::server_cpu_ns(run).unwrap());
    assert!((cpu[0] - cpu[1]).abs() < 1e-3, "{cpu:?}");
}
