//! `prony compare`.
//!
//! Loads the sides that the names of runs and experiments select; `judge` compares them. A run is never counted
//! twice, and no run of an experiment is omitted.

use super::stored::{judge_by_same_rules, on_all_cpus};
use super::{file, output};
use crate::args::{CompareArgs, OnUnsure};
use crate::exit::{Exit, Failure};
use crate::run::{ResultFormat, answers};
use prony_judge::capacity::{CapacityResult, ClientsResult};
use prony_judge::compare::Verdict;
use prony_judge::compare::sides::{CompareOptions, Side, SidesComparison, compare_sides};
use prony_judge::experiment::variant_names;
use prony_judge::requirements::answer_side;
use prony_judge::sweep::Sweep;
use prony_plan::suggest::suggestion;
use prony_report::compare::{self, SideAnswers};
use prony_report::{Style, answer, capacity, experiment};
use prony_store::{
    Comparator, Experiment, ExperimentKind, RequiredFigure, RequiredLimit, Requirement, Run,
    RunFilter, RunState, RunStore, Statistic, StoreError,
};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// The label of the first side in requirements, beside the name of its variant.
const FIRST_SIDE: &str = "A";

/// Maximum number of sides: they are labelled with letters. A sweep of more points shows its curve only.
pub(crate) const MAX_SIDES: usize = 26;

pub(crate) struct LoadedSide {
    /// The variant of the experiment; empty if there is none.
    pub variant: String,
    pub runs: Vec<Run>,
    /// The id of the run by which the user named the side, if the name also selects other runs.
    pub named_run_id: Option<String>,
}

impl LoadedSide {
    fn of(runs: Vec<Run>) -> LoadedSide {
        LoadedSide {
            variant: common_variant(&runs),
            runs,
            named_run_id: None,
        }
    }
}

/// The runs that a name selects if it is the name of a run of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameScope {
    /// The run, or the whole experiment if the run has the experiment's id; `last` is always a run.
    Run,
    /// The repeats of the run's variant.
    Variant,
    /// The whole experiment, because the run is the only argument.
    Experiment,
}

pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let store = super::stored::open_store()?;
    let mut loaded = load_all_sides(&store, &args.sides)?;
    judge_by_same_rules(loaded.iter_mut().flat_map(|side| &mut side.runs));
    if let Some(shown) = show_answer_of_search(&loaded, args) {
        return shown;
    }
    if loaded.len() > MAX_SIDES {
        return show_curve_only(&loaded, args);
    }
    let sides: Vec<Side<'_>> = loaded
        .iter()
        .map(|side| Side {
            name: side.variant.clone(),
            runs: side.runs.iter().collect(),
        })
        .collect();
    let options = CompareOptions {
        primary: args.figure.clone(),
        across_engines: args.across_engines,
        despite: args.despite.clone(),
    };
    let comparison = compare_sides(&sides, &options);
    check_primary_figure(&comparison, args)?;
    let requirements = requirements_from_args(args);
    check_despite(args, &requirements)?;
    if let Some(format) = args.format {
        answers::check_format(format, &requirements)?;
    }
    let runs: Vec<Vec<&Run>> = sides.iter().map(|side| side.runs.clone()).collect();
    let answers = answer_sides(&comparison, &runs, &requirements, args)?;
    let junit = args.junit.as_deref();
    let prints_xml = args.format == Some(ResultFormat::Junit)
        || junit.is_some_and(|file| file.as_os_str() == "-");
    if let Some(file) = junit.filter(|_| !prints_xml) {
        write_xml(file, &runs, &comparison, &answers)?;
    }
    output::show(|out, style| {
        if prints_xml {
            return compare::write_junit(out, &runs, &comparison, &answers);
        }
        if args.format.is_some() {
            return answer::write_github(out, &answers.answers);
        }
        if args.markdown {
            return compare::write_markdown(out, &runs, &comparison, &answers);
        }
        let sweep = Sweep::of(&runs.concat());
        if args.json {
            return compare::write_json(out, &comparison, &answers, sweep.as_ref());
        }
        // Points of a sweep have a curve, which says more than their differences from the first one. Values that are no
        // numbers have none: their table comes last.
        let (curve, table) = match &sweep {
            Some(sweep) if sweep.has_numbers() => (Some(sweep), None),
            other => (None, other.as_ref()),
        };
        if let Some(sweep) = curve {
            experiment::write_curves(out, style, sweep)?;
        }
        compare::write(out, style, &runs, &comparison, &answers)?;
        table.map_or(Ok(()), |sweep| experiment::write_curves(out, style, sweep))
    })?;
    if comparison.verdict == Verdict::NotComparable {
        return Ok(Exit::Invalid);
    }
    match answers::exit_of(answers.answers.iter().map(|(_, answer)| answer)) {
        Some(Exit::Undecided) if answers.pass_undecided => {}
        Some(exit) => return Ok(exit),
        None => {}
    }
    if !requirements.is_empty() && !answers.pass_undecided {
        check_experiment_complete(&loaded, &args.sides)?;
    }
    Ok(Exit::Success)
}

