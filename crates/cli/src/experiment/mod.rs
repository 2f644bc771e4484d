//! `prony run` of a plan with repeats or variants: one run after another.
//!
//! Each run is executed, judged and stored separately and prints one line; at the end the variants
//! are compared. A run is stored before the next one starts, and the experiment ends if the command
//! between runs fails, or if a problem that lasts has made every run invalid.

mod between;
mod early;
mod prices;
mod servers;

use crate::command::output;
use crate::command::plan::planned_refusals_of;
use crate::exit::{Exit, Failure};
use crate::run::{
    self, ExperimentPart, MetricsServer, ObserveOptions, ResultFormat, RunRequest, answers,
};
use prony_judge::experiment::{LastingProblem, all_have_nopm, lasting_problem, variants};
use prony_judge::noise::{condense_readings, is_invalid_by_others_only};
use prony_judge::requirements::answer_repeats;
use prony_judge::sweep::Sweep;
use prony_plan::{Experiment, ExperimentRun, Stop, splitmix64};
use prony_report::{experiment, json};
use prony_runner::Signals;
use prony_runner::random_seed;
use prony_store::{Answer, Run};
use std::time::{Duration, Instant};

/// An experiment to execute, and how to print its runs.
pub struct ExperimentRequest {
    /// The checked experiment.
    pub experiment: Experiment,
    /// For each variant, in their order, its request and how its server is observed.
    pub requests: Vec<(RunRequest, ObserveOptions)>,
}

/// The executed runs, and the worst of their exit codes.
struct CompletedRuns {
    /// The runs, without their series, which are not needed here.
    runs: Vec<Run>,
    /// Id of the experiment, which is that of the first run.
    experiment_id: String,
    worst_exit: Exit,
}

/// What all runs of the experiment share: the signals, and the server of the metrics.
struct ExperimentContext<'a> {
    signals: &'a Signals,
    metrics: Option<&'a MetricsServer>,
}

/// Executes the experiment. A finished run stays stored even if a later one fails.
///
/// # Errors
/// If a run cannot be executed or stored, or the command between runs fails; the table of the
/// finished runs is printed first.
pub fn run_and_print(request: &ExperimentRequest) -> Result<Exit, Failure> {
    // All runs share one listener, so that it answers during pauses too, and no other process can take the
    // port.
    let first = request.requests.first();
    let metrics = first.map(|(_, observe)| run::listen_for_prometheus(observe));
    let metrics = metrics.transpose()?.flatten();
    let signals = Signals::listen()?;
    let experiment = &request.experiment;
    servers::check_urls(experiment)?;
    // A sheet with a mistake is reported before the first run.
    let sheet = prices::load_sheet(experiment)?;
    for refusal in planned_refusals_of(experiment) {
        if refusal.is_certain {
            output::notice(&format!("prony: {}", refusal.sentence));
        }
    }
    early::check(request)?;
    let plan_seed = experiment
        .variants
        .first()
        .and_then(|first| first.plan.drive.seed);
    let seed = plan_seed.unwrap_or_else(random_seed);
    let mut completed = CompletedRuns {
        runs: Vec::new(),
        experiment_id: String::new(),
        worst_exit: Exit::Success,
    };
    let context = ExperimentContext {
        signals: &signals,
        metrics: metrics.as_ref(),
    };
    let result = run_all(request, &context, seed, &mut completed);
    drop(metrics);
    let format = request.requests[0].0.format;
    let answers = answers_of(request, &completed);
    if !answers.is_empty() {
        answers::print(format, &answers)?;
    }
    let is_for_people = matches!(format, ResultFormat::FirstScreen | ResultFormat::Full);
    if is_for_people && !completed.runs.is_empty() {
        match Sweep::of(&completed.runs) {
            Some(mut sweep) => {
                let notes =
                    prices::add_prices(&mut sweep, experiment, sheet.as_ref(), &completed.runs)?;
                output::show(|out, style| {
                    experiment::write_sweep(out, style, &completed.runs, &sweep, &notes)
                })?;
            }
            None => {
                let names = experiment.variants.iter();
                let names: Vec<String> = names.map(|variant| variant.name.clone()).collect();
                let summaries = variants(&names, &completed.runs);
                let by_nopm = all_have_nopm(&completed.runs);
                output::show(|out, style| {
                    experiment::write_summary(out, style, &completed.runs, &summaries, by_nopm)
                })?
            }
        }
    }
    result?;
    let answers = answers.iter().map(|(_, answer)| answer);
    Ok(answers::exit_with(completed.worst_exit, answers))
}

