//! `prony find`: the highest rate at which a server meets what is required.
//!
//! Each step is a run at a rate, executed, judged and stored as `prony run` does; together they are one experiment.
//! `judge` decides what a step says and which rate follows. A step is stored before the next one starts.

use super::run::plan_input;
use super::{find_clients, find_resume, output, plan};
use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::experiment::{ExperimentDriver, Schedule};
use crate::run::{self, ResultFormat, RunRequest, RunResult};
use prony_drive::KeptConnections;
use prony_judge::capacity::{self, CapacityResult, CapacityStep, NextStep, RateVerdict, Search};
use prony_plan::{PlanInput, RunOrder, value_from_flag};
use prony_report::{Style, capacity as view};
use prony_runner::Signals;
use prony_store::{
    AnswerVerdict, Experiment, ExperimentKind, RateSearch, RequiredFigure, Requirement, Run,
    RunState, Setting, samples_needed,
};
use serde::Serialize;
use std::ffi::OsString;
use std::io::{self, Write};
use std::str::FromStr;
use std::time::Duration;

/// Shortest step: an interval needs 20 whole seconds.
pub(super) const MIN_STEP: Duration = Duration::from_secs(20);
/// Length of the closed loop that estimates the first rate.
const PROBE: Duration = Duration::from_secs(5);
/// The first rate as a share of the closed loop's throughput.
const FIRST_SHARE: f64 = 0.8;
/// More transactions than a percentile needs, because their number scatters.
const MARGIN: f64 = 1.2;

/// What the searches over the rate and over the clients have in common: how a step becomes a run.
pub(super) struct StepRuns<'a> {
    pub args: &'a FindArgs,
    pub arguments: &'a [OsString],
    pub input: PlanInput,
    /// Name of the input for messages.
    pub subject: &'a str,
    pub requirements: Vec<Requirement>,
    /// The earlier runs, until they were compared with the server and the data of today.
    pub unchecked: Vec<Run>,
}

impl StepRuns<'_> {
    pub fn request(&self, input: PlanInput, must_store: bool) -> Result<RunRequest, Failure> {
        let plan = plan::check_runnable(input.clone(), self.subject)?;
        Ok(RunRequest {
            may_download: self.args.download,
            must_store,
            progress_interval: self.args.progress,
            label: self.args.label.clone(),
            ..RunRequest::new(&input, plan, self.arguments)
        })
    }

    /// Executes a short run, which is not stored.
    fn probe(&self, input: PlanInput, driver: &ExperimentDriver<'_>) -> Result<RunResult, Failure> {
        let length = self.args.step.unwrap_or(PROBE).min(PROBE);
        let input = PlanInput {
            duration: value_from_flag("find", Some(length)),
            ..input
        };
        driver.execute(&self.request(input, false)?, Experiment::default())
    }

    /// The request of a step. That of the first one after a resumption is also probed: the earlier runs must have had the
    /// same server and data.
    pub fn prepare(
        &mut self,
        input: PlanInput,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunRequest, Failure> {
        let unchecked = std::mem::take(&mut self.unchecked);
        if !unchecked.is_empty() {
            output::notice(find_resume::PROBE_NOTICE);
            let probe = self.probe(input.clone(), driver)?;
            let is_embedded = self.input.embedded.is_some();
            find_resume::check_same(&unchecked, probe.run(), is_embedded, &self.args.over)?;
        }
        self.request(input, true)
    }

    /// The earlier runs of a search, of which each has been given to `add_step`. `input`: of any of its steps.
    pub fn resume(
        &mut self,
        name: &str,
        input: PlanInput,
        add_step: impl FnMut(&Run),
    ) -> Result<Vec<Run>, Failure> {
        let plan = plan::check_runnable(input, self.subject)?;
        let runs = find_resume::earlier_runs(name, &plan, &self.args.over)?;
        runs.iter().for_each(add_step);
        let runs: Vec<Run> = runs.into_iter().map(Run::without_seconds).collect();
        self.unchecked.clone_from(&runs);
        Ok(runs)
    }

    /// The place of the next step, with this value; `None` if the run before it did not complete.
    pub fn position(&self, ended: &[Run], value: String, search: RateSearch) -> Option<Experiment> {
        let is_complete = |run: &Run| run.state == RunState::Complete;
        let point = vec![Setting::new(&*self.args.over, value)];
        let earlier = ended.iter().filter(|run| run.point() == point).count();
        ended.last().is_none_or(is_complete).then(|| Experiment {
            kind: ExperimentKind::Search(search),
            variant: format!("{}-{}", point[0].name, point[0].value),
            repeat: u32::try_from(earlier + 1).unwrap_or(u32::MAX),
            position: u32::try_from(ended.len() + 1).unwrap_or(u32::MAX),
            runs: self.args.max_steps,
            order: RunOrder::Sequential,
            point,
            ..Experiment::default()
        })
    }
}