/// Fails if requirements would pass undecided although the figures are not comparable.
fn check_despite(args: &CompareArgs, requirements: &[Requirement]) -> Result<(), Failure> {
    let passes_undecided = args.unsure == OnUnsure::Pass;
    if !passes_undecided || requirements.is_empty() || args.despite.is_empty() {
        return Ok(());
    }
    let message = "--despite and --unsure pass exclude each other";
    let hint = "no requirement passes on figures that are not comparable: leave one of the two out";
    Err(Failure::usage(message, hint))
}

/// The runs of the search whose steps the sides are, in its order; `None` if they are no steps of one search.
fn steps_of_search(sides: &[LoadedSide]) -> Option<Vec<&Run>> {
    let runs: Vec<&Run> = sides.iter().flat_map(|side| &side.runs).collect();
    let experiments = || runs.iter().map(|run| run.experiment.as_ref());
    let first = experiments().next()??;
    let is_step = |own: Option<&Experiment>| {
        own.is_some_and(|own| matches!(own.kind, ExperimentKind::Search(_)) && own.id == first.id)
    };
    // Its runs in the order of the steps, which the answer needs to know whether it ended.
    let mut steps = runs.clone();
    steps.sort_by_key(|run| position(run));
    experiments().all(is_step).then_some(steps)
}

/// Whether a form, a figure or a requirement is given that only a comparison has.
fn asks_to_compare(args: &CompareArgs) -> bool {
    args.markdown
        || args.junit.is_some()
        || args.format.is_some()
        || args.figure.is_some()
        || !requirements_from_args(args).is_empty()
}

/// Shows the answer of the search whose steps the sides are; `None` if they are no steps of one search.
fn show_answer_of_search(
    sides: &[LoadedSide],
    args: &CompareArgs,
) -> Option<Result<Exit, Failure>> {
    let steps = steps_of_search(sides)?;
    if let Some(found) = CapacityResult::of(&steps) {
        let exit = super::find::exit_of(&found);
        return Some(show_search(args, &found, exit, |out, style| {
            capacity::write(out, style, &found)
        }));
    }
    let found = ClientsResult::of(&steps)?;
    let exit = super::find::exit_of_verdict(found.verdict(), found.invalid_by().is_empty());
    Some(show_search(args, &found, exit, |out, style| {
        capacity::write_clients(out, style, &found)
    }))
}

/// Shows the answer of a search: its steps differ in the rate, so that their figures are not compared.
fn show_search(
    args: &CompareArgs,
    found: &impl Serialize,
    exit: Exit,
    write: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>,
) -> Result<Exit, Failure> {
    if asks_to_compare(args) || !args.despite.is_empty() {
        let message = "the runs are the steps of a search, which has one answer and no sides";
        let hint = "prony find --resume answers other requirements";
        return Err(Failure::usage(message, hint));
    }
    output::show_or_json(args.json, found, write)?;
    Ok(exit)
}

