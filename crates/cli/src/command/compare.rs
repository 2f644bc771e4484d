//! `prony compare`.
//!
//! Names of runs and experiments become sides, which `judge` compares. A run is never counted twice, and no
//! run of an experiment is left out.

use super::stored::judge_if_unjudged;
use super::{file, output};
use crate::args::CompareArgs;
use crate::exit::{Exit, Failure};
use prony_judge::compare::Verdict;
use prony_judge::compare::sides::{GateResult, Side, SidesComparison, compare_sides};
use prony_judge::experiment::variant_names;
use prony_report::compare::{self, Limit};
use prony_store::{Experiment, Run, RunFilter, RunState, RunStore, RunSummary};
use std::path::Path;

/// Maximum number of sides: they are labelled with letters.
const MAX_SIDES: usize = 26;

/// A side with its runs.
pub(super) struct LoadedSide {
    /// The variant; empty if there is none.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Run>,
    /// The id of the named run, if it selects other runs too.
    pub named: Option<String>,
}

impl LoadedSide {
    fn of(runs: Vec<Run>) -> LoadedSide {
        LoadedSide {
            name: common_variant(&runs),
            runs,
            named: None,
        }
    }
}

fn usage(what: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::new(Exit::Usage, what, hint)
}

/// What the name of a run of an experiment selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameScope {
    /// The run; the whole experiment if the run has the experiment's id.
    Run,
    /// The repeats of its variant.
    Variant,
    /// The whole experiment, because nothing else is named.
    Experiment,
}

/// Compares each side with the first.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let store = RunStore::open(None)?;
    let mut loaded = load_all_sides(&store, &args.sides)?;
    judge_if_unjudged(loaded.iter_mut().flat_map(|side| &mut side.runs));
    let sides: Vec<Side<'_>> = loaded
        .iter()
        .map(|side| Side {
            name: side.name.clone(),
            runs: side.runs.iter().collect(),
        })
        .collect();
    let comparison = compare_sides(&sides);
    let limit = args.fail_if_slower.map(|allowed| Limit {
        allowed,
        fail_if_unsure: args.fail_if_unsure,
    });
    let runs: Vec<Vec<&Run>> = sides.iter().map(|side| side.runs.clone()).collect();
    let junit = args.junit.as_deref();
    let xml_alone = junit.is_some_and(|file| file.as_os_str() == "-");
    if let Some(file) = junit.filter(|_| !xml_alone) {
        write_xml(file, &runs, &comparison, limit)?;
    }
    output::show(|out, style| match () {
        () if xml_alone => compare::junit(out, &runs, &comparison, limit),
        () if args.json => compare::json(out, &comparison, limit),
        () if args.markdown => compare::markdown(out, &runs, &comparison, limit),
        () => compare::write(out, style, &runs, &comparison, limit),
    })?;
    Ok(exit(&comparison, limit))
}

fn exit(comparison: &SidesComparison, limit: Option<Limit>) -> Exit {
    if comparison.verdict == Verdict::NotComparable {
        return Exit::Invalid;
    }
    let is_exceeded = |limit: Limit| {
        let mut gates = comparison
            .against
            .iter()
            .map(|one| comparison.gate(one, limit.allowed));
        gates.any(|gate| match gate.unwrap_or(GateResult::Unsure) {
            GateResult::Slower => true,
            GateResult::Unsure => limit.fail_if_unsure,
            GateResult::Within => false,
        })
    };
    match limit.is_some_and(is_exceeded) {
        true => Exit::Slower,
        false => Exit::Success,
    }
}

/// The sides that the arguments name.
fn load_all_sides(store: &RunStore, names: &[String]) -> Result<Vec<LoadedSide>, Failure> {
    let mut sides: Vec<LoadedSide> = Vec::new();
    let scope = match names.len() {
        1 => NameScope::Experiment,
        _ => NameScope::Run,
    };
    for name in names {
        sides.extend(load_sides(store, name, scope)?);
    }
    if sides.len() < 2 {
        let what = match names.len() {
            1 => "there is only one side",
            _ => "there are fewer than two sides",
        };
        let hint = "name at least two runs, or an experiment with at least two variants";
        return Err(usage(what, hint));
    }
    if sides.len() > MAX_SIDES {
        let what = format!("{} sides are too many", sides.len());
        return Err(usage(what, format!("name at most {MAX_SIDES}")));
    }
    for (index, side) in sides.iter().enumerate() {
        let before = sides[..index].iter().flat_map(|side| &side.runs);
        let mut seen: Vec<&str> = before.map(|run| run.id.as_str()).collect();
        for run in &side.runs {
            if !run.id.is_empty() && seen.contains(&run.id.as_str()) {
                let what = format!("the run {} is named twice", run.id);
                let hint = "a run counts only once";
                return Err(usage(what, hint));
            }
            seen.push(&run.id);
        }
    }
    Ok(sides)
}

/// The sides of one argument: a run, several, or the variants of an experiment. Documents stay as stored,
/// because a page contains their hashes.
pub(super) fn load_sides(
    store: &RunStore,
    name: &str,
    scope: NameScope,
) -> Result<Vec<LoadedSide>, Failure> {
    let load = |name: &str| store.load(name);
    if let Some(names) = comma_separated(name) {
        let runs: Vec<Run> = names.into_iter().map(load).collect::<Result<_, _>>()?;
        return match runs.is_empty() {
            true => Err(usage("a side has no run", "name runs between the commas")),
            false => Ok(vec![LoadedSide::of(runs)]),
        };
    }
    let run = load(name)?;
    let is_whole_experiment = |of: &Experiment| match scope {
        NameScope::Run => of.id == run.id && name != "last",
        NameScope::Variant | NameScope::Experiment => true,
    };
    let Some(of) = run.experiment.as_ref().filter(|of| is_whole_experiment(of)) else {
        return Ok(vec![LoadedSide::of(vec![run])]);
    };
    let mut sides = experiment_sides(store, &of.id, of.runs as usize, &run)?;
    if scope == NameScope::Variant {
        sides.retain(|side| side.name == of.variant);
    }
    // The id of an experiment alone means the whole experiment.
    if scope == NameScope::Variant || run.id != of.id {
        for side in sides.iter_mut().filter(|side| side.runs.len() > 1) {
            let named = side.runs.iter().any(|one| one.id == run.id);
            side.named = named.then(|| run.id.clone());
        }
    }
    Ok(sides)
}

