//! The rows of a suite: published and measured figures of each, by the medians of its runs.
//!
//! In: the runs of one suite. Out: a row for each scenario of the suite, in the document's order. Must never: take
//! the best of several runs, or give a deviation of a row that was smaller or shorter than published.

use super::{deviations, not_comparable_by, relative_change};
use crate::distinct;
use crate::experiment::{Spread, is_counted};
use crate::sweep::Sweep;
use PublishedMetric::{Nopm, Qps, Reads, Tpm, Tps};
use prony_plan::scenario::find_suite;
use prony_store::scenario::{PublishedFigure, Scenario};
use prony_store::{Choice, PublishedMetric, Run};
use serde::Serialize;
use std::borrow::Borrow;

/// A suite and what was measured of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteSummary {
    pub id: String,
    /// Title of the suite; empty if this version has no suite of this id.
    pub title: String,
    /// What was requested for all rows.
    pub request: String,
    /// All rows, also those without a run.
    pub rows: Vec<SuiteRow>,
    /// The servers that were measured, each with its product and version.
    pub servers: Vec<String>,
    /// Throughput by the machines' CPUs; absent unless the suite is about machines of different sizes.
    pub scaling: Option<Sweep>,
}

/// A scenario of a suite with its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteRow {
    pub id: String,
    /// Its runs that have ended.
    pub runs: usize,
    /// How many of these are complete and may be used.
    pub counted: usize,
    /// How the caches were before the runs, each state once.
    pub caches: Vec<&'static str>,
    /// What forbids to compare the runs with the publication; empty if their figures can be compared.
    pub not_comparable_by: Vec<&'static str>,
    /// The published figures and the measured ones.
    pub figures: Vec<ComparedFigure>,
}

/// A published figure with the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedFigure {
    pub name: String,
    pub unit: String,
    /// The published value, or the lower end of a range; absent if the document has none in figures.
    pub published: Option<f64>,
    /// Upper end of a published range.
    pub published_high: Option<f64>,
    /// Measured here, the median of several runs; absent if no run has it.
    pub measured: Option<f64>,
    /// Lowest and highest of several runs.
    pub range: Option<(f64, f64)>,
    /// Relative change from published to measured, 0 within a published range: -0.4 is 40 % less. Absent if they cannot
    /// be compared.
    pub change: Option<f64>,
}

/// The rows of the suite to which the first run belongs; `None` if it is part of none. Runs of other suites are left
/// out.
pub fn suite_summary(runs: &[impl Borrow<Run>]) -> Option<SuiteSummary> {
    let first: &Run = runs.first()?.borrow();
    let part = first.suite()?;
    let is_same = |run: &&Run| run.suite() == Some(part);
    let runs: Vec<&Run> = runs.iter().map(Borrow::borrow).filter(is_same).collect();
    let variants = first
        .experiment
        .iter()
        .flat_map(|experiment| &experiment.variants);
    let rows: Vec<SuiteRow> = variants.map(|id| suite_row(id, &runs)).collect();
    let servers = runs.iter().map(|run| run.server.name_and_version());
    let suite = find_suite(&part.id);
    Some(SuiteSummary {
        id: part.id.clone(),
        title: suite.map_or(String::new(), |suite| suite.title.clone()),
        request: part.request.clone(),
        rows,
        servers: distinct(servers),
        scaling: suite
            .filter(|suite| suite.scaling)
            .and_then(|_| Sweep::over_machines(&runs, cpus_of_scenario)),
    })
}

fn cpus_of_scenario(run: &Run) -> Option<u32> {
    run.scenario.as_ref()?.original.setup.cpus
}

fn scenario_of<'a>(run: &&'a Run) -> Option<&'a Scenario> {
    run.scenario.as_ref()
}

