//! `prony trend`.
//!
//! Loads the stored runs of a workload one by one; `judge` decides which of them compare, and where their level
//! changed. No stored document is changed.

use super::server::find_workload;
use super::stored::{filter_of, judge_by_own_rules, on_all_cpus};
use super::{compare, file, output};
use crate::args::{FilterArgs, TrendArgs};
use crate::exit::{Exit, Failure};
use crate::run::{ResultFormat, answers};
use prony_judge::requirements::{MAX_BASELINE_RUNS, answer_repeats};
use prony_judge::trend::{Trend, TrendBuilder, can_be_reference, differences_at_change};
use prony_report::{html, trend};
use prony_runner::host::this_build;
use prony_store::{Answer, Requirement, Run, RunFilter, RunStore, RunSummary, StoreError};

/// Shows the history of a workload's runs.
pub fn show(args: &TrendArgs) -> Result<Exit, Failure> {
    let store = super::stored::open_store()?;
    let trend = load(&store, args)?;
    let answer = answer(&store, &trend, &args.workload, &args.require)?;
    let named = answer.map(|answer| (trend.workload.clone(), answer));
    // At most one, in the form of the commands that answer for several runs.
    let answers: Vec<(String, Answer)> = named.into_iter().collect();
    match (args.format, &args.output) {
        (Some(format), _) => {
            answers::check_format(format, &args.require)?;
            answers::print(format, &answers)?;
        }
        (None, None) if args.json => {
            let answer = answers.first().map(|(_, answer)| answer);
            output::show(|out, _| trend::json(out, &trend, answer))?;
        }
        (None, None) => {
            answers::print(ResultFormat::Full, &answers)?;
            output::show(|out, style| {
                if !answers.is_empty() {
                    writeln!(out)?;
                }
                trend::write(out, style, &trend)
            })?;
        }
        (None, Some(path)) if path.as_os_str() == "-" => {
            output::show_raw(|out| html::write_trend(out, &trend, &this_build()))?;
        }
        (None, Some(path)) => {
            file::check_replaceable(path, "a page of a trend", html::is_trend_page)?;
            file::write_result(path, "page", |out| {
                html::write_trend(out, &trend, &this_build())
            })?;
            output::notice(&format!("Written to {}", path.display()));
        }
    }
    let answered = answers::exit_of(answers.iter().map(|(_, answer)| answer));
    Ok(answered.unwrap_or(Exit::Success))
}

/// What the newest runs since the last change say to what is required; `None` if nothing is.
fn answer(
    store: &RunStore,
    trend: &Trend,
    workload: &str,
    requirements: &[Requirement],
) -> Result<Option<Answer>, Failure> {
    let mut baselines = answers::load_baselines(workload, requirements)?;
    let first = trend.levels.last().map_or(0, |level| level.first);
    let newest = trend.runs[first..].iter().rev().take(MAX_BASELINE_RUNS);
    let ids: Vec<&str> = newest.map(|run| run.run.as_str()).collect();
    // No run is compared with itself.
    for baseline in &mut baselines {
        baseline.runs.retain(|run| !ids.contains(&&*run.id));
    }
    let runs = ids.iter().map(|id| load_judged(store, id));
    let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
    let runs: Vec<&Run> = runs.iter().collect();
    Ok(answer_repeats(requirements, &runs, 0, &baselines))
}

pub(super) fn load(store: &RunStore, args: &TrendArgs) -> Result<Trend, Failure> {
    let listing = store.list(&filter(args))?;
    for (path, reason) in &listing.unreadable {
        output::notice(&format!("prony: cannot read {}: {reason}", path.display()));
    }
    let figure = args.figure.as_deref();
    let reference = find_reference(store, args, &listing.runs)?;
    let mut builder = builder_of(&reference, figure)?;
    // A document may be large: one at a time is in memory for each CPU.
    let compared = on_all_cpus(&listing.runs, |summary| {
        load_judged(store, &summary.id).map(|run| builder.compare(&run))
    });
    for (summary, compared) in listing.runs.iter().zip(compared) {
        match compared {
            Ok(compared) => builder.add_compared(compared, summary.epoch_ns()),
            Err(error) => builder.leave_out(&summary.id, format!("cannot be read: {error}")),
        }
    }
    let mut trend = builder.finish();
    for change in &mut trend.changes {
        let ids = [change.index - 1, change.index].map(|index| &trend.runs[index].run);
        let [before, after] = ids.map(|id| load_judged(store, id));
        change.differences = differences_at_change(&before?, &after?);
    }
    Ok(trend)
}