struct Finder<'a> {
    runs: StepRuns<'a>,
    search: Search,
    steps: Vec<CapacityStep>,
}

pub fn find(args: &FindArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let (input, subject) = plan_input(&args.workload_or_plan, args.is_plan(), args.input())?;
    let input = args.complete(input);
    // Any rate shows what is wrong with the others.
    let any_step = step_input(&input, Some(1.0), MIN_STEP);
    let requirements = check_input(&input, &any_step, subject)?;
    let runs = StepRuns {
        args,
        arguments,
        input,
        subject,
        requirements,
        unchecked: Vec::new(),
    };
    if args.over == capacity::OVER_CLIENTS {
        find_clients::find(runs)
    } else {
        find_rate(runs, any_step)
    }
}

/// What is required, if the input is that of one load, and its requirements are of a kind that a rate can miss.
fn check_input(
    input: &PlanInput,
    any_step: &PlanInput,
    subject: &str,
) -> Result<Vec<Requirement>, Failure> {
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
    let requirements = plan::check_runnable(any_step.clone(), subject)?.require.0;
    if let Some(reason) = requirements.iter().find_map(capacity::refusal) {
        let message = "what is required says nothing about a highest rate";
        return Err(Failure::usage(message, reason).at("--require"));
    }
    Ok(requirements)
}

fn find_rate(mut runs: StepRuns<'_>, any_step: PlanInput) -> Result<Exit, Failure> {
    let args = runs.args;
    let metrics = run::listen_for_prometheus(&runs.request(any_step.clone(), true)?.observe)?;
    let signals = Signals::listen()?;
    let mut driver = ExperimentDriver::new(&signals, metrics.as_ref());
    // Each step with a throw-away server has a server of its own.
    let is_embedded = runs.input.embedded.is_some();
    driver.kept_connections = (!is_embedded).then(KeptConnections::default);
    let mut steps = Vec::new();
    if let Some(name) = &args.resume {
        let requirements = runs.requirements.clone();
        let add = |run: &Run| steps.push(capacity::judge_step(run, &requirements));
        driver.runs = runs.resume(name, any_step, add)?;
    }
    let Some(start) = first_rate(&runs, &steps, &driver)? else {
        output::notice("prony: interrupted before the first step: nothing was found or stored");
        return Ok(signals.received().map_or(Exit::Interrupted, Into::into));
    };
    let mut finder = Finder {
        runs,
        search: Search {
            start,
            is_estimate: args.from.is_none(),
            precision: args.precision,
            max_steps: args.max_steps as usize,
        },
        steps,
    };
    let ended = driver.drive(&mut finder);
    if finder.steps.is_empty() {
        return ended;
    }
    let requirements = &finder.runs.requirements;
    let found = CapacityResult::new(&finder.search, requirements, finder.steps, &driver.runs);
    let answer = view::SearchAnswer::of_rates(&found);
    show_answer(args, &answer, &found, |out, style| {
        view::write(out, style, &found)
    })?;
    let exit = ended?;
    Ok(match signals.received() {
        Some(signal) => signal.into(),
        None if found.is_unfinished => exit,
        None => exit_of(&found),
    })
}

