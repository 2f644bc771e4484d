//! What is required of runs: the stored runs to compare with, the answers in the requested format, the exit code.
//!
//! In: requirements, answers. Out: what a person or a CI server reads. Must never: decide an answer; `judge` does.

use super::ResultFormat;
use crate::command::{compare, output, stored};
use crate::exit::{Exit, Failure};
use prony_judge::requirements::Baseline;
use prony_report::answer;
use prony_store::{
    Answer, AnswerVerdict, RequiredFigure, Requirement, RunFilter, RunState, RunStore,
};
use prony_workload::Workload;

/// At most this many of a label's newest runs are read, to find those that can be compared.
const MAX_CANDIDATES: usize = 100;

/// The runs of a workload with which requirements compare.
pub fn load_baselines<'a>(
    workload: &str,
    requirements: impl IntoIterator<Item = &'a Requirement>,
) -> Result<Vec<Baseline>, Failure> {
    let mut labels: Vec<&str> = requirements
        .into_iter()
        .filter_map(Requirement::baseline)
        .collect();
    labels.sort_unstable();
    labels.dedup();
    if labels.is_empty() {
        return Ok(Vec::new());
    }
    let store = stored::open_store()?;
    let baselines = labels
        .into_iter()
        .map(|label| load_baseline(&store, workload, label));
    baselines.collect()
}

fn load_baseline(store: &RunStore, workload: &str, label: &str) -> Result<Baseline, Failure> {
    let filter = RunFilter {
        label: Some(label.to_owned()),
        workload: Some(workload.to_owned()),
        ..RunFilter::default()
    };
    let mut labelled = store.list(&filter)?.runs;
    labelled.retain(|run| run.state == RunState::Complete);
    let ids = labelled.iter().take(MAX_CANDIDATES);
    let mut runs = ids
        .map(|summary| store.load_judged(&summary.id))
        .collect::<Result<Vec<_>, _>>()?;
    if runs.is_empty() {
        let sides = compare::load_sides(
            store,
            label,
            compare::NameScope::Variant,
            RunStore::load_judged,
        )
        .map_err(|failure| failure.at("--require"))?;
        runs = sides.into_iter().flat_map(|side| side.runs).collect();
    }
    stored::judge_by_same_rules(&mut runs);
    Ok(Baseline {
        label: label.to_owned(),
        runs,
    })
}

/// Refuses a requirement of a figure that the workload does not have. `kinds`: the kinds of its transactions.
pub fn check_figures(
    requirements: &[Requirement],
    workload: &dyn Workload,
    kinds: &[&str],
) -> Result<(), Failure> {
    for requirement in requirements {
        let (name, noun, names) = match &requirement.figure {
            RequiredFigure::Metric(name) => {
                let metrics = workload.rate_metrics().iter();
                (name, "", metrics.map(|metric| metric.name).collect())
            }
            RequiredFigure::Time {
                kind: Some(kind), ..
            } => (kind, "transaction ", kinds.to_vec()),
            _ => continue,
        };
        if !names.contains(&name.as_str()) {
            let message = format!("{} has no {noun}{name}", workload.name());
            let hint = if names.is_empty() {
                "require figures that it has, such as throughput>5000/s".to_owned()
            } else {
                format!("it has {}", names.join(", "))
            };
            return Err(Failure::usage(message, hint).at("--require"));
        }
    }
    Ok(())
}

/// Prints answers, each with the name of its run or variant. A run's own screen has its answer already, so that the
/// formats for people print only those of an experiment.
pub fn print(format: ResultFormat, answers: &[(String, Answer)]) -> Result<(), Failure> {
    output::show(|out, style| match format {
        ResultFormat::Json => Ok(()),
        ResultFormat::Junit => answer::write_junit(out, answers),
        ResultFormat::Github => answer::write_github(out, answers),
        ResultFormat::FirstScreen | ResultFormat::Drill | ResultFormat::Full => {
            answer::write(out, style, answers)
        }
    })?;
    Ok(())
}

/// The exit code of runs and their answers. An answer takes the place of the exit code for an invalid run, because it
/// already depends on it.
pub fn exit_with<'a>(runs: Exit, answers: impl Iterator<Item = &'a Answer>) -> Exit {
    let mut answers = answers.peekable();
    match runs {
        Exit::Success | Exit::Invalid if answers.peek().is_some() => {
            exit_of(answers).unwrap_or(Exit::Success)
        }
        exit => exit,
    }
}

/// The exit code of answers; `None` if all requirements are met.
pub fn exit_of<'a>(answers: impl Iterator<Item = &'a Answer>) -> Option<Exit> {
    match answers.map(|answer| answer.verdict).min()? {
        AnswerVerdict::Fail => Some(Exit::RequirementFailed),
        AnswerVerdict::Undecided => Some(Exit::Undecided),
        AnswerVerdict::Pass => None,
    }
}

pub fn check_format(format: ResultFormat, requirements: &[Requirement]) -> Result<(), Failure> {
    let needs_requirements = matches!(format, ResultFormat::Junit | ResultFormat::Github);
    if !needs_requirements || !requirements.is_empty() {
        return Ok(());
    }
    let message = "this format prints answers, and nothing is required";
    let hint = "say what is required, such as --require 'p99<20ms'";
    Err(Failure::usage(message, hint).at("--format"))
}
