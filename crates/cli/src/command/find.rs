//! `prony find`: the highest rate at which a server meets what is required.
//!
//! Each step is a run at a rate, executed, judged and stored as `prony run` does; together they are one experiment.
//! `judge` decides what a step says and which rate follows. A step is stored before the next one starts.

use super::run::{observe_options, plan_input, request_document};
use super::{find_clients, find_resume, output, plan};
use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::experiment::{ExperimentDriver, Schedule};
use crate::run::{self, ObserveOptions, ResultFormat, RunRequest, RunResult};
use prony_drive::KeptConnections;
use prony_judge::capacity::{self, CapacityResult, CapacityStep, NextStep, RateVerdict, Search};
use prony_plan::{Plan, PlanInput, RunOrder, value_from_flag};
use prony_report::{capacity as view, json};
use prony_runner::{Purpose, Signals};
use prony_store::{
    AnswerVerdict, Experiment, ExperimentKind, RateSearch, RequiredFigure, Requirement, Run,
    RunState, Setting, samples_needed,
};
use std::ffi::OsString;
use std::time::Duration;

/// Shortest step: an interval needs 20 whole seconds.
pub(super) const MIN_STEP: Duration = Duration::from_secs(20);
/// Length of the closed loop that estimates the first rate.
const PROBE: Duration = Duration::from_secs(5);
/// The first rate as a share of the closed loop's throughput.
const FIRST_SHARE: f64 = 0.8;
/// More transactions than a percentile needs, because their number scatters.
const MARGIN: f64 = 1.2;

struct Finder<'a> {
    args: &'a FindArgs,
    input: PlanInput,
    /// Name of the input for messages.
    subject: &'a str,
    arguments: &'a [OsString],
    requirements: Vec<Requirement>,
    search: Search,
    steps: Vec<CapacityStep>,
    length: Duration,
    /// The earlier runs, until they were compared with the server and the data of today.
    unchecked: Vec<Run>,
}

pub fn find(args: &FindArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let (input, subject) = plan_input(&args.workload_or_plan, args.is_plan(), args.input())?;
    let input = args.complete(input);
    if input.is_experiment() {
        let message = "the plan has variants, a sweep or repeats, and find varies the rate itself";
        let hint = "find needs a plan of one run";
        return Err(Failure::usage(message, hint).at(subject));
    }
    if let Some(at) = &input.at {
        let message = "a search has many loads, and a command at a time of one would run in each";
        let hint = "leave it out, or drive one load with prony run";
        return Err(Failure::usage(message, hint).at(at.location.to_string()));
    }
    // Any rate shows what is wrong with the others.
    let checked = plan::check_runnable(step_input(&input, Some(1.0), MIN_STEP), subject)?;
    let requirements = checked.require.0.clone();
    if let Some(reason) = requirements.iter().find_map(capacity::refusal) {
        let message = "what is required says nothing about a highest rate";
        return Err(Failure::usage(message, reason).at("--require"));
    }
    if args.over == capacity::OVER_CLIENTS {
        return find_clients::find(args, arguments, &input, subject, requirements);
    }
    let metrics = run::listen_for_prometheus(&observe_options(&input, &checked))?;
    let signals = Signals::listen()?;
    let mut driver = ExperimentDriver::new(&signals, metrics.as_ref());
    // Each step with a throw-away server has a server of its own.
    driver.kept_connections = input.embedded.is_none().then(KeptConnections::default);
    let mut finder = Finder {
        args,
        input,
        subject,
        arguments,
        requirements,
        search: Search {
            start: 0.0,
            is_estimate: args.from.is_none(),
            precision: args.precision,
            max_steps: args.max_steps as usize,
        },
        steps: Vec::new(),
        length: MIN_STEP,
        unchecked: Vec::new(),
    };
    if let Some(name) = &args.resume {
        driver.runs = finder.resume(name)?;
        finder.search.start = finder.steps[0].rate;
    } else if let Some(start) = args.from {
        finder.search.start = start;
    } else {
        finder.search.start = finder.estimate(&driver)?;
        if let Some(signal) = signals.received() {
            output::notice("prony: interrupted before the first step: nothing was found or stored");
            return Ok(signal.into());
        }
    }
    let ended = driver.drive(&mut finder);
    if finder.steps.is_empty() {
        return ended;
    }
    let found = CapacityResult::new(
        &finder.search,
        &finder.requirements,
        finder.steps,
        &driver.runs,
    );
    output::show(|out, style| match args.format {
        Some(ResultFormat::Junit) => view::write_junit(out, &found),
        Some(_) => view::write_github(out, &found),
        None if args.json => json::write_pretty(out, &found),
        None => view::write(out, style, &found),
    })?;
    let exit = ended?;
    Ok(match signals.received() {
        Some(signal) => signal.into(),
        None if found.is_unfinished => exit,
        None => exit_of(&found),
    })
}