fn suite_row(id: &str, runs: &[&Run]) -> SuiteRow {
    let is_row = |run: &&&Run| scenario_of(run).is_some_and(|scenario| scenario.id == id);
    let runs: Vec<&Run> = runs.iter().filter(is_row).copied().collect();
    let counted: Vec<&Run> = runs.iter().copied().filter(|run| is_counted(run)).collect();
    let not_comparable_by = distinct(runs.iter().flat_map(|run| not_comparable_by(run)));
    SuiteRow {
        id: id.to_owned(),
        runs: runs.len(),
        counted: counted.len(),
        caches: distinct(runs.iter().filter_map(scenario_of).map(cache_state)),
        figures: figures(&runs, &counted, not_comparable_by.is_empty()),
        not_comparable_by,
    }
}

/// The state of the caches before the load's run.
fn cache_state(scenario: &Scenario) -> &'static str {
    match (scenario.restarted, scenario.prewarmed) {
        (true, false) => "cold",
        (true, true) => "cold, then read",
        (false, true) => "warm, read",
        (false, false) => "warm",
    }
}

/// Metrics that say how much a server delivered.
const THROUGHPUT: [PublishedMetric; 5] = [Nopm, Tpm, Tps, Qps, Reads];

/// The published figures of a row, and its throughput if the document has none.
fn figures(runs: &[&Run], counted: &[&Run], is_comparable: bool) -> Vec<ComparedFigure> {
    let Some(scenario) = runs.first().and_then(scenario_of) else {
        return Vec::new();
    };
    let values_of = |name: &str| -> Vec<f64> {
        let values = counted.iter().filter_map(|run| {
            let mut deviations = deviations(run).into_iter();
            deviations
                .find(|deviation| deviation.name == name)?
                .measured
        });
        values.collect()
    };
    let compared = scenario.published.iter().map(|figure| {
        let spread = Spread::from_values(values_of(figure.name.name()));
        ComparedFigure {
            range: range(spread),
            ..new_figure(figure, spread.map(|spread| spread.median), is_comparable)
        }
    });
    let compared: Vec<ComparedFigure> = compared.collect();
    let has_throughput = |figure: &PublishedFigure| THROUGHPUT.contains(&figure.name);
    if scenario.published.iter().any(has_throughput) {
        return compared;
    }
    let tps = counted
        .iter()
        .filter_map(|run| Some(run.measured.all_kinds()?.tps));
    let spread = Spread::from_values(tps.collect());
    let throughput = ComparedFigure {
        name: Tps.name().to_owned(),
        unit: Tps.unit().to_owned(),
        published: None,
        published_high: None,
        measured: spread.map(|spread| spread.median),
        range: range(spread),
        change: None,
    };
    std::iter::once(throughput).chain(compared).collect()
}

fn range(spread: Option<Spread>) -> Option<(f64, f64)> {
    let spread = spread.filter(|spread| spread.high > spread.low)?;
    Some((spread.low, spread.high))
}

