//! `prony find`: the highest rate at which a server meets what is required.
//!
//! Each step is a run at a rate, executed, judged and stored as `prony run` does; together they are one experiment.
//! `judge` decides what a step says and which rate follows. A step is stored before the next one starts.

use super::compare::{NameScope, load_sides};
use super::run::{observe_options, plan_input, request_document};
use super::{output, plan, stored};
use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::run::{self, ExperimentPart, MetricsServer, ResultFormat, RunRequest, RunResult};
use prony_judge::capacity::{
    self, CapacityResult, CapacityState, CapacityStep, NextStep, RateVerdict, Search,
};
use prony_plan::{PlanInput, RunOrder, to_json, value_from_flag};
use prony_report::capacity as view;
use prony_runner::{Purpose, Signals};
use prony_store::{
    RateSearch, RequiredFigure, Requirement, Run, RunState, Setting, samples_needed,
};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;

/// Shortest step: an interval needs 20 whole seconds.
const MIN_STEP: Duration = Duration::from_secs(20);
/// Length of the closed loop that estimates the first rate.
const PROBE: Duration = Duration::from_secs(5);
/// The first rate as a share of the closed loop's throughput.
const FIRST_SHARE: f64 = 0.8;
/// More transactions than a percentile needs, because their number scatters.
const MARGIN: f64 = 1.2;

/// A search in progress.
struct Finder<'a> {
    args: &'a FindArgs,
    input: PlanInput,
    /// Name of the input for messages.
    subject: &'a str,
    arguments: &'a [OsString],
    requirements: Vec<Requirement>,
    signals: &'a Signals,
    metrics: Option<&'a MetricsServer>,
    steps: Vec<CapacityStep>,
    /// Their runs, without the seconds, which are not needed any more.
    runs: Vec<Run>,
}

/// Executes the command.
///
/// # Errors
/// The input has a mistake, or a step cannot be executed or stored; the steps so far are printed first.
pub fn find(args: &FindArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let (input, subject) = plan_input(&args.workload_or_plan, args.is_plan(), args.input())?;
    let input = args.complete(input);
    if input.is_experiment() {
        let message = "the plan has variants, a sweep or repeats, and find varies the rate itself";
        let hint = "find needs a plan of one run";
        return Err(Failure::new(Exit::Usage, message, hint).at(subject));
    }
    // Any rate shows what is wrong with the others.
    let checked = plan::check_runnable(step_input(&input, Some(1.0), MIN_STEP), subject)?;
    let requirements = checked.require.0.clone();
    if let Some(reason) = requirements.iter().find_map(capacity::refusal) {
        let message = "what is required says nothing about a highest rate";
        return Err(Failure::new(Exit::Usage, message, reason).at("--require"));
    }
    let metrics = run::listen_for_prometheus(&observe_options(&input, &checked))?;
    let signals = Signals::listen()?;
    let mut finder = Finder {
        args,
        input,
        subject,
        arguments,
        requirements,
        signals: &signals,
        metrics: metrics.as_ref(),
        steps: Vec::new(),
        runs: Vec::new(),
    };
    let search = match finder.search()? {
        Ok(search) => search,
        Err(exit) => return Ok(exit),
    };
    let ended = finder.measure_all(&search);
    if finder.steps.is_empty() {
        return ended.map(|exit| exit.unwrap_or(Exit::Undecided));
    }
    let found = CapacityResult::new(&search, &finder.requirements, finder.steps, &finder.runs);
    output::show(|out, style| match args.json {
        true => view::write_json(out, &found),
        false => view::write(out, style, &found),
    })?;
    Ok(ended?.unwrap_or_else(|| exit_of(&found)))
}

/// The exit code of an answer.
pub(super) fn exit_of(found: &CapacityResult) -> Exit {
    match found.capacity.state {
        CapacityState::Below => Exit::RequirementFailed,
        CapacityState::Unknown | CapacityState::Contradictory => Exit::Undecided,
        CapacityState::Found | CapacityState::Imprecise | CapacityState::AtLeast => {
            match found.invalid_by().is_empty() {
                true => Exit::Success,
                false => Exit::Invalid,
            }
        }
    }
}