pub(super) fn exit_of(found: &CapacityResult) -> Exit {
    exit_of_verdict(found.verdict(), found.invalid_by().is_empty())
}

/// The exit code of a verdict that rests on runs which may be used, or must not be.
pub(super) fn exit_of_verdict(verdict: AnswerVerdict, is_usable: bool) -> Exit {
    match verdict {
        AnswerVerdict::Pass => Exit::Success,
        AnswerVerdict::Fail => Exit::RequirementFailed,
        AnswerVerdict::Undecided if is_usable => Exit::Undecided,
        AnswerVerdict::Undecided => Exit::Invalid,
    }
}

impl Schedule for Finder<'_> {
    fn next_run(&mut self, ended: &[Run]) -> Option<Experiment> {
        let verdicts: Vec<RateVerdict> =
            self.steps.iter().map(CapacityStep::rate_verdict).collect();
        let NextStep::Measure { rate, lengths } = self.search.next_step(&verdicts) else {
            return None;
        };
        if ended
            .last()
            .is_some_and(|run| run.state != RunState::Complete)
        {
            return None;
        }
        self.length = step_length(self.args.step, &self.requirements, rate) * lengths;
        let earlier = self.steps.iter().filter(|step| step.rate == rate);
        Some(Experiment {
            kind: ExperimentKind::Search(RateSearch {
                is_estimate: self.search.is_estimate,
                precision: self.search.precision,
                max_steps: self.args.max_steps,
            }),
            variant: format!("rate-{rate}"),
            repeat: u32::try_from(earlier.count() + 1).unwrap_or(u32::MAX),
            position: u32::try_from(ended.len() + 1).unwrap_or(u32::MAX),
            runs: self.args.max_steps,
            order: RunOrder::Sequential,
            point: vec![Setting::new(capacity::OVER_RATE, rate.to_string())],
            ..Experiment::default()
        })
    }

    fn header(&self, position: &Experiment) -> String {
        view::step_header(position.position, rate_of(position), self.length)
    }

    fn prepare(
        &mut self,
        position: &Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<(RunRequest, ObserveOptions), Failure> {
        let rate = Some(rate_of(position));
        let unchecked = std::mem::take(&mut self.unchecked);
        if !unchecked.is_empty() {
            output::notice(find_resume::PROBE_NOTICE);
            let probe = self.probe(rate, driver)?;
            let is_embedded = self.input.embedded.is_some();
            find_resume::check_same(&unchecked, probe.run(), is_embedded, capacity::OVER_RATE)?;
        }
        self.request(rate, self.length, true)
    }

    fn show(&mut self, _: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        let mut step = capacity::judge_step(result.run(), &self.requirements);
        // As it was asked for: the search compares rates.
        step.rate = result.run().experiment.as_ref().map_or(step.rate, rate_of);
        output::notice(&view::step_line(&step));
        self.steps.push(step);
        Ok(())
    }
}

/// The rate of a step, as it was asked for.
fn rate_of(position: &Experiment) -> f64 {
    let rate = position
        .point
        .first()
        .and_then(|rate| rate.value.parse().ok());
    rate.unwrap_or_default()
}