pub(super) fn new_figure(
    figure: &PublishedFigure,
    measured: Option<f64>,
    is_comparable: bool,
) -> ComparedFigure {
    let comparable = measured.filter(|_| is_comparable);
    ComparedFigure {
        name: figure.name.name().to_owned(),
        unit: figure.unit.clone(),
        published: Some(figure.value),
        published_high: figure.high,
        measured,
        range: None,
        change: comparable.and_then(|measured| relative_change(figure, measured)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_store::scenario::{OriginalSetup, PublishedSetup};
    use prony_store::{Experiment, ExperimentKind, RunState, SuiteRequest};

    fn row(id: &str, tps: f64, cpus: u32) -> Run {
        let mut run = crate::sample::healthy();
        run.state = RunState::Complete;
        run.checks.clear();
        run.measured.kinds[0].tps = tps;
        run.experiment = Some(Experiment {
            kind: ExperimentKind::Suite(SuiteRequest {
                id: "a-suite".to_owned(),
                request: "as published".to_owned(),
            }),
            variant: id.to_owned(),
            variants: ["small", "large", "missing"].map(str::to_owned).into(),
            ..Experiment::default()
        });
        run.scenario = Some(Scenario {
            id: id.to_owned(),
            published: vec![PublishedFigure {
                name: PublishedMetric::Tps,
                value: 1_000.0,
                high: None,
                unit: "transactions/s".to_owned(),
            }],
            original: OriginalSetup {
                setup: PublishedSetup {
                    cpus: Some(cpus),
                    ..PublishedSetup::default()
                },
                clients: Some(run.drive.clients),
                duration_s: Some(run.measured.length_s),
                ..OriginalSetup::default()
            },
            size_share: 1.0,
            ..Scenario::default()
        });
        run
    }

    #[test]
    fn rows_are_medians_in_the_order_of_the_document() {
        let runs = [
            row("large", 500.0, 4),
            row("small", 900.0, 2),
            row("large", 700.0, 4),
            row("large", 600.0, 4),
        ];
        let summary = suite_summary(&runs).expect("a suite");
        let ids: Vec<&str> = summary.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["small", "large", "missing"]);
        let large = &summary.rows[1];
        assert_eq!((large.runs, large.counted), (3, 3));
        let figure = &large.figures[0];
        assert_eq!(
            (figure.measured, figure.range),
            (Some(600.0), Some((500.0, 700.0)))
        );
        assert!((figure.change.expect("comparable") + 0.4).abs() < 1e-9);
        assert_eq!(large.caches, ["warm"]);
        assert_eq!(
            (summary.rows[2].runs, summary.rows[2].figures.len()),
            (0, 0)
        );
    }

    #[test]
    fn a_smaller_or_shorter_row_has_no_deviation() {
        let change = |edit: fn(&mut Run)| {
            let mut run = row("small", 900.0, 2);
            edit(&mut run);
            let summary = suite_summary(&[run]).expect("a suite");
            let row = summary.rows[0].clone();
            (row.figures[0].change.is_some(), row.not_comparable_by)
        };
        assert_eq!(change(|_| ()), (true, vec![]));
        let smaller = change(|run| run.scenario.as_mut().unwrap().size_share = 0.5);
        assert_eq!(smaller, (false, vec!["less data"]));
        let fewer = change(|run| run.drive.clients -= 1);
        assert_eq!(fewer, (false, vec!["fewer clients"]));
        let shorter = change(|run| {
            run.scenario.as_mut().unwrap().original.duration_s = Some(run.measured.length_s * 2.0);
        });
        assert_eq!(shorter, (false, vec!["a shorter window"]));
        let other = change(|run| {
            let original = &mut run.scenario.as_mut().unwrap().original;
            original.dialect = Some(prony_store::SqlDialect::MySql);
        });
        assert_eq!(other, (false, vec!["another engine"]));
        let more = change(|run| run.drive.clients += 1);
        assert_eq!(more, (true, vec![]));
    }

    #[test]
    fn a_row_without_published_throughput_shows_what_was_measured() {
        let mut run = row("small", 900.0, 2);
        run.scenario.as_mut().unwrap().published.clear();
        let summary = suite_summary(&[run]).expect("a suite");
        let figure = &summary.rows[0].figures[0];
        assert_eq!((figure.published, figure.measured), (None, Some(900.0)));
    }

    #[test]
    fn a_run_outside_of_a_suite_has_no_summary() {
        let mut run = row("small", 900.0, 2);
        run.experiment.as_mut().unwrap().kind = ExperimentKind::Variants;
        assert_eq!(suite_summary(&[run]), None);
    }

    #[test]
    fn scaling_is_efficiency_against_the_smallest_machine() {
        let mut runs = [row("small", 900.0, 2), row("large", 1_350.0, 4)];
        for (run, cpus) in runs.iter_mut().zip([2, 4]) {
            run.observed.get_or_insert_default().machine.cpus = Some(cpus);
        }
        let runs: Vec<&Run> = runs.iter().collect();
        let sweep = Sweep::over_machines(&runs, cpus_of_scenario).expect("a curve");
        let curve = &sweep.curves[0];
        let shown = curve.points.iter();
        let shown: Vec<_> = shown
            .map(|point| (&*point.value, curve.efficiency(point)))
            .collect();
        assert_eq!(shown, [("2 CPUs", Some(1.0)), ("4 CPUs", Some(0.75))]);
        let stated = row("small", 900.0, 2);
        let sweep = Sweep::over_machines(&[&stated], cpus_of_scenario).expect("a curve");
        assert_eq!(sweep.curves[0].points[0].value, "2 CPUs (published)");
    }
}