/// The answer of each variant, unless no run has finished at all.
fn answers_of(request: &ExperimentRequest, completed: &CompletedRuns) -> Vec<(String, Answer)> {
    let planned = request.experiment.repeats as usize;
    let variants = request.experiment.variants.iter().zip(&request.requests);
    let variants = variants.filter(|_| !completed.runs.is_empty());
    let answers = variants.filter_map(|(variant, (run_request, _))| {
        let runs = completed.runs.iter();
        let runs: Vec<&Run> = runs
            .filter(|run| run.variant() == Some(&variant.name))
            .collect();
        let requirements = &run_request.plan.require.0;
        let baselines = &run_request.purpose.baselines;
        let answer = answer_repeats(requirements, &runs, planned, baselines)?;
        Some((variant.name.clone(), answer))
    });
    answers.collect()
}

fn run_all(
    request: &ExperimentRequest,
    context: &ExperimentContext<'_>,
    seed: u64,
    completed: &mut CompletedRuns,
) -> Result<(), Failure> {
    let (experiment, signals) = (&request.experiment, context.signals);
    let started = Instant::now();
    let order = experiment.run_order(seed);
    for (index, scheduled) in order.iter().copied().enumerate() {
        if signals.received().is_none() {
            let variant = &experiment.variants[scheduled.variant].name;
            let is_first = index == 0;
            between::run_between(experiment, variant, scheduled.repeat, is_first, signals)?;
        }
        if let Some(signal) = signals.received() {
            completed.worst_exit = signal.into();
            return Ok(());
        }
        let position = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let plan_seed = experiment.variants[scheduled.variant].plan.drive.seed;
        let part = ExperimentPart {
            seed: plan_seed.map(|seed| repeat_seed(seed, scheduled.repeat)),
            experiment: experiment_entry(
                experiment,
                scheduled,
                position,
                seed,
                &completed.experiment_id,
            ),
            signals,
            metrics: context.metrics,
        };
        let left = time_left(experiment, &order, index, started.elapsed());
        output::notice(&experiment::run_header(&part.experiment, left));
        let (run_request, observe) = &request.requests[scheduled.variant];
        let result = run::execute(run_request, observe, Some(&part))?;
        let run = result.run();
        output::show(|out, style| match run_request.format {
            ResultFormat::Json => json::write_line(out, run),
            ResultFormat::Full => result.write_full(out, style),
            ResultFormat::Junit | ResultFormat::Github => Ok(()),
            ResultFormat::FirstScreen => experiment::write_run(out, style, run),
        })?;
        if index == 0 {
            completed.experiment_id.clone_from(&result.run().id);
        }
        let (mut run, exit) = result.into_stored_run()?;
        // Of the server, only its sessions, its CPU time and the noise are needed here, and at a point of a sweep what
        // limits it.
        if experiment.variants[scheduled.variant].point.is_empty() {
            condense_readings(&mut run);
        }
        completed.runs.push(run.without_seconds());
        completed.worst_exit = completed.worst_exit.worse(exit);
        let is_last = position == experiment.run_count();
        let may_end = !is_last && !experiment.keep_going;
        if let [first, second] = &completed.runs[..]
            && experiment.variants.len() > 1
            && experiment.variants[0].point.is_empty()
            && [first, second].into_iter().all(is_invalid_by_others_only)
        {
            output::notice(NOISE_NOTICE);
        }
        if let Some(problem) = lasting_problem(&completed.runs).filter(|_| may_end) {
            output::notice(&end_notice(problem, completed.runs.len(), experiment));
            return Ok(());
        }
    }
    Ok(())
}

