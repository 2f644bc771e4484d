//! Caveats about the repeats themselves.
//!
//! In: two sides, and the primary figure. Out: caveats. Must never: forbid a comparison; too few repeats
//! make it imprecise, not wrong.

use super::{Difference, FigureComparison, Side};
use crate::formatting::{count, percent};
use crate::thresholds::{REPEATS_MAX_CV, REPEATS_MIN_RUNS};
use prony_store::{Experiment, Run, RunOrder, Severity};

fn new_caveat(what: &str, values: [String; 2], why: &'static str) -> Difference {
    let [a, b] = values;
    Difference {
        severity: Severity::Caveat,
        what: what.to_owned(),
        a,
        b,
        why,
    }
}

/// Caveats about the number, the scatter and the order of the runs of two sides.
pub(super) fn repeat_caveats(
    first: &Side<'_>,
    second: &Side<'_>,
    primary_figure: Option<&FigureComparison>,
) -> Vec<Difference> {
    let sides = [first, second].map(|side| side.runs.as_slice());
    let mut caveats = Vec::new();
    if sides.iter().any(|runs| runs.len() < REPEATS_MIN_RUNS) {
        let why = "fewer than three repeats say little about how much runs of the same configuration differ";
        let counts = sides.map(|runs| count(runs.len() as u64, "run"));
        caveats.push(new_caveat("repeats", counts, why));
    }
    let variations = [
        primary_figure.and_then(|figure| figure.a.variation),
        primary_figure.and_then(|figure| figure.b.variation),
    ];
    if variations.iter().flatten().any(|cv| *cv > REPEATS_MAX_CV) {
        let why =
            "runs of the same configuration differ by this much, which hides small differences";
        let values = variations.map(|cv| cv.map_or("one run".to_owned(), percent));
        caveats.push(new_caveat("run-to-run", values, why));
    }
    let orders = sides.map(|runs| {
        experiments_of(runs)
            .next()
            .map(|experiment| experiment.order)
    });
    if orders == [Some(RunOrder::Sequential); 2]
        && common_experiment_id(sides[0]) == common_experiment_id(sides[1])
    {
        let why = "anything that changed on the machines meanwhile affects only one side";
        let order_text = || "one after the other".to_owned();
        caveats.push(new_caveat("order", [order_text(), order_text()], why));
    }
    caveats
}

/// The caveat that the sides lack runs which their common experiment planned; `None` if they lack none, or are not all of
/// one experiment.
pub(super) fn missing_runs_caveat(sides: &[Side<'_>]) -> Option<Difference> {
    let experiments = sides.iter().flat_map(|side| experiments_of(&side.runs));
    let planned = experiments
        .map(|experiment| experiment.runs as usize)
        .max()?;
    let present: usize = sides.iter().map(|side| side.runs.len()).sum();
    let id = common_experiment_id(&sides.first()?.runs)?;
    let is_one_experiment = sides
        .iter()
        .all(|side| common_experiment_id(&side.runs) == Some(id));
    (is_one_experiment && present < planned).then(|| {
        new_caveat(
            "incomplete",
            [
                format!("{present} runs of all sides"),
                format!("{planned} planned"),
            ],
            "runs that the experiment planned are missing, or were left out",
        )
    })
}

fn experiments_of<'a>(runs: &'a [&Run]) -> impl Iterator<Item = &'a Experiment> {
    runs.iter().filter_map(|run| run.experiment.as_ref())
}

/// Id of the experiment to which all runs belong; `None` if there is no such experiment.
fn common_experiment_id<'a>(runs: &'a [&Run]) -> Option<&'a str> {
    let id = experiments_of(runs).next()?.id.as_str();
    let is_same_experiment = runs.iter().all(|run| {
        run.experiment
            .as_ref()
            .is_some_and(|experiment| experiment.id == id)
    });
    is_same_experiment.then_some(id)
}