/// Shows the answer of a search as its arguments ask for.
pub(super) fn show_answer(
    args: &FindArgs,
    answer: &view::SearchAnswer<'_>,
    found: &impl Serialize,
    write: impl FnOnce(&mut dyn Write, &Style) -> io::Result<()>,
) -> Result<(), Failure> {
    match args.format {
        Some(ResultFormat::Junit) => output::show(|out, _| answer.write_junit(out)),
        Some(_) => output::show(|out, _| answer.write_github(out)),
        None => output::show_or_json(args.json, found, write),
    }
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
        let (rate, _) = self.next_step()?;
        let search = RateSearch {
            is_estimate: self.search.is_estimate,
            precision: self.search.precision,
            max_steps: self.runs.args.max_steps,
        };
        self.runs.position(ended, rate.to_string(), search)
    }

    fn header(&self, position: &Experiment) -> String {
        view::step_header(position.position, rate_of(position), self.next_length())
    }

    fn prepare(
        &mut self,
        position: &Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunRequest, Failure> {
        let rate = Some(rate_of(position));
        let input = step_input(&self.runs.input, rate, self.next_length());
        self.runs.prepare(input, driver)
    }

    fn record(&mut self, _: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        let step = capacity::judge_step(result.run(), &self.runs.requirements);
        output::notice(&view::step_line(&step));
        self.steps.push(step);
        Ok(())
    }
}

/// The rate at which a step is to be driven: the one setting of its point.
fn rate_of(position: &Experiment) -> f64 {
    value_of(position).unwrap_or_default()
}

/// What a step varies, as it was asked for.
pub(super) fn value_of<T: FromStr>(position: &Experiment) -> Option<T> {
    position.point.first()?.value.parse().ok()
}

impl Finder<'_> {
    /// The rate and the length of the step after those that are recorded; `None` after the last one.
    fn next_step(&self) -> Option<(f64, Duration)> {
        let verdicts = self.steps.iter().map(CapacityStep::rate_verdict);
        let verdicts: Vec<RateVerdict> = verdicts.collect();
        match self.search.next_step(&verdicts) {
            NextStep::Measure { rate, lengths } => {
                let length = step_length(self.runs.args.step, &self.runs.requirements, rate);
                Some((rate, length.saturating_mul(lengths)))
            }
            NextStep::Done(_) => None,
        }
    }

    /// The length of the step that was decided and is not recorded yet.
    fn next_length(&self) -> Duration {
        self.next_step().map_or(MIN_STEP, |(_, length)| length)
    }
}

/// The rate of the first step: as it was, if the search goes on with earlier steps, or as asked for, or an estimate by a
/// closed loop. `None` if a signal interrupted the estimate.
fn first_rate(
    runs: &StepRuns<'_>,
    steps: &[CapacityStep],
    driver: &ExperimentDriver<'_>,
) -> Result<Option<f64>, Failure> {
    let known = steps.first().map(|step| step.rate).or(runs.args.from);
    if known.is_some() {
        return Ok(known);
    }
    output::notice("estimating the first rate by a closed loop");
    let result = runs.probe(step_input(&runs.input, None, PROBE), driver)?;
    if driver.signals.received().is_some() {
        return Ok(None);
    }
    let all = result.run().measured.all_kinds();
    let tps = all.map_or(0.0, |all| all.tps);
    if tps <= 0.0 {
        let message = "no transaction committed in a closed loop, so that no rate can be estimated";
        let hint = "prony run shows its errors";
        return Err(Failure::new(Exit::Data, message, hint));
    }
    Ok(Some(tps * FIRST_SHARE))
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
    let needed_s = needed.fold(0.0, f64::max).ceil();
    // The check of the plan refuses what is too long.
    let needed = Duration::try_from_secs_f64(needed_s).unwrap_or(Duration::MAX);
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
        assert_eq!(length("p99<20ms", 1e-17), Duration::MAX);
        let given = Duration::from_millis(2_500);
        let length = |rate| step_length(Some(given), &limits("p99<20ms"), rate);
        assert_eq!(length(5_000.0), given);
        assert_eq!(length(100.0), Duration::from_secs(12));
    }
}