impl Finder<'_> {
    /// The first rate of the search, by a closed loop.
    fn estimate(&self, driver: &ExperimentDriver<'_>) -> Result<f64, Failure> {
        output::notice("estimating the first rate by a closed loop");
        let result = self.probe(None, driver)?;
        let all = result.run().measured.all_kinds();
        let tps = all.map_or(0.0, |all| all.tps);
        if tps <= 0.0 && driver.signals.received().is_none() {
            let message =
                "no transaction committed in a closed loop, so that no rate can be estimated";
            let hint = "prony run shows its errors";
            return Err(Failure::new(Exit::Data, message, hint));
        }
        Ok(tps * FIRST_SHARE)
    }

    /// Takes the steps of an earlier search; returns its runs.
    fn resume(&mut self, name: &str) -> Result<Vec<Run>, Failure> {
        let (plan, _) = self.checked(Some(1.0), MIN_STEP)?;
        let runs = find_resume::earlier_runs(name, &plan, capacity::OVER_RATE)?;
        let steps = runs.iter();
        let steps = steps.map(|run| capacity::judge_step(run, &self.requirements));
        self.steps = steps.collect();
        let runs: Vec<Run> = runs.into_iter().map(Run::without_seconds).collect();
        self.unchecked.clone_from(&runs);
        Ok(runs)
    }

    /// Executes a short run at a rate, or a closed loop, which is not stored.
    fn probe(
        &self,
        rate: Option<f64>,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunResult, Failure> {
        let (request, observe) = self.request(rate, probe_length(self.args), false)?;
        driver.execute(&request, &observe, Experiment::default())
    }

    fn request(
        &self,
        rate: Option<f64>,
        length: Duration,
        must_store: bool,
    ) -> Result<(RunRequest, ObserveOptions), Failure> {
        let input = step_input(&self.input, rate, length);
        request_of_step(self.args, self.arguments, input, self.subject, must_store)
    }

    fn checked(&self, rate: Option<f64>, length: Duration) -> Result<(Plan, PlanInput), Failure> {
        let input = step_input(&self.input, rate, length);
        let plan = plan::check_runnable(input.clone(), self.subject)?;
        Ok((plan, input))
    }
}

/// The length of a run that is no step.
pub(super) fn probe_length(args: &FindArgs) -> Duration {
    args.step.unwrap_or(PROBE).min(PROBE)
}

pub(super) fn request_of_step(
    args: &FindArgs,
    arguments: &[OsString],
    input: PlanInput,
    subject: &str,
    must_store: bool,
) -> Result<(RunRequest, ObserveOptions), Failure> {
    let plan = plan::check_runnable(input.clone(), subject)?;
    let observe = observe_options(&input, &plan);
    let request = RunRequest {
        request_json: request_document(&input, &plan, arguments),
        plan,
        may_download: args.download,
        format: ResultFormat::FirstScreen,
        must_store,
        progress_interval: args.progress,
        check_after: false,
        doctor: false,
        label: args.label.clone(),
        restart: None,
        purpose: Purpose::default(),
    };
    Ok((request, observe))
}

/// The input of a step; without a rate, of the closed loop.
pub(super) fn step_input(input: &PlanInput, rate: Option<f64>, length: Duration) -> PlanInput {
    PlanInput {
        rate_tps: value_from_flag("find", rate),
        // The distance of starts has a meaning only at a rate.
        arrival: input.arrival.clone().filter(|_| rate.is_some()),
        duration: value_from_flag("find", Some(length)),
        transactions: None,
        ..input.clone()
    }
}

/// The length of a step: as asked for, or more if the required percentiles need more transactions than that at the rate.
pub(super) fn step_length(
    given: Option<Duration>,
    requirements: &[Requirement],
    rate: f64,
) -> Duration {
    let needed = requirements.iter().filter_map(|requirement| {
        let RequiredFigure::Time { statistic, .. } = requirement.figure else {
            return None;
        };
        let quantile = statistic.quantile().filter(|quantile| *quantile < 1.0)?;
        Some(MARGIN * samples_needed(quantile) as f64 / rate)
    });
    let needed = Duration::from_secs_f64(needed.fold(0.0, f64::max).ceil());
    needed.max(given.unwrap_or(MIN_STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_long_as_its_percentile_needs() {
        let limits = |text| [Requirement::parse(text).unwrap()];
        let length = |text, rate| step_length(None, &limits(text), rate);
        assert_eq!(length("p99<20ms", 5_000.0), MIN_STEP);
        assert_eq!(length("p99<20ms", 10.0), Duration::from_secs(120));
        assert_eq!(length("p99.9<20ms", 100.0), Duration::from_secs(120));
        assert_eq!(length("max<1s", 10.0), MIN_STEP);
        let given = Duration::from_millis(2_500);
        let length = |rate| step_length(Some(given), &limits("p99<20ms"), rate);
        assert_eq!(length(5_000.0), given);
        assert_eq!(length(100.0), Duration::from_secs(12));
    }
}
