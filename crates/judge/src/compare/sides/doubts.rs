//! What has to be weighed of the repeats themselves.
//!
//! In: two sides, and the figure that leads. Out: caveats. Must never: forbid a comparison; too few repeats make it vague, not wrong.

use super::{Contrast, Difference, Side};
use crate::thresholds::{REPEATS_CV, REPEATS_LEAST};
use crate::words::{count, percent};
use prony_store::{Experiment, Run, Severity};

fn caveat(what: &str, of: [String; 2], why: &'static str) -> Difference {
    let [a, b] = of;
    Difference {
        severity: Severity::Caveat,
        what: what.to_owned(),
        a,
        b,
        why,
    }
}

pub(super) fn of(
    first: &Side<'_>,
    second: &Side<'_>,
    leading: Option<&Contrast>,
) -> Vec<Difference> {
    let sides = [first, second].map(|side| side.runs.as_slice());
    let mut found = Vec::new();
    if sides.iter().any(|runs| runs.len() < REPEATS_LEAST) {
        let why = "fewer than three repeats say little of how far runs of the same thing differ";
        let counts = sides.map(|runs| count(runs.len() as u64, "run"));
        found.push(caveat("repeats", counts, why));
    }
    let scatter = [
        leading.and_then(|of| of.a.variation),
        leading.and_then(|of| of.b.variation),
    ];
    if scatter.iter().flatten().any(|cv| *cv > REPEATS_CV) {
        let why = "runs of the same thing differ that much, and small differences drown in it";
        let told = scatter.map(|cv| cv.map_or("one run".to_owned(), percent));
        found.push(caveat("run-to-run", told, why));
    }
    let orders = sides.map(|runs| experiments(runs).next().map(|one| one.order.as_str()));
    if orders == [Some("sequential"); 2] && experiment_of(sides[0]) == experiment_of(sides[1]) {
        let why = "what changed on the machines meanwhile stands against one side alone";
        let told = || "one after the other".to_owned();
        found.push(caveat("order", [told(), told()], why));
    }
    found
}

/// That runs of one experiment, whose variants are the sides, are not all there.
pub(super) fn incomplete(sides: &[Side<'_>]) -> Option<Difference> {
    let meant = sides.iter().flat_map(|side| experiments(&side.runs));
    let meant = meant.map(|one| one.runs as usize).max()?;
    let here: usize = sides.iter().map(|side| side.runs.len()).sum();
    let id = experiment_of(&sides.first()?.runs)?;
    let whole = sides
        .iter()
        .all(|side| experiment_of(&side.runs) == Some(id));
    (whole && here < meant).then(|| {
        caveat(
            "incomplete",
            [
                format!("{here} runs of all sides"),
                format!("{meant} meant"),
            ],
            "runs that the experiment meant are not there, or were left out",
        )
    })
}

fn experiments<'a>(runs: &'a [&Run]) -> impl Iterator<Item = &'a Experiment> {
    runs.iter().filter_map(|run| run.experiment.as_ref())
}

/// The experiment that all of them are of.
fn experiment_of<'a>(runs: &'a [&Run]) -> Option<&'a str> {
    let id = experiments(runs).next()?.id.as_str();
    let all = runs
        .iter()
        .all(|run| run.experiment.as_ref().is_some_and(|one| one.id == id));
    all.then_some(id)
}