/// The names of a comma-separated list; `None` if it is not a list: the name of a file may contain a
/// comma.
pub(super) fn comma_separated(list: &str) -> Option<Vec<&str>> {
    let is_list = list.contains(',') && !Path::new(list).is_file();
    let names = list.split(',').map(str::trim);
    is_list.then(|| names.filter(|name| !name.is_empty()).collect())
}

/// The variant that all runs share; empty if they differ.
fn common_variant(runs: &[Run]) -> String {
    let of = |run: &Run| run.experiment.as_ref().map(|of| of.variant.clone());
    let Some(first) = runs.first().and_then(of) else {
        return String::new();
    };
    match runs.iter().all(|run| of(run).as_ref() == Some(&first)) {
        true => first,
        false => String::new(),
    }
}

/// The variants of an experiment in the plan's order, with their finished runs.
fn experiment_sides(
    store: &RunStore,
    id: &str,
    planned: usize,
    named_run: &Run,
) -> Result<Vec<LoadedSide>, Failure> {
    let listing = store.list(&RunFilter::default())?;
    let mut runs: Vec<Run> = Vec::new();
    for summary in candidates(&listing.runs, id, &named_run.id) {
        if runs.len() >= planned {
            break;
        }
        let run = store.load(&summary.id)?;
        if run.experiment.as_ref().is_some_and(|of| of.id == id) {
            runs.push(run);
        }
    }
    if !runs.iter().any(|run| run.id == named_run.id) {
        // A document outside the store, or a run in progress, is not among the candidates, so it is added
        // here.
        runs.push(named_run.clone());
    }
    let position = |run: &Run| run.experiment.as_ref().map_or(0, |of| of.position);
    runs.sort_by_key(position);
    let side = |name| LoadedSide {
        name,
        ..LoadedSide::of(Vec::new())
    };
    let mut sides: Vec<LoadedSide> = variant_names(&runs).into_iter().map(side).collect();
    for run in runs {
        let variant = common_variant(std::slice::from_ref(&run));
        if let Some(side) = sides.iter_mut().find(|side| side.name == variant) {
            side.runs.push(run);
        }
    }
    Ok(sides)
}

/// The listed runs that have ended and may belong to an experiment, oldest first; those with that
/// experiment in the index come before those with none. `listed` is newest first.
fn candidates<'a>(listed: &'a [RunSummary], id: &str, named_id: &str) -> Vec<&'a RunSummary> {
    // No run of an experiment is older than its first one, which has the experiment's id.
    let begin = listed.iter().position(|one| one.id == id);
    let until = begin.map_or(listed.len(), |place| place + 1);
    let ended = |one: &&RunSummary| one.state != RunState::Running;
    let newer = listed[..until].iter().rev().filter(ended);
    let (mut found, others): (Vec<&RunSummary>, Vec<&RunSummary>) =
        newer.partition(|one| one.experiment.as_ref().is_some_and(|of| of.id == id));
    // Versions without experiments wrote rows without them. If the row of the first or the named run is
    // such a row, every possible document has to be read. Otherwise no document is read needlessly.
    let has_none = |one: &RunSummary| one.experiment.is_none();
    let mut named = listed
        .iter()
        .filter(|one| one.id == id || one.id == named_id);
    if named.any(has_none) {
        found.extend(others.into_iter().filter(|one| has_none(one)));
    }
    found
}

/// Writes the XML to a file; replaces only an older file of this kind.
fn write_xml(
    path: &Path,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    limit: Option<Limit>,
) -> Result<(), Failure> {
    file::check_replaceable(path, "XML", |begin| begin.starts_with(b"<?xml"))?;
    file::write_result(path, "XML", |out| {
        compare::junit(out, runs, comparison, limit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, experiment: Option<&str>, state: RunState) -> RunSummary {
        let run = Run {
            state,
            experiment: experiment.map(|id| Experiment {
                id: id.to_owned(),
                ..Experiment::default()
            }),
            ..Run::default()
        };
        RunSummary::of(id, &run)
    }

    #[test]
    fn only_runs_that_may_belong_to_the_experiment_are_read() {
        let ended = RunState::Complete;
        let mut all = vec![
            listed("6", Some("2"), RunState::Running),
            listed("5", None, ended),
            listed("4", Some("2"), ended),
            listed("3", Some("x"), ended),
            listed("2", Some("2"), ended),
            listed("1", None, ended),
        ];
        let ids = |all: &[RunSummary], known: &str| -> Vec<String> {
            let found = candidates(all, "2", known).into_iter();
            found.map(|one| one.id.clone()).collect()
        };
        assert_eq!(ids(&all, "2"), ["2", "4"]);
        // Runs without an experiment in the index are read too.
        all[2].experiment = None;
        assert_eq!(ids(&all, "4"), ["2", "4", "5"]);
        all[4].experiment = None;
        assert_eq!(ids(&all, "6"), ["2", "4", "5"]);
    }
}
