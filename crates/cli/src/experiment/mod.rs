//! `prony run` of a plan with repeats or variants: one run after another.
//!
//! Each run is executed, judged and stored separately and prints one line; at the end the variants
//! are compared. A run is stored before the next one starts, and the experiment ends if the command
//! between runs fails, or if a problem that lasts has made every run invalid.

mod between;
mod driver;
mod early;
mod prices;

use crate::command::output;
use crate::command::plan::planned_refusals_of;
use crate::exit::{Exit, Failure};
use crate::run::{self, ResultFormat, RunRequest, RunResult, answers};
pub use driver::{ExperimentDriver, Schedule};
use prony_judge::compare::sides::CompareOptions;
use prony_judge::drill::DrillTimes;
use prony_judge::experiment::variants;
use prony_judge::price::PriceSheet;
use prony_judge::requirements::answer_repeats;
use prony_judge::sweep::Sweep;
use prony_plan::{Experiment, ExperimentRun, RunOrder, Stop};
use prony_report::compare::{self, SideAnswers};
use prony_report::{experiment, json};
use prony_runner::Signals;
use prony_runner::random_seed;
use prony_store::{Answer, ExperimentKind, Run};
use serde_json::json;
use std::time::{Duration, Instant};

/// An experiment to execute, and how to print its runs.
pub struct ExperimentRequest {
    pub experiment: Experiment,
    /// For each variant, in their order.
    pub requests: Vec<RunRequest>,
    /// The figure that is tested instead of the usual one.
    pub primary: Option<String>,
}

/// Executes the experiment. A finished run stays stored even if a later one fails.
pub fn run_and_print(request: &ExperimentRequest) -> Result<Exit, Failure> {
    // All runs share one listener, so that it answers during pauses too, and no other process can take the
    // port.
    let metrics = match request.requests.first() {
        Some(first) => run::listen_for_prometheus(&first.observe)?,
        None => None,
    };
    let signals = Signals::listen()?;
    let experiment = &request.experiment;
    early::check_urls(experiment)?;
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
    let mut driver = ExperimentDriver::new(&signals, metrics.as_ref());
    driver.keep_going = experiment.keep_going;
    let mut schedule = PlanSchedule {
        request,
        order: experiment.run_order(seed),
        seed,
        started: Instant::now(),
        drills: Vec::new(),
    };
    let result = driver.drive(&mut schedule);
    let runs = driver.runs;
    drop(metrics);
    let format = request.requests[0].format;
    let answers = answers_of(request, &runs);
    if !answers.is_empty() {
        answers::print(format, &answers)?;
    }
    if !runs.is_empty() {
        print_summary(request, sheet.as_ref(), &runs, &schedule.drills)?;
    }
    let answers = answers.iter().map(|(_, answer)| answer);
    Ok(answers::exit_with(result?, answers))
}

/// Prints whether the variants differ and their figures, or the curves of a sweep; in JSON as the last line.
fn print_summary(
    request: &ExperimentRequest,
    sheet: Option<&PriceSheet>,
    runs: &[Run],
    drills: &[DrillTimes],
) -> Result<(), Failure> {
    let experiment = &request.experiment;
    let format = request.requests[0].format;
    if matches!(format, ResultFormat::Junit | ResultFormat::Github) {
        return Ok(());
    }
    let mut sweep = Sweep::of(runs);
    let notes = match &mut sweep {
        Some(sweep) => prices::add_prices(sweep, experiment, sheet, runs)?,
        None => Vec::new(),
    };
    let names: Vec<String> = match &sweep {
        Some(sweep) => sweep.points().map(|point| point.name.clone()).collect(),
        None => experiment
            .variants
            .iter()
            .map(|variant| variant.name.clone())
            .collect(),
    };
    let options = CompareOptions {
        primary: request.primary.clone(),
        ..CompareOptions::default()
    };
    // Points of a curve are not compared with the first one.
    let has_curve = sweep.as_ref().is_some_and(Sweep::has_numbers);
    let comparison = if has_curve {
        None
    } else {
        let names = names.iter().map(String::as_str);
        experiment::comparison_of_variants(runs, names, &options)
    };
    output::show(|out, style| match (format, &sweep) {
        (ResultFormat::Json, _) => {
            let document = comparison.as_ref().map(|comparison| {
                compare::document(comparison, &SideAnswers::default(), sweep.as_ref())
            });
            match (document, &sweep) {
                (Some(document), _) => json::write_line(out, &json!({ "comparison": document })),
                (None, Some(sweep)) => json::write_line(out, &json!({ "sweep": sweep })),
                (None, None) => Ok(()),
            }
        }
        (_, Some(sweep)) => {
            experiment::write_sweep(out, style, runs, sweep, &notes, comparison.as_ref())
        }
        (_, None) => {
            let figures = variants(&names, runs);
            experiment::write_summary(out, style, runs, &figures, comparison.as_ref())?;
            experiment::write_drills(out, style, drills)
        }
    })?;
    if let (Some(primary), Some(comparison)) = (&request.primary, &comparison)
        && comparison.tests_another_than(primary)
    {
        output::notice(&format!(
            "prony: not all variants have the figure {primary} (--primary): another one is tested"
        ));
    }
    Ok(())
}