/// Shows the curve of a sweep that has too many points for a comparison of each with the first.
///
/// # Errors
/// The sides are no sweep, or something is requested that needs a comparison.
fn show_curve_only(sides: &[LoadedSide], args: &CompareArgs) -> Result<Exit, Failure> {
    let runs: Vec<&Run> = sides.iter().flat_map(|side| &side.runs).collect();
    let is_more_requested = args.json || asks_to_compare(args);
    let Some(sweep) = Sweep::of(&runs).filter(|_| !is_more_requested) else {
        let message = format!("{} sides are too many", sides.len());
        let hint = if is_more_requested {
            format!("name at most {MAX_SIDES}, or none of these options for a sweep")
        } else {
            format!("name at most {MAX_SIDES}")
        };
        return Err(Failure::usage(message, hint));
    };
    output::show(|out, style| experiment::write_curves(out, style, &sweep))?;
    output::notice(&format!(
        "The {} points are not compared with the first one: that takes at most {MAX_SIDES}.",
        sides.len()
    ));
    Ok(Exit::Success)
}

/// What each side except the first says to what is required.
fn answer_sides(
    comparison: &SidesComparison,
    runs: &[Vec<&Run>],
    requirements: &[Requirement],
    args: &CompareArgs,
) -> Result<SideAnswers, Failure> {
    let workload = &runs[0][0].workload.name;
    let first = &comparison.sides[0];
    let against_others = requirements.iter().filter(|requirement| {
        let label = requirement.baseline();
        label != Some(FIRST_SIDE) && label != Some(&*first.label)
    });
    let baselines = answers::load_baselines(workload, against_others)?;
    let sides = comparison.side_comparisons.iter().zip(&runs[1..]);
    let answers = sides.filter_map(|(side, runs)| {
        let answer = answer_side(requirements, comparison, side, runs, &baselines)?;
        Some((side.labels[1].clone(), answer))
    });
    Ok(SideAnswers {
        answers: answers.collect(),
        pass_undecided: args.unsure == OnUnsure::Pass,
    })
}

/// Fails if the sides are an experiment that did not complete its runs: limits that it keeps so far are not decided.
fn check_experiment_complete(sides: &[LoadedSide], names: &[String]) -> Result<(), Failure> {
    if names.len() > 1 {
        return Ok(());
    }
    let experiments = || {
        let runs = sides.iter().flat_map(|side| &side.runs);
        runs.filter_map(|run| run.experiment.as_ref())
    };
    let variants = experiments().flat_map(|experiment| &experiment.variants);
    let mut absent: Vec<&str> = variants
        .filter(|variant| !experiments().any(|experiment| experiment.variant == **variant))
        .map(String::as_str)
        .collect();
    absent.sort_unstable();
    absent.dedup();
    let planned = experiments().map(|experiment| experiment.runs as usize);
    let planned = planned.max().unwrap_or_default();
    let runs = sides.iter().flat_map(|side| &side.runs);
    let complete = runs.filter(|run| run.state == RunState::Complete).count();
    let missing = if !absent.is_empty() {
        format!("no finished run of {}", absent.join(", "))
    } else if complete < planned {
        format!("completed {complete} of {planned} runs")
    } else {
        return Ok(());
    };
    let message = format!("the experiment has {missing}, so that its limits are not decided");
    let hint = "repeat the experiment, or pass with --unsure pass";
    Err(Failure::new(Exit::Undecided, message, hint))
}