/// What an experiment can still decide on machines that others use.
const NOISE_NOTICE: &str = "prony: both runs are invalid because others use the machines. Their figures must not be used, but pairs of runs and CPU \
     time per transaction can still be compared: the experiment goes on.";

/// Why an experiment ends before its last run, and what to do.
fn end_notice(problem: LastingProblem<'_>, runs: usize, experiment: &Experiment) -> String {
    let LastingProblem { check, variant } = problem;
    let of_variant = variant.map_or(String::new(), |name| format!(" of variant {name}"));
    format!(
        "prony: the experiment ends after {runs} of {} runs: each{of_variant} is invalid by {}, and the others would be too. \
         {} {} Then start the experiment again, or go on all the same with --keep-going.",
        experiment.run_count(),
        check.id,
        check.finding,
        check.advice,
    )
}

/// About how long the runs from this one on take: as planned, and with the time besides the load that those before it
/// took. `None` if the plan has a number of transactions and no run has ended.
fn time_left(
    experiment: &Experiment,
    order: &[ExperimentRun],
    index: usize,
    elapsed: Duration,
) -> Option<Duration> {
    let planned = |runs: &[ExperimentRun]| {
        let lengths = runs.iter().map(|run| {
            let drive = &experiment.variants[run.variant].plan.drive;
            match drive.stop {
                Stop::After(length) | Stop::NoStartsAfter(length) => {
                    Some(drive.warmup + length + experiment.pause)
                }
                Stop::Transactions(_) | Stop::SharedTransactions { .. } => None,
            }
        });
        lengths.sum::<Option<Duration>>()
    };
    let (done, left) = order.split_at(index);
    let per_run = elapsed.checked_div(u32::try_from(done.len()).unwrap_or(u32::MAX));
    let left_count = u32::try_from(left.len()).unwrap_or(u32::MAX);
    match (planned(done), planned(left), per_run) {
        (Some(planned_done), Some(planned_left), Some(_)) => {
            let besides = elapsed.saturating_sub(planned_done) / done.len() as u32;
            Some(planned_left + besides * left_count)
        }
        (_, planned_left @ Some(_), None) => planned_left,
        (.., per_run) => per_run.map(|time| time * left_count),
    }
}

/// The seed of a repeat, of 32 bits as random seeds have. Repeats need different seeds: with the same random
/// numbers they would differ less than runs of the system do. The first repeat has the plan's seed, and the
/// same repeat of another variant has the same seed.
fn repeat_seed(seed: u64, repeat: u32) -> u64 {
    match repeat {
        0 | 1 => seed,
        _ => splitmix64(&mut seed.wrapping_add(u64::from(repeat) << 32)) >> 32,
    }
}

/// The part of the Run document that describes the experiment and the position of the run in it.
fn experiment_entry(
    experiment: &Experiment,
    scheduled: ExperimentRun,
    position: u32,
    seed: u64,
    id: &str,
) -> prony_store::Experiment {
    let is_random = experiment.order == prony_plan::RunOrder::Random;
    prony_store::Experiment {
        id: id.to_owned(),
        variant: experiment.variants[scheduled.variant].name.clone(),
        repeat: scheduled.repeat,
        position,
        runs: experiment.run_count(),
        order: experiment.order,
        order_seed: is_random.then_some(seed),
        variants: experiment
            .variants
            .iter()
            .map(|variant| variant.name.clone())
            .collect(),
        sweep: experiment.variants[scheduled.variant].point.clone(),
        search: None,
    }
}

#[cfg(test)]
mod tests {
    use super::repeat_seed;

    #[test]
    fn each_repeat_has_its_own_seed() {
        let seeds: std::collections::BTreeSet<u64> =
            (1..=50).map(|repeat| repeat_seed(7, repeat)).collect();
        assert_eq!(seeds.len(), 50);
        assert_eq!(repeat_seed(7, 1), 7);
        assert_eq!(repeat_seed(7, 2), repeat_seed(7, 2));
        assert_ne!(repeat_seed(7, 2), repeat_seed(8, 2));
        assert!(seeds.iter().all(|seed| *seed <= u64::from(u32::MAX)));
    }
}