/// The answer of each variant, unless no run has finished at all.
fn answers_of(request: &ExperimentRequest, ended: &[Run]) -> Vec<(String, Answer)> {
    let planned = request.experiment.repeats as usize;
    let variants = request.experiment.variants.iter().zip(&request.requests);
    let variants = variants.filter(|_| !ended.is_empty());
    let answers = variants.filter_map(|(variant, run_request)| {
        let runs: Vec<&Run> = ended
            .iter()
            .filter(|run| run.variant() == Some(&variant.name))
            .collect();
        let requirements = &run_request.plan.require.0;
        let baselines = &run_request.purpose.baselines;
        let answer = answer_repeats(requirements, &runs, planned, baselines)?;
        Some((variant.name.clone(), answer))
    });
    answers.collect()
}

struct PlanSchedule<'a> {
    request: &'a ExperimentRequest,
    order: Vec<ExperimentRun>,
    /// Seed of the order.
    seed: u64,
    started: Instant,
    /// What is compared of the drills that have ended: their runs no longer have their seconds.
    drills: Vec<DrillTimes>,
}

impl Schedule for PlanSchedule<'_> {
    fn next_run(&mut self, ended: &[Run]) -> Option<prony_store::Experiment> {
        let scheduled = *self.order.get(ended.len())?;
        let experiment = &self.request.experiment;
        let variant = &experiment.variants[scheduled.variant];
        let is_random = experiment.order == RunOrder::Random;
        let variants = experiment.variants.iter();
        Some(prony_store::Experiment {
            id: String::new(),
            kind: if variant.point.is_empty() {
                ExperimentKind::Variants
            } else {
                ExperimentKind::Sweep
            },
            variant: variant.name.clone(),
            repeat: scheduled.repeat,
            position: u32::try_from(ended.len() + 1).unwrap_or(u32::MAX),
            runs: experiment.run_count(),
            order: experiment.order,
            order_seed: is_random.then_some(self.seed),
            variants: variants.map(|variant| variant.name.clone()).collect(),
            point: variant.point.clone(),
        })
    }

    fn header(&self, position: &prony_store::Experiment) -> String {
        let ended = position.position as usize - 1;
        let (experiment, elapsed) = (&self.request.experiment, self.started.elapsed());
        let left = time_left(experiment, &self.order, ended, elapsed);
        experiment::run_header(position, left)
    }

    fn record(&mut self, format: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        self.drills.extend(DrillTimes::of(result.run()));
        driver::show_run(format, result)
    }

    fn prepare(
        &mut self,
        position: &prony_store::Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunRequest, Failure> {
        between::run_between(&self.request.experiment, position, driver.signals)?;
        let scheduled = self.order[position.position as usize - 1];
        Ok(self.request.requests[scheduled.variant].clone())
    }
}

/// About how long the runs from this one on take: as planned, with the longest warm-up, and corrected by how much longer
/// or shorter those before it took. `None` if the plan has a number of transactions and no run has ended.
fn time_left(
    experiment: &Experiment,
    order: &[ExperimentRun],
    index: usize,
    elapsed: Duration,
) -> Option<Duration> {
    let planned_s = |runs: &[ExperimentRun]| {
        let lengths = runs.iter().map(|run| {
            let drive = &experiment.variants[run.variant].plan.drive;
            match drive.stop {
                Stop::After(length) | Stop::NoStartsAfter(length) => {
                    let warmup = drive.warmup_max.unwrap_or(drive.warmup);
                    Some((warmup + length + experiment.pause).as_secs_f64())
                }
                Stop::Transactions(_) | Stop::SharedTransactions { .. } | Stop::WorkDone => None,
            }
        });
        lengths.sum::<Option<f64>>()
    };
    let (done, left) = order.split_at(index);
    let left_s = if done.is_empty() {
        planned_s(left)?
    } else {
        let left_per_done = left.len() as f64 / done.len() as f64;
        match (planned_s(done), planned_s(left)) {
            (Some(planned_done), Some(planned_left)) => {
                planned_left + (elapsed.as_secs_f64() - planned_done) * left_per_done
            }
            _ => elapsed.as_secs_f64() * left_per_done,
        }
    };
    Some(Duration::from_secs_f64(left_s.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::PlanInput;

    #[test]
    fn the_time_left_has_the_longest_warm_up_until_runs_have_shown_theirs() {
        let text = "[experiment]\nrepeats = 4\npause = \"2s\"\n[workload]\nname = \"tpcb\"\n[run]\nduration = \"60s\"\n\
                    [server]\nurl = \"postgres://h/d\"\n";
        let input = PlanInput::from_toml("plan.toml", text).unwrap();
        let experiment = input.check_experiment().unwrap();
        let order = experiment.run_order(1);
        let left = |index, elapsed_s| {
            time_left(&experiment, &order, index, Duration::from_secs(elapsed_s))
                .unwrap()
                .as_secs()
        };
        // A warm-up takes 5 s to 30 s.
        assert_eq!(left(0, 0), 4 * 92);
        assert_eq!(left(2, 2 * 70), 2 * 70);
        assert_eq!(left(2, 2 * 100), 2 * 100);
    }
}