/// Refuses a primary figure that a side does not have.
fn check_primary_figure(comparison: &SidesComparison, args: &CompareArgs) -> Result<(), Failure> {
    let Some(name) = &args.figure else {
        return Ok(());
    };
    // Sides that cannot be compared have no figures.
    if !comparison.tests_another_than(name) || comparison.verdict == Verdict::NotComparable {
        return Ok(());
    }
    let figures = comparison
        .side_comparisons
        .iter()
        .flat_map(|side| &side.figures);
    let mut names: Vec<&str> = figures.map(|figure| figure.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let message = format!("not all sides have the figure {name}");
    Err(Failure::usage(message, figure_hint(name, &names)).at("--figure"))
}

/// Which figures there are, and which was probably meant.
pub(super) fn figure_hint(name: &str, names: &[&str]) -> String {
    suggestion(name, names, &format!("name one of {}", names.join(", ")))
}

/// What is required of each side except the first, in either spelling.
fn requirements_from_args(args: &CompareArgs) -> Vec<Requirement> {
    let of_first = |share: f64| RequiredLimit::Of {
        share,
        label: FIRST_SIDE.to_owned(),
    };
    let p99 = |limit| Requirement {
        figure: RequiredFigure::Time {
            kind: None,
            is_server: false,
            statistic: Statistic::P99,
        },
        comparator: Comparator::AtMost,
        limit,
    };
    let slower = args.fail_if_slower.map(|share| Requirement {
        figure: RequiredFigure::Primary,
        comparator: Comparator::AtLeast,
        limit: of_first(1.0 - share),
    });
    let p99_slower = args
        .fail_if_p99_slower
        .map(|share| p99(of_first(1.0 + share)));
    let p99_above = args
        .fail_if_p99_above
        .map(|time| p99(RequiredLimit::Time(time.as_nanos() as f64)));
    let flags = [slower, p99_slower, p99_above].into_iter().flatten();
    args.require.iter().cloned().chain(flags).collect()
}

fn load_all_sides(store: &RunStore, names: &[String]) -> Result<Vec<LoadedSide>, Failure> {
    let mut sides: Vec<LoadedSide> = Vec::new();
    let scope = match names.len() {
        1 => NameScope::Experiment,
        _ => NameScope::Run,
    };
    for name in names {
        sides.extend(load_sides(store, name, scope, RunStore::load_judged)?);
    }
    if sides.len() < 2 {
        let message = match names.len() {
            1 => "there is only one side",
            _ => "there are fewer than two sides",
        };
        let hint = "name at least two runs, or an experiment with at least two variants";
        return Err(Failure::usage(message, hint));
    }
    for (index, side) in sides.iter().enumerate() {
        let earlier_runs = sides[..index].iter().flat_map(|side| &side.runs);
        let mut earlier_ids: Vec<&str> = earlier_runs.map(|run| run.id.as_str()).collect();
        for run in &side.runs {
            if !run.id.is_empty() && earlier_ids.contains(&run.id.as_str()) {
                let message = format!("the run {} is named twice", run.id);
                let hint = "a run counts only once";
                return Err(Failure::usage(message, hint));
            }
            earlier_ids.push(&run.id);
        }
    }
    Ok(sides)
}

/// How a run is loaded: [`RunStore::load_judged`], or [`RunStore::load`] for a report, which contains the hash of the
/// document.
pub(crate) type LoadRun = fn(&RunStore, &str) -> Result<Run, StoreError>;

/// The sides of one argument: a run, several runs, or the variants of an experiment.
pub(crate) fn load_sides(
    store: &RunStore,
    name: &str,
    scope: NameScope,
    load: LoadRun,
) -> Result<Vec<LoadedSide>, Failure> {
    let load = |name: &str| load(store, name);
    if let Some(names) = comma_separated(name) {
        let loaded = on_all_cpus(&names, |name| load(name));
        let runs: Vec<Run> = loaded.into_iter().collect::<Result<_, _>>()?;
        return if runs.is_empty() {
            Err(Failure::usage(
                "a side has no run",
                "name runs between the commas",
            ))
        } else {
            Ok(vec![LoadedSide::of(runs)])
        };
    }
    let run = load(name)?;
    let selects_experiment = |experiment: &Experiment| match scope {
        NameScope::Run => experiment.id == run.id && name != "last",
        NameScope::Variant | NameScope::Experiment => true,
    };
    let experiment = run.experiment.as_ref();
    let Some(experiment) = experiment.filter(|experiment| selects_experiment(experiment)) else {
        return Ok(vec![LoadedSide::of(vec![run])]);
    };
    let mut sides = experiment_sides(store, experiment, &run, &load)?;
    if scope == NameScope::Variant {
        sides.retain(|side| side.variant == experiment.variant);
    }
    // The id of an experiment names the experiment, although its first run has the same id.
    if scope == NameScope::Variant || run.id != experiment.id {
        for side in sides.iter_mut().filter(|side| side.runs.len() > 1) {
            let is_named = side.runs.iter().any(|repeat| repeat.id == run.id);
            side.named_run_id = is_named.then(|| run.id.clone());
        }
    }
    Ok(sides)
}

/// The place of a run in its experiment.
fn position(run: &Run) -> Option<u32> {
    run.experiment.as_ref().map(|own| own.position)
}

/// The complete runs of an experiment in their order, of which this is the name of a run.
pub(crate) fn complete_runs(store: &RunStore, name: &str) -> Result<Vec<Run>, Failure> {
    let sides = load_sides(store, name, NameScope::Experiment, RunStore::load_judged)?;
    let mut runs: Vec<Run> = sides.into_iter().flat_map(|side| side.runs).collect();
    runs.retain(|run| run.state == RunState::Complete);
    runs.sort_by_key(position);
    runs.dedup_by_key(|run| position(run));
    Ok(runs)
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
    let variant = |run: &Run| {
        let experiment = run.experiment.as_ref();
        experiment.map(|experiment| experiment.variant.clone())
    };
    let first = runs.first().and_then(variant);
    let is_shared = runs.iter().all(|run| variant(run) == first);
    first.filter(|_| is_shared).unwrap_or_default()
}

/// The variants of an experiment in the plan's order, with their finished runs.
fn experiment_sides(
    store: &RunStore,
    Experiment {
        id,
        runs: planned_runs,
        ..
    }: &Experiment,
    named_run: &Run,
    load: &(impl Fn(&str) -> Result<Run, StoreError> + Sync),
) -> Result<Vec<LoadedSide>, Failure> {
    let mut summaries = store.list(&RunFilter::default())?.runs;
    summaries.retain(|summary| {
        let experiment = summary.experiment.as_ref();
        summary.state != RunState::Running
            && experiment.is_some_and(|experiment| experiment.id == *id)
    });
    // A suite that was stopped and resumed has run the row at which it stopped again: the row's stopped run is left out.
    let completed = summaries.iter().filter(|it| it.state == RunState::Complete);
    let completed = completed.filter_map(|summary| Some(summary.experiment.as_ref()?.position));
    let completed: Vec<u32> = completed.collect();
    summaries.retain(|summary| {
        let experiment = summary.experiment.as_ref();
        let is_replaced = |part: &Experiment| completed.contains(&part.position);
        summary.state == RunState::Complete || !experiment.is_some_and(is_replaced)
    });
    // The list has the latest run first. Runs after the planned number are those of a repetition of the experiment.
    let oldest = summaries.iter().rev().take(*planned_runs as usize);
    let loaded = on_all_cpus(oldest, |summary| load(&summary.id));
    let mut runs: Vec<Run> = loaded.into_iter().collect::<Result<_, _>>()?;
    if !runs.iter().any(|run| run.id == named_run.id) {
        // The candidates do not include a document outside the store or a run in progress: add the named run.
        runs.push(named_run.clone());
    }
    runs.sort_by_key(position);
    let side = |variant| LoadedSide {
        variant,
        ..LoadedSide::of(Vec::new())
    };
    let mut sides: Vec<LoadedSide> = variant_names(&runs).into_iter().map(side).collect();
    for run in runs {
        let variant = common_variant(std::slice::from_ref(&run));
        if let Some(side) = sides.iter_mut().find(|side| side.variant == variant) {
            side.runs.push(run);
        }
    }
    Ok(sides)
}

/// Writes the XML to a file; replaces only an existing XML file.
fn write_xml(
    path: &Path,
    runs: &[Vec<&Run>],
    comparison: &SidesComparison,
    answers: &SideAnswers,
) -> Result<(), Failure> {
    file::check_replaceable(path, "XML", |prefix| prefix.starts_with(b"<?xml"))?;
    file::write_result(path, "XML", |out| {
        compare::write_junit(out, runs, comparison, answers)
    })
}