impl Finder<'_> {
    /// Where the search starts; the inner error is the exit code if a signal ended the estimate.
    fn search(&mut self) -> Result<Result<Search, Exit>, Failure> {
        let search = |start, is_estimate| Search {
            start,
            is_estimate,
            precision: self.args.precision,
            max_steps: self.args.max_steps as usize,
        };
        if let Some(name) = &self.args.resume {
            return Ok(Ok(search(self.resume(name)?, true)));
        }
        if let Some(start) = self.args.from {
            return Ok(Ok(search(start, false)));
        }
        let length = self.args.step.unwrap_or(PROBE).min(PROBE);
        output::notice("estimating the first rate by a closed loop");
        let result = self.execute(None, length, None)?;
        if let Some(signal) = self.signals.received() {
            output::notice("prony: interrupted before the first step: nothing was found or stored");
            return Ok(Err(signal.into()));
        }
        let all = result.run().measured.all_kinds();
        let tps = all.map_or(0.0, |all| all.tps);
        if tps <= 0.0 {
            let message =
                "no transaction committed in a closed loop, so that no rate can be estimated";
            let hint = "prony run shows its errors";
            return Err(Failure::new(Exit::Data, message, hint));
        }
        Ok(Ok(search(tps * FIRST_SHARE, true)))
    }

    /// Takes the steps of an earlier search; returns its first rate.
    fn resume(&mut self, name: &str) -> Result<f64, Failure> {
        let sides = load_sides(&stored::open_store()?, name, NameScope::Experiment)?;
        let mut runs: Vec<Run> = sides.into_iter().flat_map(|side| side.runs).collect();
        runs.retain(|run| run.state == RunState::Complete);
        runs.sort_by_key(|run| {
            run.experiment
                .as_ref()
                .map(|experiment| experiment.position)
        });
        stored::judge_by_same_rules(&mut runs);
        let plan =
            plan::check_runnable(step_input(&self.input, Some(1.0), MIN_STEP), self.subject)?;
        let plan = to_json(&plan, "");
        for run in runs {
            let point = run
                .experiment
                .iter()
                .flat_map(|experiment| &experiment.sweep);
            let names: Vec<&str> = point.map(|setting| &*setting.name).collect();
            let is_step = names == ["rate"] && run.drive.rate_tps.is_some();
            let [there, here] = [&run.plan, &plan].map(settings_of_search);
            let mut settings = there.iter().zip(&here);
            let other = settings.find(|(there, here)| there != here);
            if other.is_some() || !is_step {
                let reason = other.map_or(String::new(), |((name, there), (_, here))| {
                    format!(": its {name} was {there}, and is {here} now")
                });
                let message = format!("{} is no step of this search{reason}", run.id);
                let hint = "resume a search with the settings that it had";
                return Err(Failure::new(Exit::Usage, message, hint).at("--resume"));
            }
            self.steps
                .push(capacity::judge_step(&run, &self.requirements));
            self.runs.push(run.without_seconds());
        }
        let first = self.steps.first().map(|step| step.rate);
        first.ok_or_else(|| {
            let message = format!("the search {name} has no complete step");
            Failure::new(Exit::Usage, message, "start it again").at("--resume")
        })
    }

    /// Measures rates until the search is done; returns the exit code if it ended before.
    fn measure_all(&mut self, search: &Search) -> Result<Option<Exit>, Failure> {
        let mut is_unchecked = !self.runs.is_empty();
        loop {
            let verdicts: Vec<RateVerdict> =
                self.steps.iter().map(CapacityStep::rate_verdict).collect();
            let NextStep::Measure { rate, lengths } = search.next_step(&verdicts) else {
                return Ok(None);
            };
            let length = step_length(self.args.step, &self.requirements, rate) * lengths;
            if std::mem::take(&mut is_unchecked) {
                self.check_same(rate)?;
                if let Some(signal) = self.signals.received() {
                    return Ok(Some(signal.into()));
                }
            }
            let position = self.steps.len() + 1;
            output::notice(&view::step_header(position, rate, length));
            let position = self.position(search, rate);
            let result = self.execute(Some(rate), length, Some(position))?;
            let mut step = capacity::judge_step(result.run(), &self.requirements);
            // As it was asked for: the search compares rates.
            step.rate = rate;
            output::notice(&view::step_line(&step));
            self.steps.push(step);
            let (run, exit) = result.into_stored_run()?;
            let is_complete = run.state == RunState::Complete;
            self.runs.push(run.without_seconds());
            if let Some(signal) = self.signals.received() {
                return Ok(Some(signal.into()));
            }
            if !is_complete {
                return Ok(Some(exit));
            }
        }
    }

    /// Refuses to go on with a search of another load, server or data, before a step is stored among its own: a short
    /// run shows what differs.
    fn check_same(&self, rate: f64) -> Result<(), Failure> {
        output::notice("comparing load, server and data with those of the search by a short run");
        let length = self.args.step.unwrap_or(PROBE).min(PROBE);
        let result = self.execute(Some(rate), length, None)?;
        let own = result.run();
        let is_elsewhere = |earlier: &Run| {
            self.input.embedded.is_none() && earlier.server.address != own.server.address
        };
        for earlier in &self.runs {
            let (what, [there, here]) = match capacity::difference(earlier, own) {
                Some(found) => found,
                None if is_elsewhere(earlier) => {
                    let addresses = [earlier, own].map(|run| {
                        let address = run.server.address.as_ref();
                        address.map_or("not known".to_owned(), ToString::to_string)
                    });
                    ("server".to_owned(), addresses)
                }
                None => continue,
            };
            let message = format!(
                "{} is no step of this search: its {what} was {there}, and is {here} now",
                earlier.id
            );
            let hint = "resume a search with the settings, the server and the data that it had";
            return Err(Failure::new(Exit::Usage, message, hint).at("--resume"));
        }
        Ok(())
    }

    /// The step's place in the experiment.
    fn position(&self, search: &Search, rate: f64) -> prony_store::Experiment {
        let earlier = self.steps.iter().filter(|step| step.rate == rate);
        let first = self.runs.first().and_then(|run| run.experiment.as_ref());
        prony_store::Experiment {
            id: first.map_or_else(String::new, |first| first.id.clone()),
            variant: format!("rate-{rate}"),
            repeat: u32::try_from(earlier.count() + 1).unwrap_or(u32::MAX),
            position: u32::try_from(self.steps.len() + 1).unwrap_or(u32::MAX),
            runs: self.args.max_steps,
            order: RunOrder::Sequential,
            sweep: vec![Setting::new("rate", rate.to_string())],
            search: Some(RateSearch {
                is_estimate: search.is_estimate,
                precision: search.precision,
                max_steps: self.args.max_steps,
            }),
            ..prony_store::Experiment::default()
        }
    }

    /// Executes a step at a rate, or a closed loop; without a place in the experiment it is not stored.
    fn execute(
        &self,
        rate: Option<f64>,
        length: Duration,
        experiment: Option<prony_store::Experiment>,
    ) -> Result<RunResult, Failure> {
        let input = step_input(&self.input, rate, length);
        let plan = plan::check_runnable(input.clone(), self.subject)?;
        let observe = observe_options(&input, &plan);
        let request = RunRequest {
            request_json: request_document(&input, &plan, self.arguments),
            plan,
            may_download: self.args.download,
            format: ResultFormat::FirstScreen,
            must_store: experiment.is_some(),
            progress_interval: self.args.progress,
            check_after: false,
            doctor: false,
            label: self.args.label.clone(),
            restart: None,
            purpose: Purpose::default(),
        };
        let part = ExperimentPart {
            experiment: experiment.unwrap_or_default(),
            seed: request.plan.drive.seed,
            signals: self.signals,
            metrics: self.metrics,
        };
        run::execute(&request, &observe, Some(&part))
    }
}

/// The settings of a plan that all steps of a search share. The scale is that of the data, which a run compares.
fn settings_of_search(plan: &Value) -> Vec<(&'static str, Value)> {
    let mut workload = plan["workload"].clone();
    if let Some(options) = workload.as_object_mut() {
        options.remove("scale");
    }
    let run = &plan["run"];
    let of_run = [
        "clients",
        "protocol",
        "arrival",
        "connect_per_transaction",
        "spread",
        "read_share",
    ];
    let mut settings: Vec<_> = of_run.map(|name| (name, run[name].clone())).to_vec();
    settings.extend([
        ("workload", workload),
        ("server settings", plan["settings"].clone()),
    ]);
    settings
}

/// The input of a step; without a rate, of the closed loop.
fn step_input(input: &PlanInput, rate: Option<f64>, length: Duration) -> PlanInput {
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
fn step_length(given: Option<Duration>, requirements: &[Requirement], rate: f64) -> Duration {
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