fn builder_of<'a>(reference: &'a Run, figure: Option<&str>) -> Result<TrendBuilder<'a>, Failure> {
    TrendBuilder::new(reference, figure).map_err(|names| {
        let message = match figure {
            Some(figure) => format!("{} has no figure {figure}", reference.id),
            None => format!("{} has no figures", reference.id),
        };
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let hint = compare::figure_hint(figure.unwrap_or_default(), &names);
        Failure::usage(message, hint).at("--figure")
    })
}

/// The first of these runs that may be used. Each is loaded once, when it is its turn.
///
/// # Errors
/// There is none, and none of them has the requested figure either: better runs would not help.
fn first_usable(
    runs: impl Iterator<Item = Run>,
    figure: Option<&str>,
) -> Result<Option<Run>, Failure> {
    let mut some_run_has_figure = figure.is_none();
    let mut first_failure = None;
    for run in runs {
        if can_be_reference(&run) {
            return Ok(Some(run));
        }
        if some_run_has_figure || run.measured.is_empty() {
            continue;
        }
        match builder_of(&run, figure) {
            Ok(_) => some_run_has_figure = true,
            Err(failure) => {
                first_failure.get_or_insert(failure);
            }
        }
    }
    match first_failure {
        Some(failure) if !some_run_has_figure => Err(failure),
        _ => Ok(None),
    }
}

fn filter(args: &TrendArgs) -> RunFilter {
    RunFilter {
        workload: Some(args.workload.clone()),
        ..filter_of(&args.filter, args.last)
    }
}

/// The run with which the others compare: the requested one, otherwise the newest one that may be used.
fn find_reference(store: &RunStore, args: &TrendArgs, runs: &[RunSummary]) -> Result<Run, Failure> {
    if let Some(name) = &args.like {
        let run = load_judged(store, name)?;
        if ![&*run.workload.name, run.workload.display_name()].contains(&&*args.workload) {
            let message = format!("{} is a run of {}", run.id, run.workload.name);
            let hint = format!("name a run of {}", args.workload);
            return Err(Failure::usage(message, hint).at("--like"));
        }
        return if can_be_reference(&run) {
            Ok(run)
        } else {
            let hint = format!("prony show {} has the reason", run.id);
            let message = "the figures of this run must not be used";
            Err(Failure::usage(message, hint).at("--like"))
        };
    }
    let mut load_errors = Vec::new();
    let loaded = runs
        .iter()
        .filter_map(|summary| match load_judged(store, &summary.id) {
            Ok(run) => Some(run),
            Err(error) => {
                load_errors.push(error);
                None
            }
        });
    if let Some(run) = first_usable(loaded, args.figure.as_deref())? {
        return Ok(run);
    }
    if load_errors.len() == runs.len()
        && let Some(error) = load_errors.pop()
    {
        return Err(error.into());
    }
    let FilterArgs {
        label,
        server,
        since,
    } = &args.filter;
    let has_filter = label.is_some() || server.is_some() || since.is_some();
    if runs.is_empty() && !has_filter {
        // Runs of other tools may have other names: a name is wrong only if no run has it.
        find_workload(&args.workload)?;
    }
    let message = match runs.len() {
        0 => match label {
            Some(label) => format!("no stored run of {} has the label {label}", args.workload),
            None => format!("no stored run of {} matches", args.workload),
        },
        1 => format!(
            "the only matching run of {} must not be used",
            args.workload
        ),
        count => format!(
            "none of the {count} matching runs of {} may be used",
            args.workload
        ),
    };
    let hint = match runs.first() {
        Some(newest) => format!("prony judge {} --again says why", newest.id),
        None => "prony runs lists the stored runs with workload and label; prony runs label RUN \
                 LABEL sets one"
            .to_owned(),
    };
    Err(Failure::usage(message, hint))
}

fn load_judged(store: &RunStore, id: &str) -> Result<Run, StoreError> {
    let mut run = store.load_judged(id)?;
    judge_by_own_rules(&mut run);
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_which_none_may_be_used_are_loaded_once() {
        let mut loaded = 0;
        let runs = (0..3).map(|number| {
            loaded += 1;
            let mut run = Run {
                id: format!("run-{number}"),
                ..Run::default()
            };
            run.measured.length_s = f64::from(number);
            run
        });
        let failure = first_usable(runs, Some("p98")).expect_err("no run has it");
        // In the first one, nothing was measured.
        let problem = &failure.problems[0].problem;
        assert_eq!((problem.as_str(), loaded), ("run-1 has no figure p98", 3));
        let unmeasured = std::iter::once(Run::default());
        assert!(matches!(first_usable(unmeasured, Some("p98")), Ok(None)));
    }
}
